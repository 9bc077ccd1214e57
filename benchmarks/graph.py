"""Parameter graphs, measured: CPU seconds and edges of libraries, and what the builder reaches on published tool graphs.

    python -m benchmarks.graph libraries numpy=2023-12-01 pydantic=2024-07-01 [--run]
    python -m benchmarks.graph tools FOLDER        # taskbench/ and nestful_v1_edges.json in it
    python -m benchmarks.graph sample numpy 50     # strong edges to be read by eye
    python -m benchmarks.graph completeness numpy  # all APIs of gold solutions shown, with and without the graph
    python -m benchmarks.graph subsets numpy 30    # chains, forks and colliders with a novel API

A library needs finished stages 1 and 2 (`novelapi build LIB --stages 1 2 --model copy --cutoff D`). Without `--run` the
observed tier comes from earlier records, or is left out and said so.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
from datetime import date
from pathlib import Path

from novelapi.discovery.requests import find_versions
from novelapi.errors import NovelApiError
from novelapi.graph.model import ApiGraph, make_graph
from novelapi.graph.motifs import count_motifs
from novelapi.graph.retrieve import GraphSearch, completeness
from novelapi.graph.stage import build_library_graph, read_gold
from novelapi.graph.subsets import sample_subsets
from novelapi.graph.text import score_ranking
from novelapi.graph.tools import observed_graph, read_nestful_edges, read_taskbench
from novelapi.graph.typed import join_types
from novelapi.inference.tokens import estimate_tokens
from novelapi.knowledge.names import dotted, imports_of
from novelapi.layout import Layout
from novelapi.records.request import LibraryRequest
from novelapi.retrieval.delivery import task_query
from novelapi.settings import load_settings


def libraries(wanted, *, run):
    layout = Layout(load_settings().home_dir)
    for item in wanted:
        name, _, cutoff = item.partition("=")
        request = LibraryRequest(library=name, model="copy", cutoff=date.fromisoformat(cutoff))
        try:
            pair = find_versions(request, layout)
            request = request.model_copy(update={"old": pair.old, "new": pair.new})
            found = build_library_graph(request, layout, run=run)
        except NovelApiError as error:
            print(json.dumps({"library": name, "error": str(error)}))
            continue
        print(json.dumps({"library": name, "release": pair.new, **found.to_row()}), flush=True)


def tools(folder):
    for path in sorted((folder / "taskbench").glob("*_graph_desc.json")):
        nodes, links = read_taskbench(path)
        found = join_types(nodes)
        joined = make_graph(path.stem, nodes, found.edges, left_out=found.left_out).joined()
        row = {"links": len(links), "found": len(joined & links), "false": len(joined - links)}
        print(json.dumps({"graph": path.stem, **row, "missing": len(links - joined), **count_motifs(joined)}))
    for split, (nodes, edges) in read_nestful_edges(folder / "nestful_v1_edges.json").items():
        graph = observed_graph(split, nodes, edges)
        scores = {key: round(value, 3) for key, value in score_ranking(nodes, edges).to_row().items()}
        motifs = count_motifs(graph.joined())
        print(json.dumps({"graph": split, "edges": len(graph.edges), "pairs": len(graph.joined()), **motifs, **scores}))


def sample(library, number, seed=0):
    graph = ApiGraph.load(Layout(load_settings().home_dir).graph(library, "copy"))
    strong = [edge for edge in graph.edges if edge.label == "strong"]
    source = random.Random(seed)
    observed = [edge for edge in strong if "observed" in edge.tiers]
    others = [edge for edge in strong if "observed" not in edge.tiers]
    chosen = source.sample(others, min(len(others), number // 4))
    chosen += source.sample(observed, min(len(observed), number - len(chosen)))
    for edge in chosen:
        first = edge.evidence[0]
        print(f"{edge.source} {edge.port.text} -> {edge.target}({edge.parameter})")
        print(f"    {first.tier}: {first.detail} [{first.where}]")


def completeness_of(library):
    layout = Layout(load_settings().home_dir)
    graph = ApiGraph.load(layout.graph(library, "copy"))
    gold = read_gold(layout, library, "copy")
    kinds = {
        "one API": [task for task in gold if not task.links],
        "several APIs": [task for task in gold if task.links],
    }
    for kind, own in kinds.items():
        tasks = [(task_query(task), called(task, graph)) for task in own]
        for budget in (250, 500, 1000, 2000, 4000) if tasks else ():
            for depth in (1, 2):
                row = completeness(searcher(graph), tasks, budget, depth).to_row()
                print(json.dumps({"library": library, "tasks of": kind, "depth": depth, **row}), flush=True)


def searcher(graph):
    """Return the documents of all APIs of a graph, found with or without its edges."""
    return GraphSearch(graph, lambda text: estimate_tokens(text) - estimate_tokens(""))


def called(task, graph):
    """Return the targets and the other APIs of the graph that the gold solution calls by name."""
    tree = ast.parse(f"{task.context_code}\n{task.reference_solution}")
    imports = imports_of(tree)
    names = {dotted(node.func, imports) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return ({name for name in names if name} | {call.api for call in task.calls}) & set(graph.by_api)


def subsets_of(library, number):
    graph = ApiGraph.load(Layout(load_settings().home_dir).graph(library, "copy"))
    found = sample_subsets(graph, number)
    print(json.dumps({"library": library, "covered": found.covered, "uncovered": len(found.uncovered), **found.motifs}))
    for item in found.subsets:
        print(json.dumps(item.to_row()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("libraries")
    one.add_argument("wanted", nargs="+", metavar="LIB=CUTOFF")
    one.add_argument("--run", action="store_true")
    verbs.add_parser("tools").add_argument("folder", type=Path)
    three = verbs.add_parser("sample")
    three.add_argument("library")
    three.add_argument("number", type=int)
    verbs.add_parser("completeness").add_argument("library")
    five = verbs.add_parser("subsets")
    five.add_argument("library")
    five.add_argument("number", type=int)
    args = parser.parse_args()
    if args.verb == "libraries":
        libraries(args.wanted, run=args.run)
    elif args.verb == "tools":
        tools(args.folder)
    elif args.verb == "completeness":
        completeness_of(args.library)
    elif args.verb == "subsets":
        subsets_of(args.library, args.number)
    else:
        sample(args.library, args.number)


if __name__ == "__main__":
    main()
