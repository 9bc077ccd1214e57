"""Runs code while a model is still being asked: programs of the tool `run`, and first answers on visible inputs.

Neither sees a hidden input or an expected value: a program runs alone, an answer runs on the inputs that its prompt
shows. Every result is kept in the cell's folder, so that a run that goes on asks the model the very same again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from novelapi import jsonl
from novelapi.errors import NovelApiError
from novelapi.evaluation.extraction import extract
from novelapi.evaluation.run import EnvironmentOf
from novelapi.execution import values
from novelapi.execution.answers import Run
from novelapi.execution.judge import run_code
from novelapi.execution.limits import SampleLimits
from novelapi.execution.pool import Died, Pool, Slot, SlotOptions
from novelapi.fingerprint import digest
from novelapi.inference.agent import ToolResult, Use
from novelapi.inference.repair import Attempt
from novelapi.records.environment import Environment
from novelapi.records.task import Task, TaskInput
from novelapi.records.verdict import ErrorEvidence

LIMITS = SampleLimits()
LOG = "tools.jsonl"
"""What came of each piece of code, in the cell's folder."""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")
_SHOWN = frozenset({"completion", "library", "stdlib", "context"})
_NOTHING = "solve_nothing"

Kind = Literal["program", "answer"]


@dataclass(frozen=True, kw_only=True)
class CodeTrial:
    """One piece of code to run."""

    task: Task
    """What it runs against: visible inputs only, and no expected values."""
    code: str
    kind: Kind
    env: Environment
    preload: tuple[str, ...]
    raising: frozenset[int] = frozenset()
    """Inputs whose right answer is an exception."""


def run_trial(slot: Slot, trial: CodeTrial) -> str | None:
    """Return what a program printed and raised, or the traceback of an answer; null where an answer raised nothing.

    Raises:
        ZygoteError: the warm parent died (the pool tries again).
    """
    if trial.kind == "answer" and not trial.code.strip():
        return "there is no Python code in the answer"
    run = run_code(slot.zygote(trial.env, trial.preload), trial.task, trial.code, mode="plain", limits=LIMITS)
    if run.infra is not None:
        raise NovelApiError(f"the sandbox failed ({run.infra}): run the same command again")
    problem = _problem(run, trial)
    if trial.kind == "program":
        text = "\n".join(part for part in (run.output.rstrip("\n"), problem) if part) or "(it printed nothing)"
    else:
        text = problem
    return _ADDRESS.sub("0x...", text) if text is not None else None


def _problem(run: Run, trial: CodeTrial) -> str | None:
    """Return how the code failed, in the words of a traceback."""
    error = run.error
    if error is None:
        failed = (
            answer.error
            for index, answer in enumerate(run.answers)
            if answer.error is not None and index not in trial.raising
        )
        error = next(failed, None)
    if error is not None:
        return traceback_text(error, trial.code)
    return f"the program was stopped ({run.ended})" if run.ended is not None else None


def traceback_text(error: ErrorEvidence, code: str) -> str:
    """Write an exception down as Python does: outermost frame first, lines of the code where they are known."""
    lines = code.split("\n")
    shown = ["Traceback (most recent call last):"]
    for frame in error.frames:
        if frame.where not in _SHOWN:
            continue
        if frame.where == "completion":
            shown.append(f"  line {frame.line}, in {frame.function}")
            if 0 < frame.line <= len(lines):
                shown.append(f"    {lines[frame.line - 1].strip()}")
        else:
            shown.append(f"  {frame.module}, in {frame.function}")
    return "\n".join([*(shown if len(shown) > 1 else []), f"{error.type.removeprefix('builtins.')}: {error.message}"])


def visible(task: Task) -> tuple[Task, frozenset[int]]:
    """Return a task without what its prompt does not show, and the inputs whose right answer is an exception."""
    kept = [number for number, item in enumerate(task.inputs) if not item.hidden]
    expected = task.expected or ()
    raising = {place for place, number in enumerate(kept) if number < len(expected) and values.raises(expected[number])}
    inputs = tuple(task.inputs[number] for number in kept)
    bare = {"inputs": inputs, "expected": None, "reference_solution": f"{task.signature}\n    pass\n"}
    return task.model_copy(update=bare), frozenset(raising)


class Workbench:
    """Runs code for the tasks of a cell, each piece once."""

    def __init__(self, tasks: Mapping[str, Task], environment_of: EnvironmentOf, folder: Path, jobs: int) -> None:
        """Read what earlier runs of the cell found out."""
        self._tasks = tasks
        self._environment_of = environment_of
        self._path = folder / LOG
        self._known: dict[str, str | None] = {row["key"]: row["result"] for row in jsonl.scan(self._path)}
        self._pool: Pool[CodeTrial, str | None] = Pool(run_trial, jobs, SlotOptions())

    def run(self, uses: Sequence[Use]) -> list[ToolResult]:
        """Run programs; the tool `run`."""
        found = self._all([self._program(use) for use in uses])
        return [ToolResult(text or "") for text in found]

    def problems(self, attempts: Sequence[Attempt]) -> list[str | None]:
        """Run first answers on visible inputs; return the traceback of those that raise."""
        return self._all([self._answer(attempt) for attempt in attempts])

    def _program(self, use: Use) -> CodeTrial:
        task = self._tasks[use.task_id]
        bare = Task(
            task_id="program",
            library=task.library,
            release=task.release,
            api=task.api,
            description="a program of the model",
            entry_point=_NOTHING,
            signature=f"def {_NOTHING}():",
            reference_solution=f"def {_NOTHING}():\n    pass\n",
            inputs=(TaskInput(),),
        )
        code = f"{use.argument}\n\n\ndef {_NOTHING}():\n    pass\n"
        return self._trial(task, bare, code, "program")

    def _answer(self, attempt: Attempt) -> CodeTrial:
        task = self._tasks[attempt.task_id]
        bare, raising = visible(task)
        code = extract(attempt.text, task.entry_point, task.signature).code
        return self._trial(task, bare, code, "answer", raising)

    def _trial(self, task: Task, bare: Task, code: str, kind: Kind, raising: frozenset[int] = frozenset()) -> CodeTrial:
        env = self._environment_of(task.library, task.release)
        return CodeTrial(
            task=bare, code=code, kind=kind, env=env, preload=(task.api.split(".", maxsplit=1)[0],), raising=raising
        )

    def _all(self, trials: Sequence[CodeTrial]) -> list[str | None]:
        """Return what came of each piece of code; equal ones run once, known ones not at all."""
        keys = [_key(trial) for trial in trials]
        missing = {key: trial for key, trial in zip(keys, trials, strict=True) if key not in self._known}
        todo = sorted(missing.items(), key=lambda item: (item[1].env.key, item[1].preload, item[0]))
        with jsonl.Appender(self._path) as log:
            for index, result in self._pool.map([trial for _, trial in todo]):
                if isinstance(result, Died):
                    raise NovelApiError(f"the sandbox failed ({result.reason}): run the same command again")
                self._known[todo[index][0]] = result
                log.append({"key": todo[index][0], "kind": todo[index][1].kind, "result": result})
        return [self._known[key] for key in keys]

    def __enter__(self) -> Self:
        """Return the workbench itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """End the slots."""
        self._pool.close()


def _key(trial: CodeTrial) -> str:
    inputs = [item.to_row() for item in trial.task.inputs]
    return digest([trial.kind, trial.env.key, trial.task.context_code, inputs, sorted(trial.raising), trial.code], 32)
