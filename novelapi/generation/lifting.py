"""Turns the literal data of a program into parameters of its entry point."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from novelapi.generation.describe import forbidden_names
from novelapi.generation.drafts import Free
from novelapi.generation.inputs import TYPES
from novelapi.knowledge.arguments import choices
from novelapi.knowledge.names import dotted, use_of
from novelapi.records.api import Candidate
from novelapi.records.bundle import KnownParameter

_MOST_PARAMETERS = 3


def target_calls(tree: ast.AST, candidate: Candidate, imports: dict[str, str]) -> list[ast.Call]:
    """Return the calls of the target in a tree."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [node for node in calls if is_target(node.func, candidate, imports)]


def is_target(node: ast.AST, candidate: Candidate, imports: dict[str, str]) -> bool:
    """Return whether a name or an attribute leads to the target, as far as syntax shows."""
    leaf = candidate.api.rsplit(".", 1)[-1]
    if not isinstance(node, ast.Name | ast.Attribute):
        return False
    path = dotted(node, imports)
    if path is not None and (path in candidate.paths or path == candidate.api):
        return True
    members = ("method", "classmethod", "staticmethod", "property")
    return candidate.kind in members and isinstance(node, ast.Attribute) and node.attr == leaf and path is None


def lift(
    statements: list[ast.stmt],
    candidate: Candidate,
    imports: dict[str, str],
    place: str,
    documented: Mapping[str, KnownParameter],
) -> tuple[list[ast.stmt], list[Free]]:
    """Return statements with parameters in the place of literals, and the parameters.

    Args:
        statements: the program; it is changed.
        candidate: the target: its names are not given to parameters.
        imports: what imported names stand for.
        place: `data` (outside of definitions and of the target's calls), `target` (inside those calls) or `types`.
        documented: what is known of the target's parameters, by name.
    """
    nodes = [node for statement in statements for node in ast.walk(statement)]
    taken = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    taken |= {name for node in statements for name in use_of(node).binds} | set(forbidden_names(candidate.paths))
    taken |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    lifting = _Lift(candidate, imports, taken, place, documented)
    changed = [ast.fix_missing_locations(lifting.visit(node)) for node in statements]
    return changed, lifting.free


class _Lift(ast.NodeTransformer):
    """Replaces literal data by parameters of the entry point."""

    def __init__(
        self,
        candidate: Candidate,
        imports: dict[str, str],
        taken: set[str],
        place: str,
        documented: Mapping[str, KnownParameter],
    ) -> None:
        self.documented = documented
        self.candidate, self.imports, self.taken, self.place = candidate, imports, taken, place
        self.free: list[Free] = []
        self.depth = 0
        self.in_target = 0
        self.wanted = "value"

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._definition(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._definition(node)

    def _definition(self, node: ast.stmt) -> ast.AST:
        self.depth += 1
        if self.place != "data":
            self.generic_visit(node)
        self.depth -= 1
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.wanted = "kind"
        node.annotation = self.visit(node.annotation)
        self.wanted = node.target.id if isinstance(node.target, ast.Name) else "value"
        node.value = self.visit(node.value) if node.value is not None else None
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if self.place != "types" or node.id not in TYPES or not isinstance(node.ctx, ast.Load):
            return node
        self.wanted = "kind"
        return self._lifted(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        node.value = self.visit(node.value)
        if self.place == "types":
            node.slice = self.visit(node.slice)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        target = is_target(node.func, self.candidate, self.imports)
        self.in_target += target
        if isinstance(node.func, ast.Attribute | ast.Subscript):
            node.func.value = self.visit(node.func.value)
        for number, argument in enumerate(node.args):
            self.wanted = "value"
            node.args[number] = self.visit(argument)
        for keyword in node.keywords:
            self.wanted = keyword.arg or "value"
            keyword.value = self.visit(keyword.value)
        self.in_target -= target
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        target = node.targets[0]
        self.wanted = target.id if isinstance(target, ast.Name) and not target.id.startswith("shown_") else "value"
        node.value = self.visit(node.value)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self._lifted(node) if _is_data(node) and self.place != "types" else node

    def visit_List(self, node: ast.List) -> ast.AST:
        return self._container(node)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        return self._container(node)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        return self._container(node)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        return self._container(node)

    def _container(self, node: ast.expr) -> ast.AST:
        literal = all(
            isinstance(
                part,
                ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set | ast.expr_context | ast.UnaryOp | ast.USub,
            )
            for part in ast.walk(node)
        )
        if literal and self.place != "types" and any(_is_data(part) for part in ast.walk(node)):
            return self._lifted(node)
        return self.generic_visit(node)

    def _lifted(self, node: ast.expr) -> ast.AST:
        right_place = {
            "data": self.depth == 0 and self.in_target == 0,
            "target": self.in_target > 0,
            "types": True,
        }[self.place]
        if not right_place or len(self.free) >= _MOST_PARAMETERS:
            return node
        allowed: tuple[str, ...] = ()
        if self.in_target and isinstance(node, ast.Constant) and isinstance(node.value, str) and self.wanted != "value":
            parameter = self.documented.get(self.wanted)
            allowed = tuple(choices(parameter)) if parameter is not None else ()
            if ast.unparse(node) not in allowed:
                return node  # a word that means something: another one would mean nothing
        known = self.wanted if self.wanted.isidentifier() else "value"
        new = {item.parameter for item in self.candidate.changes if item.kind == "parameter_added"}
        base = "extra" if self.in_target and (known in new or self.candidate.change == "added") else known
        base = base if base.lower() not in self.taken else "value"
        name, number = base, 2
        while name in self.taken or name in {free.name for free in self.free}:
            name, number = f"{base}_{number}", number + 1
        parameters = {item.name for item in self.candidate.parameters}
        feeds = known if self.in_target and known in parameters else "a value in the program below"
        if self.place == "types":
            feeds = "a type in the program below"
        self.free.append(Free(name=name, text=ast.unparse(node), feeds=feeds, position=None, choices=allowed))
        return ast.Name(name, ast.Load())


def _is_data(node: ast.AST) -> bool:
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return False
    return isinstance(node.value, int | float | bytes) or (isinstance(node.value, str) and bool(node.value))
