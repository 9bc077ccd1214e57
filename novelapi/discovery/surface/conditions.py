"""Decides `if` statements that do not depend on the machine."""

from __future__ import annotations

import ast
import enum
import operator
import sys
from collections.abc import Callable
from typing import Any

from novelapi.discovery.surface.text import dotted

_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Branch(enum.Enum):
    """Which branch of an `if` statement counts."""

    TAKEN = enum.auto()
    SKIPPED = enum.auto()
    TYPING = enum.auto()
    NOT_TYPING = enum.auto()
    UNKNOWN = enum.auto()


def truth(test: ast.expr) -> Branch:
    """Decide a condition: type checking, the version of Python, constants; everything else is unknown."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return {
            Branch.TAKEN: Branch.SKIPPED,
            Branch.SKIPPED: Branch.TAKEN,
            Branch.TYPING: Branch.NOT_TYPING,
            Branch.NOT_TYPING: Branch.TYPING,
        }.get(truth(test.operand), Branch.UNKNOWN)
    if (dotted(test) or "").rpartition(".")[2] in {"TYPE_CHECKING", "MYPY", "MYPY_CHECK_RUNNING"}:
        return Branch.TYPING
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        # transformers: `if TYPE_CHECKING or SLOW_IMPORT`
        return Branch.TYPING if any(truth(part) is Branch.TYPING for part in test.values) else Branch.UNKNOWN
    if isinstance(test, ast.Constant):
        return Branch.TAKEN if test.value else Branch.SKIPPED
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _version(test)
    return Branch.UNKNOWN


def _version(test: ast.Compare) -> Branch:
    if dotted(test.left) == "__name__":
        return Branch.SKIPPED
    compare = _OPERATORS.get(type(test.ops[0]))
    if dotted(test.left) != "sys.version_info" or compare is None or not isinstance(test.comparators[0], ast.Tuple):
        return Branch.UNKNOWN
    wanted = tuple(item.value for item in test.comparators[0].elts if isinstance(item, ast.Constant))
    return Branch.TAKEN if compare(sys.version_info[: len(wanted)], wanted) else Branch.SKIPPED
