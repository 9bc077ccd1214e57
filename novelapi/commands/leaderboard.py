"""`novelapi leaderboard`: complete runs of the same tasks, ranked as far as the tasks tell them apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("leaderboard")(leaderboard)


def leaderboard(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, or of experiments.")],
    out: Annotated[Path, typer.Option(help="Folder, or page (.html); tables lie beside it.")],
    tasks: Annotated[Path | None, typer.Option(help="Task file, where the manifests do not name it.")] = None,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Leaderboard",
    seed: Annotated[int, typer.Option(help="Seed of intervals and tests.")] = 20260912,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Rank runs of the same tasks with intervals, and say which are not shown to differ; partial runs are refused."""
    from novelapi.reporting import write_leaderboard
    from novelapi.reporting.leaderboard import describe, rank_text
    from novelapi.reporting.text import percent, plain

    board = write_leaderboard(runs, out, tasks=tasks, title=title, seed=seed)
    if as_json:
        typer.echo(board.model_dump_json(indent=2))
        return
    for notice in board.notices:
        typer.echo(f"! {notice}", err=True)
    for place in board.places:
        found = place.pass_at_1
        sure = "no interval" if found.low is None else f"{percent(found.low)} to {percent(found.high)}"
        typer.echo(f"{rank_text(place):>7}  {percent(found.value):>5} % ({sure})  {plain(place.run)}")
    typer.echo(plain(describe(board)))
    typer.echo(f"leaderboard {board.page}")
