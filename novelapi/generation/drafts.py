"""From a seed to a draft: which arguments become parameters, which are fixed, what is computed around the call."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from novelapi.generation.compose import Step
from novelapi.generation.describe import Plan, describe, forbidden_names
from novelapi.generation.inputs import vary
from novelapi.generation.mining import names_in
from novelapi.generation.seeds import Argument, Seed
from novelapi.generation.trials import ResultKind
from novelapi.knowledge.arguments import choices
from novelapi.knowledge.names import imports_of
from novelapi.records.api import Candidate
from novelapi.records.bundle import KnowledgeBundle, KnownParameter
from novelapi.records.task import CallSpec, Task, TaskInput

_NEUTRAL = ("extra", "other", "more")
_MOST_FIELDS = 4
REFUSED = "refused"
"""The answer for an input that the library refuses."""
REFUSED_WORDS = f"Where the library refuses the input with a ValueError, return the string '{REFUSED}' instead."


@dataclass(frozen=True, kw_only=True)
class Free:
    """A parameter of the entry point."""

    name: str
    text: str
    """The seed's own expression for it."""
    feeds: str
    """The API's parameter that it feeds, or a phrase in words."""
    position: int | None
    """Position in the seed's arguments; null for the receiver."""
    choices: tuple[str, ...] = ()
    """The values that the documentation allows, as source; empty when any value of the kind may do."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A task in the making."""

    candidate: Candidate
    seed: Seed
    free: tuple[Free, ...]
    fixed: dict[str, str] = field(default_factory=dict)
    """Parameters of the API with literal values in the call."""
    form: str = "plain"
    fields: tuple[str, ...] = ()
    view: str = ""
    """Expression over `{}` that turns the result into plain data, for the form `view`."""
    step: Step | None = None
    guarded: bool = False
    """Whether a refusal by the library (a ValueError) is an answer: `refused`."""
    target: str | None = None
    """Name of the parameter that the result is written into (`out=`); its value is made per input."""
    mask: str | None = None
    """Name of the parameter that says where (`where=`), beside a target."""

    @property
    def difficulty(self) -> Literal["easy", "medium", "hard"]:
        """easy: one direct call; medium: options that matter; hard: the call inside a small computation."""
        if self.step is not None:
            return "hard"
        return "medium" if self.fixed or self.fields or self.target else "easy"

    def call(self, without: str | None = None) -> str:
        """Return the call with the entry point's parameters in place, one keyword left out on request."""
        replaced = {free.position: free.name for free in self.free if free.position is not None}
        receiver = next((free.name for free in self.free if free.position is None), None)
        return self.seed.call(replaced, receiver, without)

    @property
    def signature(self) -> str:
        """The `def` line."""
        names = [*(free.name for free in self.free), *(name for name in (self.mask, self.target) if name)]
        return f"def solve({', '.join(names)}):"

    def reference(self, without: str | None = None) -> str:
        """Return the reference solution."""
        lines = [*self.seed.target_imports, *([""] if self.seed.target_imports else []), self.signature]
        call = self.plain(self.call(without))
        if self.target is not None:
            written = {"out": self.target, "where": self.mask}
            keywords = [f"{name}={value}" for name, value in written.items() if value and name != without]
            given = ", ".join([*([""] if self.seed.arguments and keywords else []), *keywords])
            lines += [f"    {call[:-1]}{given})", f"    return {self.target}"]
        elif self.form == "object" and self.fields:
            body = ", ".join(f"{name!r}: found.{name}" for name in self.fields)
            value = f"{{{body}}}"
            lines.append(f"    found = {call}")
            if self.step is None:
                lines.append(f"    return {value}")
            else:
                lines += [f"    result = {value}", f"    return {self.step.expression}"]
        elif self.step is not None:
            lines += [f"    result = {call}", f"    return {self.step.expression}"]
        else:
            lines.append(f"    return {call}")
        return "\n".join(guard(lines, self.signature) if self.guarded else lines) + "\n"

    def by_hand(self) -> str:
        """Return what a mask means, written out: the result where it is true, the target elsewhere."""
        lines = [*self.seed.target_imports, self.signature]
        return "\n".join([*lines, f"    return np.where({self.mask}, {self.call()}, {self.target})"]) + "\n"

    def plain(self, value: str) -> str:
        """Return an expression for the result as plain data, given one for the result."""
        if self.form == "namedtuple":
            return f"tuple({value})"
        if self.form == "iterator":
            return f"list({value})"
        return self.view.format(value) if self.form == "view" else value

    def bare_reference(self) -> str:
        """Return a solution that ends with `return CALL`, for trials."""
        lines = [*self.seed.target_imports, self.signature, f"    return {self.call()}"]
        return "\n".join(lines) + "\n"


def guard(lines: Sequence[str], signature: str) -> list[str]:
    """Return a function whose body answers `refused` where the library raises a ValueError."""
    start = lines.index(signature) + 1
    body = [f"    {line}" if line else "" for text in lines[start:] for line in text.split("\n")]
    return [*lines[:start], "    try:", *body, "    except ValueError:", f"        return {REFUSED!r}"]


def drafts_of(candidate: Candidate, seed: Seed, known: Mapping[str, KnownParameter] | None = None) -> Draft | None:
    """Decide which arguments become parameters; null when there is nothing to vary.

    Args:
        candidate: the API.
        seed: the call.
        known: what is documented of its parameters, by name.
    """
    taken = set(forbidden_names(candidate.paths)) | set(imports_of(ast.parse("\n".join(seed.imports))))
    taken |= {"solve", "result", "found", "np"}
    changed = {change.parameter for change in candidate.changes if change.parameter}
    free: list[Free] = []
    fixed: dict[str, str] = {}
    data = [
        number
        for number, argument in enumerate(seed.arguments)
        if not _is_option(argument, first=number == 0 and seed.receiver is None)
    ]
    if not data and seed.receiver is None:
        data = [number for number, argument in enumerate(seed.arguments) if argument.keyword is None]
    if seed.receiver is not None:
        name = _name("data", taken)
        owner = candidate.api.split(".")[-2]
        free.append(Free(name=name, text=seed.receiver, feeds=f"an object of type `{owner}`", position=None))
    for number, argument in enumerate(seed.arguments):
        if number not in data:
            if argument.parameter is not None:
                fixed[argument.parameter] = argument.text
            continue
        wanted = argument.parameter or "value"
        if argument.parameter in changed:
            wanted = next(name for name in (*_NEUTRAL, wanted) if name not in taken)
        name = _name(wanted, taken)
        free.append(
            Free(
                name=name,
                text=argument.text,
                feeds=argument.parameter or "",
                position=number,
                choices=_choices(argument, known or {}),
            )
        )
    if not free:
        return None
    return Draft(candidate=candidate, seed=seed, free=tuple(free), fixed=fixed)


def _choices(argument: Argument, known: Mapping[str, KnownParameter]) -> tuple[str, ...]:
    """Return the documented choices of the parameter that an argument feeds, if the argument is one of them."""
    parameter = known.get(argument.parameter or "")
    if parameter is not None and (parameter.type or "").lower().startswith("bool"):
        return ("True", "False")
    found = choices(parameter) if parameter is not None else []
    return tuple(found) if argument.text in found else ()


def _is_option(argument: Argument, *, first: bool) -> bool:
    """Whether an argument is a choice (a mode, a flag, a type) and no data."""
    node = ast.parse(argument.text, mode="eval").body
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool) or node.value is None:
            return True
        return isinstance(node.value, str) and not first
    if isinstance(node, ast.Lambda):
        return True
    if isinstance(node, ast.Attribute | ast.Name):
        return True
    return (
        isinstance(node, ast.Tuple | ast.List)
        and not first
        and bool(node.elts)
        and all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in node.elts)
    )


def _name(wanted: str, taken: set[str]) -> str:
    """Return an identifier that is free; it is taken from then on."""
    base = wanted.strip("*_").lower() or "value"
    if not base.isidentifier() or keyword.iskeyword(base):
        base = "value"
    name, number = base, 2
    while name in taken:
        name, number = f"{base}_{number}" if base != "x" else f"x{number}", number + 1
    taken.add(name)
    return name


def with_kind(draft: Draft, kind: ResultKind) -> Draft | None:
    """Set how the result becomes plain data; null when it cannot."""
    if kind.form in ("plain", "iterator"):
        return replace(draft, form=kind.form)
    if kind.form == "namedtuple":
        return replace(draft, form="namedtuple", fields=kind.fields)
    if kind.form == "object" and kind.view:
        return replace(draft, form="view", view=kind.view)
    if kind.form == "object" and kind.fields:
        return replace(draft, form="object", fields=kind.fields[:_MOST_FIELDS])
    return None


def inputs_of(draft: Draft, count: int) -> list[TaskInput]:
    """Return changed inputs first and the seed's own last: what an example shows should not be asked again."""
    texts = [free.text for free in draft.free]
    key = f"{draft.candidate.api}/{draft.seed.call({})}"
    names = [free.feeds for free in draft.free]
    allowed = [free.choices for free in draft.free]
    varied = [TaskInput(args=found) for found in vary(texts, names, key, count, allowed)]
    return [*varied, TaskInput(args=tuple(texts))]


def to_task(draft: Draft, bundle: KnowledgeBundle, number: int, inputs: Sequence[TaskInput]) -> Task:
    """Write the task down; expected values and integrity are found later by running it."""
    candidate = draft.candidate
    reference = draft.reference()
    leaf = candidate.api.rsplit(".", 1)[-1]
    return Task(
        task_id=f"{candidate.library}/{leaf}/{number}",
        library=candidate.library,
        release=candidate.release,
        api=candidate.api,
        change=candidate.change,
        difficulty=draft.difficulty,
        description=describe(bundle, _plan(draft), candidate.paths),
        context_code=_context(draft, reference, inputs),
        entry_point="solve",
        signature=draft.signature,
        reference_solution=reference,
        inputs=tuple(inputs),
        calls=(CallSpec(api=candidate.api, required=required_values(draft)),),
    )


def required_values(draft: Draft) -> dict[str, str]:
    """Return the values that the call has to bind: what is fixed, what feeds a new parameter, the target of `out`.

    A function of the context is left out: it reaches the real call as a callback, which is equal to nothing.
    """
    able = _bindable(draft.candidate)
    helpers = [node for text in draft.seed.helpers for node in ast.parse(text).body]
    functions = {node.name for node in helpers if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    required = {name: value for name, value in draft.fixed.items() if name in able and value not in functions}
    changed = added_parameters(draft.candidate)
    required.update({free.feeds: free.name for free in draft.free if free.feeds in changed & able})
    if draft.target is not None:
        required["out"] = draft.target
    if draft.mask is not None:
        required["where"] = draft.mask
    return required


def added_parameters(candidate: Candidate) -> set[str]:
    """Return the parameters that a change added."""
    return {change.parameter for change in candidate.changes if change.kind == "parameter_added" and change.parameter}


def _bindable(candidate: Candidate) -> set[str]:
    return {parameter.name for parameter in candidate.parameters if not parameter.kind.startswith("var_")}


def _context(draft: Draft, reference: str, inputs: Sequence[TaskInput]) -> str:
    """Return the imports and helpers that reference and inputs use, narrowed to those."""
    imports = {*draft.seed.imports, *(["import numpy as np"] if draft.step is not None and draft.step.numpy else [])}
    body = "\n".join([reference, *draft.seed.helpers, *(text for item in inputs for text in item.args)])
    lines = [line for line in sorted(imports) if names_in(body, imports_of(ast.parse(line)))]
    text = "\n".join(lines) + ("\n" if lines else "")
    if draft.seed.helpers:
        text += "\n\n" + "\n\n\n".join(draft.seed.helpers) + "\n"
    return text


def _plan(draft: Draft) -> Plan:
    result = ""
    if draft.form == "namedtuple":
        result = f"Return the result as a plain tuple ({', '.join(draft.fields)})."
    elif draft.form == "iterator":
        result = "Return everything that comes out, as a list."
    elif draft.form == "view":
        result = f"Return the result as plain data: `{draft.view.format('result')}`."
    elif draft.form == "object" and draft.fields:
        keys = ", ".join(f"'{name}'" for name in draft.fields)
        result = f"Return a dictionary with the keys {keys}: the attributes of these names of the result."
    if draft.target is not None:
        into = f"`{draft.target}` where `{draft.mask}` is true, and nowhere else" if draft.mask else f"`{draft.target}`"
        result = f"Let the library write the result directly into {into}, then return `{draft.target}`."
    if draft.step is not None:
        prefix = result.rstrip(".").removeprefix("Return ") if result else ""
        result = f"Finally, {draft.step.words}" + (f" (the result being {prefix})." if prefix else ".")
    if draft.guarded:
        result = f"{result or 'Return the result.'} {REFUSED_WORDS}"
    return Plan(
        signature=draft.signature.removeprefix("def ").rstrip(":"),
        parameters={
            **{free.name: free.feeds for free in draft.free},
            **({draft.mask: "an array of booleans of the shape of the result"} if draft.mask else {}),
            **({draft.target: "an array of the right shape and type"} if draft.target else {}),
        },
        fixed=draft.fixed,
        result=result,
        defined=frozenset(text.split("(")[0].split(":")[0].split()[-1] for text in draft.seed.helpers),
    )
