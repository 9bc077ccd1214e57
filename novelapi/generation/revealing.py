"""Data on which an option shows: a missing number for what skips missing ones, a column of text beside numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from novelapi.generation.seeds import Seed

_OF_MISSING = frozenset("skipna dropna keepna keep_na ignore_na ignore_nan nan_policy na_position na_option".split())
_OF_NUMBERS = frozenset({"numeric_only"})
_TABLES = frozenset({"DataFrame"})
_NUMPY = "import numpy as np"
_FEWEST = 3
"""Numbers that a list needs before one of them may go missing."""


def revealing(seed: Seed, parameter: str) -> Iterator[Seed]:
    """Yield a seed with other data where an option is about missing numbers, or about columns that are no numbers.

    Args:
        seed: the call, without the option.
        parameter: name of the option.
    """
    if parameter in _OF_MISSING:
        yield from _changed(seed, _Missing, (_NUMPY,))
    elif parameter in _OF_NUMBERS:
        yield from _changed(seed, _TextColumn, ())


def _changed(seed: Seed, kind: Callable[[], _Missing | _TextColumn], imports: tuple[str, ...]) -> Iterator[Seed]:
    """Yield the seed with one of its expressions changed: the receiver's, or the first argument's that can be."""
    texts = [seed.receiver or "", *(argument.text for argument in seed.arguments)]
    for number, text in enumerate(texts):
        if not text:
            continue
        visitor = kind()
        tree = visitor.visit(ast.parse(text, mode="eval"))
        if not visitor.done:
            continue
        new = ast.unparse(ast.fix_missing_locations(tree))
        more = tuple(line for line in imports if line not in seed.imports)
        seed = replace(seed, imports=(*seed.imports, *more))
        if number == 0:
            yield replace(seed, receiver=new)
        else:
            arguments = list(seed.arguments)
            arguments[number - 1] = replace(arguments[number - 1], text=new)
            yield replace(seed, arguments=tuple(arguments))
        return


class _Missing(ast.NodeTransformer):
    """Lets a number be missing, in the last list of numbers: the first one often says to which group each belongs."""

    def __init__(self) -> None:
        self.done = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Look into the data of a call: what it is called on, then what it is given first."""
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        if not self.done and node.args:
            node.args[0] = self.visit(node.args[0])
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.expr:
        """Take the last column that holds numbers."""
        for position in reversed(range(len(node.values))):
            if not self.done:
                node.values[position] = self.visit(node.values[position])
        return node

    def visit_List(self, node: ast.List) -> ast.expr:
        """Take a flat list's second number, or the last number of the second row."""
        rows = node.elts
        if len(rows) >= _FEWEST and all(_is_number(item) for item in rows):
            node.elts[1] = _nan()
            self.done = True
        elif len(rows) >= _FEWEST and all(_is_row(item) for item in rows):
            row = rows[1]
            assert isinstance(row, ast.List | ast.Tuple)
            row.elts[-1] = _nan()
            self.done = True
        return node


class _TextColumn(ast.NodeTransformer):
    """Gives a table one column of text."""

    def __init__(self) -> None:
        self.done = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Add the column where the table is made."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _TABLES:
            self.done = True
            text = ast.keyword(arg="note", value=ast.Constant("x"))
            return ast.Call(func=ast.Attribute(node, "assign", ast.Load()), args=[], keywords=[text])
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        return node


def _is_number(node: ast.expr) -> bool:
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def _is_row(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 1 and _is_number(node.elts[-1])


def _nan() -> ast.expr:
    return ast.Attribute(ast.Name("np", ast.Load()), "nan", ast.Load())
