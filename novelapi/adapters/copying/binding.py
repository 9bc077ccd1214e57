"""How the copy baseline binds the parameters of the entry point to those of a call."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from novelapi.adapters.copying.examples import Usage, is_literal, names_in, needed_before
from novelapi.adapters.copying.reading import Parameter
from novelapi.adapters.copying.words import likeness, mentions

_ALIKE = 0.6
"""Share of common words from which two descriptions are taken to speak of the same parameter."""


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The arguments of one call as source text."""

    receiver: str | None = None
    """Object whose method is called; null for a function."""
    positional: tuple[str, ...] = ()
    keywords: tuple[tuple[str, str], ...] = ()
    setup: tuple[str, ...] = ()
    """Statements that have to run before."""

    guessed: int = 0
    """Parameters of the entry point that found their place by nothing but their order."""

    def text(self) -> str:
        """Return what stands in the parentheses."""
        return ", ".join([*self.positional, *(f"{name}={value}" for name, value in self.keywords)])


def positional_arguments(entry: Sequence[str], is_method: bool) -> Arguments:
    """Pass the parameters of the entry point in their own order."""
    return Arguments(receiver=entry[0] if is_method and entry else None, positional=tuple(entry[is_method:]))


def bind_by_parameters(
    entry: Sequence[str],
    parameters: Sequence[Parameter],
    is_method: bool,
    described: Mapping[str, str],
    values: Mapping[str, str],
) -> Arguments:
    """Match by equal names, by equal descriptions, by similar names; then required ones in order, then optional ones.

    Args:
        entry: parameters of the entry point.
        parameters: documented parameters of what is called.
        is_method: whether there is a receiver besides them.
        described: what the task says of the parameters of the entry point.
        values: further arguments by parameter, as source text.
    """
    rules: tuple[Callable[[str, Parameter], float], ...] = (
        lambda name, item: name == item.name,
        lambda name, item: likeness(described.get(name, ""), item.text),
        lambda name, item: _similar(name, item.name),
    )
    receiver = entry[0] if is_method and entry and entry[0] not in {item.name for item in parameters} else None
    left = [name for name in entry if name != receiver]
    bound = {item.name: values[item.name] for item in parameters if item.name in values}
    for score in rules:
        for name in list(left):
            free = [item for item in parameters if item.name not in bound]
            best = max(free, key=lambda item: score(name, item), default=None)
            if best is not None and score(name, best) >= _ALIKE:
                bound[best.name] = name
                left.remove(name)
    guessed = len(left)
    ordered = [item for item in parameters if item.name not in bound and item.kind != "var_keyword"]
    for item in sorted(ordered, key=lambda item: (item.default is not None, item.kind == "keyword_only")):
        if left and item.kind != "var_positional":
            bound[item.name] = left.pop(0)
        elif left:
            bound[item.name] = ", ".join(left)
            left = []
    return replace(_written(parameters, bound, left), receiver=receiver, guessed=guessed)


def _written(parameters: Sequence[Parameter], bound: dict[str, str], rest: Sequence[str]) -> Arguments:
    """Write positional arguments while they follow each other, then keywords."""
    positional: list[str] = []
    keywords: list[tuple[str, str]] = []
    gap = False
    last = max(
        (n for n, item in enumerate(parameters) if item.kind == "positional_only" and item.name in bound), default=-1
    )
    for number, item in enumerate(parameters):
        if number <= last:
            positional.append(bound.get(item.name, item.default or "None"))
        elif item.name not in bound:
            gap = gap or item.kind != "var_positional"
        elif item.kind == "var_positional":
            positional.append(f"*{bound[item.name]}" if bound[item.name] == item.name else bound[item.name])
        elif item.kind == "var_keyword":
            positional.append(f"**{bound[item.name]}")
        elif not gap and item.kind != "keyword_only" and item.default is None:
            positional.append(bound[item.name])
        else:
            gap = True
            keywords.append((item.name, bound[item.name]))
    return Arguments(positional=(*positional, *rest), keywords=tuple(keywords))


def bind_by_example(entry: Sequence[str], usage: Usage, described: Mapping[str, str]) -> Arguments | None:
    """Put the parameters of the entry point into the places of an example's call: by name, then in order.

    Data stands in variables and options in literals, so variables are filled first. Null when the call needs something
    that the example does not define by plain assignments.
    """
    call, left = usage.call, list(entry)
    method = usage.path.startswith(".") and isinstance(call.func, ast.Attribute)
    slots: list[tuple[str | None, ast.expr]] = [(None, item) for item in call.args]
    slots += [(item.arg or "**", item.value) for item in call.keywords]
    if method:
        assert isinstance(call.func, ast.Attribute)
        slots.insert(0, ("", call.func.value))
    filled: dict[int, str] = {}
    for index, (name, value) in enumerate(slots):
        about = [own for own in left if name and not is_literal(value) and mentions(described.get(own, ""), name)]
        own = name if name in left else next(iter(about), ast.unparse(value))
        if own in left:
            filled[index] = own
            left.remove(own)
    for wanted_literal in (False, True):
        for index, (name, value) in enumerate(slots):
            is_option = bool(name) and is_literal(value)
            if left and index not in filled and is_option is wanted_literal:
                filled[index] = left.pop(0)
    texts = [filled.get(index, ast.unparse(value)) for index, (_, value) in enumerate(slots)]
    free = {node.id for i, (_, value) in enumerate(slots) if i not in filled for node in names_in(value)}
    setup = needed_before(usage.tree, call, free - set(entry))
    if setup is None:
        return None
    pairs = [(name, text) for (name, _), text in zip(slots, texts, strict=True)]
    return Arguments(
        receiver=pairs[0][1] if method else None,
        positional=(*(text for name, text in pairs if name is None), *left),
        keywords=tuple((name, text) for name, text in pairs if name and name != "**"),
        setup=tuple(setup),
    )


def _similar(first: str, second: str) -> bool:
    first, second = first.lower().strip("_"), second.lower().strip("_")
    short = min(len(first), len(second))
    return (
        first == second
        or (short >= 3 and (first.startswith(second) or second.startswith(first)))
        or (short >= 4 and difflib.SequenceMatcher(None, first, second).ratio() >= 0.8)
    )
