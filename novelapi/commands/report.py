"""`novelapi report`: the page, tables and figures of any number of runs."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from novelapi.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("report")(report)


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders of runs, or of experiments, which are all cells in them.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder, or page (.html). [default: analysis/ beside results/]", show_default=False),
    ] = None,
    tasks: Annotated[Path | None, typer.Option(help="Task file, where the manifests do not name it.")] = None,
    title: Annotated[str, typer.Option(help="Title of the page.", show_default="the experiments")] = "",
    overlap: Annotated[
        float, typer.Option(help="Overlap of reference and examples above which a task is left out.", min=0, max=1)
    ] = 0.8,
    details_mb: Annotated[float, typer.Option(help="Most megabytes of prompts and answers in the page.", min=0)] = 60,
    figures: Annotated[bool, typer.Option(help="Also draw svg and png files.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of intervals and tests.")] = 20260912,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write one self-contained page with findings, figures and every sample, and its numbers as csv and Markdown."""
    with _no_collector():
        from novelapi.reporting import write_report

        summary = write_report(
            runs,
            out or _default_folder(runs),
            tasks=tasks,
            title=title,
            threshold=overlap,
            figures=figures,
            details_mb=details_mb,
            seed=seed,
        )
    if as_json:
        typer.echo(summary.model_dump_json(indent=2))
        return
    for notice in summary.notices:
        typer.echo(f"! {notice}", err=True)
    typer.echo(summary.finding)
    typer.echo(f"report  {summary.page}")
    typer.echo(f"tables  {summary.page.parent / 'tables'}")
    if summary.figures:
        typer.echo(f"figures {summary.page.parent / 'figures'}")


@contextmanager
def _no_collector() -> Generator[None]:
    """Let cycles be: the process ends soon, and looking for them costs a sixth of a small report (measured)."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _default_folder(paths: list[Path]) -> Path:
    """Return `analysis/{experiment}` beside the results.

    Raises:
        UsageError: the runs are of several experiments, or lie elsewhere.
    """
    from novelapi.layout import Layout
    from novelapi.reporting.runs import find_runs

    runs = find_runs(paths).runs
    homes = {Layout.home_of(run.folder) for run in runs}
    experiments = {run.experiment for run in runs}
    home = homes.pop() if len(homes) == 1 else None
    if home is None or len(experiments) != 1:
        raise UsageError("the runs belong to no single experiment below results/: say where to write with --out FOLDER")
    return Layout(home).analysis(experiments.pop())
