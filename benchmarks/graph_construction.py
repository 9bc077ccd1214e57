"""Graph construction as a task: who labels pairs of ports how well, within a library and from one to another.

    novelapi graph numpy --cutoff 2023-12-01 --pairs pairs/numpy
    python -m benchmarks.graph_construction pairs/numpy                     # train and test on one library
    python -m benchmarks.graph_construction pairs/networkx --train pairs/numpy   # train on one, build the other
    python -m benchmarks.graph_construction pairs/numpy --model copy [--base-url URL]    # zero-shot, any endpoint
    python -m benchmarks.graph_construction pairs/numpy --base tiny [--epochs 6]    # fine-tuned; or a folder of weights
    python -m benchmarks.graph_construction pairs/numpy --arms numpy        # prerequisites: none, gold, automated

Precision, recall and F1 of each label. `--base` trains all weights on `sft.train.jsonl` with the SFT of the adaptation
flow and asks the result in this process (extra `train`); larger models are trained elsewhere, served, and asked with
`--model`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.graph import called, searcher
from novelapi import jsonl
from novelapi.adapters.open import open_model
from novelapi.fingerprint import file_digest
from novelapi.graph import construction
from novelapi.graph.model import ApiGraph
from novelapi.graph.pairs import read_pairs
from novelapi.graph.retrieve import completeness
from novelapi.graph.stage import read_gold
from novelapi.layout import Layout
from novelapi.records.request import FileResult
from novelapi.retrieval.delivery import task_query
from novelapi.settings import load_settings

BUDGETS = (500, 1000, 2000, 4000)


def fine_tuned(trained, base, epochs):
    """Train all weights of a base on the training side, and return the result as a labeller."""
    from novelapi.adaptation.artifact import library_versions
    from novelapi.adaptation.base import folder_digest
    from novelapi.adaptation.fitting import FitRequest, fit
    from novelapi.adaptation.recipes import Recipe
    from novelapi.adaptation.tiny import TinySettings, build_tiny
    from novelapi.adapters.adapted_model import AdaptedModel

    layout = Layout(load_settings().home_dir)
    folder = build_tiny(layout.home / "models" / "tiny", TinySettings()) if base == "tiny" else Path(base)
    rows = FileResult(
        path=str((trained / "sft.train.jsonl").resolve()), sha256=file_digest(trained / "sft.train.jsonl")
    )
    settings = {"rate": 2e-3, "epochs": epochs, "batch": 8, "accumulation": 1, "warmup": 0.05, "saves": 2}
    request = FitRequest(
        delivery="sft", base=str(folder), base_sha=folder_digest(folder), rows=rows, versions=library_versions(),
        recipe=Recipe(form="task", window=1024, full=True, settings=settings),
    )  # fmt: skip
    made = fit(request, layout.home, layout.home / "edits")
    print(json.dumps({"base": base, **made.counts}), flush=True)
    return construction.asked(AdaptedModel(folder, (layout.home / made.path).parent, device="cpu"))


def labellers(trained, model, base_url, base, epochs):
    """Yield the name and the function of every labeller."""
    train = read_pairs(trained, ["train"])
    yield "all strong", construction.constant("strong")
    yield "by name", construction.by_name
    yield f"words of {trained.name}", construction.WordModel(train)
    if model is not None:
        yield f"{model}, zero-shot", construction.asked(open_model(model, base_url=base_url))
    if base is not None:
        yield f"{base}, fine-tuned on {trained.name}", fine_tuned(trained, base, epochs)


def measure(folder, trained, model, base_url, base, epochs):
    splits = ["test"] if trained == folder else ["train", "valid", "test"]
    rows = read_pairs(folder, splits)
    for name, label in labellers(trained, model, base_url, base, epochs):
        found = construction.score(rows, label(rows))
        print(json.dumps({"pairs": folder.name, "by": name, **found.to_row()}), flush=True)


def arms(folder, trained, library):
    """Compare retrieval without prerequisites, with those of all pairs' own labels, and with predicted ones."""
    layout = Layout(load_settings().home_dir)
    graph = ApiGraph.load(layout.graph(library, "copy"))
    rows = read_pairs(folder)
    gold = construction.predicted_graph(graph, rows, [row.label for row in rows], "the graph")
    words = construction.WordModel(read_pairs(trained, ["train"]))
    automated = construction.predicted_graph(graph, rows, words(rows), f"words of {trained.name}")
    jsonl.write(folder / "documentation.automated.jsonl", construction.documentation(automated, graph.nodes))
    tasks = [(task_query(task), called(task, graph)) for task in read_gold(layout, library, "copy")]
    for budget in BUDGETS:
        with_gold = completeness(searcher(gold), tasks, budget)
        with_words = completeness(searcher(automated), tasks, budget)
        shares = {
            "none": with_gold.plain_several,
            "gold": with_gold.graph_several,
            "automated": with_words.graph_several,
        }
        print(json.dumps({"library": library, "budget": budget, "several": with_gold.several, **shares}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="what `novelapi graph LIB --pairs` wrote")
    parser.add_argument("--train", type=Path, help="pairs to train on; default: the same")
    parser.add_argument("--model", help="a model to ask without any example")
    parser.add_argument("--base-url")
    parser.add_argument("--base", help="`tiny`, or a folder of weights to fine-tune")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--arms", metavar="LIB", help="compare prerequisites in documentation instead")
    args = parser.parse_args()
    trained = args.train or args.folder
    if args.arms:
        arms(args.folder, trained, args.arms)
    else:
        measure(args.folder, trained, args.model, args.base_url, args.base, args.epochs)


if __name__ == "__main__":
    main()
