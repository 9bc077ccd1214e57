"""A task of several APIs in the making: calls in order, and which part of a result goes into which argument."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from novelapi.generation import drafts
from novelapi.generation.describe import (
    Plan,
    argument_lines,
    forbidden_names,
    mask,
    parameter_words,
    returns,
    summary,
)
from novelapi.generation.drafts import Free
from novelapi.generation.inputs import vary
from novelapi.generation.members import Member
from novelapi.generation.mining import names_in
from novelapi.generation.uses import Use
from novelapi.knowledge.names import imports_of
from novelapi.records.task import CallSpec, Link, Motif, Task, TaskInput

EDGES: Mapping[Motif, tuple[tuple[int, int], ...]] = {
    "pair": ((0, 1),),
    "chain": ((0, 1), (1, 2)),
    "fork": ((0, 1), (0, 2)),
    "collider": ((0, 2), (1, 2)),
}
"""The links of each topology, by position of the members."""
DIFFICULTY: Mapping[Motif, str] = {"pair": "medium", "fork": "medium", "chain": "hard", "collider": "hard"}
"""hard: the last call needs two earlier ones."""
NAMES = ("first", "second", "third")
_ORDINAL = ("the first step", "the second step", "the third step")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One call."""

    member: Member
    use: Use
    names: Mapping[int | None, str]
    """What is passed, by position in the call's arguments; null is the receiver."""
    free: tuple[Free, ...]
    """Parameters of the entry point that it takes, under their names there."""

    def call(self, without: str | None = None, passed: Mapping[int | None, str] | None = None) -> str:
        """Return the call, one keyword left out, or other expressions passed, on request."""
        names = {**self.names, **(passed or {})}
        given = {position: name for position, name in names.items() if position is not None}
        return self.use.draft.seed.call(given, names.get(None), without)


@dataclass(frozen=True, kw_only=True)
class LinkedDraft:
    """A task in the making."""

    motif: Motif
    steps: tuple[Step, ...]
    links: tuple[Link, ...]
    slots: tuple[int | None, ...]
    """Per link the position of the argument that holds its value; null is the receiver."""
    free: tuple[Free, ...]

    @property
    def ends(self) -> tuple[int, ...]:
        """Positions of the steps whose results are returned."""
        sources = {link.source for link in self.links}
        return tuple(place for place in range(len(self.steps)) if place not in sources)

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path of every member."""
        return tuple(path for step in self.steps for path in step.member.candidate.paths)

    @property
    def signature(self) -> str:
        """The `def` line."""
        return f"def solve({', '.join(free.name for free in self.free)}):"

    def reference(
        self,
        instead: Mapping[int, str] | None = None,
        *,
        passed: Mapping[int, str] | None = None,
        shows: str | None = None,
    ) -> str:
        """Return the solution.

        Args:
            instead: expressions that stand in for the calls of some steps.
            passed: expressions that stand in for the values of some links.
            shows: expression that is returned; null for the answer.
        """
        imports = sorted({line for step in self.steps for line in step.use.draft.seed.target_imports})
        lines = [*imports, *([""] if imports else []), self.signature]
        for place, step in enumerate(self.steps):
            other = {
                self.slots[number]: text for number, text in (passed or {}).items() if self._ends_at(number, place)
            }
            lines.append(f"    {NAMES[place]} = {(instead or {}).get(place, step.call(passed=other))}")
        return "\n".join([*lines, f"    return {self._answer() if shows is None else shows}"]) + "\n"

    def _ends_at(self, number: int, place: int) -> bool:
        return self.links[number].target == place

    def _answer(self) -> str:
        parts = [self.steps[place].use.draft.plain(NAMES[place]) for place in self.ends]
        return parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"

    def context(self, texts: Sequence[str]) -> str:
        """Return the imports and helpers that the reference and some expressions use."""
        seeds = [step.use.draft.seed for step in self.steps]
        helpers = list(dict.fromkeys(text for seed in seeds for text in seed.helpers))
        body = "\n".join([self.reference(), *helpers, *texts])
        imports = sorted({line for seed in seeds for line in seed.imports})
        lines = [line for line in imports if names_in(body, imports_of(ast.parse(line)))]
        text = "\n".join(lines) + ("\n" if lines else "")
        return text + ("\n\n" + "\n\n\n".join(helpers) + "\n" if helpers else "")

    def inputs(self, count: int) -> list[TaskInput]:
        """Return changed inputs first and the examples' own last.

        Arguments that are equal in the examples are changed apart: else nobody could tell which of them is used where.
        """
        key = "/".join([self.motif, *(step.member.api for step in self.steps)])
        texts = [free.text for free in self.free]
        rounds = [texts[:place].count(text) for place, text in enumerate(texts)]
        columns: dict[int, list[str]] = {}
        for number in sorted(set(rounds)):
            places = [place for place, own in enumerate(rounds) if own == number]
            some = [self.free[place] for place in places]
            found = vary(
                [free.text for free in some], [free.feeds for free in some], f"{key}/{number}" if number else key,
                count, [free.choices for free in some],
            )  # fmt: skip
            columns |= {place: [item[column] for item in found] for column, place in enumerate(places)}
        varied = zip(*(columns[place] for place in range(len(texts))), strict=False)
        return [*(TaskInput(args=item) for item in varied), TaskInput(args=tuple(texts))]


def compose(motif: Motif, parts: Sequence[tuple[Member, Use]], joins: Sequence[tuple[str, str]]) -> LinkedDraft | None:
    """Put calls together; null where a link finds no argument, or two want the same one.

    Args:
        motif: the topology.
        parts: members with one of their calls, in its order.
        joins: port and parameter of each of its links.
    """
    members = [member for member, _ in parts]
    taken = forbidden_names(path for member in members for path in member.candidate.paths) | {*NAMES, "solve", "np"}
    for _, use in parts:
        taken |= set(imports_of(ast.parse("\n".join(use.draft.seed.imports))))
    links: list[Link] = []
    slots: list[int | None] = []
    given: list[dict[int | None, str]] = [{} for _ in parts]
    for (source, target), (port, parameter) in zip(EDGES[motif], joins, strict=True):
        slot = _slot(parts[target][1], parameter)
        if slot is None or slot[0] in given[target]:
            return None
        link = Link(source=source, port=port, target=target, parameter=parameter)
        given[target][slot[0]] = handed(link)
        links.append(link)
        slots.append(slot[0])
    steps: list[Step] = []
    names: set[str] = set(taken)
    for (member, use), own in zip(parts, given, strict=True):
        free = [item for item in use.draft.free if item.position not in own]
        named = tuple(replace(item, name=_named(item.name, names)) for item in free)
        passed = {**own, **{item.position: item.name for item in named}}
        steps.append(Step(member=member, use=use, names=passed, free=named))
    every = tuple(free for step in steps for free in step.free)
    if not every:
        return None
    return LinkedDraft(motif=motif, steps=tuple(steps), links=tuple(links), slots=tuple(slots), free=every)


def without_option(draft: LinkedDraft, place: int, name: str) -> LinkedDraft:
    """Return a draft in which one call lacks a fixed keyword."""
    step = draft.steps[place]
    own = step.use.draft
    gone = next(number for number, argument in enumerate(own.seed.arguments) if argument.keyword == name)

    def moved(position: int | None) -> int | None:
        return position - 1 if position is not None and position > gone else position

    seed = replace(own.seed, arguments=(*own.seed.arguments[:gone], *own.seed.arguments[gone + 1 :]))
    free = tuple(replace(item, position=moved(item.position)) for item in own.free)
    fixed = {key: value for key, value in own.fixed.items() if key != name}
    changed = replace(
        step,
        use=replace(step.use, draft=replace(own, seed=seed, free=free, fixed=fixed)),
        names={moved(position): text for position, text in step.names.items() if position != gone},
        free=tuple(replace(item, position=moved(item.position)) for item in step.free),
    )
    slots = [moved(slot) if link.target == place else slot for link, slot in zip(draft.links, draft.slots, strict=True)]
    steps = (*draft.steps[:place], changed, *draft.steps[place + 1 :])
    return replace(draft, steps=steps, slots=tuple(slots))


def handed(link: Link) -> str:
    """Return the expression of a link's value in the solution: `first.values`."""
    return NAMES[link.source] + link.port.removeprefix("result")


def _slot(use: Use, parameter: str) -> tuple[int | None] | None:
    """Return a one-tuple with the position of the argument that feeds a parameter (null: the receiver)."""
    for free in use.draft.free:
        if (free.position is None and parameter == "self") or (free.position is not None and free.feeds == parameter):
            return (free.position,)
    return None


def _named(name: str, taken: set[str]) -> str:
    """Return an identifier that is free; it is taken from then on."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found)
    return found


def to_task(draft: LinkedDraft, inputs: Sequence[TaskInput], number: int = 1) -> Task:
    """Write the task down; expected values and integrity are found later by running it."""
    main = next(step.member.candidate for step in draft.steps if step.member.novel)
    leaves = "+".join(step.member.api.rsplit(".", 1)[-1] for step in draft.steps)
    return Task.model_validate(
        {
            "task_id": f"{main.library}/{leaves}/{number}",
            "library": main.library,
            "release": main.release,
            "api": main.api,
            "change": main.change,
            "difficulty": DIFFICULTY[draft.motif],
            "description": description(draft),
            "context_code": draft.context([text for item in inputs for text in item.args]),
            "entry_point": "solve",
            "signature": draft.signature,
            "reference_solution": draft.reference(),
            "inputs": tuple(inputs),
            "calls": tuple(_spec(step) for step in draft.steps),
            "links": draft.links,
            "motif": draft.motif,
        }
    )


def _spec(step: Step) -> CallSpec:
    named = {free.position: free.name for free in step.free}
    own = [replace(free, name=named[free.position]) for free in step.use.draft.free if free.position in named]
    required = drafts.required_values(replace(step.use.draft, free=tuple(own)))
    return CallSpec(api=step.member.api, required=required, novel=step.member.novel)


def description(draft: LinkedDraft) -> str:
    """Say in words what each step does, what it takes from an earlier one, and what is returned."""
    lines = [f"Write `{draft.signature.removeprefix('def ').rstrip(':')}`. Each step is one call of the library:", ""]
    for place, step in enumerate(draft.steps):
        bundle = step.member.bundle
        plan = Plan(
            signature="",
            parameters={free.name: free.feeds for free in step.free},
            fixed=step.use.draft.fixed,
            result="",
            defined=frozenset(_defined(step)),
        )
        lines.append(f"{place + 1}. {summary(bundle, draft.paths)}")
        lines += [f"   {line}" for line in _handed(draft, place)]
        lines += [f"   {line}" for line in argument_lines(bundle, plan, draft.paths)]
    return "\n".join([*lines, "", _result(draft)]) + "\n"


def _defined(step: Step) -> list[str]:
    return [text.split("(")[0].split(":")[0].split()[-1] for text in step.use.draft.seed.helpers]


def _handed(draft: LinkedDraft, place: int) -> list[str]:
    """Return one line for each value that a step takes from an earlier one."""
    lines: list[str] = []
    for link in draft.links:
        if link.target == place:
            step = draft.steps[place]
            owner = step.member.api.split(".")[-2]
            known = parameter_words(step.member.bundle, link.parameter, draft.paths)
            words = f"an object of type `{owner}`" if link.parameter == "self" else known
            text = f"- {_part(link.port)} {_ORDINAL[link.source]} gives, passed on as it is"
            lines.append(f"{text}, becomes: {mask(words, draft.paths)}" if words else f"{text}, is its input")
    return lines


def _part(port: str) -> str:
    """Return in words which part of a result is meant."""
    rest = port.removeprefix("result")
    if not rest:
        return "what"
    return f"the attribute `{rest[1:]}` of what" if rest.startswith(".") else f"item {rest.strip('[]')} of what"


def _result(draft: LinkedDraft) -> str:
    parts = [_told(draft, place) for place in draft.ends]
    if len(parts) == 1:
        return f"Return {parts[0]}."
    return f"Return a list of {len(parts)}: {'; '.join(parts)}."


def _told(draft: LinkedDraft, place: int) -> str:
    own = draft.steps[place].use.draft
    text = f"what {_ORDINAL[place]} gives"
    if own.form == "namedtuple":
        return f"{text}, as a plain tuple ({', '.join(own.fields)})"
    if own.form == "iterator":
        return f"{text}, as a list"
    if own.form == "view":
        return f"{text}, as plain data: `{own.view.format('result')}`"
    return f"{text}{returns(draft.steps[place].member.bundle, draft.paths)}"
