"""Which APIs the samples of each run chose: the selection score over runs, with two trivial programs beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import polars as pl

from novelapi.catalog import find_library
from novelapi.discovery.surface.model import load_surface
from novelapi.errors import UnknownNameError
from novelapi.evaluation.known_names import SurfaceNames
from novelapi.evaluation.selection import Selection, called_apis, select, trivial_baselines
from novelapi.fingerprint import text_digest
from novelapi.layout import Layout
from novelapi.records.base import Record
from novelapi.records.task import Task
from novelapi.reporting.lines import LineFile
from novelapi.reporting.notices import Notice
from novelapi.reporting.rows import Rows
from novelapi.reporting.runs import RESULTS
from novelapi.reporting.text import count

MOST_SAMPLES = 10_000
"""Samples are parsed one by one (0.3 ms of CPU each); of more, those of some tasks are, and the report says so."""

NOT_REACHED = ("WrongSyntax", "WrongImport", "WrongAPISelection")
"""Labels that say that the target was not called."""


_Sample = tuple[str, str, frozenset[str]]
"""Task, code that ran, and targets whose call the spy saw: all that a selection depends on."""


class Selected(Record):
    """The selection score of one run, or of a trivial program on its tasks."""

    run: int | None
    """Position of the run; null for a trivial program."""

    program: str
    """Name of the trivial program; empty for a run."""

    samples: int
    """Scored greedy samples: the denominator."""

    precision: float
    """Mean share of the called APIs that the reference calls too."""

    recall: float
    """Mean share of the reference's APIs that are called."""

    f1: float
    """Mean harmonic mean of both."""

    exact: float
    """Share of samples that call exactly what the reference calls."""

    hallucinated: float
    """Share of samples with a name that the release does not have."""

    stale: float
    """Share of samples with a name that only the old release has."""

    agreement: float | None
    """Share of samples in which "the target is not called" and the label say the same; null for a program."""


@dataclass(frozen=True, kw_only=True)
class _Expectation:
    task: Task
    names: frozenset[str]
    targets: frozenset[str]
    packages: frozenset[str]
    known: SurfaceNames
    old: SurfaceNames | None


def read_selected(rows: Rows, most: int = MOST_SAMPLES) -> tuple[list[Selected], list[Notice]]:
    """Score what the greedy samples chose; nothing where no surface is at hand.

    Args:
        rows: the rows of a report.
        most: of more greedy samples than this, those of as many tasks as fit are scored, the same in all runs.

    Returns:
        The scores, and a notice where not all tasks are in them.
    """
    homes = {home for run in rows.runs if (home := Layout.home_of(run.folder)) is not None}
    if len(homes) != 1:
        return [], []
    layout = Layout(homes.pop())
    known = {
        task_id: found for task_id, task in rows.tasks.items() if (found := _expectation(task, layout)) is not None
    }
    if not known:
        return [], []
    expectations = {task_id: known[task_id] for task_id in _fitting(rows, sorted(known, key=text_digest), most)}
    notices: list[Notice] = []
    if len(expectations) < len(known):
        text = (
            f"The table of chosen APIs rests on {count(len(expectations))} of {count(len(known))} tasks, drawn by a "
            "hash of their ids: code is parsed sample by sample. All other numbers rest on all tasks."
        )
        notices.append(Notice(kind="details", text=text))
    scored: dict[_Sample, Selection] = {}
    found = [
        entry for index in range(len(rows.runs)) if (entry := _of_run(rows, index, expectations, scored)) is not None
    ]
    baselines = trivial_baselines({task_id: sorted(entry.names) for task_id, entry in expectations.items()})
    return found + [_mean(None, name, selections, []) for name, selections in baselines.items()], notices


def _fitting(rows: Rows, task_ids: Sequence[str], most: int) -> list[str]:
    """Return the first tasks whose greedy samples, over all runs, are not more than `most`; at least one task."""
    greedy = rows.frame.filter(pl.col("sample") == 0).group_by("task_id").len()
    samples = dict(greedy.iter_rows())
    total = 0
    for place, task_id in enumerate(task_ids):
        total += samples.get(task_id, 0)
        if total > most:
            return list(task_ids[: max(place, 1)])
    return list(task_ids)


def _of_run(
    rows: Rows, index: int, expectations: dict[str, _Expectation], scored: dict[_Sample, Selection]
) -> Selected | None:
    """Score one run; `scored` holds what other runs answered, since several conditions often get the same answer."""
    file = LineFile(rows.runs[index].folder / RESULTS)
    greedy = rows.of(index).filter((rows.of(index)["sample"] == 0) & (rows.of(index)["outcome"] != "unscored"))
    selections: list[Selection] = []
    agreements: list[bool] = []
    for task_id, label, start, end in greedy.select("task_id", "label", "start", "end").iter_rows():
        wanted = expectations.get(task_id)
        if wanted is None:
            continue
        row = json.loads(file.slice(start, end))
        code = row["evidence"].get("code", "")
        seen = frozenset(call["api"] for call in row.get("calls", ()) if call.get("origin") == "completion")
        chosen = scored.get((task_id, code, seen)) or _score(wanted, code, seen)
        scored[task_id, code, seen] = chosen
        selections.append(chosen)
        agreements.append((not wanted.targets <= set(chosen.called)) == (label in NOT_REACHED))
    return _mean(index, "", selections, agreements) if selections else None


def _score(wanted: _Expectation, code: str, seen: frozenset[str]) -> Selection:
    return select(
        code,
        context=wanted.task.context_code,
        entry_point=wanted.task.entry_point,
        expected=wanted.names,
        packages=wanted.packages,
        known=wanted.known,
        old=wanted.old,
        seen=[wanted.known.canonical(api) or api for api in seen],
    )


def _mean(run: int | None, program: str, selections: Sequence[Selection], agreements: Sequence[bool]) -> Selected:
    size = len(selections)
    return Selected(
        run=run,
        program=program,
        samples=size,
        precision=sum(entry.precision for entry in selections) / size,
        recall=sum(entry.recall for entry in selections) / size,
        f1=sum(entry.f1 for entry in selections) / size,
        exact=sum(entry.exact for entry in selections) / size,
        hallucinated=sum(bool(entry.hallucinated) for entry in selections) / size,
        stale=sum(bool(entry.stale) for entry in selections) / size,
        agreement=sum(agreements) / size if agreements else None,
    )


def _expectation(task: Task, layout: Layout) -> _Expectation | None:
    try:
        library = find_library(task.library)
    except UnknownNameError:
        return None
    known = _names(layout.surface(library.store, task.release))
    if known is None:
        return None
    gate = task.provenance.get("gates", {}).get("C0")
    release = gate.get("old_release") if isinstance(gate, dict) else None
    old = _names(layout.surface(library.store, release)) if isinstance(release, str) else None
    packages = frozenset(library.imports or (task.api.split(".")[0],))
    targets = frozenset(known.canonical(call.api) or call.api for call in task.calls)
    called = called_apis(task.reference_solution, task.context_code, task.entry_point, packages, known)
    return _Expectation(task=task, names=called | targets, targets=targets, packages=packages, known=known, old=old)


@lru_cache(maxsize=64)
def _names(path: Path) -> SurfaceNames | None:
    surface = load_surface(path) if path.exists() else None
    return None if surface is None else SurfaceNames(surface)
