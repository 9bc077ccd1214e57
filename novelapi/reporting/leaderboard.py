"""A leaderboard: complete runs of the same tasks, ranked as far as the tasks can tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from threadpoolctl import threadpool_limits

from novelapi import __version__
from novelapi.errors import DataError, PartialError, UsageError
from novelapi.records.base import Record
from novelapi.reporting.checks import check_apis
from novelapi.reporting.columns import INTERVAL_COLUMNS, RUN_COLUMNS, interval_cells
from novelapi.reporting.differences import Difference, compare_pairs
from novelapi.reporting.estimates import estimate_runs
from novelapi.reporting.files import write_pieces, write_tables
from novelapi.reporting.outcomes import greedy_outcomes
from novelapi.reporting.rendering import page_style, page_template
from novelapi.reporting.rows import Rows, load_rows
from novelapi.reporting.runs import FoundRuns, find_runs
from novelapi.reporting.stats.intervals import Interval
from novelapi.reporting.stats.resampling import SEED
from novelapi.reporting.summary import summarise_run
from novelapi.reporting.table import Column, Table, make_table
from novelapi.reporting.text import join_words, percent, plain, plural

PAGE = "leaderboard.html"
ALPHA = 0.05
NOTE = (
    "A range of ranks begins after the runs that are shown to be better, and ends before those shown to be worse. Two "
    "runs differ when the clustered sign-flip test on their common tasks says so at 5 % after Holm over all pairs. "
    "Runs that are not shown to differ are not shown to be equal."
)


class Place(Record):
    """One run in the ranking."""

    run: str
    """Name of the run."""

    model: str
    """Model as the user named it; empty for predictions that came from elsewhere."""

    delivery: str
    """How knowledge was given."""

    condition: str
    """Which knowledge was given."""

    best: int
    """1 plus the number of runs that are shown to be better."""

    worst: int
    """Number of runs minus those that are shown to be worse."""

    pass_at_1: Interval
    """Share of tasks that pass, with its interval over APIs."""

    alike: tuple[str, ...]
    """Runs that are not shown to differ from this one."""


class Leaderboard(Record):
    """The ranking and what it rests on."""

    tasks: int
    """Tasks that every run was asked and that every run has scored."""

    apis: int
    """APIs of these tasks."""

    places: tuple[Place, ...]
    """The runs by pass@1, best first; equal ones by name."""

    pairs: tuple[Difference, ...]
    """Every pair: pass@1 of the later run minus the earlier one, in the order of the ranking."""

    notices: tuple[str, ...]
    """What a reader must know first."""

    page: Path | None = None
    """The page, once it is written."""


def rank_runs(paths: Sequence[Path], *, tasks: Path | None = None, seed: int = SEED) -> Leaderboard:
    """Rank runs of the same tasks.

    Args:
        paths: runs, or folders of runs.
        tasks: a task file for all of them; default: each manifest names its own.
        seed: seed of replicates and permutations.

    Raises:
        PartialError: a run is limited, unfinished, or has tasks without a verdict; all of them are named.
        DataError: runs were asked different tasks, or a file is broken.
        UsageError: fewer than two runs, or a folder holds none.
    """
    found = find_runs(paths, repeats=True)
    rows = load_rows(found.runs, tasks)
    _require_complete(rows, found)
    _require_alike(rows)
    with threadpool_limits(limits=1, user_api="blas"):
        return _ranked(rows, seed)


def write_leaderboard(
    paths: Sequence[Path], out: Path, *, tasks: Path | None = None, title: str = "", seed: int = SEED
) -> Leaderboard:
    """Rank runs, and write the page with its tables.

    Args:
        paths: runs, or folders of runs.
        out: folder, or the page itself when it ends in `.html`.
        tasks: a task file for all of them; default: each manifest names its own.
        title: title of the page.
        seed: seed of replicates and permutations.

    Raises:
        PartialError: see `rank_runs`; nothing is written then.
        DataError: see `rank_runs`.
        UsageError: see `rank_runs`.
    """
    board = rank_runs(paths, tasks=tasks, seed=seed)
    page = out if out.suffix == ".html" else out / PAGE
    tables = [place_table(board), pair_table(board)]
    context = {
        "title": plain(title) or "Leaderboard",
        "version": __version__,
        "style": page_style(),
        "board": board,
        "rows": [{**_track(place.pass_at_1), "place": place, "rank": rank_text(place)} for place in board.places],
        "sentence": describe(board),
        "tables": {table.name: table for table in tables},
    }
    write_pieces(page, page_template("leaderboard.html.j2").generate(context))
    list(write_tables(tables, page.parent / "tables"))
    return board.model_copy(update={"page": page})


def describe(board: Leaderboard) -> str:
    """Say in a sentence how far the tasks tell the runs apart."""
    shown = sum(not _is_alike(pair) for pair in board.pairs)
    first = board.places[0]
    head = f"{first.run} leads with {percent(first.pass_at_1.value)}\u00a0%"
    if first.alike:
        head += f", but is not shown to differ from {join_words(list(first.alike))}"
    return f"{head}. {shown} of {plural(len(board.pairs), 'pair')} of runs are shown to differ."


def rank_text(place: Place) -> str:
    """Return a rank as readers see it: `1`, or `2–4` where the tasks do not decide."""
    return str(place.best) if place.best == place.worst else f"{place.best}–{place.worst}"


def place_table(board: Leaderboard) -> Table:
    """Return the ranking as a table."""
    rows = [
        {
            **place.to_row(),
            "rank": rank_text(place),
            **interval_cells(place.pass_at_1),
            "pass_at_1": place.pass_at_1.value,
            "alike": ", ".join(place.alike),
        }
        for place in board.places
    ]
    columns = [
        Column(key="rank", title="Rank"),
        Column(key="run", title="Run"),
        *RUN_COLUMNS[1:],
        Column(key="pass_at_1", title="pass@1 (%)", kind="share"),
        *INTERVAL_COLUMNS,
        Column(key="alike", title="Not shown to differ from"),
    ]
    return make_table("leaderboard", "Leaderboard", columns, rows, NOTE)


def pair_table(board: Leaderboard) -> Table:
    """Return every pair of runs as a table."""
    rows = [
        {
            "first": first.run,
            "second": second.run,
            "pairs": pair.pairs,
            "gains": pair.gains,
            "losses": pair.losses,
            "difference": pair.interval.value,
            **interval_cells(pair.interval),
            "p": pair.p,
            "p_holm": pair.p_holm,
            "verdict": "not shown to differ" if _is_alike(pair) else "different",
        }
        for (first, second), pair in zip(combinations(board.places, 2), board.pairs, strict=True)
    ]
    columns = [
        Column(key="first", title="Run"),
        Column(key="second", title="Minus it"),
        Column(key="pairs", title="Tasks", kind="count"),
        Column(key="gains", title="Only the second", kind="count"),
        Column(key="losses", title="Only the first", kind="count"),
        Column(key="difference", title="Difference (points)", kind="difference"),
        Column(key="low", title="95 % from", kind="difference"),
        Column(key="high", title="to", kind="difference"),
        Column(key="p", title="p", kind="p"),
        Column(key="p_holm", title="p (Holm)", kind="p"),
        Column(key="verdict", title="Verdict"),
    ]
    note = "Intervals are of one pair each; the verdict is the adjusted test's."
    return make_table("pairs", "Every pair of runs", columns, rows, note)


def _require_complete(rows: Rows, found: FoundRuns) -> None:
    """Refuse what is partial, every such run by name."""
    partial = [f"{folder.name} (no results)" for folder in found.empty]
    for index, run in enumerate(rows.runs):
        summary = summarise_run(rows, index)
        reasons = [
            f"limited to {run.limit} tasks" if run.limit else "",
            "not finished" if run.manifest is None else "",
            f"{summary.missing} without a row" if summary.missing else "",
            f"{summary.unscored} unscored" if summary.unscored else "",
            "marked as partial" if run.manifest is not None and run.manifest.partial and not run.limit else "",
        ]
        if any(reasons):
            partial.append(f"{run.name} ({', '.join(reason for reason in reasons if reason)})")
    if partial:
        raise PartialError(
            f"only complete runs are ranked, and these are partial: {'; '.join(partial)}; finish them or leave them out"
        )


def _require_alike(rows: Rows) -> None:
    """Refuse fewer than two runs, and runs of different tasks."""
    first, ids = rows.runs[0], rows.asked_ids[0]
    if len(rows.runs) == 1:
        raise UsageError(f"a leaderboard needs at least two runs, and {first.name} is the only one; give more")
    for run, others in zip(rows.runs, rows.asked_ids, strict=True):
        if others != ids:
            apart = len(ids ^ others)
            raise DataError(
                f"{first.name} and {run.name} were asked different tasks ({apart} only in one of them); "
                "rank runs of one instance"
            )


def _ranked(rows: Rows, seed: int) -> Leaderboard:
    outcomes = greedy_outcomes(rows)
    passes = [estimate.pass_at_1 for estimate in estimate_runs(outcomes, seed)]
    order = sorted(range(len(rows.runs)), key=lambda index: (-(passes[index].value or 0.0), rows.runs[index].name))
    pairs = compare_pairs(outcomes, list(combinations(order, 2)), seed)
    better: dict[int, int] = dict.fromkeys(order, 0)
    worse: dict[int, int] = dict.fromkeys(order, 0)
    alike: dict[int, list[int]] = {index: [] for index in order}
    for (first, second), pair in zip(combinations(order, 2), pairs, strict=True):
        if _is_alike(pair):
            alike[first].append(second)
            alike[second].append(first)
        else:
            # The order follows pass@1, and all have scored the same tasks: the earlier run is the better one.
            better[second] += 1
            worse[first] += 1
    places = [
        Place(
            run=rows.runs[index].name,
            model=rows.runs[index].model,
            delivery=rows.runs[index].delivery,
            condition=rows.runs[index].condition,
            best=1 + better[index],
            worst=len(order) - worse[index],
            pass_at_1=passes[index],
            alike=tuple(rows.runs[other].name for other in sorted(alike[index], key=order.index)),
        )
        for index in order
    ]
    return Leaderboard(
        tasks=int(outcomes.scored.all(axis=1).sum()),
        apis=len(set(outcomes.apis)),
        places=tuple(places),
        pairs=tuple(pairs),
        notices=tuple(notice.text for notice in (*rows.notices, *check_apis(rows))),
    )


def _is_alike(pair: Difference) -> bool:
    return pair.p_holm is None or pair.p_holm > ALPHA


def _track(interval: Interval) -> dict[str, str]:
    """Places of value and interval on the axis, in percent."""
    value = interval.value or 0.0
    low, high = (value if bound is None else bound for bound in (interval.low, interval.high))
    return {
        "style": f"--v:{100 * value:.2f}%;--l:{100 * low:.2f}%;--h:{100 * high:.2f}%",
        "value": percent(interval.value),
        "range": "" if interval.low is None else f"{percent(interval.low)}–{percent(interval.high)}",
    }
