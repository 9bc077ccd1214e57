"""Writes the tasks of one API: seeds to drafts, drafts to tasks that the sandbox has accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from novelapi.execution.harness import Harness, HarnessError, comparison_of, prepare
from novelapi.execution.judge import Answer
from novelapi.execution.pool import Slot
from novelapi.execution.zygote import Zygote
from novelapi.generation import drafts, options, trials
from novelapi.generation.compose import steps_for
from novelapi.generation.describe import leaks
from novelapi.generation.drafts import Draft
from novelapi.generation.harness import mutants, survivors
from novelapi.generation.mining import mine
from novelapi.generation.seeds import Seed
from novelapi.records.api import Candidate
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.environment import Environment
from novelapi.records.task import Task, TaskInput, Tolerance

PER_API = 4
QUOTA = {"easy": 1, "medium": 2, "hard": 1}
_INPUTS = 16
_WANTED = 5
_LEAST = 3
_VISIBLE = 1
_MOST_SEEDS = 8


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """One API to write tasks for."""

    candidate: Candidate
    bundle: KnowledgeBundle
    env: Environment
    preload: tuple[str, ...]


@dataclass(kw_only=True)
class Written:
    """What came out for one API."""

    api: str
    tasks: list[Task] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)
    """Rejected drafts by reason."""


class Rejected(Exception):  # noqa: N818 - a decision, no error
    """A draft that does not become a task; the text is a short reason."""


def write(slot: Slot, assignment: Assignment) -> Written:
    """Write up to four tasks of one API.

    Raises:
        ZygoteError: the warm parent died (the pool tries again).
    """
    author = Author(slot.zygote(assignment.env, assignment.preload), assignment)
    author.run()
    return Written(api=assignment.candidate.api, tasks=author.tasks, reasons=dict(sorted(author.reasons.items())))


class Author:
    """Keeps the tasks of one API while they are written."""

    def __init__(self, zygote: Zygote, assignment: Assignment) -> None:
        """Start with nothing."""
        self.zygote = zygote
        self.candidate = assignment.candidate
        self.bundle = assignment.bundle
        self.tasks: list[Task] = []
        self.reasons: Counter[str] = Counter()
        self.taken: Counter[str] = Counter()
        self.known: set[str] = set()

    def run(self) -> None:
        """Try seeds until the quota of every difficulty is full."""
        seeds = mine(self.candidate, self.bundle)[:_MOST_SEEDS]
        if not seeds:
            self.reasons["no example whose call can be cut out"] += 1
        for seed in self._with_options(seeds):
            if len(self.tasks) >= PER_API:
                return
            self._try(seed)

    def _with_options(self, seeds: list[Seed]) -> Iterator[Seed]:
        """Yield the seeds of examples, then the same with options."""
        yield from seeds
        for seed in seeds[:3]:
            yield from options.with_options(self.candidate, self.bundle, seed)

    def _try(self, seed: Seed) -> None:
        draft = drafts.drafts_of(self.candidate, seed)
        if draft is None:
            self.reasons["no argument to vary"] += 1
            return
        if self.candidate.change == "modified" and not self._uses_change(seed):
            self.reasons["the example does not use the change"] += 1
            return
        try:
            draft = self._settle(draft)
            if self.taken[draft.difficulty] < QUOTA[draft.difficulty]:
                self._accept(draft)
            if self.taken["hard"] < QUOTA["hard"]:
                self._compose(draft)
        except Rejected as rejected:
            self.reasons[str(rejected)] += 1

    def _uses_change(self, seed: Seed) -> bool:
        changed = {change.parameter for change in self.candidate.changes if change.kind == "parameter_added"}
        return any(argument.parameter in changed for argument in seed.arguments)

    def _settle(self, draft: Draft) -> Draft:
        """Find out what the call returns, and leave out options that change nothing.

        Raises:
            Rejected: the call does not run, or its result cannot become plain data.
        """
        probe = self._task(draft, drafts.inputs_of(draft, 3)[::-1], bare=True)
        kind = trials.kind_of(self.zygote, probe, draft.call())
        if isinstance(kind, str):
            raise Rejected(f"the call does not run ({kind.split(':')[0]})")
        settled = drafts.with_kind(draft, kind)
        if settled is None:
            raise Rejected(f"the result is no plain data ({kind.form})")
        return settled

    def _compose(self, draft: Draft) -> None:
        """Add a small computation around the call."""
        chosen = self._choose(draft)
        steps = steps_for(chosen.values[0], self.candidate.api)
        if not steps:
            raise Rejected("no computation fits the result")
        self._accept(replace(draft, step=steps[0]))

    def _accept(self, draft: Draft) -> None:
        """Make a task of a draft, if the sandbox agrees.

        Raises:
            Rejected: with the reason.
        """
        chosen = self._choose(draft)
        number = len(self.tasks) + 1
        task = drafts.to_task(draft, self.bundle, number, chosen.inputs)
        task = task.model_copy(update={"tolerance": _tolerance(chosen.values), "expected": chosen.values})
        self._check_words(task)
        dropped = self._check_options(draft, task)
        try:
            harness = prepare(self.zygote, task)
        except HarnessError as error:
            raise Rejected(_short(str(error))) from error
        passing = survivors(self.zygote, task, harness, mutants(task, harness, dropped))
        if passing:
            raise Rejected(f"a mutant passes ({passing[0].split(' ')[0]})")
        text = f"{task.reference_solution}{[item.args for item in task.inputs]}"
        if text in self.known:
            raise Rejected("the same as another task")
        self.known.add(text)
        self.taken[task.difficulty] += 1
        self.tasks.append(_sealed(task, draft, harness))

    def _choose(self, draft: Draft) -> _Chosen:
        """Run the reference on many inputs and keep a few with different answers.

        Raises:
            Rejected: too few different answers.
        """
        inputs = drafts.inputs_of(draft, _INPUTS)
        answers = trials.answers_of(self.zygote, self._task(draft, inputs))
        if isinstance(answers, str):
            raise Rejected(f"the reference does not run ({answers.split(':')[0]})")
        positions = trials.choose_inputs(inputs, answers, _WANTED)
        if len(positions) < _LEAST:
            failed = [trials.explain(answer) for answer in answers if not answer.is_value]
            raise Rejected(
                "too few inputs with different answers"
                if len(failed) < len(answers) // 2
                else "inputs cannot be varied"
            )
        hidden = [
            TaskInput(args=inputs[position].args, hidden=order >= _VISIBLE) for order, position in enumerate(positions)
        ]
        return _Chosen(inputs=tuple(hidden), values=tuple(answers[position].value for position in positions))

    def _task(self, draft: Draft, inputs: list[TaskInput], *, bare: bool = False) -> Task:
        task = drafts.to_task(draft, self.bundle, 0, inputs)
        return task.model_copy(update={"reference_solution": draft.bare_reference()}) if bare else task

    def _check_words(self, task: Task) -> None:
        for text in (task.description, task.context_code):
            found = leaks(text, self.candidate.paths)
            if found is not None:
                raise Rejected("description or context names the API")

    def _check_options(self, draft: Draft, task: Task) -> dict[str, str]:
        """Return the reference without each optional argument that matters.

        Raises:
            Rejected: an option that the task fixes, or the change itself, has no visible effect.
        """
        changed = {change.parameter for change in self.candidate.changes if change.kind == "parameter_added"}
        dropped: dict[str, str] = {}
        for argument in draft.seed.arguments:
            if argument.keyword is None or not (argument.keyword in draft.fixed or argument.keyword in changed):
                continue
            without = draft.reference(without=argument.keyword)
            answers = trials.answers_of(self.zygote, task, without)
            if not isinstance(answers, str) and _same_answers(task, answers):
                raise Rejected("an option has no visible effect")
            dropped[argument.keyword] = without
        return dropped


@dataclass(frozen=True, kw_only=True)
class _Chosen:
    inputs: tuple[TaskInput, ...]
    values: tuple[Any, ...]


def _same_answers(task: Task, answers: list[Answer]) -> bool:
    assert task.expected is not None
    comparison = comparison_of(task)
    return all(
        answer.is_value and comparison.difference(value, answer.value) is None
        for answer, value in zip(answers, task.expected, strict=True)
    )


def _tolerance(values: tuple[Any, ...]) -> Tolerance | None:
    kind = trials.inexact(list(values))
    if kind is None:
        return None
    return Tolerance(rtol=1e-4, atol=1e-6) if kind == "single" else Tolerance(rtol=1e-6, atol=1e-9)


def _sealed(task: Task, draft: Draft, harness: Harness) -> Task:
    """Add what was found by running: expected values, integrity, provenance."""
    provenance = {
        "author": "deterministic",
        "example": draft.seed.origin,
        "seed": draft.seed.call({}),
        "integrity": harness.integrity_reason,
        "stub": harness.stub,
    }
    return task.model_copy(
        update={"expected": harness.expected, "integrity": harness.integrity, "provenance": provenance}
    )


def _short(text: str) -> str:
    """Reduce a harness error to its kind."""
    for words in ("does not depend on", "never calls", "no plain answer", "is not the one", "does not run"):
        if words in text:
            return (
                f"the reference {words} (the target)"
                if "calls" in words or "depend" in words
                else f"the reference's answer {words}"
            )
    return "the harness refuses the task"
