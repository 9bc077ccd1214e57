"""Writes a report: the page, its tables as csv and Markdown, its figures as svg and png."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from novelapi.fingerprint import file_digest
from novelapi.records.base import Record
from novelapi.reporting.analysis import Analysis, analyse_rows, without_rows
from novelapi.reporting.aside import Aside, Here
from novelapi.reporting.differences import OVERLAP_THRESHOLD
from novelapi.reporting.files import write_pieces, write_tables
from novelapi.reporting.findings import headline
from novelapi.reporting.html import render_page
from novelapi.reporting.notices import Notice
from novelapi.reporting.payload import collect_details
from novelapi.reporting.prose import page_title
from novelapi.reporting.rows import load_rows
from novelapi.reporting.runs import find_runs
from novelapi.reporting.stats.resampling import SEED
from novelapi.reporting.tables import build_tables

PAGE = "report.html"
MANY = 20_000
"""Rows from which on a second process pays, which takes a second of CPU to start."""

DETAILS_MB = 60.0
"""Size of the details that a page holds unless told otherwise; what does not fit stays in the run folders."""


class ReportSummary(Record):
    """What was written."""

    page: Path
    """The page."""

    sha256: str
    """Digest of the page."""

    tables: tuple[Path, ...]
    """Tables, csv and Markdown."""

    figures: tuple[Path, ...]
    """Figures, svg and png."""

    finding: str
    """The headline in words."""

    notices: tuple[str, ...]
    """What stands at the top of the page."""

    counts: dict[str, int]
    """Runs, tasks, APIs, samples, unscored and missing greedy samples."""

    partial: bool
    """Whether cells, tasks or verdicts are missing."""


def write_report(
    runs: Sequence[Path],
    out: Path,
    *,
    tasks: Path | None = None,
    title: str = "",
    threshold: float = OVERLAP_THRESHOLD,
    figures: bool = True,
    details_mb: float = DETAILS_MB,
    seed: int = SEED,
) -> ReportSummary:
    """Write the report of any number of runs.

    Args:
        runs: folders of runs, or of experiments.
        out: folder of the report, or the page itself when it ends in `.html` (tables and figures lie beside it).
        tasks: a task file for all runs; default: each manifest names its own.
        title: title of the page; default: the experiments.
        threshold: overlap above which a task counts as given away by the examples that were shown.
        figures: whether to draw svg and png files.
        details_mb: most megabytes of details (prompts, answers, evidence) in the page.
        seed: seed of replicates and permutations.

    Raises:
        UsageError: a folder holds no run.
        DataError: a file is broken, or runs disagree.
        PrerequisiteError: the extra `report` is not installed.
    """
    page = out if out.suffix == ".html" else out / PAGE
    found = find_runs(runs)
    rows = load_rows(found.runs, tasks)
    # Thousands of small products: more threads than one cost more than they bring (measured: twice the CPU seconds).
    with (Aside if len(rows.frame) >= MANY else Here)() as aside, threadpool_limits(limits=1, user_api="blas"):
        details = aside.begin(collect_details, rows, details_mb)
        analysis = analyse_rows(rows, found, threshold=threshold, seed=seed)
        drawing = aside.begin(_draw, without_rows(analysis), page.parent / "figures") if figures else None
        written = build_tables(analysis)
        packages, left_out = aside.result(details)
        notices = [Notice(kind="details", text=left_out)] if left_out else []
        pieces = render_page(analysis, written, packages, title=title or page_title(analysis), notices=notices)
        write_pieces(page, pieces)
        files = tuple(write_tables(written, page.parent / "tables"))
        drawn = aside.result(drawing) if drawing is not None else []
    first = headline(analysis)
    return ReportSummary(
        page=page,
        sha256=file_digest(page),
        tables=files,
        figures=tuple(drawn),
        finding=f"{first.lead} {first.text}",
        notices=tuple(notice.text for notice in (*analysis.notices, *notices)),
        counts=_counts(analysis),
        partial=any(summary.partial for summary in analysis.summaries)
        or any(notice.kind in ("missing", "partial", "torn") for notice in analysis.notices),
    )


def _counts(analysis: Analysis) -> dict[str, int]:
    return {
        "runs": len(analysis.rows.runs),
        "tasks": len(analysis.rows.tasks),
        "apis": len(set(analysis.outcomes.apis)),
        "samples": len(analysis.rows.frame),
        "unscored": sum(summary.unscored for summary in analysis.summaries),
        "missing": sum(summary.missing for summary in analysis.summaries),
    }


def _draw(analysis: Analysis, folder: Path) -> list[Path]:
    from novelapi.reporting.plots import write_figures  # noqa: PLC0415  matplotlib is slow to import

    return write_figures(analysis, folder)
