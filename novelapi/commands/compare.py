"""`novelapi compare`: what changed between two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from novelapi.reporting.comparison import Comparison

MOST_SHOWN = 40


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("compare")(compare)


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="Folder of the baseline.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="Folder of the new run.")],
    tasks: Annotated[Path | None, typer.Option(help="Task file, where the manifests do not name it.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the changed tasks to this file (.csv or .md).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show which tasks flipped between two runs, which labels changed, and how sure the difference is."""
    from novelapi.jsonl import write_text
    from novelapi.reporting import compare_runs
    from novelapi.reporting.comparison import flip_table
    from novelapi.reporting.table import to_csv, to_markdown

    comparison = compare_runs(first, second, tasks=tasks)
    if out is not None:
        table = flip_table(comparison)
        write_text(out, to_csv(table) if out.suffix == ".csv" else to_markdown(table))
    if as_json:
        typer.echo(comparison.model_dump_json(indent=2))
    else:
        _print(comparison)


def _print(comparison: Comparison) -> None:
    from novelapi.reporting.text import p_value, percent, plain, points

    for notice in comparison.notices:
        typer.echo(f"! {notice}", err=True)
    for summary in (comparison.first, comparison.second):
        scored = summary.passed + summary.failed
        unscored = f", {summary.unscored + summary.missing} unscored" if summary.unscored + summary.missing else ""
        typer.echo(f"{summary.run}: {percent(summary.pass_at_1)} % of {scored} tasks{unscored}")
    difference = comparison.difference
    interval = difference.interval
    sure = "one API, so no interval" if interval.low is None else f"{points(interval.low)} to {points(interval.high)}"
    typer.echo(
        f"difference {points(interval.value)} points (95 % interval {sure}; p {p_value(difference.p)}) "
        f"on {difference.pairs} tasks scored in both"
    )
    typer.echo(
        f"flips {comparison.verdict_flips} of {difference.pairs} ({percent(comparison.flip_rate)} %): "
        f"{difference.gains} newly solved, {difference.losses} no longer"
    )
    if comparison.only_first or comparison.only_second:
        only = f"{comparison.only_first} tasks only in the first, {comparison.only_second} only in the second"
        typer.echo(f"not compared: {only}")
    for flip in comparison.flips[:MOST_SHOWN]:
        typer.echo(f"  {flip.before:>17} → {flip.after:<17} {plain(flip.task_id)}")
    if len(comparison.flips) > MOST_SHOWN:
        typer.echo(f"  ... {len(comparison.flips) - MOST_SHOWN} more (--out FILE.csv writes all, --json prints all)")
