"""`novelapi discover LIB`: the APIs that are new or changed between two releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from novelapi.commands._shared import (
    CutoffOption,
    JsonOption,
    ModelOption,
    NewOption,
    OfflineOption,
    OldOption,
    print_json,
    telling,
    window_cutoff,
)
from novelapi.errors import PartialError

if TYPE_CHECKING:
    from novelapi.discovery.releases import VersionPair
    from novelapi.records.api import Candidate, Exclusion

SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command()
    def discover(
        library: Annotated[str, typer.Argument(help="A library of the catalogue, or any distribution on the index.")],
        *,
        cutoff: CutoffOption = None,
        old: OldOption = None,
        new: NewOption = None,
        model: ModelOption = None,
        explain: Annotated[
            str | None, typer.Option("--explain", metavar="NAME", help="Say why a name is or is not a candidate.")
        ] = None,
        limit: Annotated[int | None, typer.Option("--limit", min=1, help="Keep this many candidates.")] = None,
        fresh: Annotated[bool, typer.Option("--fresh", help="Do it again even if the files are there.")] = False,
        as_json: JsonOption = False,
        offline: OfflineOption = False,
    ) -> None:
        """Find the APIs of a library that are new or changed between two releases."""
        from novelapi.catalog import find_library
        from novelapi.discovery.explain import explain as explain_name
        from novelapi.discovery.stage import (
            EXCLUDED,
            STAGE,
            read_candidates,
            read_exclusions,
            run_discovery,
        )
        from novelapi.discovery.workspace import Workspace
        from novelapi.settings import load_settings

        workspace = Workspace.open(load_settings(), offline=offline)
        found = find_library(library)
        pair = workspace.resolve(found, cutoff=window_cutoff(cutoff, model, old), old=old, new=new)
        pair.require_window()
        path = workspace.layout.stage(found.name, STAGE, model)
        before = read_candidates(path)
        with telling() as progress:
            result = run_discovery(
                workspace,
                found,
                old=pair.old,
                new=pair.new,
                model=model,
                limit=limit,
                fresh=fresh,
                progress=progress,
            )
        candidates = read_candidates(path)
        excluded = read_exclusions(workspace.layout.stage(found.name, EXCLUDED, model))
        if explain is not None:
            lines = explain_name(
                workspace, found, explain, old=pair.old, new=pair.new, candidates=candidates, excluded=excluded
            )
            if as_json:
                print_json({"api": explain, "explanation": lines})
            else:
                typer.echo("\n".join(lines))
            return
        if as_json:
            print_json(
                {
                    "library": found.name,
                    "old": pair.old,
                    "new": pair.new,
                    "candidates": [row.to_row() for row in candidates],
                    "excluded": [row.to_row() for row in excluded],
                }
            )
        else:
            _print_summary(pair, candidates, excluded, result.path)
            _print_news(before, candidates)
        if limit is not None and result.counts["left_out_by_limit"]:
            left = result.counts["left_out_by_limit"]
            raise PartialError(f"{left} candidates were left out by --limit {limit}: run without it for all")


def _print_summary(
    pair: VersionPair, candidates: Sequence[Candidate], excluded: Sequence[Exclusion], path: str
) -> None:
    kinds = Counter(row.change for row in candidates)
    typer.echo(f"{pair.library} {pair.old or '(none)'} -> {pair.new}: {pair.reason}")
    typer.echo(f"{len(candidates)} candidates ({kinds['added']} added, {kinds['modified']} modified) in {path}")
    for row in candidates[:SHOWN]:
        changes = ", ".join(
            f"{change.kind.removeprefix('parameter_')} {change.parameter}" for change in row.changes if change.parameter
        )
        typer.echo(f"{row.rank:4}  {row.change:8}  {row.api}{'  [' + changes + ']' if changes else ''}")
    if len(candidates) > SHOWN:
        typer.echo(f"      ... and {len(candidates) - SHOWN} more")
    reasons = Counter({(row.canonical or row.api): row.reason for row in excluded}.values())
    typer.echo("excluded: " + ", ".join(f"{number} {reason}" for reason, number in reasons.most_common()))
    if not candidates:
        typer.echo("no public API changed in this window: choose an earlier cutoff or another release", err=True)


def _print_news(before: Sequence[Candidate], now: Sequence[Candidate]) -> None:
    """Say what is new since the release that was recorded before."""
    if not before or not now or before[0].release == now[0].release:
        return
    known = {(row.api, row.change) for row in before}
    fresh = [row for row in now if (row.api, row.change) not in known]
    typer.echo(f"new since {before[0].release}, the release recorded before: {len(fresh)}")
    for row in fresh:
        typer.echo(f"      {row.change:8}  {row.api}")
