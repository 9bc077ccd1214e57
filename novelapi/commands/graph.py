"""`novelapi graph LIB`: which output of which API can become, or becomes, which input of another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novelapi.commands._shared import CutoffOption, JsonOption, NewOption, OldOption, parse_day, print_json, telling

if TYPE_CHECKING:
    from novelapi.graph.model import ApiGraph, Edge
    from novelapi.graph.stage import GraphResult
    from novelapi.layout import Layout

SHOWN = 12


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command()
    def graph(
        library: Annotated[str, typer.Argument(help="A library whose stages 1 and 2 are finished.")],
        *,
        cutoff: CutoffOption = None,
        old: OldOption = None,
        new: NewOption = None,
        model: Annotated[str, typer.Option("--model", help="Model for which the library was built.")] = "copy",
        run: Annotated[
            bool, typer.Option("--run/--no-run", help="Run examples and gold solutions for the observed tier.")
        ] = True,
        api: Annotated[str | None, typer.Option("--api", metavar="NAME", help="Show the edges of one API.")] = None,
        out: Annotated[Path | None, typer.Option("--out", help="Also write the graph to this file.")] = None,
        refine_with: Annotated[
            str | None, typer.Option("--refine", metavar="MODEL", help="A model that labels edges nothing has shown.")
        ] = None,
        base_url: Annotated[str | None, typer.Option("--base-url", help="Its endpoint, with /v1.")] = None,
        most: Annotated[int, typer.Option("--most", min=1, help="Edges that it is asked about at most.")] = 200,
        pairs: Annotated[
            Path | None, typer.Option("--pairs", help="Write labelled pairs of ports for graph construction here.")
        ] = None,
        as_json: JsonOption = False,
    ) -> None:
        """Build the parameter graph of a library from finished stages 1 and 2."""
        from novelapi.discovery.requests import find_versions
        from novelapi.errors import UnknownNameError
        from novelapi.graph.model import ApiGraph
        from novelapi.graph.stage import build_library_graph
        from novelapi.layout import Layout
        from novelapi.records.request import LibraryRequest
        from novelapi.settings import load_settings

        layout = Layout(load_settings().home_dir)
        request = LibraryRequest(library=library, model=model, cutoff=parse_day(cutoff), old=old, new=new)
        pair = find_versions(request, layout)
        request = request.model_copy(update={"library": pair.library, "old": pair.old, "new": pair.new})
        with telling() as progress:
            result = build_library_graph(request, layout, run=run, progress=progress)
        found = ApiGraph.load(layout.home / result.path)
        if refine_with is not None:
            found = _refined(found, refine_with, base_url, most, layout)
            found.save(layout.home / result.path)
            result = result.model_copy(
                update={"digest": found.digest, "counts": found.counts(), "left_out": found.left_out}
            )
        if out is not None:
            found.save(out)
        written = _write_pairs(found, pairs) if pairs is not None else {}
        if api is not None and api not in found.by_api:
            raise UnknownNameError("API", api, found.by_api)
        if as_json:
            edges = [edge.to_row() for edge in found.edges if api is None or api in {edge.source, edge.target}]
            print_json(
                {"library": pair.library, "release": pair.new, **result.to_row(), "pairs": written, "edges": edges}
            )
        else:
            _print(found, result, api)
            if pairs is not None:
                typer.echo(f"pairs in {pairs}: " + ", ".join(f"{number} {name}" for name, number in written.items()))


def _refined(found: ApiGraph, model: str, base_url: str | None, most: int, layout: Layout) -> ApiGraph:
    """Return the graph with a model's labels; its answers are cached like all others."""
    from novelapi.adapters.open import open_model
    from novelapi.graph.refine import refine
    from novelapi.inference.cache import CompletionCache
    from novelapi.inference.cached import CachedCompleter

    with CompletionCache(layout.completions / "cache.sqlite") as cache:
        return refine(found, CachedCompleter(open_model(model, base_url=base_url), cache), most)


def _write_pairs(found: ApiGraph, folder: Path) -> dict[str, int]:
    """Write pairs, rows for fine-tuning and documentation without and with the graph; return the numbers of pairs."""
    from novelapi import jsonl
    from novelapi.graph.construction import documentation, training_row
    from novelapi.graph.pairs import sample_pairs, write_pairs

    rows = sample_pairs(found)
    jsonl.write(folder / "sft.train.jsonl", (training_row(row) for row in rows if row.split == "train"))
    for arm, graph in (("none", None), ("gold", found)):
        jsonl.write(folder / f"documentation.{arm}.jsonl", documentation(graph, found.nodes))
    return write_pairs(rows, folder)


def _print(found: ApiGraph, result: GraphResult, api: str | None) -> None:
    counts = result.counts
    typer.echo(f"{found.name} {found.release}: {counts['apis']} APIs ({counts['novel']} new), {counts['edges']} edges")
    typer.echo("  " + ", ".join(f"{number} {name}" for name, number in list(counts.items())[4:]))
    typer.echo(f"digest {result.digest} in {result.path}, {result.cpu_s} s CPU, programs {result.observe_cpu_s} s")
    novel = {node.api for node in found.nodes if node.novel}
    chosen = [
        edge
        for edge in found.edges
        if (api in {edge.source, edge.target} if api else edge.label == "strong" and {edge.source, edge.target} & novel)
    ]
    for edge in sorted(chosen, key=lambda edge: (-edge.score, edge.key))[:SHOWN]:
        typer.echo(_line(edge))
    if len(chosen) > SHOWN:
        typer.echo(f"      ... and {len(chosen) - SHOWN} more")
    typer.echo("left out or counted: " + ", ".join(f"{number} {name}" for name, number in found.left_out.items()))


def _line(edge: Edge) -> str:
    first = edge.evidence[0]
    head = f"{edge.label:6} {edge.source} {edge.port.text} -> {edge.target}({edge.parameter})"
    return f"{head}\n         {first.tier}: {first.detail} [{first.where}]"
