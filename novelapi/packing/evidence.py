"""What a finished run says about each task: whether it passed under which knowledge, and what that knowledge costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from novelapi.discovery.stage import STAGE, read_candidates
from novelapi.errors import UsageError
from novelapi.filters.stage import read_bundles
from novelapi.fingerprint import text_digest
from novelapi.layout import Layout
from novelapi.packing.sections import first_sentence
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.cell import Condition
from novelapi.records.task import Task
from novelapi.reporting.rows import Rows, load_rows
from novelapi.reporting.runs import Run, find_runs

FOLDS = 2
"""Tasks of one API are dealt out in turn, so that an API with two tasks is in both halves."""


@dataclass(frozen=True, kw_only=True)
class RunEvidence:
    """The outcomes of a run by task, and the knowledge that was given."""

    experiment: str
    group: str
    model: str
    revision: str
    tasks: Mapping[str, Task]
    """Tasks that every cell has a verdict on."""
    passed: Mapping[str, Mapping[str, bool]]
    """Condition -> task -> whether the greedy answer passed with the target's own bundle."""
    bundles: Mapping[str, KnowledgeBundle]
    purposes: Mapping[str, str]
    """What each API is for: the first sentence of its documentation."""
    fold: Mapping[str, int]
    """Which half a task belongs to."""
    unscored: int
    """Tasks that some cell has no verdict on: they are left out."""
    together: Mapping[str, bool] | None
    """Outcomes of the delivery `pack`, null where it has not been run."""
    pack_digest: str | None
    """The pack that it was run with."""

    def by_api(self) -> dict[str, list[str]]:
        """Return the tasks of each API."""
        found: dict[str, list[str]] = {}
        for task_id in sorted(self.tasks):
            found.setdefault(self.tasks[task_id].api, []).append(task_id)
        return found


def read_run(folder: Path) -> RunEvidence:
    """Read the cells of an experiment.

    Raises:
        UsageError: there is no baseline, no condition, or more than one experiment.
        DataError: a file of the run is broken.
    """
    runs = find_runs([folder]).runs
    cells = [run for run in runs if run.delivery == "oracle" and not run.partial]
    conditions = {run.condition: run for run in cells}
    if len({run.experiment for run in runs}) != 1 or "baseline" not in conditions or len(conditions) < 2:
        raise UsageError(
            f"{folder} is no finished experiment with a baseline and other oracle cells: finish it with `novelapi run`"
        )
    home = Layout.home_of(conditions["baseline"].folder)
    if home is None:
        raise UsageError(f"{folder} lies outside a results folder: the bundles that it used cannot be found")
    measured = next((run for run in runs if run.delivery == "pack" and not run.partial), None)
    chosen = [*cells, *([measured] if measured else [])]
    rows = load_rows(chosen)
    outcomes = [_outcomes(rows, place) for place in range(len(chosen))]
    complete = set.intersection(*(set(found) for found in outcomes[: len(cells)]))
    spec = conditions["baseline"].spec
    layout = Layout(home)
    libraries = sorted({rows.tasks[task_id].library for task_id in complete})
    source = str(spec.get("source") or spec["model"])
    return RunEvidence(
        experiment=conditions["baseline"].experiment,
        group=str(spec["group"]),
        model=str(spec["model"]),
        revision=str(spec["model_revision"]),
        tasks={task_id: rows.tasks[task_id] for task_id in sorted(complete)},
        passed={run.condition: found for run, found in zip(cells, outcomes, strict=False)},
        bundles={api: item for name in libraries for api, item in read_bundles(layout, name, source).items()},
        purposes=_purposes(layout, libraries, source),
        fold=_folds([rows.tasks[task_id] for task_id in complete]),
        unscored=len(rows.tasks) - len(complete),
        together=outcomes[-1] if measured else None,
        pack_digest=_pack_of(measured) if measured else None,
    )


def _outcomes(rows: Rows, run: int) -> dict[str, bool]:
    """Return the verdicts on the greedy answers of one run."""
    frame = rows.of(run).filter((pl.col("sample") == 0) & (pl.col("outcome") != "unscored"))
    return {task: outcome == "pass" for task, outcome in frame.select("task_id", "outcome").iter_rows()}


def _purposes(layout: Layout, libraries: Sequence[str], model: str) -> dict[str, str]:
    rows = [row for name in libraries for row in read_candidates(layout.stage(name, STAGE, model))]
    return {row.api: first_sentence(row.docstring) for row in rows}


def _pack_of(run: Run) -> str | None:
    retrieval = run.spec.get("retrieval")
    return retrieval.get("documents") if isinstance(retrieval, dict) else None


def _folds(tasks: Sequence[Task]) -> dict[str, int]:
    """Deal the tasks of each API out to the halves, in the order of digests; the first half changes from API to API."""
    by_api: dict[str, list[str]] = {}
    for task in tasks:
        by_api.setdefault(task.api, []).append(task.task_id)
    return {
        task_id: (place + int(text_digest(api), 16)) % FOLDS
        for api, own in by_api.items()
        for place, task_id in enumerate(sorted(own, key=text_digest))
    }


CONDITIONS: tuple[Condition, ...] = (
    "s_name", "e", "m_prose", "m_code", "s", "s_m_prose", "s_m_code", "s_m_prose_m_code", "s_e", "s_e_m_code", "full",
)  # fmt: skip
"""What a section may hold, cheapest in components first."""
