"""Names: what a statement binds, what it needs from before, what it changes in place."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping
from dataclasses import dataclass

BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}


@dataclass(frozen=True)
class Use:
    """The names of one statement, seen from outside."""

    binds: frozenset[str]
    """Names that it defines."""
    needs: frozenset[str]
    """Names that it reads and that must come from before (builtins included only if they are shadowed nowhere)."""
    changes: frozenset[str]
    """Names whose object it changes in place, as far as syntax shows."""


def use_of(node: ast.stmt) -> Use:
    """Return the names of one statement."""
    scope = _Scope()
    scope.visit(node)
    changed = _changed(node)
    return Use(frozenset(scope.bound), frozenset(scope.needed - BUILTINS), frozenset(changed))


def imports_of(tree: ast.AST) -> dict[str, str]:
    """Return what names stand for that imports bind anywhere in a tree."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".", 1)[0]
                found[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return found


def dotted(node: ast.expr, imports: Mapping[str, str]) -> str | None:
    """Return the full name of `np.linalg.norm`, or null when its root is no imported name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in imports:
        return None
    return ".".join([imports[node.id], *reversed(parts)])


def root_name(node: ast.expr) -> str | None:
    """Return the variable at the root of `a.b[c].d()`, or null when there is none."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call | ast.Starred | ast.Await):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _changed(node: ast.stmt) -> set[str]:
    changed: set[str] = set()
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    elif isinstance(node, ast.Delete):
        targets = node.targets
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        if isinstance(function, ast.Attribute):
            targets = [function]
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            name = root_name(part)
            if name is not None and (not isinstance(part, ast.Name) or isinstance(node, ast.AugAssign)):
                changed.add(name)
    return changed


class _Scope(ast.NodeVisitor):
    """Walks a statement in the order in which it is evaluated."""

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.needed: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load | ast.Del):
            if node.id not in self.bound:
                self.needed.add(node.id)
        else:
            self.bound.add(node.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._all([node.value, *node.targets])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and node.target.id not in self.bound:
            self.needed.add(node.target.id)
        self._all([node.value, node.target])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._all([node.annotation, *([node.value] if node.value else [])])
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self._all([node.iter, node.target, *node.body, *node.orelse])

    def visit_AsyncFor(self, node: ast.AsyncFor) -> None:
        self.visit_For(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.bound.update((alias.asname or alias.name.split(".", 1)[0]) for alias in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.bound.update(alias.asname or alias.name for alias in node.names if alias.name != "*")

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        if node.name:
            self.bound.add(node.name)
        self._all(node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._all([*node.decorator_list, *_outer(node.args), *([node.returns] if node.returns else [])])
        self.bound.add(node.name)
        self._inner(node.args, node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._all(_outer(node.args))
        self._inner(node.args, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._all([*node.decorator_list, *node.bases, *(item.value for item in node.keywords)])
        inner = _Scope()
        inner.bound.add(node.name)
        inner._all(node.body)
        self.needed |= inner.needed - self.bound
        self.bound.add(node.name)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        inner = _Scope()
        for item in node.generators:
            inner._all([item.iter, item.target, *item.ifs])
        inner._all([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        self.needed |= inner.needed - self.bound

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self.visit_ListComp(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self.visit_ListComp(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self.visit_ListComp(node)

    def _inner(self, arguments: ast.arguments, body: list[ast.stmt] | list[ast.expr]) -> None:
        """Add what a function body needs from outside; a name may be bound after the definition."""
        inner = _Scope()
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        inner.bound.update(item.arg for item in every if item is not None)
        for node in body:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    inner.bound.add(part.id)
        inner._all(body)
        self.needed |= inner.needed - self.bound

    def _all(self, nodes: list[ast.expr] | list[ast.stmt] | list[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)


def _outer(arguments: ast.arguments) -> list[ast.expr]:
    """Return defaults and annotations: they are evaluated outside of the function."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    annotations = [item.annotation for item in every if item is not None and item.annotation is not None]
    return [*arguments.defaults, *(item for item in arguments.kw_defaults if item is not None), *annotations]
