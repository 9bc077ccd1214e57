"""Which arguments of a refused call may be at fault: data or options, compared with the reference's call."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from novelapi.evaluation import program
from novelapi.evaluation.case import Case
from novelapi.records.verdict import CallRecord

_CALLABLE = re.compile(
    r"<(function|bound method|built-in (function|method)|method|class|slot wrapper|method-wrapper|ufunc)\b"
    r"|functools\.partial\(|operator\.\w+\("
)
_NEVER_DATA = frozenset(
    "by on left_on right_on key keys column columns col cols sep separator delimiter delim delimiters axis axes subset"
    " name names level levels index_col usecols format fmt pattern regex encoding errors method mode how order dtype"
    " fields orient".split()
)
"""Parameters that name things in the data or say how it is read: never data themselves."""


@dataclass(frozen=True, kw_only=True)
class Suspects:
    """The arguments of a refused call."""

    data: frozenset[str]
    """Data arguments that differ from the reference's call with the same input."""
    options: frozenset[str]
    """Other arguments that differ, are missing or are too many."""
    all_data: frozenset[str]
    all_options: frozenset[str]
    values: dict[str, str]

    @property
    def has_data(self) -> bool:
        """Whether data may be at fault."""
        return bool(self.data or (not self.options and self.all_data))

    @property
    def has_options(self) -> bool:
        """Whether an option may be at fault."""
        return bool(self.options or (not self.data and self.all_options))

    def option_named(self, message: str) -> bool:
        """Whether the message names an option that differs, or quotes its value."""
        named = any(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message) for name in self.options if len(name) > 2)
        quoted = any(
            len(self.values.get(name, "").strip("'\"")) > 1 and self.values[name].strip("'\"") in message
            for name in self.options
            if name in self.values
        )
        return named or quoted

    def data_named(self, message: str) -> bool:
        """Whether the message names a data argument."""
        return any(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message) for name in self.all_data if len(name) > 1)


def suspects_of(case: Case, call: CallRecord) -> Suspects:
    """Return the arguments of a call that may be at fault."""
    gold = gold_call(case, call)
    data_names = _data_names(case, call)
    given = dict(call.arguments)
    differing = set(given)
    if gold is not None:
        differing = {name for name, value in given.items() if not alike(value, gold.arguments.get(name))}
        differing |= {name for name in gold.arguments if name not in given}
    return Suspects(
        data=frozenset(differing & data_names),
        options=frozenset(differing - data_names),
        all_data=frozenset(data_names & set(given)),
        all_options=frozenset(set(given) - data_names),
        values=given,
    )


def gold_call(case: Case, call: CallRecord) -> CallRecord | None:
    """Return the reference's call of the same target during the same input."""
    same = [gold for gold in case.harness.gold_calls if gold.api == call.api and gold.bound]
    at_input = [gold for gold in same if gold.input == call.input]
    return (at_input or same or [None])[0]


def _data_names(case: Case, call: CallRecord) -> set[str]:
    """Return the names of the bound arguments that carry data; by source, since values alone do not tell."""
    if case.tree is None:
        return set(call.arguments)
    node = program.call_at(case.tree, call.position, call.line)
    if node is None:
        return set() if _is_bare_decorator(case, call) else set(call.arguments)
    positions, keywords, receiver = program.data_arguments(node, case.tree, case.task.entry_point)
    order = list(call.arguments)
    offset = 1 if order[:1] == ["self"] else 0
    variadic = next((place for place, name in enumerate(order) if name.startswith("*")), len(order))
    places = {min(number + offset, variadic) for number in positions}
    names = {order[place] for place in places if place < len(order)}
    names |= {name for name in keywords if name in call.arguments}
    if receiver and offset:
        names.add("self")
    if "**" in keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        names |= set(order)
    return names - _NEVER_DATA


def _is_bare_decorator(case: Case, call: CallRecord) -> bool:
    """Whether a call is a decorator without brackets: what it is given is what it stands before."""
    if case.tree is None or program.call_at(case.tree, call.position, call.line) is not None:
        return False
    return program.decorates(case.tree, call.line)


def is_callable(excerpt: str) -> bool:
    """Whether the excerpt of a value is that of a function or class."""
    return _CALLABLE.match(excerpt) is not None


def alike(value: str, other: str | None) -> bool:
    """Whether two excerpts stand for the same value; of two functions nothing can be said."""
    return value == other or (other is not None and is_callable(value) and is_callable(other))


def exchanged(case: Case, call: CallRecord) -> bool:
    """Whether two arguments of the reference's call have changed places."""
    gold = gold_call(case, call)
    if gold is None:
        return False
    given, wanted = call.arguments, gold.arguments
    common = [name for name in given if name in wanted and not alike(given[name], wanted[name])]
    return any(alike(given[a], wanted[b]) and alike(given[b], wanted[a]) for a in common for b in common if a != b)


def only_callback(case: Case, call: CallRecord, message: str) -> bool:
    """Whether the call differs from the reference's in functions alone, and the refusal is not of the function."""
    gold = gold_call(case, call)
    if gold is None or call.arguments.keys() != gold.arguments.keys():
        return False
    handed = {name for name, value in call.arguments.items() if is_callable(value)}
    if _is_bare_decorator(case, call) and not any(is_callable(gold.arguments[name]) for name in handed):
        return False  # it takes the place of an argument that is missing
    same = all(value == gold.arguments[name] for name, value in call.arguments.items() if name not in handed)
    return bool(handed) and same and not re.search(r"function|callable|method|lambda", message)
