"""Reads calls from JSON values, in the forms that models, harnesses and data sets write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from novelapi.selection.calls import Call
from novelapi.selection.scanning import load_json

CONTAINERS = ("api_calls", "calls", "tool_calls", "function_calls", "task_nodes", "tool_nodes")
"""Keys of an object that hold a list of calls."""
GENERAL = ("nodes", "output", "actions")
"""Keys that may hold one: if the object is the answer, or all in it is the row's."""
LINKS = ("task_links", "tool_links", "links")
"""Keys beside them that hold the links among the calls."""
NAMES = ("name", "api_name", "function", "task", "action", "tool", "id", "function_name", "tool_name")
"""Keys of an item that may hold the name of what is called, in this order."""
ARGUMENTS = ("arguments", "parameters", "args", "action_input", "tool_input", "input", "kwargs")
"""Keys of an item that may hold its arguments."""
LISTED = frozenset({
    "api_description", "required_parameters", "optional_parameters", "input_schema", "input-type", "output-type",
    "output_parameters", "query_parameters", "template_response",
})  # fmt: skip
"""Keys that only the entry of a tool list has: what echoes its prompt calls nothing."""
BESIDE = frozenset({"label", "type", "thought", "thoughts", "reason", "explanation", "step"})
"""Further keys that the call of an unknown tool may have in prose; any other object there is something else."""
REPLIES = frozenset({"error", "message", "response", "result", "answer", "status", "output", "data", "thought"})
"""Keys of an object that is an answer in words, not a call by a name that the row does not list."""


@dataclass(frozen=True, kw_only=True)
class Decoded:
    """Calls in a JSON value."""

    calls: tuple[Call, ...]
    whole: bool
    """Whether the value states the whole answer (a list or a container), not one call among others."""
    links: tuple[tuple[str, str], ...] | None = None
    malformed: int = 0


def decode(value: Any, known: Callable[[str], bool], *, trusted: bool = False) -> Decoded | None:
    """Return the calls in a JSON value, or null when it is something else.

    Args:
        value: the value.
        known: tells whether a name is one of the row's.
        trusted: the value is the answer, not a part of prose: `{"name": {...}}` is a call whatever the name.
    """
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        for key in ("result", "answer", "response"):
            inner = value.get(key)
            if len(value) <= 3 and isinstance(inner, dict) and (found := _container(inner, known, trusted)) is not None:
                return found
        found = _container(value, known, trusted)
        if found is not None:
            return found
        several = _spread([value], known)
        if len(several) > 1:
            return decode(several, known, trusted=trusted)
        call = read_call(value, known, trusted=trusted)
        return None if call is None else Decoded(calls=(call,), whole=False)
    if isinstance(value, list):
        calls = [read_call(item, known, trusted=trusted) for item in _spread(value, known)]
        good = tuple(call for call in calls if call is not None)
        if good or not value:
            return Decoded(calls=good, whole=True, malformed=len(calls) - len(good))
    return None


def _container(value: dict[str, Any], known: Callable[[str], bool], trusted: bool) -> Decoded | None:
    for key in (*CONTAINERS, *GENERAL):
        items = value.get(key)
        if isinstance(items, str) and items.lstrip().startswith(("[", "{")):
            items = parsed(items)
        if isinstance(items, list) and not _is_listing(items):
            if key in GENERAL and not (trusted or (items and all(known(_name(item)) for item in items))):
                continue
            calls = [read_call(item, known, trusted=True) for item in _spread(items, known)]
            if key.endswith("nodes"):  # they are referred to by position
                calls = [call and replace(call, label=f"<node-{number}>") for number, call in enumerate(calls)]
            good = [call for call in calls if call is not None]
            return Decoded(calls=tuple(good), whole=True, links=_links(value), malformed=len(calls) - len(good))
    links = _links(value)
    if links:  # a graph by its links alone
        names = dict.fromkeys(name for link in links for name in link)
        return Decoded(calls=tuple(Call(name=name) for name in names), whole=True, links=links)
    return None


def _spread(items: list[Any], known: Callable[[str], bool]) -> list[Any]:
    """Return items with those that call several of the row's tools by name (`{"a": {...}, "b": {...}}`) taken apart."""
    found: list[Any] = []
    for item in items:
        apart = isinstance(item, dict) and len(item) > 1 and all(isinstance(part, dict) for part in item.values())
        if apart and all(isinstance(name, str) and known(name) for name in item):
            found += [{name: part} for name, part in item.items()]
        else:
            found.append(item)
    return found


def _is_listing(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(item, dict) and _is_listed(item) for item in items)


def _is_listed(item: dict[str, Any]) -> bool:
    """Whether an item describes a tool and calls none."""
    if LISTED & item.keys():
        return True
    function = item.get("function")
    if isinstance(function, dict):
        return _is_listed(function)
    given = next((item[key] for key in ARGUMENTS if key in item), None)
    return _is_schema(given) or (("description" in item or "desc" in item) and not given)


def _is_schema(given: Any) -> bool:
    """Whether the value of an item's arguments declares parameters."""
    if isinstance(given, dict):
        if "properties" in given and "type" in given:
            return True
        return bool(given) and all(isinstance(part, dict) and "description" in part for part in given.values())
    described = {"name", "type", "desc", "description"}
    return bool(given) and isinstance(given, list) and all(
        isinstance(part, dict) and len(described & part.keys()) > 1 and "value" not in part for part in given
    )  # fmt: skip


def _links(value: dict[str, Any]) -> tuple[tuple[str, str], ...] | None:
    for key in LINKS:
        items = value.get(key)
        items = parsed(items) if isinstance(items, str) else items
        if isinstance(items, list):
            found = [(item.get("source"), item.get("target")) for item in items if isinstance(item, dict)]
            return tuple((str(source), str(target)) for source, target in found if source and target)
    return None


def read_call(item: Any, known: Callable[[str], bool], *, trusted: bool = False) -> Call | None:
    """Return the call that an item of a list states, or null.

    Args:
        item: a JSON value.
        known: tells whether a name is one of the row's.
        trusted: the item stands in a container, so any form is taken.
    """
    if isinstance(item, str):
        return Call(name=item) if item.strip() and (trusted or known(item)) else None
    if isinstance(item, list):
        if len(item) in (2, 3) and all(isinstance(part, str) and part.strip() for part in item[:2]):
            given = item[2] if len(item) == 3 and isinstance(item[2], dict) else {}
            return Call(owner=item[0], name=item[1], arguments=given) if trusted or len(item) == 2 else None
        return None
    if not isinstance(item, dict) or not all(isinstance(key, str) for key in item) or _is_listed(item):
        return None
    function = item.get("function")
    if isinstance(function, dict):  # the form of endpoints
        return read_call({**function, "label": item.get("label", "")}, known, trusted=True)
    mapped = _mapped(item, known, trusted=trusted)
    if mapped is not None:
        name, given = mapped
        return Call(name=name, arguments=given)
    return _named(item, known, trusted=trusted)


def _mapped(
    item: dict[str, Any], known: Callable[[str], bool], *, trusted: bool = False
) -> tuple[str, dict[str, Any]] | None:
    """Return name and arguments of an item `{"name": {...}}`, BFCL's own form."""
    if len(item) != 1:
        return None
    name, value = next(iter(item.items()))
    value = parsed(value) if isinstance(value, str) else value
    fits = known(name) or (trusted and name not in {*NAMES, *CONTAINERS, *GENERAL, *REPLIES})
    return (name, value) if isinstance(value, dict) and fits else None


def _name(item: Any) -> str:
    if not isinstance(item, dict):
        return item if isinstance(item, str) else ""
    return next((item[key] for key in NAMES if isinstance(item.get(key), str)), "")


def _named(item: dict[str, Any], known: Callable[[str], bool], *, trusted: bool) -> Call | None:
    owner = item.get("tool_name")
    name = item.get("api_name")
    if not (isinstance(owner, str) and isinstance(name, str)):
        owner, name = "", _name(item)
    key = next((key for key in ARGUMENTS if key in item), None)
    if not name.strip() or (key is None and not trusted and not owner):
        return None
    given = parsed(item[key]) if key and isinstance(item[key], str) else item[key] if key else None
    plainly = isinstance(given, dict) and item.keys() <= {*NAMES, *ARGUMENTS, *BESIDE}
    if not (trusted or owner or known(name) or plainly):
        return None
    arguments, positional = _arguments(given)
    label = item.get("label") or item.get("id") or ""
    label = label if isinstance(label, str) and label != name else ""
    return Call(
        name=name, owner=owner, arguments=arguments, positional=positional, label=label.strip("$"), ok=None
    )  # fmt: skip


def _arguments(value: Any) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """Return named and unnamed arguments; a text is parsed if it is JSON, else it is one argument."""
    value = parsed(value) if isinstance(value, str) else value
    if value is None or value == "":
        return {}, ()
    if isinstance(value, dict):
        return {str(name): part for name, part in value.items()}, ()
    if isinstance(value, list):
        if value and all(isinstance(part, dict) and "name" in part and "value" in part for part in value):
            return {str(part["name"]): part["value"] for part in value}, ()  # TaskBench's form
        return {}, tuple(value)
    return {}, (value,)


def parsed(text: str) -> Any:
    """Return the JSON value that a text is, or the text itself."""
    try:
        return load_json(text)
    except ValueError:
        return text
