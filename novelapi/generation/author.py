"""Writes the tasks of one API: seeds to drafts, drafts to tasks that the sandbox has accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from novelapi.execution.harness import HarnessError, comparison_of, prepare
from novelapi.execution.pool import Slot
from novelapi.execution.zygote import Zygote
from novelapi.generation import choosing, drafts, options, programs, trials
from novelapi.generation.assignment import Assignment, Written
from novelapi.generation.compose import steps_for
from novelapi.generation.describe import UNTOLD, leaks, says_no_argument
from novelapi.generation.drafts import Draft
from novelapi.generation.harness import mutants, survivors
from novelapi.generation.mining import mine
from novelapi.generation.program_author import write_programs
from novelapi.generation.programs import Program
from novelapi.generation.sealing import (
    DETERMINISTIC,
    GUARDABLE,
    NO_TASK,
    Chosen,
    Rejected,
    order_is_free,
    refused_early,
    same_answers,
    sealed,
    short,
    telling,
    tolerance,
    with_target,
)
from novelapi.generation.seeds import Seed
from novelapi.generation.shrinking import shrink
from novelapi.generation.trials import ResultKind
from novelapi.records.task import Task, TaskInput

PER_API = 4
QUOTA = {"easy": 1, "medium": 2, "hard": 1}
_INPUTS = 20
_MOST_SEEDS = 8
_MOST_FIELDS_TRIED = 24
_SLOW = "the call does not run (slow)"
_MOST_SLOW = 3
"""Seeds that may cost too much before an API is given up: each trial of one takes seconds."""


_AnyDraft = TypeVar("_AnyDraft", Draft, Program)


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
        self.candidate = assignment.named_candidate
        self.bundle = assignment.bundle
        self.owners = assignment.owners
        self.authorship: Mapping[str, Any] = DETERMINISTIC
        self.tasks: list[Task] = []
        self.reasons: Counter[str] = Counter()
        self.taken: Counter[str] = Counter()
        self.known: set[str] = set()
        self.known_parameters = {item.name.lstrip("*"): item for item in assignment.bundle.surface.parameters}

    def run(self) -> None:
        """Try seeds until the quota of every difficulty is full."""
        for tag, why in NO_TASK.items():
            if tag in self.candidate.tags:
                self.reasons[why] += 1
                return
        seeds: list[Seed] = []
        if not self.owners:  # a call that is cut out is given an object of that class
            seeds = mine(self.candidate, self.bundle, partial(trials.value_of, self.zygote, self.candidate))
        seeds = seeds[:_MOST_SEEDS]
        if not seeds and not self.owners:
            self.reasons["no example whose call can be cut out"] += 1
        for seed in self._with_options(seeds):
            if len(self.tasks) >= PER_API or self.reasons[_SLOW] >= _MOST_SLOW:
                break
            self._try(seed)
        if self.reasons[_SLOW] < _MOST_SLOW:
            write_programs(self)
        if self.owners and not self.tasks and not self.reasons:
            self.reasons["no example makes an object of the new class"] += 1

    def or_refused(self, draft: _AnyDraft, accept: Callable[[_AnyDraft], None]) -> None:
        """Accept a draft as it is, or else with refusals by the library as answers.

        Raises:
            Rejected: neither way.
        """
        try:
            accept(draft)
        except Rejected as rejected:
            if str(rejected) not in GUARDABLE:
                raise
            try:
                accept(replace(draft, guarded=True))
            except Rejected:
                raise rejected from None

    def _with_options(self, seeds: list[Seed]) -> Iterator[Seed]:
        """Yield the seeds of examples, then the same with options."""
        for seed in seeds:
            small = shrink(self.zygote, self.task_of, self.candidate, seed)
            if small is not None:
                yield small
            if small is None or not small.made_up:
                yield seed
        bare = [self._without_change(seed) for seed in seeds[:3]]
        for seed in bare:
            small = shrink(self.zygote, self.task_of, self.candidate, seed) or seed
            yield from options.with_options(self.candidate, self.bundle, small)

    def _without_change(self, seed: Seed) -> Seed:
        """Return a call as the old release knows it: what the change added is tried with other values later."""
        kept = tuple(item for item in seed.arguments if item.keyword is None or item.keyword not in self._added)
        return replace(seed, arguments=kept)

    def _try(self, seed: Seed) -> None:
        if self.candidate.change == "modified":
            if not self._uses_change(seed) and "out" in self._added:
                self._try_target(seed)
                return
            if not self._uses_change(seed):
                self.reasons["the example does not use the change"] += 1
                return
            seed = self._by_keyword(seed)
        draft = drafts.drafts_of(self.candidate, seed, self.known_parameters)
        if draft is None:
            self.reasons["no argument to vary"] += 1
            return
        try:
            draft = self._settle(draft)
            if self.taken[draft.difficulty] < QUOTA[draft.difficulty]:
                self.or_refused(draft, self._accept)
            if self.taken["hard"] < QUOTA["hard"]:
                self._compose(draft)
        except Rejected as rejected:
            self.reasons[str(rejected)] += 1

    def _uses_change(self, seed: Seed) -> bool:
        return any(argument.parameter in self._added for argument in seed.arguments)

    def _try_target(self, seed: Seed) -> None:
        """A change that lets the caller name where the result goes: ask for just that."""
        draft = drafts.drafts_of(self.candidate, seed, self.known_parameters)
        if draft is None or self.taken["medium"] >= QUOTA["medium"]:
            return
        try:
            draft = self._settle(draft)
            if draft.form != "plain":
                raise Rejected("the result is no array")
            chosen = self.choose(draft)
        except Rejected as rejected:
            self.reasons[str(rejected)] += 1
            return
        ways = (self._masked, self._aimed) if "where" in self._added else (self._aimed,)
        for way in ways:
            try:
                if self.taken["medium"] < QUOTA["medium"]:
                    self._finish(*way(draft, chosen))
            except Rejected as rejected:
                self.reasons[str(rejected)] += 1

    def _aimed(self, draft: Draft, chosen: Chosen) -> tuple[Draft, Chosen]:
        """Let the result be written into a given array."""
        inputs = [with_target(item, value) for item, value in zip(chosen.inputs, chosen.values, strict=True)]
        return replace(draft, target="target"), Chosen(inputs=tuple(inputs), values=chosen.values)

    def _masked(self, draft: Draft, chosen: Chosen) -> tuple[Draft, Chosen]:
        """Let it be written at some places alone.

        Raises:
            Rejected: that is not what the mask does.
        """
        pairs = zip(chosen.inputs, chosen.values, strict=True)
        inputs = [with_target(item, value, mask=number) for number, (item, value) in enumerate(pairs)]
        masked = replace(draft, target="target", mask="mask")
        task = self.task_of(masked, inputs)
        answers = trials.answers_of(self.zygote, task)
        if isinstance(answers, str):
            raise Rejected(f"the reference does not run ({answers.split(':')[0]})")
        found = Chosen(inputs=tuple(inputs), values=tuple(answer.value for answer in answers if answer.is_value))
        meant = trials.answers_of(self.zygote, task, masked.by_hand())
        told = task.model_copy(update={"expected": found.values})
        if len(found.values) < len(inputs) or isinstance(meant, str) or not same_answers(told, meant):
            raise Rejected("the mask is no choice of places")
        return masked, found

    def _by_keyword(self, seed: Seed) -> Seed:
        """Pass what the change added by its keyword, so that it can be left out to see its effect."""
        able = {
            item.name for item in self.candidate.parameters if item.kind in ("keyword_only", "positional_or_keyword")
        }
        arguments = list(seed.arguments)
        for number in range(len(arguments) - 1, -1, -1):
            argument = arguments[number]
            if argument.keyword is not None:
                continue
            if argument.parameter not in self._added or argument.parameter not in able:
                break
            arguments[number] = replace(argument, keyword=argument.parameter)
        return replace(seed, arguments=tuple(arguments))

    @property
    def _added(self) -> set[str]:
        """Parameters that the change added."""
        return drafts.added_parameters(self.candidate)

    def _settle(self, draft: Draft) -> Draft:
        """Find out what the call returns, and leave out options that change nothing.

        Raises:
            Rejected: the call does not run, or its result cannot become plain data.
        """
        probe = self.task_of(draft, drafts.inputs_of(draft, 3)[::-1], bare=True)
        kind = trials.kind_of(self.zygote, probe, draft.call())
        if isinstance(kind, str):
            raise Rejected(f"the call does not run ({kind.split(':')[0]})")
        settled = drafts.with_kind(draft, kind)
        if settled is None:
            raise Rejected(f"the result is no plain data ({kind.form})")
        return self._told(draft, kind) if settled.form == "object" else settled

    def _told(self, draft: Draft, kind: ResultKind) -> Draft:
        """Keep the attributes of a result that depend on the inputs and are not simply one of them.

        Raises:
            Rejected: none is left.
        """
        whole = replace(draft, form="object", fields=kind.fields[:_MOST_FIELDS_TRIED])
        inputs = drafts.inputs_of(draft, 6)
        task = self.task_of(whole, inputs)
        answers = trials.answers_of(self.zygote, task)
        if isinstance(answers, str):
            raise Rejected(f"the reference does not run ({answers.split(':')[0]})")
        good = [number for number, answer in enumerate(answers) if answer.is_value and isinstance(answer.value, dict)]
        arguments = trials.arguments_of(self.zygote, task, [free.name for free in draft.free])
        known = [[texts[number] for number in good] for texts in arguments]
        fields = [
            name
            for name in telling(whole.fields, self.bundle.surface.returns)
            if not trials.repeats([answers[number].value.get(name) for number in good], known)
        ]
        found = drafts.with_kind(draft, replace(kind, fields=tuple(fields)))
        if len(good) < 2 or found is None:
            raise Rejected("the result only repeats the arguments")
        return found

    def _compose(self, draft: Draft) -> None:
        """Add a small computation around the call."""
        chosen = self.choose(draft)
        steps = [
            step
            for step in steps_for(chosen.values[0], self.candidate.api)
            if not self._blind(replace(draft, step=step), chosen)
        ]
        if not steps:
            raise Rejected("no computation fits the result")
        self._accept(replace(draft, step=steps[0]))

    def _blind(self, draft: Draft, chosen: Chosen) -> bool:
        """Whether the computation gives the same without the call, on the input itself: then it asks for nothing."""
        task = self.task_of(draft, list(chosen.inputs))
        without = draft.reference().replace(draft.call(), draft.free[0].name)
        answers, bare = trials.answers_of(self.zygote, task), trials.answers_of(self.zygote, task, without)
        if isinstance(answers, str) or isinstance(bare, str):
            return isinstance(answers, str)
        comparison = comparison_of(task)
        return all(one.same_as(other, comparison) for one, other in zip(answers, bare, strict=True))

    def _accept(self, draft: Draft) -> None:
        """Make a task of a draft, if the sandbox agrees.

        Raises:
            Rejected: with the reason.
        """
        self._finish(draft, self.choose(draft))

    def _finish(self, draft: Draft, chosen: Chosen) -> None:
        """Make a task of a draft with its inputs.

        Raises:
            Rejected: with the reason.
        """
        number = len(self.tasks) + 1
        task = drafts.to_task(draft, self.bundle, number, chosen.inputs)
        unordered = any(name in ("sorted", "sort") and value == "False" for name, value in draft.fixed.items())
        unordered = unordered or order_is_free(self.bundle.surface.returns)
        task = task.model_copy(
            update={"tolerance": tolerance(chosen.values), "expected": chosen.values, "unordered": unordered}
        )
        self.check_words(task)
        self.admit(task, self._check_options(draft, task), draft.seed.origin, draft.seed.call({}))

    def admit(self, task: Task, dropped: dict[str, str], origin: str, seed: str) -> None:
        """Keep a task whose harness can be prepared and that no mutant passes.

        Raises:
            Rejected: with the reason.
        """
        try:
            harness = prepare(self.zygote, task)
        except HarnessError as error:
            raise Rejected(short(str(error))) from error
        if refused_early(task, harness):
            raise Rejected("an input is refused before the call")
        wrong = mutants(task, harness, dropped, self.candidate.old_parameters or None)
        passing = survivors(self.zygote, task, harness, wrong)
        if passing:
            raise Rejected(f"a mutant passes ({passing[0].split(' ')[0]})")
        text = f"{task.reference_solution}{[item.args for item in task.inputs]}"
        if text in self.known:
            raise Rejected("the same as another task")
        self.known.add(text)
        self.taken[task.difficulty] += 1
        self.tasks.append(sealed(task, origin, seed, harness, self.authorship))

    def choose(self, draft: Draft | Program) -> Chosen:
        """Run the reference on many inputs and keep a few with different answers.

        Raises:
            Rejected: too few different answers.
        """
        inputs = programs.inputs_of(draft, _INPUTS) if isinstance(draft, Program) else drafts.inputs_of(draft, _INPUTS)
        names = [free.name for free in draft.free]
        return choosing.choose(
            self.zygote, lambda some: self.task_of(draft, some), inputs, names, guarded=draft.guarded
        )

    def task_of(self, draft: Draft | Program, inputs: list[TaskInput], *, bare: bool = False) -> Task:
        """Write a draft with inputs as a task, for a trial; `bare` leaves out what is computed around the call."""
        if isinstance(draft, Program):
            return programs.to_task(draft, self.bundle, 0, inputs)
        task = drafts.to_task(draft, self.bundle, 0, inputs)
        return task.model_copy(update={"reference_solution": draft.bare_reference()}) if bare else task

    def check_words(self, task: Task) -> None:
        """Refuse a task that gives the API away.

        Raises:
            Rejected: its description or context names the API, or the description says nothing.
        """
        if task.description.startswith(UNTOLD):
            raise Rejected("the documentation does not say what it does")
        if says_no_argument(task.description):
            raise Rejected("the documentation does not say what its arguments are")
        for text in (task.description, task.context_code):
            found = leaks(text, (*self.candidate.paths, *self.owners))
            if found is not None:
                raise Rejected("description or context names the API")

    def _check_options(self, draft: Draft, task: Task) -> dict[str, str]:
        """Return the reference without each optional argument that matters.

        Raises:
            Rejected: an option that the task fixes, or the change itself, has no visible effect.
        """
        dropped: dict[str, str] = {"out": draft.reference(without="out")} if draft.target else {}
        if draft.mask is not None:
            dropped["where"] = draft.reference(without="where")
            answers = trials.answers_of(self.zygote, task, dropped["where"])
            if not isinstance(answers, str) and same_answers(task, answers):
                raise Rejected("an option has no visible effect")
        for argument in draft.seed.arguments:
            if argument.keyword is None or not (argument.keyword in draft.fixed or argument.keyword in self._added):
                continue
            without = draft.reference(without=argument.keyword)
            answers = trials.answers_of(self.zygote, task, without)
            if not isinstance(answers, str) and same_answers(task, answers):
                raise Rejected("an option has no visible effect")
            dropped[argument.keyword] = without
        if self.candidate.change == "modified" and not self._added & set(dropped):
            raise Rejected("the change cannot be left out, so its effect is not seen")
        return dropped
