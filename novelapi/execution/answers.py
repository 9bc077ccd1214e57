"""What a run gave: answers, calls, how it ended; and whether an answer is the expected one."""

from __future__ import annotations

import binascii
import struct
from dataclasses import dataclass, field
from typing import Any, Literal

from novelapi.execution import values
from novelapi.records.verdict import CallRecord, ErrorEvidence

_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, struct.error, binascii.Error, RecursionError)


@dataclass(kw_only=True)
class Answer:
    """What one input gave: exactly one of value, opaque and error is set."""

    value: Any = None
    opaque: str | None = None
    kind: str | None = None
    error: ErrorEvidence | None = None

    @property
    def is_value(self) -> bool:
        """Whether there is a plain value."""
        return self.opaque is None and self.error is None

    def same_as(self, other: Answer, comparison: values.Comparison) -> bool:
        """Whether two answers are equal (for stub runs: any exception is another answer than any value)."""
        if self.is_value and other.is_value:
            return _difference(comparison, self.value, other.value) is None
        if self.error is not None and other.error is not None:
            return (self.error.type, self.error.message) == (other.error.type, other.error.message)
        return False


@dataclass(kw_only=True)
class Run:
    """Everything that was seen of one run of one piece of code."""

    stage: Literal["compile", "load", "entry", "run", "done"] = "compile"
    error: ErrorEvidence | None = None
    answers: list[Answer] = field(default_factory=list)
    calls: list[CallRecord] = field(default_factory=list)
    ended: str | None = None
    ended_detail: str = ""
    infra: str | None = None
    output: str = ""
    surveys: list[Any] = field(default_factory=list)
    """Per target its kind and the paths of its namesakes, when asked for."""
    modules: frozenset[str] = frozenset()
    """What was imported in the end, when asked for (of references only)."""
    stubbed: bool = False
    """Whether the result of at least one remote call was replaced."""
    cpu_ms: float = 0.0
    wall_ms: float = 0.0
    peak_kb: int = 0


def verdict_on(answer: Answer, expected: values.Tree, comparison: values.Comparison) -> str | None:
    """Return why an answer is wrong, in words; null when it is right."""
    wanted = values.raises(expected)
    if wanted is not None:
        kind, message = wanted
        if answer.error is None:
            return f"no exception, expected {kind}"
        names = [answer.error.type, *answer.error.bases]
        if kind not in names and kind not in [name.rsplit(".", 1)[-1] for name in names]:
            return f"raised {answer.error.type}, expected {kind}"
        if message is not None and message != answer.error.message:
            return f"raised with another message: {answer.error.message[:200]}"
        return None
    if answer.error is not None:
        return f"raised {answer.error.type}: {answer.error.message[:200]}"
    if answer.opaque is not None:
        return answer.opaque
    return _difference(comparison, expected, answer.value)


def _difference(comparison: values.Comparison, expected: values.Tree, actual: values.Tree) -> str | None:
    try:
        return comparison.difference(expected, actual)
    except _MALFORMED as error:
        return f"the answer is malformed ({type(error).__name__})"
