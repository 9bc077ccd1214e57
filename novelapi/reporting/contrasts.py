"""Which runs are compared with which: one family of planned comparisons per question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from novelapi.records.base import Record
from novelapi.reporting.runs import PROMPTED, Run

Family = Literal["over_baseline", "full_over_s_name", "added", "delivery", "method", "own_weights", "over_copy", "pair"]

QUESTIONS: dict[Family, str] = {
    "over_baseline": "over no knowledge",
    "full_over_s_name": "over the name alone",
    "added": "one component more",
    "delivery": "over the oracle's knowledge",
    "method": "changed weights over unchanged ones, with knowledge",
    "own_weights": "changed weights over unchanged ones, without knowledge",
    "over_copy": "over the copy baseline",
    "pair": "over the first run",
}
"""What each family asks, as a reader sees it."""

PRIMARY: tuple[Family, ...] = ("over_baseline", "full_over_s_name", "pair")
"""Families that are repeated on subsets of the tasks, to see what doubtful rows do to them."""

FLOWING: tuple[Family, ...] = ("over_baseline", "full_over_s_name", "delivery", "method", "own_weights")
"""Families for which it is shown where outcomes go."""

ADDED = (
    ("s_name", "s"),
    ("s", "s_m_prose"),
    ("s", "s_m_code"),
    ("s", "s_e"),
    ("e", "s_e"),
    ("s_e", "s_e_m_code"),
    ("s_e", "full"),
)
"""Pairs of conditions of which the second gives more than the first."""

CONTROL = "copy"
"""The model that only re-arranges what its prompt contains."""


class Contrast(Record):
    """A planned comparison of two runs."""

    family: Family
    """The question it belongs to; p-values are adjusted within a family, a model and a delivery."""

    first: int
    """Position of the run that is subtracted."""

    second: int
    """Position of the run that is subtracted from."""


def planned_contrasts(runs: Sequence[Run]) -> list[Contrast]:
    """Return the comparisons that the runs allow, family by family, in the order of the runs."""
    where = {(run.experiment, run.delivery, run.condition): i for i, run in reversed(list(enumerate(runs)))}
    copies = {(_group(run), run.delivery, run.condition): i for i, run in enumerate(runs) if run.model == CONTROL}
    planned: dict[Family, list[tuple[int, int]]] = {family: [] for family in QUESTIONS}
    for index, run in enumerate(runs):
        if not run.is_cell:
            continue
        base = baseline_of(runs, run)
        if base is not None and base != index:
            planned["over_baseline"].append((base, index))
        for family, first in _others(run, where):
            planned[family].append((first, index))
        control = copies.get((_group(run), run.delivery, run.condition))
        if control is not None and run.model != CONTROL:
            planned["over_copy"].append((control, index))
    return [Contrast(family=family, first=a, second=b) for family, pairs in planned.items() for a, b in pairs]


def _others(run: Run, where: dict[tuple[str, str, str], int]) -> Iterator[tuple[Family, int]]:
    """Yield what a run is compared with inside its experiment, besides the baseline."""
    asked: list[tuple[Family, str, str]] = []
    if run.condition == "full":
        asked.append(("full_over_s_name", run.delivery, "s_name"))
    for less, more in ADDED:
        if run.condition == more:
            asked.append(("added", run.delivery, less))
    if run.delivery == "rag" and run.condition != "baseline":
        asked.append(("delivery", "oracle", run.condition))
    elif run.delivery not in PROMPTED:
        asked.append(("own_weights" if run.condition == "baseline" else "method", "oracle", run.condition))
    for family, delivery, condition in asked:
        index = where.get((run.experiment, delivery, condition))
        if index is not None:
            yield family, index


def family_of(runs: Sequence[Run], contrast: Contrast, subset: str) -> tuple[str, ...]:
    """Return the family within which a p-value is adjusted.

    Methods that change the weights answer one question together; otherwise each delivery asks its own.
    """
    run = runs[contrast.second]
    delivery = "" if contrast.family in ("method", "own_weights") else run.delivery
    return (contrast.family, subset, run.experiment, delivery)


def _group(run: Run) -> str:
    named = run.spec.get("group")
    return named if isinstance(named, str) and named else run.experiment.removesuffix(f"-{run.model}")


def baseline_of(runs: Sequence[Run], run: Run) -> int | None:
    """Return the run without any knowledge and with the model's own weights; null when it is not there.

    Without knowledge in the prompt nothing is left to deliver, so the baseline of any delivery that leaves the weights
    alone serves; a delivery that changes the weights falls back on its own run without knowledge.
    """
    if not run.is_cell:
        return None
    for delivery in dict.fromkeys((run.delivery, *PROMPTED) if run.delivery in PROMPTED else (*PROMPTED, run.delivery)):
        index = _find(runs, run.experiment, delivery, "baseline")
        if index is not None:
            return index
    return None


def _find(runs: Sequence[Run], experiment: str, delivery: str, condition: str) -> int | None:
    wanted = (experiment, delivery, condition)
    return next((i for i, run in enumerate(runs) if (run.experiment, run.delivery, run.condition) == wanted), None)
