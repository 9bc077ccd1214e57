"""What the model knew beforehand, beside what it solves: pass@1 where the probe found the call name, and where not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from novelapi.records.base import Record
from novelapi.records.task import Task
from novelapi.reporting.columns import RUN_COLUMNS, run_cells
from novelapi.reporting.estimates import estimate_pass
from novelapi.reporting.outcomes import Outcomes
from novelapi.reporting.rows import Rows
from novelapi.reporting.stats.intervals import Interval
from novelapi.reporting.stats.resampling import SEED
from novelapi.reporting.table import Column, Table, make_table

if TYPE_CHECKING:
    from novelapi.reporting.analysis import Analysis


class Probed(Record):
    """Novelty probes and success of one run."""

    run: int
    """Position of the run."""

    tasks: int
    """Tasks asked whose API was probed."""

    apis: int
    """APIs of these tasks."""

    path: float
    """Share of these APIs whose import path the model gave."""

    name: float
    """Share of these APIs whose call name the model gave."""

    known: Interval
    """pass@1 on tasks whose call name it gave."""

    unknown: Interval
    """pass@1 on the others."""


def read_probed(rows: Rows, outcomes: Outcomes, seed: int = SEED) -> list[Probed]:
    """Split the tasks of each run by what the probe of its own instance found; runs without probes are left out."""
    instances = dict(zip(rows.files, rows.instances, strict=True))
    by_instance = {path: _split(rows, tasks, outcomes, seed) for path, tasks in instances.items()}
    found: list[Probed] = []
    for index, path in enumerate(rows.files):
        split = by_instance[path]
        if split is not None:
            facts, known, unknown = split
            found.append(Probed(run=index, **facts, known=known[index], unknown=unknown[index]))
    return found


def chosen_by_failure(tasks: Iterable[Task]) -> bool:
    """Whether gate C2 kept any of these tasks because a model failed it without knowledge."""
    return any(_novelty_gate(task).get("passes") == 0 for task in tasks)


def probe_of(task: Task) -> dict[str, Any] | None:
    """Return what the probe beside gate C2 recorded of the task's API; null where none was asked."""
    probe = _novelty_gate(task).get("probe")
    return probe if isinstance(probe, dict) else None


def _novelty_gate(task: Task) -> dict[str, Any]:
    gates = task.provenance.get("gates")
    novelty = gates.get("C2") if isinstance(gates, dict) else None
    return novelty if isinstance(novelty, dict) else {}


def _split(
    rows: Rows, tasks: Mapping[str, Task], outcomes: Outcomes, seed: int
) -> tuple[dict[str, Any], list[Interval], list[Interval]] | None:
    """Return shares over APIs, and pass@1 of all runs on the tasks with and without the call name."""
    probes = {task_id: probe for task_id, task in tasks.items() if (probe := probe_of(task)) is not None}
    if not probes:
        return None
    named = {task_id for task_id, probe in probes.items() if probe.get("call_name")}
    masks = [np.array([task_id in chosen for task_id in rows.tasks]) for chosen in (named, probes.keys() - named)]
    known, unknown = estimate_pass(outcomes, masks, seed)
    apis = {tasks[task_id].api: probe for task_id, probe in probes.items()}
    facts = {
        "tasks": len(probes),
        "apis": len(apis),
        "path": sum(bool(probe.get("import_path")) for probe in apis.values()) / len(apis),
        "name": sum(bool(probe.get("call_name")) for probe in apis.values()) / len(apis),
    }
    return facts, known, unknown


def probe_table(analysis: Analysis) -> Table:
    """Return what the model knew of the APIs beforehand, and pass@1 with and without that."""
    rows = [
        {
            **run_cells(analysis.rows.runs[entry.run]),
            "apis": entry.apis,
            "path": entry.path,
            "name": entry.name,
            "known_tasks": entry.known.units,
            "known": entry.known.value,
            "known_low": entry.known.low,
            "known_high": entry.known.high,
            "unknown_tasks": entry.unknown.units,
            "unknown": entry.unknown.value,
            "unknown_low": entry.unknown.low,
            "unknown_high": entry.unknown.high,
        }
        for entry in analysis.probed
    ]
    columns = [
        *RUN_COLUMNS,
        Column(key="apis", title="APIs probed", kind="count"),
        Column(key="path", title="Import path known (%)", kind="share"),
        Column(key="name", title="Call name known (%)", kind="share"),
        Column(key="known_tasks", title="Scored, name known", kind="count"),
        Column(key="known", title="pass@1 (%)", kind="share"),
        Column(key="known_low", title="95 % from", kind="share"),
        Column(key="known_high", title="to", kind="share"),
        Column(key="unknown_tasks", title="Scored, not known", kind="count"),
        Column(key="unknown", title="pass@1 (%)", kind="share"),
        Column(key="unknown_low", title="95 % from", kind="share"),
        Column(key="unknown_high", title="to", kind="share"),
    ]
    note = (
        "Before the tasks were chosen, the model of the instance was asked once per API for import path and call name, "
        "from documentation in which both were masked. Tasks that it solves without knowledge are not in the instance."
    )
    return make_table("probes", "What the model knew beforehand", columns, rows, note)
