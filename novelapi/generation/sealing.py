"""What the author of tasks does with inputs that were chosen and a task that was accepted."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from novelapi.execution.answers import Answer
from novelapi.execution.harness import Harness, comparison_of
from novelapi.generation import trials
from novelapi.generation.drafts import REFUSED
from novelapi.records.task import Task, TaskInput, Tolerance

NO_TASK = {
    "raised_not_called": "an exception or warning class: it is raised, not called",
    "set_apart": "the catalogue sets it apart",
}
"""Tags of candidates of which no task is made, with the reason."""

GUARDABLE = frozenset(
    {
        "too few inputs with different answers",
        "inputs cannot be varied",
        "the result only repeats the arguments",
        "an option has no visible effect",
        "the change has no visible effect",
    }
)
"""Reasons that refused inputs, as answers, may take away."""

_BOOKKEEPING = frozenset(
    "success status message nfev njev nhev nit niter nlev error errors maxlevel converged iterations function_calls"
    " flag fun_calls execution_time".split()
)
"""Attributes of results that tell how an algorithm went, not what it found; many differ between machines."""
_ANY_ORDER = re.compile(r"(?:not |no )(?:in )?(?:any |a )?(?:specific|particular|guaranteed) order|order is (?:not|un)")
"""Documentation of a result whose order means nothing."""


def telling(names: Sequence[str], documented: str | None) -> list[str]:
    """Return the attributes of a result that say what was found, those that the documentation names first."""
    kept = [name for name in names if name not in _BOOKKEEPING]
    return sorted(kept, key=lambda name: not re.search(rf"\b{re.escape(name)}\b", documented or ""))


def order_is_free(documented: str | None) -> bool:
    """Return whether the documentation of a result says that its order means nothing."""
    return bool(_ANY_ORDER.search(documented or ""))


class Rejected(Exception):  # noqa: N818 - a decision, no error
    """A draft that does not become a task; the text is a short reason."""


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """Inputs that were chosen, with the reference's answers."""

    inputs: tuple[TaskInput, ...]
    """The inputs, the visible one first."""
    values: tuple[Any, ...]
    """The answers, in the same order."""


def with_target(item: TaskInput, value: Any, *, mask: int | None = None) -> TaskInput:
    """Add an empty array of the result's shape and type, and before it one of booleans if asked.

    Args:
        item: the input.
        value: the result on it, as plain data.
        mask: which places are left out, every third one from here on; null for no mask.

    Raises:
        Rejected: the result is no array of numbers.
    """
    if not isinstance(value, dict) or value.get("$") != "ndarray" or not isinstance(value["dtype"], str):
        raise Rejected("the result is no array")
    shape = tuple(value["shape"])
    args = [f"np.zeros({shape}, dtype={value['dtype'].lstrip('<>|=')!r})"]
    if mask is not None:
        places = [number % 3 != mask % 3 for number in range(math.prod(shape))]
        args.insert(0, f"np.array({places}){'' if len(shape) == 1 else f'.reshape({shape})'}")
    return item.model_copy(update={"args": (*item.args, *args)})


def same_answers(task: Task, answers: list[Answer]) -> bool:
    """Return whether answers are all as expected."""
    assert task.expected is not None
    comparison = comparison_of(task)
    return all(
        answer.is_value and comparison.difference(value, answer.value) is None
        for answer, value in zip(answers, task.expected, strict=True)
    )


def refused_early(task: Task, harness: Harness) -> bool:
    """Return whether an input is answered with a refusal that is not the target's: it is never called there."""
    reached = set(harness.called[0])
    return -1 not in reached and any(
        value == REFUSED and index not in reached for index, value in enumerate(task.expected or ())
    )


def tolerance(values: tuple[Any, ...]) -> Tolerance | None:
    """Return the tolerance that the numbers in answers ask for; null where all are exact."""
    kind = trials.inexact(list(values))
    if kind is None:
        return None
    return Tolerance(rtol=1e-4, atol=1e-6) if kind == "single" else Tolerance(rtol=1e-6, atol=1e-9)


DETERMINISTIC: Mapping[str, Any] = {"author": "deterministic"}
"""Who wrote a task that no model wrote."""


def sealed(task: Task, origin: str, seed: str, harness: Harness, author: Mapping[str, Any]) -> Task:
    """Add what was found by running: expected values, integrity, provenance."""
    provenance = {
        **author,
        "example": origin,
        "seed": seed,
        "integrity": harness.integrity_reason,
        "stub": harness.stub,
    }
    return task.model_copy(
        update={"expected": harness.expected, "integrity": harness.integrity, "provenance": provenance}
    )


def short(text: str) -> str:
    """Reduce a harness error to its kind."""
    for words in ("does not depend on", "never calls", "no plain answer", "is not the one", "does not run"):
        if words in text:
            return (
                f"the reference {words} (the target)"
                if "calls" in words or "depend" in words
                else f"the reference's answer {words}"
            )
    return "the harness refuses the task"
