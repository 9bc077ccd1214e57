"""Which runs are compared with which: every condition with the baseline, and `full` with the name alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from novelapi.records.base import Record
from novelapi.reporting.runs import PROMPTED, Run

Family = Literal["over_baseline", "full_over_s_name", "pair"]


class Contrast(Record):
    """A planned comparison of two runs."""

    family: Family
    """The question it belongs to; p-values are adjusted within a family, a model and a delivery."""

    first: int
    """Position of the run that is subtracted."""

    second: int
    """Position of the run that is subtracted from."""


def planned_contrasts(runs: Sequence[Run]) -> list[Contrast]:
    """Return the comparisons that the runs allow, in the order of the runs."""
    contrasts: list[Contrast] = []
    for index, run in enumerate(runs):
        base = baseline_of(runs, run)
        if base is not None and base != index:
            contrasts.append(Contrast(family="over_baseline", first=base, second=index))
    for index, run in enumerate(runs):
        name = _find(runs, run.experiment, run.delivery, "s_name")
        if run.condition == "full" and name is not None:
            contrasts.append(Contrast(family="full_over_s_name", first=name, second=index))
    return contrasts


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
