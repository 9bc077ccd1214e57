"""Leakage: when an example would give a task's answer away, and how much of a reference the shown examples hold."""

from __future__ import annotations

import ast
import io
import token
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from novelapi.knowledge.names import dotted, imports_of
from novelapi.knowledge.snippets import parse_or_none

_DEPTH = 8


def normalised_calls(code: str, api_paths: Iterable[str], bindings: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the calls of a target in a program, normalised: equal text means the same call with the same arguments.

    Arguments are resolved through simple assignments, imports through their full names, keyword arguments are sorted,
    and names that stay open are numbered in order of appearance. The receiver of a method counts as an argument.

    Args:
        code: a program; one that does not parse has no calls.
        api_paths: every public path of the target.
        bindings: expressions for further names, such as the inputs of a task.
    """
    tree = parse_or_none(code)
    if tree is None:
        return frozenset()
    paths = frozenset(api_paths)
    names = _Names(tree, bindings or {})
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            text = _normalised(node.func, node, paths, names)
            if text is not None:
                found.add(text)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            path = dotted(node, names.imports)
            if path is None and any(item.rsplit(".", 1)[-1] == node.attr for item in paths):
                found.add(f".{node.attr}({names.text([node.value])})")
    properties = {text for text in found if text.startswith(".")}
    called = found - properties
    return frozenset(called or properties)


def _normalised(function: ast.expr, call: ast.Call, paths: frozenset[str], names: _Names) -> str | None:
    path = dotted(function, names.imports)
    leaves = {item.rsplit(".", 1)[-1] for item in paths}
    receiver: list[ast.expr] = []
    if path is None or path not in paths:
        if isinstance(function, ast.Attribute) and function.attr in leaves and path is None:
            receiver = [function.value]
        elif not (isinstance(function, ast.Name) and function.id in leaves):
            return None
    leaf = min(leaves)
    keywords = sorted(call.keywords, key=lambda item: (item.arg is None, item.arg or ""))
    arguments = names.text([*receiver, *call.args, *(item.value for item in keywords)])
    shape = [*("." for _ in receiver), *("_" for _ in call.args), *(f"{item.arg or '**'}=" for item in keywords)]
    return f"{leaf}[{' '.join(shape)}]({arguments})"


class _Names:
    """What the names of a program stand for."""

    def __init__(self, tree: ast.Module, bindings: Mapping[str, str]) -> None:
        self.imports = imports_of(tree)
        self.values: dict[str, ast.expr] = {}
        counts: Counter[str] = Counter()
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                counts[node.id] += 1
            elif isinstance(node, ast.Assign):
                self._assign(node)
        self.values = {name: value for name, value in self.values.items() if counts[name] == 1}
        for name, text in bindings.items():
            bound = parse_or_none(text)
            if bound is not None and len(bound.body) == 1 and isinstance(bound.body[0], ast.Expr):
                self.values[name] = bound.body[0].value

    def _assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.values[target.id] = node.value
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for name, value in zip(target.elts, node.value.elts, strict=False):
                    if isinstance(name, ast.Name):
                        self.values[name.id] = value

    def text(self, arguments: list[ast.expr]) -> str:
        """Return the source of expressions with all names resolved."""
        wrapped = ast.Tuple(elts=arguments, ctx=ast.Load())
        resolved = _Resolve(self).visit(ast.parse(ast.unparse(wrapped), mode="eval").body)
        return ast.unparse(resolved)


class _Resolve(ast.NodeTransformer):
    def __init__(self, names: _Names) -> None:
        self.names = names
        self.depth = 0
        self.open: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.names.imports:
            return ast.Name(self.names.imports[node.id], ast.Load())
        value = self.names.values.get(node.id)
        if value is None or self.depth >= _DEPTH:
            return ast.Name(self.open.setdefault(node.id, f"_{len(self.open)}"), ast.Load())
        self.depth += 1
        resolved = self.visit(ast.parse(ast.unparse(value), mode="eval").body)
        self.depth -= 1
        return resolved


def overlap(reference: str, shown_examples: Sequence[str]) -> float | None:
    """Return the share of a reference's tokens that the closest shown example holds, from 0 to 1.

    Tokens are counted with their multiplicity; white space, comments and line ends are none. Null when no example was
    shown or the reference has no tokens.
    """
    wanted = _tokens(reference)
    total = sum(wanted.values())
    if not shown_examples or not total:
        return None
    return max(sum((wanted & _tokens(example)).values()) for example in shown_examples) / total


def _tokens(code: str) -> Counter[str]:
    skipped = {token.COMMENT, token.NL, token.NEWLINE, token.INDENT, token.DEDENT, token.ENDMARKER, token.ENCODING}
    found: Counter[str] = Counter()
    try:
        for item in tokenize.generate_tokens(io.StringIO(code).readline):
            if item.type not in skipped:
                found[item.string] += 1
    except (tokenize.TokenError, SyntaxError):
        return found  # the tokens up to the error count
    return found
