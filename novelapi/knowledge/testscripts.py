"""Test modules as scripts: the module's own statements, values for the parameters of a test, and the test's body."""

from __future__ import annotations

import ast
import copy
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from novelapi.knowledge.snippets import Script, Statement, parse_or_none, source_of

MAX_CASES = 2
"""Sets of parametrised values that are tried per test."""

MAX_WANTED = 12
"""The same for sets that name something that is looked for."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_scripts(tree: ast.Module, code: str, origin: str, package: str, leaves: frozenset[str]) -> Iterator[Script]:
    """Yield one script per test and set of parametrised values.

    Args:
        tree: the parsed module.
        code: its text.
        origin: file, for the reader.
        package: dotted name of the package that the file lies in, for its relative imports; empty if unknown.
        leaves: names that are looked for: parametrised values that mention one are preferred.
    """
    file = _File(code, origin, leaves)
    around = [_statement(node, code, package) for node in tree.body if not _is_test(node)]
    for node in tree.body:
        if isinstance(node, Function) and _is_test(node):
            yield from _scripts(node, around, file)
        elif isinstance(node, ast.ClassDef) and _is_test(node):
            inherited = _class_statements(node)
            for member in node.body:
                if isinstance(member, Function) and member.name.startswith("test"):
                    yield from _scripts(member, [*around, *inherited], file, node)


def _is_test(node: ast.stmt) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test") or any("TestCase" in ast.unparse(base) for base in node.bases)
    return isinstance(node, Function) and node.name.startswith("test")


def _statement(node: ast.stmt, code: str, package: str) -> Statement:
    if isinstance(node, ast.ImportFrom) and node.level and package:
        parts = package.split(".")
        base = parts[: len(parts) - node.level + 1]
        module = ".".join([*base, *([node.module] if node.module else [])])
        node = ast.copy_location(ast.ImportFrom(module=module, names=node.names, level=0), node)
        return Statement(node, ast.unparse(node))
    return Statement(node, source_of(node, code))


@dataclass(frozen=True)
class _File:
    """What the tests of one file share."""

    code: str
    origin: str
    leaves: frozenset[str]

    @cached_property
    def _wanted(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(?:{'|'.join(sorted(self.leaves))})(?!\w)")

    def mentions(self, node: Function) -> bool:
        """Say whether the text of a test, with its decorators, holds anything that is looked for."""
        return bool(self._wanted.search(source_of(node, self.code)))


def _scripts(
    node: Function, around: Sequence[Statement], file: _File, owner: ast.ClassDef | None = None
) -> Iterator[Script]:
    name = f"{file.origin}::{owner.name + '.' if owner else ''}{node.name}"
    decorators = [*node.decorator_list, *(owner.decorator_list if owner else [])]
    if any("skip" in ast.unparse(item) or "xfail" in ast.unparse(item) for item in decorators):
        return
    if not file.mentions(node):
        return
    body = [_member_statement(item, file.code, owner) for item in node.body if not _is_docstring(item)]
    if isinstance(node, ast.AsyncFunctionDef):
        body = _as_main(body)
    for case in _cases(node, decorators, file.leaves):
        statements = [*around, *case, *body]
        yield Script(tuple(statements), name, "tests", start=len(around))


def _as_main(body: Sequence[Statement]) -> list[Statement]:
    """Return the body of an asynchronous test as a coroutine that is run; its assertions print what they look at."""
    lines = ["async def main():"]
    for statement in body:
        node, text = statement.node, statement.text
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            text = f"print({ast.unparse(node.test.left)})"
        lines.append(textwrap.indent(text, "    "))
    code = "\n".join(lines)
    if len(lines) == 1 or parse_or_none(code) is None:
        return []
    run = "asyncio.run(main())"
    return [Statement(ast.parse(code).body[0], code), Statement(ast.parse(run).body[0], run)]


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _member_statement(node: ast.stmt, code: str, owner: ast.ClassDef | None) -> Statement:
    text = source_of(node, code)
    if owner is None or "self" not in text:
        return Statement(node, text)
    node = _Selfless().visit(copy.deepcopy(node))
    return Statement(node, ast.unparse(node))


class _Selfless(ast.NodeTransformer):
    """Turns `self.x` into `x`: what a class prepares for its tests becomes plain variables."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return ast.copy_location(ast.Name(node.attr, node.ctx), node)
        return node


def _class_statements(node: ast.ClassDef) -> list[Statement]:
    """Return what a test class prepares: attributes and the bodies of its set-up methods."""
    found: list[Statement] = []
    for member in node.body:
        if isinstance(member, ast.Assign):
            found.append(Statement(member, ast.unparse(member)))
        elif isinstance(member, ast.FunctionDef) and member.name in {"setup_method", "setUp", "setup"}:
            for item in member.body:
                plain = _Selfless().visit(copy.deepcopy(item))
                found.append(Statement(plain, ast.unparse(plain)))
        elif isinstance(member, ast.FunctionDef) and any(
            "staticmethod" in ast.unparse(d) for d in member.decorator_list
        ):
            plain = copy.deepcopy(member)
            plain.decorator_list = []
            found.append(Statement(plain, ast.unparse(plain)))
    return found


def _cases(node: Function, decorators: Sequence[ast.expr], leaves: frozenset[str]) -> list[list[Statement]]:
    """Return assignments of parametrised values; one empty case when there are none."""
    cases: list[list[Statement]] = [[]]
    for decorator in decorators:
        if not isinstance(decorator, ast.Call) or not ast.unparse(decorator.func).endswith("parametrize"):
            continue
        if len(decorator.args) < 2 or not isinstance(decorator.args[1], ast.List | ast.Tuple):
            continue
        names = _argument_names(decorator.args[0])
        values = [_values(item, len(names)) for item in _chosen(decorator.args[1].elts, leaves)]
        wide = [
            [*case, *(_assignment(name, value) for name, value in zip(names, row, strict=False))]
            for case in cases
            for row in values
            if row is not None
        ]
        cases = wide[:MAX_WANTED] or cases
    defaults = _defaults(node.args)
    return [[*defaults, *case] for case in cases]


def _chosen(items: Sequence[ast.expr], leaves: frozenset[str]) -> list[ast.expr]:
    """Return the first values, and those that name something that is looked for."""
    wanted = [item for item in items if any(_name_of(part) in leaves for part in ast.walk(item))]
    return list(dict.fromkeys([*wanted[:MAX_WANTED], *items[:MAX_CASES]]))


def _name_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _argument_names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    if isinstance(node, ast.List | ast.Tuple):
        return [item.value for item in node.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    return []


def _values(node: ast.expr, count: int) -> list[ast.expr] | None:
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("param"):
        return list(node.args)
    if count == 1:
        return [node]
    return list(node.elts) if isinstance(node, ast.Tuple | ast.List) else None


def _assignment(name: str, value: ast.expr) -> Statement:
    text = f"{name} = {ast.unparse(value)}"
    return Statement(ast.parse(text).body[0], text)


def _defaults(arguments: ast.arguments) -> list[Statement]:
    names = [*arguments.posonlyargs, *arguments.args]
    pairs = zip(reversed(names), reversed(arguments.defaults), strict=False)
    return [_assignment(name.arg, value) for name, value in pairs]


def package_of(parts: Sequence[str], roots: frozenset[str]) -> str:
    """Return the dotted package of a file below one of the import roots, or an empty string."""
    for number, part in enumerate(parts):
        if part in roots:
            return ".".join(parts[number:-1])
    return ""
