"""What the source of a completion says: stubs, calls that resolve to a target, arguments that carry data.

Pure functions of source texts; nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from novelapi.evaluation.extraction import MAX_PARSED, parse

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parse_code(code: str) -> ast.Module | None:
    """Parse a completion; null when it does not compile or is too long to look at."""
    return parse(code) if len(code) <= MAX_PARSED else None


def is_stub(tree: ast.Module, entry_point: str) -> bool:
    """Whether a completion holds no code: nothing at all, or an entry point that only documents, passes or refuses."""
    if not [node for node in tree.body if not _is_text(node)]:
        return True
    function = entry_function(tree, entry_point)
    return function is not None and all(_does_nothing(node) for node in function.body)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _does_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Pass) or _is_text(node):
        return True
    if isinstance(node, ast.Raise) and node.exc is not None:
        error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return isinstance(error, ast.Name) and error.id == "NotImplementedError"
    return False


def entry_function(tree: ast.Module, entry_point: str) -> Function | None:
    """Return the last top-level definition of the entry point."""
    found = None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == entry_point:
            found = node
    return found


# Names


def dotted(node: ast.expr) -> list[str] | None:
    """Return the parts of a dotted expression: `np.linalg.norm` gives ["np", "linalg", "norm"]."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        return [node.id, *reversed(parts)]
    return None


def _imports(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Return what each imported name stands for: `import numpy as np` gives {"np": "numpy"}."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    found[alias.asname] = alias.name
                else:
                    found[alias.name.split(".")[0]] = alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


@dataclass(frozen=True, kw_only=True)
class Names:
    """What the names of a program stand for."""

    known: dict[str, str]
    """Name to dotted path, from imports and plain assignments."""

    def path(self, node: ast.expr) -> str | None:
        """Return the dotted path that an expression stands for, or null."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            if len(node.args) >= 2 and isinstance(node.args[1], ast.Constant) and isinstance(node.args[1].value, str):
                owner = self.path(node.args[0])
                return f"{owner}.{node.args[1].value}" if owner else None
        if isinstance(node, ast.Call) and (dotted(node.func) or [""])[-1] == "partial" and node.args:
            return self.path(node.args[0])
        parts = dotted(node)
        if parts is None:
            return None
        return ".".join([self.known.get(parts[0], parts[0]), *parts[1:]])


def names_of(*trees: ast.Module | None) -> Names:
    """Collect imports and aliases (`f = np.unstack`) of the context and the completion."""
    known: dict[str, str] = {}
    for tree in trees:
        if tree is None:
            continue
        nodes = list(ast.walk(tree))
        imported = _imports(nodes)
        # Functions and classes of the program that are not imported under the same name as well.
        definitions = (
            node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        )
        own = {node.name for node in definitions} - imported.keys()
        known.update(imported)
        known.update({name: f"own.{name}" for name in own})
        names = Names(known=known)
        for node in nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                path = names.path(node.value)
                if path is not None and "." in path and not isinstance(node.value, ast.Name):
                    known.setdefault(node.targets[0].id, path)
    return Names(known=known)


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a program should call."""

    api: str
    """The target's public path."""
    method: bool = False
    """Whether any receiver may reach it by its leaf."""
    namesakes: frozenset[str] = frozenset()
    """Paths of the same package that end like the target and are something else."""

    @property
    def leaf(self) -> str:
        """The last segment of the path."""
        return self.api.rsplit(".", 1)[-1]

    def meant_by(self, path: str | None) -> bool:
        """Whether a path means the target: the same, or its leaf elsewhere in its package where nothing else is."""
        if path is None or path.rsplit(".", 1)[-1] != self.leaf or path in self.namesakes:
            return False
        if path.split(".")[0] == "own":
            return False
        return path.split(".")[0] == self.api.split(".")[0] or path == self.api.removeprefix("builtins.")


def mentions(node: ast.AST, names: Names, goal: Goal, *, receivers: bool) -> bool:
    """Whether an expression below the node stands for the target.

    Args:
        node: where to look.
        names: what names stand for.
        goal: the target.
        receivers: whether the leaf on any receiver counts, for a method.
    """
    for child in ast.walk(node):
        if isinstance(child, ast.Attribute | ast.Name | ast.Call) and goal.meant_by(names.path(child)):
            return True
        if receivers and goal.method and isinstance(child, ast.Attribute) and child.attr == goal.leaf:
            return True
    return False


# Data flow


def data_arguments(call: ast.Call, tree: ast.Module, entry_point: str) -> tuple[set[int], set[str], bool]:
    """Return which arguments of a call carry data.

    An argument is data if it receives, directly or computed, a parameter of the entry point.

    Returns:
        Positions and keywords that carry data, and whether the receiver of a method call does.
    """
    tainted = tainted_names(tree, entry_point)

    def carries(node: ast.expr) -> bool:
        return any(isinstance(child, ast.Name) and child.id in tainted for child in ast.walk(node))

    positions = {number for number, argument in enumerate(call.args) if carries(argument)}
    keywords = {keyword.arg or "**" for keyword in call.keywords if carries(keyword.value)}
    receiver = isinstance(call.func, ast.Attribute) and carries(call.func.value)
    return positions, keywords, receiver


def tainted_names(tree: ast.Module, entry_point: str) -> set[str]:
    """Return the names that hold a parameter of the entry point or anything computed from one, in any function."""
    entry = entry_function(tree, entry_point)
    if entry is None:
        return set()
    tainted = {argument.arg for argument in _parameters(entry)}
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for _ in range(20):
        before = len(tainted)
        for node in ast.walk(tree):
            _spread(node, tainted, functions)
        if len(tainted) == before:
            break
    return tainted


def _parameters(function: Function) -> list[ast.arg]:
    given = function.args
    rest = [argument for argument in (given.vararg, given.kwarg) if argument is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *rest]


def _spread(node: ast.AST, tainted: set[str], functions: dict[str, Function]) -> None:
    """Pass the taint on: through assignments, loops, with statements and calls of own functions."""

    def carries(value: ast.AST | None) -> bool:
        return value is not None and any(
            isinstance(child, ast.Name) and child.id in tainted for child in ast.walk(value)
        )

    def stain(target: ast.AST) -> None:
        tainted.update(child.id for child in ast.walk(target) if isinstance(child, ast.Name))

    if isinstance(node, ast.Assign) and carries(node.value):
        for target in node.targets:
            stain(target)
    elif (isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and carries(node.value)) or (
        isinstance(node, ast.For | ast.AsyncFor | ast.comprehension) and carries(node.iter)
    ):
        stain(node.target)
    elif isinstance(node, ast.withitem) and carries(node.context_expr) and node.optional_vars is not None:
        stain(node.optional_vars)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
        if any(carries(argument) for argument in [*node.args, *(keyword.value for keyword in node.keywords)]):
            tainted.update(argument.arg for argument in _parameters(functions[node.func.id]))


def call_at(tree: ast.Module, position: tuple[int, int, int, int] | None, line: int | None) -> ast.Call | None:
    """Return the call at a position (line, end line, column, end column in bytes), or the only one in a line."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if position is not None:
        for node in calls:
            if (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == tuple(position):
                return node
    in_line = [node for node in calls if node.lineno == line]
    return in_line[0] if len(in_line) == 1 else None


def decorates(tree: ast.Module, line: int | None) -> bool:
    """Whether a line holds a decorator without brackets."""
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found += node.decorator_list
    return any(item.lineno == line and not isinstance(item, ast.Call) for item in found)


def import_at(tree: ast.Module, line: int | None) -> ast.Import | ast.ImportFrom | None:
    """Return the import statement that starts in a line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and line is not None:
            if node.lineno <= line <= (node.end_lineno or node.lineno):
                return node
    return None


def chains_at(tree: ast.Module, line: int | None, name: str) -> list[list[str]]:
    """Return the dotted expressions in a line that hold a name: where `np.linalg.nrm` failed."""
    found: list[list[str]] = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute | ast.Name)
            and line is not None
            and node.lineno <= line <= (node.end_lineno or line)
        ):
            parts = dotted(node)
            if parts is None and isinstance(node, ast.Attribute):
                parts = ["?"]
                inner: ast.expr = node
                tail: list[str] = []
                while isinstance(inner, ast.Attribute):
                    tail.append(inner.attr)
                    inner = inner.value
                parts += reversed(tail)
            if parts and name in parts:
                found.append(parts)
    return found
