"""Further inputs from a seed's own: the values are changed, the kind of data stays.

All arguments of one input are changed in the same way (a list that loses its last element does so everywhere), since
lengths and shapes often have to agree. What does not run, or gives an answer that is there already, is dropped later.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Sequence
from typing import Any

_STRUCTURAL_CALLS = frozenset(
    "reshape zeros ones empty full eye identity arange linspace range default_rng RandomState seed repeat tile"
    " rand randn random standard_normal normal uniform integers randint poisson choice zeros_like ones_like".split()
)
_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "float32", "float64", "complex64", "bool_")
_STRUCTURAL_KEYWORDS = frozenset("axis axes shape ndim size dtype order ndmin num order k".split())
_KINDS = (
    "numbers",
    "reverse",
    "numbers",
    "shorter",
    "numbers",
    "longer",
    "keys",
    "rotate",
    "numbers",
    "shapes",
    "scaled",
    "types",
)
_EXTRA_KEY = "note"
TYPES = ("int", "str", "float", "bool", "bytes")
"""Types that stand for each other where a type is data."""


def vary(
    texts: Sequence[str], names: Sequence[str], key: str, count: int, allowed: Sequence[Sequence[str]] = ()
) -> list[tuple[str, ...]]:
    """Return up to `count` sets of changed expressions, none equal to the given one or to another.

    Args:
        texts: the expressions of one input, in order.
        names: the parameters of the API that they are for; an axis stays one.
        key: what the choice of values depends on, so that two runs agree.
        count: how many to return at most.
        allowed: per expression the only values that make sense; empty where any of its kind do.
    """
    allowed = allowed or [()] * len(texts)
    found: list[tuple[str, ...]] = []
    known = {tuple(texts)}
    for attempt in range(count * 4):
        kind = _KINDS[attempt % len(_KINDS)]
        changed = tuple(
            _one(text, name, kind, f"{key}/{attempt}", choices)
            for text, name, choices in zip(texts, names, allowed, strict=True)
        )
        if changed not in known:
            known.add(changed)
            found.append(changed)
        if len(found) == count:
            break
    return found


def _one(text: str, name: str, kind: str, key: str, choices: Sequence[str]) -> str:
    """Change the expression of one parameter in the way that suits it."""
    if choices:
        return _generator(key, name).choice(list(choices))
    return _axis(text, key) if name in ("axis", "axes") else _change(text, kind, key)


def _change(text: str, kind: str, key: str) -> str:
    """Change one expression.

    What is changed into what depends on the key and the value, not on its place, so that equal parts of two arguments
    (data, and a statistic of the same data) stay equal.
    """
    node = ast.parse(text, mode="eval").body
    changed = _Change(kind, key).visit(node)
    if kind == "scaled" and _is_array(text):
        choice = _generator(key, "scaled").choice(["* 2", "+ 1", "- 3"])
        return f"{_operand(ast.unparse(changed))} {choice}"
    return ast.unparse(ast.fix_missing_locations(changed))


def _axis(text: str, key: str) -> str:
    """Choose another small axis for a single one; tuples of axes stay."""
    node = ast.parse(text, mode="eval").body
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    if not isinstance(value, ast.Constant) or not isinstance(value.value, int):
        return text
    return _generator(key, "axis").choice([text, "0", "-1", "1"])


def _generator(key: str, value: object) -> random.Random:
    return random.Random(f"{key}/{value!r}")  # noqa: S311 - values of test inputs, no secrets


def _is_array(text: str) -> bool:
    return text.startswith(("np.array(", "np.arange(", "np.linspace(", "np.asarray(", "np.ones(")) and "'" not in text


def _operand(text: str) -> str:
    return text if text.endswith(")") else f"({text})"


class _Change(ast.NodeTransformer):
    """One kind of change, applied everywhere in an expression."""

    def __init__(self, kind: str, key: str) -> None:
        self.kind = kind
        self.key = key
        self.structural = 0
        self.place = ""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if self.kind == "shapes" and name in ("reshape", "arange"):
            return self._shape(node, name)
        node.func = node.func if isinstance(node.func, ast.Name) else self.visit(node.func)
        structural = name in _STRUCTURAL_CALLS and name not in ("default_rng", "RandomState", "seed")
        self.structural += structural
        node.args = [self.visit(argument) for argument in node.args]
        self.structural -= structural
        for keyword in node.keywords:
            if keyword.arg not in _STRUCTURAL_KEYWORDS:
                keyword.value = self.visit(keyword.value)
        return node

    def _shape(self, node: ast.Call, name: str) -> ast.expr:
        """Turn `np.arange(6).reshape(2, 3)` into `np.arange(12).reshape(4, 3)`, and a bare arange into a longer one."""
        node.func = node.func if isinstance(node.func, ast.Name) else self.visit(node.func)
        arguments = [argument for argument in node.args if isinstance(argument, ast.Constant)]
        if arguments and len(arguments) == len(node.args):
            first = arguments[0]
            if isinstance(first.value, int) and first.value > 0 and (name == "reshape" or len(arguments) == 1):
                node.args[0] = ast.Constant(first.value * 2)
        return node

    def visit_List(self, node: ast.List) -> ast.expr:
        items = list(node.elts)
        if len(items) > 1 and not any(isinstance(item, ast.Starred) for item in items):
            if self.kind == "reverse":
                items.reverse()
            elif self.kind == "rotate":
                items = items[1:] + items[:1]
            elif self.kind == "shorter" and len(items) > 2:
                items = items[:-1]
            elif self.kind == "longer":
                items = [*items, ast.parse(ast.unparse(items[0]), mode="eval").body]
        if self.kind in ("numbers", "longer") or (items and isinstance(items[0], ast.List | ast.Tuple | ast.Dict)):
            items = [self.visit(item) for item in items]
        return ast.List(elts=items, ctx=ast.Load())

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        texts = all(isinstance(item, ast.Constant) and isinstance(item.value, str) for item in node.keys)
        if self.kind == "keys" and node.keys and texts:
            return ast.Dict(keys=[*node.keys, ast.Constant(_EXTRA_KEY)], values=[*node.values, ast.Constant(7)])
        node.values = [self.visit(value) for value in node.values]  # keys are names: they stay
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.visit(node.value)
        if isinstance(node.slice, ast.Name | ast.Tuple):  # list[int]: the types are data, positions are not
            node.slice = self.visit(node.slice)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant) and self.kind == "numbers":
            changed = self._number(node.operand.value)
            if changed is not None:
                return node if changed == 0 else ast.UnaryOp(op=ast.USub(), operand=ast.Constant(changed))
        node.operand = self.visit(node.operand)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if self.structural or self.kind not in ("numbers", "longer", "types", "keys"):
            return node
        if self.kind in ("types", "keys"):
            return self._typed(node)
        changed = self._text(node.value) if isinstance(node.value, str) else self._number(node.value)
        return node if changed is None else ast.Constant(changed)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in TYPES and self.kind in ("numbers", "types", "keys", "reverse") and not self.structural:
            return ast.Name(self._pick(node.id, list(TYPES)), ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        node.value = self.visit(node.value)
        if self.kind == "numbers" and node.attr in _DTYPES and not self.structural:
            return ast.Attribute(value=node.value, attr=self._pick(node.attr, list(_DTYPES)), ctx=ast.Load())
        return node

    def _pick(self, value: object, choices: list[Any]) -> Any:
        return _generator(self.key, (self.place, value)).choice(choices)

    def _number(self, value: object) -> int | float | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if isinstance(value, int):
            return abs(value + self._pick(value, [-2, -1, 1, 2, 3, 5]))
        if 0.0 < value < 1.0:
            return self._pick(value, [0.1, 0.25, 0.3, 0.4, 0.6, 0.75, 0.9])
        return round(abs(value + self._pick(value, [-1.5, -0.5, 0.5, 1.25, 2.0])), 6)

    def _typed(self, node: ast.Constant) -> ast.expr:
        """Write a value in another way: a number as text, and JSON text with one key more."""
        value = node.value
        if self.kind == "types" and isinstance(value, int | float) and not isinstance(value, bool):
            return ast.Constant(str(value))
        if self.kind == "keys" and isinstance(value, str) and value.startswith("{") and value.endswith("}"):
            inner = value[1:-1].strip()
            return ast.Constant(f'{{{inner}{", " if inner else ""}"{_EXTRA_KEY}": 7}}')
        return node

    def _text(self, value: str) -> str | None:
        """Change a word or sentence; short ones (codes, separators) have a meaning and stay."""
        if value.startswith(("{", "[")) and value.endswith(("}", "]")):
            return re.sub(r"\d+", lambda match: str(self._number(int(match[0]))), value)  # JSON: its form stays
        if len(value) < 3 or not any(letter.isalpha() for letter in value):
            return None
        return self._pick(value, [value.upper(), value.capitalize(), f"{value}s", value + value[:2], None])
