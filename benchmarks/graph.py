"""Parameter graphs, measured: CPU seconds and edges of libraries, and what the builder reaches on published tool graphs.

    python -m benchmarks.graph libraries numpy=2023-12-01 pydantic=2024-07-01 [--run]
    python -m benchmarks.graph tools FOLDER        # taskbench/ and nestful_v1_edges.json in it
    python -m benchmarks.graph sample numpy 50     # strong edges to be read by eye, observed ones first

A library needs finished stages 1 and 2 (`novelapi build LIB --stages 1 2 --model copy --cutoff D`). Without `--run` the
observed tier comes from earlier records, or is left out and said so.
"""

from __future__ import annotations

import argparse
import json
import random
from datetime import date
from pathlib import Path

from novelapi.discovery.requests import find_versions
from novelapi.errors import NovelApiError
from novelapi.graph.model import ApiGraph, make_graph
from novelapi.graph.motifs import count_motifs
from novelapi.graph.stage import build_library_graph
from novelapi.graph.text import score_ranking
from novelapi.graph.tools import observed_graph, read_nestful_edges, read_taskbench
from novelapi.graph.typed import join_types
from novelapi.layout import Layout
from novelapi.records.request import LibraryRequest
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
    args = parser.parse_args()
    if args.verb == "libraries":
        libraries(args.wanted, run=args.run)
    elif args.verb == "tools":
        tools(args.folder)
    else:
        sample(args.library, args.number)


if __name__ == "__main__":
    main()
