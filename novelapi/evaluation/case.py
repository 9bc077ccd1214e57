"""One failed sample with everything that the label rules look at."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from novelapi.evaluation import program, reach
from novelapi.execution.harness import Harness
from novelapi.records.task import Task
from novelapi.records.verdict import CallRecord, ErrorEvidence, Label, Observation


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """A label and its reason in one line."""

    label: Label
    reason: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """One failed sample with everything that the rules look at."""

    task: Task
    harness: Harness
    seen: Observation
    tree: ast.Module | None
    context: ast.Module | None

    @property
    def failing_input(self) -> int | None:
        """Index of the first failing input; null if the completion did not load, or all answers are right."""
        for found in self.seen.inputs:
            if not found.equal:
                return found.index
        return len(self.seen.inputs) if self.seen.ended and self.seen.stage == "run" else None

    @property
    def error(self) -> ErrorEvidence | None:
        """The exception that ended the loading or the first failing input."""
        if self.seen.error is not None:
            return self.seen.error
        index = self.failing_input
        if index is None or index >= len(self.seen.inputs):
            return None
        return self.seen.inputs[index].error

    @property
    def calls(self) -> list[CallRecord]:
        """Calls of the targets up to and in the first failing input."""
        index = self.failing_input
        if index is None:
            return list(self.seen.calls)
        return [call for call in self.seen.calls if call.input is None or call.input <= index]

    @property
    def reaches(self) -> bool:
        """Whether the source holds a reachable call that resolves to a target."""
        if self.tree is None:
            return False
        return any(reach.reaches_target(self.tree, self.context, goal) for goal in self.goals)

    @property
    def goals(self) -> list[program.Goal]:
        """What the program should call."""
        found: list[program.Goal] = []
        for number, call in enumerate(self.task.calls):
            kind = self.harness.kinds[number] if number < len(self.harness.kinds) else ""
            namesakes = self.harness.namesakes[number] if number < len(self.harness.namesakes) else ()
            found.append(
                program.Goal(
                    api=call.api, method=kind in ("method", "classmethod", "property"), namesakes=frozenset(namesakes)
                )
            )
        return found


def short(error: ErrorEvidence | None) -> str:
    """Return an exception in one line."""
    if error is None:
        return "no exception"
    message = " ".join(error.message.split())
    return f"{error.type.rsplit('.', 1)[-1]}: {message[:160]}" if message else error.type.rsplit(".", 1)[-1]
