"""`novelapi compare-pool FILE`: our candidates beside a published table of names, with a reason for each difference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novelapi.commands._shared import JsonOption, OfflineOption, print_json, telling
from novelapi.errors import NothingNewError, NovelApiError, PartialError, UnknownNameError

if TYPE_CHECKING:
    from novelapi.discovery.pool import Membership, PoolRow
    from novelapi.discovery.workspace import Workspace

SHOWN = 12


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("compare-pool")
    def compare_pool(
        file: Annotated[Path, typer.Argument(help="Membership table: api_name, library, one column per model.")],
        *,
        model: Annotated[str, typer.Option("--model", "-m", help="Column of the table.")] = "qwen2.5-coder-7b",
        library: Annotated[list[str] | None, typer.Option("--library", "-l", help="Only this library.")] = None,
        as_json: JsonOption = False,
        offline: OfflineOption = False,
    ) -> None:
        """Compare discovered candidates with a published pool."""
        from novelapi.discovery.pool import read_membership, summary
        from novelapi.discovery.workspace import Workspace
        from novelapi.settings import load_settings

        members = read_membership(file)
        names = sorted({row.library for row in members})
        for wanted in library or ():
            if wanted not in names:
                raise UnknownNameError("library", wanted, names, f"{file} does not have it")
        workspace = Workspace.open(load_settings(), offline=offline)
        found: dict[str, list[PoolRow]] = {}
        failed: dict[str, str] = {}
        for name in library or names:
            try:
                found[name] = _compare(workspace, name, model, [row for row in members if row.library == name])
            except NovelApiError as error:
                failed[name] = str(error)
        if as_json:
            print_json(
                {
                    "model": model,
                    "libraries": {name: summary(rows) for name, rows in found.items()},
                    "rows": {name: [row.to_row() for row in rows] for name, rows in found.items()},
                    "failed": failed,
                }
            )
        else:
            for name, rows in found.items():
                _print(name, rows)
        for name, why in failed.items():
            typer.echo(f"{name}: {why}", err=True)
        if failed:
            raise PartialError(f"{len(failed)} of {len(names)} libraries could not be compared: see above")


def _compare(workspace: Workspace, name: str, model: str, members: list[Membership]) -> list[PoolRow]:
    from novelapi.catalog import find_library, find_model
    from novelapi.discovery.apis import ApiTable
    from novelapi.discovery.pool import compare_pool
    from novelapi.discovery.stage import EXCLUDED, STAGE, read_candidates, read_exclusions, run_discovery

    found = find_library(name)
    theirs = {row.api: row.labels[model] for row in members if model in row.labels}
    try:
        pair = workspace.resolve(found, cutoff=find_model(model).cutoff)
    except NothingNewError:
        if theirs:
            raise
        return []  # both sides have nothing
    if pair.old == pair.new:
        return []
    with telling() as progress:
        run_discovery(workspace, found, old=pair.old, new=pair.new, model=model, progress=progress)
    before = ApiTable(workspace.surface(found, pair.old), found.private_prefixes) if pair.old else None
    return compare_pool(
        theirs,
        read_candidates(workspace.layout.stage(found.name, STAGE, model)),
        read_exclusions(workspace.layout.stage(found.name, EXCLUDED, model)),
        ApiTable(workspace.surface(found, pair.new), found.private_prefixes),
        found,
        old_table=before,
    )


def _print(name: str, rows: list[PoolRow]) -> None:
    from novelapi.discovery.pool import summary, words_of

    counts = summary(rows)
    sides = counts["sides"]
    assert isinstance(sides, dict)
    typer.echo(
        f"{name}: {counts['names']} published, {counts['explained']} of them ours or excluded for a good reason; "
        + ", ".join(f"{number} {side.replace('_', ' ')}" for side, number in sides.items())
    )
    different = [row for row in rows if row.side != "both"]
    for row in sorted(different, key=lambda row: (row.side == "ours_only", row.reason, row.api))[:SHOWN]:
        typer.echo(f"    {row.side:13} {row.api}: {words_of(row.reason)} ({row.detail})")
    if len(different) > SHOWN:
        typer.echo(f"    ... and {len(different) - SHOWN} more (--json has them all)")
