"""Values as tagged plain data, on the judge's side: comparison and excerpts. Nothing here executes foreign code.

JSON scalars, arrays (Python lists) and objects without the key `$` (dicts with text keys) stand for themselves. The
rest is an object with a tag:

| tag | fields |
|---|---|
| tuple, set, frozenset, iterator | items |
| namedtuple | type, fields, items |
| dict | items: [[key, value], ...] (keys that are no text) |
| int | hex (more than 14,000 bits) |
| float | value: "nan", "inf", "-inf" |
| complex | real, imag |
| bytes, bytearray | base64 |
| Decimal, Fraction, UUID, datetime, date, time | value |
| timedelta, range, slice | args |
| ellipsis, nat, na | |
| type | value: qualified name |
| exception | type, args |
| raises | type: the expected exception's class name, qualified or not; message: optional, compared if given |
| ndarray | dtype, shape, and base64 (C order) or values (flat list; objects, texts, or written by hand) |
| scalar | dtype, and base64 or values: one numpy scalar |
| masked | data, mask: two ndarrays |
| dtype | value |
| index, multiindex, series, frame, timestamp, pd_timedelta, period, interval, pd_array | pandas |
| polars_series, polars_frame | polars |

Comparison is by exact type, shape, dtype, length and keys, with two allowances: a numpy scalar equals the Python number
or text of the same kind, and with a tolerance numbers may differ by |a - b| <= atol + rtol * |b|. NaN equals NaN.
"""

from __future__ import annotations

import base64
import math
import struct
from typing import Any

from novelapi.fingerprint import canonical_json
from novelapi.records.task import Tolerance

Tree = Any
_EXACT = Tolerance()
_CODES = {
    "b1": "?", "i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q",
    "f2": "e", "f4": "f", "f8": "d",
}  # fmt: skip


class Comparison:
    """One comparison of an answer with the expected value."""

    def __init__(self, tolerance: Tolerance | None = None, *, unordered: bool = False) -> None:
        """Set the tolerance (null: exact) and whether the order of the outermost sequence is free."""
        self.tolerance = tolerance or _EXACT
        self.unordered = unordered

    def difference(self, expected: Tree, actual: Tree, path: str = "answer", top: bool = True) -> str | None:
        """Return the first difference in words, or null when the values are equal."""
        expected, actual = _simple(expected), _simple(actual)
        kinds = type_name(expected), type_name(actual)
        if kinds[0] != kinds[1]:
            return f"{path} is {kinds[1]}, expected {kinds[0]}"
        if isinstance(expected, list):
            return self._sequence(expected, actual, path, top)
        if not isinstance(expected, dict):
            return self._scalar(expected, actual, path)
        tag = expected.get("$")
        if tag is None:
            return self._mapping(expected, actual, path)
        if tag in ("tuple", "iterator"):
            return self._sequence(expected["items"], actual["items"], path, top)
        if tag in ("ndarray", "scalar"):
            return self._array(expected, actual, path, top)
        return self._tagged(expected, actual, path)

    def _scalar(self, expected: Any, actual: Any, path: str) -> str | None:
        if expected == actual or (isinstance(expected, float) and self._close(expected, actual)):
            return None
        return f"{path} is {excerpt(actual, 80)}, expected {excerpt(expected, 80)}"

    def _close(self, expected: float, actual: float) -> bool:
        if expected == actual or (math.isnan(expected) and math.isnan(actual)):
            return True
        return abs(actual - expected) <= self.tolerance.atol + self.tolerance.rtol * abs(expected)

    def _sequence(self, expected: list[Tree], actual: list[Tree], path: str, top: bool) -> str | None:
        if len(expected) != len(actual):
            return f"{path} has {len(actual)} elements, expected {len(expected)}"
        if self.unordered and top:
            expected, actual = sorted(expected, key=_order), sorted(actual, key=_order)
        for position, (left, right) in enumerate(zip(expected, actual, strict=True)):
            found = self.difference(left, right, f"{path}[{position}]", top=False)
            if found is not None:
                return found
        return None

    def _mapping(self, expected: dict[str, Tree], actual: dict[str, Tree], path: str) -> str | None:
        if expected.keys() != actual.keys():
            missing, extra = sorted(expected.keys() - actual.keys()), sorted(actual.keys() - expected.keys())
            return f"{path} has other keys: missing {missing[:5]}, unexpected {extra[:5]}"
        for key, value in expected.items():
            found = self.difference(value, actual[key], f"{path}[{key!r}]", top=False)
            if found is not None:
                return found
        return None

    def _tagged(self, expected: dict[str, Tree], actual: dict[str, Tree], path: str) -> str | None:
        if expected.keys() != actual.keys():
            return f"{path} is another {expected['$']}"
        if expected["$"] in ("set", "frozenset", "dict"):
            left, right = sorted(expected["items"], key=_order), sorted(actual["items"], key=_order)
            return self._sequence(left, right, path, top=False)
        for key, value in expected.items():
            if key not in ("$", "fields"):
                found = self.difference(value, actual[key], f"{path}.{key}", top=False)
                if found is not None:
                    return found
        return None

    # Arrays

    def _array(self, expected: dict[str, Tree], actual: dict[str, Tree], path: str, top: bool) -> str | None:
        for field in ("dtype", "shape"):
            if expected.get(field) != actual.get(field):
                return f"{path} has {field} {actual.get(field)}, expected {expected.get(field)}"
        free = self.unordered and top and len(expected.get("shape") or ()) == 1
        if not free and "base64" in expected and expected["base64"] == actual.get("base64"):
            return None
        left, right = flat(expected), flat(actual)
        if left is None or right is None:
            return f"{path} has other contents"
        if free:
            left, right = sorted(left, key=_order), sorted(right, key=_order)
        if len(left) != len(right):
            return f"{path} has {len(right)} elements, expected {len(left)}"
        for position, (one, other) in enumerate(zip(left, right, strict=True)):
            found = self.difference(one, other, f"{path}.flat[{position}]", top=False)
            if found is not None:
                return found
        return None


def flat(array: dict[str, Tree]) -> list[Tree] | None:
    """Return the elements of an encoded array in C order as JSON scalars; null for a dtype that has none.

    Raises:
        KeyError, TypeError, ValueError: what a completion sent is no array.
    """
    if "values" in array:
        return list(array["values"])
    dtype, data = array["dtype"], base64.b64decode(array["base64"])
    if not isinstance(dtype, str):
        return [base64.b64encode(data).decode()]
    order, code = dtype[0], dtype[1:]
    if order == "|":
        order = "<"
    if code in _CODES:
        return list(_unpack(f"{order}{len(data) // int(code[1:])}{_CODES[code]}", data))
    if code in ("c8", "c16"):
        half = "f" if code == "c8" else "d"
        parts = _unpack(f"{order}{2 * len(data) // int(code[1:])}{half}", data)
        return [{"$": "complex", "real": parts[i], "imag": parts[i + 1]} for i in range(0, len(parts), 2)]
    if code[0] in "mM":
        return list(_unpack(f"{order}{len(data) // 8}q", data))
    if code[0] == "U":
        size = 4 * int(code[1:])
        encoding = "utf-32-be" if order == ">" else "utf-32-le"
        texts = [data[i : i + size].decode(encoding, "replace") for i in range(0, len(data), size)] if size else []
        return [text.rstrip("\0") for text in texts]
    if code[0] in "SV":
        size = int(code[1:])
        return [data[i : i + size].hex() for i in range(0, len(data), size)] if size else []
    return None


def _unpack(layout: str, data: bytes) -> tuple[Any, ...]:
    try:
        return struct.unpack(layout, data)
    except struct.error as error:
        raise ValueError(str(error)) from error


def _simple(tree: Tree) -> Tree:
    """Turn a numpy scalar into the Python value of the same kind, and a special float into a float."""
    if isinstance(tree, dict):
        if tree.get("$") == "float":
            return float(tree["value"])
        if (
            tree.get("$") == "scalar"
            and isinstance(tree["dtype"], str)
            and tree["dtype"].lstrip("<>|=")[:1] in "biufcU"
        ):
            kind = tree["dtype"].lstrip("<>|=")
            if kind in ("b1", "i8", "u8", "f8", "c16") or kind[0] == "U":
                values = flat(tree)
                if values is not None and len(values) == 1:
                    return values[0]
    return tree


def type_name(tree: Tree) -> str:
    """Name the Python type that a tree stands for."""
    if tree is None or isinstance(tree, bool | int | float | str | list):
        return type(tree).__name__
    tag = tree.get("$")
    if tag is None:
        return "dict"
    if tag == "scalar":
        return f"numpy scalar {tree['dtype']}"
    return str(tree["type"]) if tag == "namedtuple" else str(tag)


def _order(tree: Tree) -> tuple[str, Any, str]:
    """Sort key of any tree: numbers by value, the rest by canonical text."""
    tree = _simple(tree)
    if isinstance(tree, bool | int | float):
        return ("number", -math.inf if isinstance(tree, float) and math.isnan(tree) else tree, "")
    return ("other", 0, canonical_json(_finite(tree)))


def _finite(tree: Tree) -> Tree:
    """Write special floats as tags, for canonical JSON."""
    if isinstance(tree, float) and not math.isfinite(tree):
        return {"$": "float", "value": repr(tree)}
    if isinstance(tree, list):
        return [_finite(item) for item in tree]
    if isinstance(tree, dict):
        return {key: _finite(item) for key, item in tree.items()}
    return tree


def holds_nan(tree: Tree) -> bool:
    """Whether a value holds a NaN anywhere."""
    if isinstance(tree, float):
        return math.isnan(tree)
    if isinstance(tree, list):
        return any(holds_nan(item) for item in tree)
    if not isinstance(tree, dict):
        return False
    if tree.get("$") == "float":
        return tree["value"] == "nan"
    if tree.get("$") in ("ndarray", "scalar"):
        return holds_nan(flat(tree))
    return any(holds_nan(item) for item in tree.values())


def raises(expected: Tree) -> tuple[str, str | None] | None:
    """Return (type, message) when the expected outcome is an exception, else null."""
    if isinstance(expected, dict) and expected.get("$") == "raises":
        return str(expected["type"]), expected.get("message")
    return None


def excerpt(tree: Tree, limit: int = 300) -> str:
    """Return a short text of a value in Python's own notation."""
    text = _show(tree, 0)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _show(tree: Tree, depth: int) -> str:  # noqa: PLR0911 - one line per notation
    if depth > 8:
        return "..."
    if isinstance(tree, list):
        return "[" + _join(tree, depth) + "]"
    if not isinstance(tree, dict):
        return repr(tree)
    tag = tree.get("$")
    if tag is None:
        return "{" + ", ".join(f"{key!r}: {_show(item, depth + 1)}" for key, item in list(tree.items())[:50]) + "}"
    if tag == "tuple":
        return "(" + _join(tree["items"], depth) + ("," if len(tree["items"]) == 1 else "") + ")"
    if tag in ("set", "frozenset", "iterator"):
        return f"{tag}([{_join(tree['items'], depth)}])"
    if tag == "namedtuple":
        pairs = zip(tree["fields"], tree["items"], strict=False)
        return tree["type"].rsplit(".", 1)[-1] + "(" + ", ".join(f"{k}={_show(v, depth + 1)}" for k, v in pairs) + ")"
    if tag == "float":
        return str(tree["value"])
    if tag == "complex":
        return f"({_show(tree['real'], 0)} + {_show(tree['imag'], 0)}j)"
    if tag in ("ndarray", "scalar"):
        values = flat(tree)
        inner = "..." if values is None else _join(values[:60], depth)
        shape = f", shape={tuple(tree['shape'])}" if "shape" in tree else ""
        return f"{'array' if tag == 'ndarray' else 'scalar'}([{inner}]{shape}, dtype={tree['dtype']})"
    if tag == "raises":
        return f"raises {tree['type']}"
    rest = ", ".join(f"{key}={_show(item, depth + 1)}" for key, item in tree.items() if key != "$")
    return f"{tag}({rest})"


def _join(items: list[Tree], depth: int) -> str:
    return ", ".join(_show(item, depth + 1) for item in items[:60]) + (", ..." if len(items) > 60 else "")
