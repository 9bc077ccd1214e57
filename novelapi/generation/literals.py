"""Recorded values as short Python literals that a reader can take in at a glance."""

from __future__ import annotations

import math
from typing import Any

from novelapi.execution.values import flat

Tree = Any

_MOST_ELEMENTS = 36
_MOST_DIMENSIONS = 3
_LONGEST_TEXT = 120
_DEFAULT_DTYPES = frozenset({"int64", "float64", "bool", "complex128", "<i8", "<f8", "|b1", "<c16"})


class TooLargeError(Exception):
    """A value has no short literal."""


def literal_of(tree: Tree) -> str | None:
    """Return an expression for a recorded value (arrays need `np`); null when none would be short.

    Floats are rounded to four significant digits: the value is data for a task, any number near it would do.
    """
    try:
        return _literal(tree)
    except TooLargeError:
        return None


def _literal(tree: Tree) -> str:
    if isinstance(tree, list):
        return f"[{', '.join(_items(tree))}]"
    if isinstance(tree, float):
        return _number(tree)
    if isinstance(tree, str):
        if len(tree) > _LONGEST_TEXT:
            raise TooLargeError
        return repr(tree)
    if not isinstance(tree, dict):
        return repr(tree)
    tag = tree.get("$")
    if tag is None:
        return "{" + ", ".join(f"{key!r}: {_literal(value)}" for key, value in _bounded(list(tree.items()))) + "}"
    if tag == "tuple":
        items = _items(tree["items"])
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    if tag in ("float", "complex"):
        return _tagged_number(tree)
    if tag in ("ndarray", "scalar"):
        return _array(tree)
    raise TooLargeError


def _bounded(items: list[Any]) -> list[Any]:
    if len(items) > _MOST_ELEMENTS:
        raise TooLargeError
    return items


def _items(items: list[Tree]) -> list[str]:
    return [_literal(item) for item in _bounded(items)]


def _number(value: float) -> str:
    return repr(float(f"{value:.4g}")) if math.isfinite(value) else f"float('{value}')"


def _tagged_number(tree: dict[str, Tree]) -> str:
    if tree["$"] == "float":
        return {"nan": "np.nan", "inf": "np.inf"}.get(tree["value"], "-np.inf")
    return f"complex({_literal(tree['real'])}, {_literal(tree['imag'])})"


def _array(tree: dict[str, Tree]) -> str:
    shape, values = tree.get("shape", []), flat(tree)
    if values is None or len(shape) > _MOST_DIMENSIONS or not isinstance(tree["dtype"], str):
        raise TooLargeError
    items = [_literal(value) for value in _bounded(values)]
    if tree["$"] == "scalar":
        return items[0]
    for size in reversed(shape[1:]):
        if size == 0:
            raise TooLargeError
        items = [f"[{', '.join(items[start : start + size])}]" for start in range(0, len(items), size)]
    plain = tree["dtype"] in _DEFAULT_DTYPES or tree["dtype"].lstrip("<>|=")[:1] == "U"
    dtype = "" if plain and shape and shape[0] else f", dtype={tree['dtype']!r}"
    return f"np.array([{', '.join(items)}]{dtype})" if shape else f"np.array({items[0]}{dtype})"
