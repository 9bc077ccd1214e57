"""`novelapi status GRID`: which cells are finished, begun and missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from novelapi.commands._shared import JsonOption, print_json

if TYPE_CHECKING:
    from novelapi.grid.status import CellStatus


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(status)


def status(
    grid: Annotated[str, typer.Argument(metavar="GRID", help="Experiment, such as numpy-copy.")],
    as_json: JsonOption = False,
) -> None:
    """Show how far a grid is, from its folders: while it runs, after a kill, or when it is done."""
    from novelapi.grid.status import grid_status
    from novelapi.layout import Layout
    from novelapi.settings import load_settings

    found = grid_status(Layout(load_settings().home_dir), grid)
    if as_json:
        print_json(found.to_row())
        return
    for cell in found.cells:
        typer.echo(f"{cell.cell:28} {cell.state:9} {_numbers(cell)}".rstrip())
    states = ("finished", "begun", "missing")
    typer.echo(f"{found.experiment}: {', '.join(f'{found.count(state)} {state}' for state in states)}")


def _numbers(cell: CellStatus) -> str:
    if cell.state == "missing":
        return ""
    unscored = f", {cell.unscored} unscored" if cell.unscored else ""
    limited = ", limited on purpose" if cell.partial else ""
    return f"pass {cell.passed} of {cell.passed + cell.failed}{unscored}{limited}"
