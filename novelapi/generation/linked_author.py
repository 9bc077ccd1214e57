"""Writes the task of one subset of APIs: calls that fit are put together, and the sandbox has to agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product

from novelapi.execution.harness import HarnessError, comparison_of, prepare
from novelapi.execution.pool import Slot
from novelapi.execution.zygote import Zygote
from novelapi.generation import choosing, drafts, linked, trials
from novelapi.generation.describe import BLANK, UNNAMED, UNTOLD, leaks
from novelapi.generation.harness import NoSourceError, mutants, survivors, to_source
from novelapi.generation.linked import EDGES, LinkedDraft
from novelapi.generation.members import Member
from novelapi.generation.sealing import DETERMINISTIC, Rejected, same_answers, sealed, short, tolerance
from novelapi.generation.uses import Use, fits
from novelapi.records.environment import Environment
from novelapi.records.task import Link, Motif, Task

_INPUTS = 20
_MOST_TRIED = 60
"""Combinations of calls that are run for one subset."""
_MOST_WRITTEN = 4
"""Combinations that run and of which a task is tried."""

Join = tuple[str, str]
"""Port of the source and parameter of the target."""


@dataclass(frozen=True, kw_only=True)
class Assembly:
    """One subset to write a task for."""

    motif: Motif
    members: tuple[tuple[Member, tuple[Use, ...]], ...]
    """Its APIs in order, with the calls that are known of each."""
    joins: tuple[tuple[Join, ...], ...]
    """Per link of the motif what may join its ends, best first."""
    evidence: tuple[str, ...]
    """Per link why its ends belong together."""
    observed: tuple[bool, ...]
    """Per link whether it was seen; then running decides, else the kinds of the values have to fit."""
    env: Environment
    preload: tuple[str, ...]

    @property
    def key(self) -> str:
        """What tells it from other subsets."""
        return " ".join([self.motif, *(member.api for member, _ in self.members)])


@dataclass(kw_only=True)
class LinkedWritten:
    """What came out for one subset."""

    key: str
    task: Task | None = None
    reasons: dict[str, int] = field(default_factory=dict)
    """Combinations that became none, by reason."""


def write(slot: Slot, assembly: Assembly) -> LinkedWritten:
    """Write the task of one subset, if one can be had.

    Raises:
        ZygoteError: the warm parent died (the pool tries again).
    """
    author = _Author(slot.zygote(assembly.env, assembly.preload), assembly)
    task = author.run()
    return LinkedWritten(key=assembly.key, task=task, reasons=dict(sorted(author.reasons.items())))


class _Author:
    def __init__(self, zygote: Zygote, assembly: Assembly) -> None:
        self.zygote = zygote
        self.assembly = assembly
        self.reasons: Counter[str] = Counter()

    def run(self) -> Task | None:
        written = 0
        for draft in islice(self._drafts(), _MOST_TRIED):
            problem = self._trouble(draft)
            if problem is not None:
                self.reasons[problem] += 1
                continue
            written += 1
            try:
                return self._accept(draft)
            except Rejected as rejected:
                self.reasons[str(rejected)] += 1
            if written == _MOST_WRITTEN:
                break
        return None

    def _drafts(self) -> Iterator[LinkedDraft]:
        """Yield what can be put together, the first calls of each API first."""
        members, edges = self.assembly.members, EDGES[self.assembly.motif]
        ends = set(range(len(members))) - {source for source, _ in edges}
        places = sorted(product(*(range(len(uses)) for _, uses in members)), key=lambda item: (sum(item), item))
        for chosen in places:
            parts = [(member, uses[number]) for (member, uses), number in zip(members, chosen, strict=True)]
            if not all(parts[place][1].ends for place in ends):
                continue
            for joins in product(*self.assembly.joins):
                if not all(
                    seen or _fit(parts, edge, join)
                    for seen, edge, join in zip(self.assembly.observed, edges, joins, strict=True)
                ):
                    continue
                draft = linked.compose(self.assembly.motif, parts, joins)
                if draft is not None:
                    yield draft

    def _trouble(self, draft: LinkedDraft) -> str | None:
        """Return why calls do not go together with the inputs of their own examples, or say too little in words."""
        task = linked.to_task(draft, draft.inputs(0))
        problem = _unsaid(draft, task)
        if problem is not None:
            return problem
        answers = trials.answers_of(self.zygote, task)
        if isinstance(answers, str):
            return f"the calls do not go together ({answers.split(':')[0]})"
        return None if answers[0].is_value else "the calls do not go together"

    def _accept(self, draft: LinkedDraft) -> Task:
        """Make a task of a draft, if the sandbox agrees.

        Raises:
            Rejected: with the reason.
        """
        chosen = choosing.choose(
            self.zygote,
            lambda some: linked.to_task(draft, some),
            draft.inputs(_INPUTS),
            [free.name for free in draft.free],
        )
        task = linked.to_task(draft, chosen.inputs)
        task = task.model_copy(update={"tolerance": tolerance(chosen.values), "expected": chosen.values})
        if any(leaks(text, draft.paths) for item in task.inputs for text in item.args):
            raise Rejected("an input names a member")
        dropped = self._options(draft)
        idle = next((key for key, code in dropped.items() if self._same(task, code)), None)
        if idle is not None:
            return self._accept(self._without(draft, *idle))
        self._steps_matter(draft, task)
        try:
            harness = prepare(self.zygote, task)
        except HarnessError as error:
            raise Rejected(short(str(error))) from error
        named = {f"{name} {place}": code for (place, name), code in dropped.items()}
        wrong = mutants(task, harness, named) | self._broken_links(draft, task)
        passing = survivors(self.zygote, task, harness, wrong)
        if passing:
            raise Rejected(f"a mutant passes ({passing[0].rpartition(' ')[0] or passing[0]}, {harness.integrity})")
        origin = "; ".join(step.use.draft.seed.origin for step in draft.steps)
        found = sealed(task, origin, draft.reference(), harness, DETERMINISTIC)
        more = {"links": list(self.assembly.evidence), "members": list(harness.members), "mutants": sorted(wrong)}
        return found.model_copy(update={"provenance": {**found.provenance, **more}})

    def _options(self, draft: LinkedDraft) -> dict[tuple[int, str], str]:
        """Return the reference without each optional argument that is fixed or new, by step and name."""
        dropped: dict[tuple[int, str], str] = {}
        for place, step in enumerate(draft.steps):
            new = drafts.added_parameters(step.member.candidate)
            for argument in step.use.draft.seed.arguments:
                name = argument.keyword
                if name is not None and (name in new or name in step.use.draft.fixed):
                    dropped[place, name] = draft.reference({place: step.call(without=name)})
        return dropped

    def _without(self, draft: LinkedDraft, place: int, name: str) -> LinkedDraft:
        """Return a draft without an option that changes nothing.

        Raises:
            Rejected: it is what is new, or carries a value of a link.
        """
        step = draft.steps[place]
        if name in drafts.added_parameters(step.member.candidate) or name not in step.use.draft.fixed:
            raise Rejected("an option has no visible effect")
        return linked.without_option(draft, place, name)

    def _steps_matter(self, draft: LinkedDraft, task: Task) -> None:
        """See that no step can be left out: its input passed on in its place gives other answers to most inputs.

        Raises:
            Rejected: a step has no visible effect, or two arguments are always equal.
        """
        columns = list(zip(*(item.args for item in task.inputs), strict=True))
        if len(set(columns)) < len(columns):
            raise Rejected("two arguments are always equal")
        for place in {link.source for link in draft.links}:
            for name in draft.steps[place].names.values():
                if self._unchanged(task, draft.reference({place: name})) * 2 >= len(task.inputs):
                    raise Rejected("a step has no visible effect")

    def _unchanged(self, task: Task, code: str) -> int:
        """Count the inputs to which code gives the expected answers."""
        answers, comparison = trials.answers_of(self.zygote, task, code), comparison_of(task)
        if isinstance(answers, str):
            return 0
        return sum(
            answer.is_value and comparison.difference(value, answer.value) is None
            for answer, value in zip(answers, task.expected or (), strict=True)
        )

    def _same(self, task: Task, code: str) -> bool:
        answers = trials.answers_of(self.zygote, task, code)
        return not isinstance(answers, str) and same_answers(task, answers)

    def _broken_links(self, draft: LinkedDraft, task: Task) -> dict[str, str]:
        """Return solutions in which one value does not come from where it should.

        `remembered`: the call is made, and what it is known to give is passed on in place of its result; `left out`:
        the same without the call; `unlinked`: the input of the step is passed on in place of its result.
        """
        wrong: dict[str, str] = {}
        for number, link in enumerate(draft.links):
            source = draft.steps[link.source]
            wrong[f"unlinked {number}"] = draft.reference(passed={number: next(iter(source.names.values()))})
            values = self._values(draft, task, link)
            if values is not None:
                memory = f"_memory = [{', '.join(values)}]\n\n\n"
                remembered = {number: "_memory.pop(0)"}
                wrong[f"remembered {number}"] = memory + draft.reference(passed=remembered)
                wrong[f"left out {number}"] = memory + draft.reference({link.source: "None"}, passed=remembered)
        return wrong

    def _values(self, draft: LinkedDraft, task: Task, link: Link) -> list[str] | None:
        """Return what goes over a link for each input as source, null where it has no plain form."""
        answers = trials.answers_of(self.zygote, task, draft.reference(shows=linked.handed(link)))
        if isinstance(answers, str) or not all(answer.is_value for answer in answers):
            return None
        try:
            return [to_source(answer.value) for answer in answers]
        except NoSourceError:
            return None


def _fit(parts: Sequence[tuple[Member, Use]], edge: tuple[int, int], join: Join) -> bool:
    """Whether a call gave a value of the kind that the other was given; where that is unknown, running decides."""
    (source, target), (port, parameter) = edge, join
    given, wanted = parts[source][1].ports.get(port), parts[target][1].takes.get(parameter)
    return wanted is None or (given is not None and fits(given, wanted))


def _unsaid(draft: LinkedDraft, task: Task) -> str | None:
    """Return what a description lacks or gives away, in words."""
    if UNTOLD in task.description:
        return "the documentation does not say what a step does"
    if UNNAMED in task.description:
        return "the documentation does not say what an argument is"
    known = [step for step in draft.steps if not step.member.novel]
    for step in known:
        place = draft.steps.index(step) + 1
        line = next(line for line in task.description.split("\n") if line.startswith(f"{place}. "))
        if BLANK in line:
            return "a known step cannot be told without its name"
    if any(leaks(text, draft.paths) for text in (task.description, task.context_code)):
        return "description or context names a member"
    return None
