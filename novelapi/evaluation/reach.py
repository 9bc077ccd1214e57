"""Whether the source of a completion holds a reachable call of a target. Pure functions of source texts.

Code behind a return, raise, break, continue or an endless loop is not reachable, nor is code under a constant condition
that never holds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from novelapi.evaluation.program import Goal, mentions, names_of


def reaches_target(tree: ast.Module, context: ast.Module | None, goal: Goal) -> bool:
    """Whether the program holds a reachable call that resolves to the target, or hands the target to a call."""
    names = names_of(context, tree)
    for node in reachable(tree.body):
        if isinstance(node, ast.Call):
            if mentions(node.func, names, goal, receivers=True):
                return True
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(mentions(argument, names, goal, receivers=False) for argument in arguments):
                return True
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if any(mentions(decorator, names, goal, receivers=False) for decorator in node.decorator_list):
                return True
    return False


def reachable(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Yield all reachable nodes below a list of statements."""
    stack: list[ast.AST] = list(reversed(_live(body)))
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.BoolOp):
            stack += reversed(_evaluated(node))
        elif isinstance(node, ast.IfExp) and constant(node.test) is not None:
            stack.append(node.body if constant(node.test) else node.orelse)
        else:
            stack += reversed(_children(node))


def _children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for _, value in ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            found += _live(value)
        elif isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def _evaluated(node: ast.BoolOp) -> list[ast.AST]:
    """Return the operands up to the constant that decides."""
    stops = isinstance(node.op, ast.Or)
    found: list[ast.AST] = []
    for operand in node.values:
        found.append(operand)
        if constant(operand) is stops:
            break
    return found


def constant(test: ast.expr) -> bool | None:
    """Return the truth of a constant condition; null where it is not constant."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = constant(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.Tuple | ast.List) and not test.elts:
        return False
    if isinstance(test, ast.BoolOp):
        stops = isinstance(test.op, ast.Or)
        known = [constant(operand) for operand in test.values]
        if stops in known:
            return stops
        return None if None in known else not stops
    return None


def _live(body: list[ast.stmt]) -> list[ast.AST]:
    """Return the statements of a block that can be reached, with constant branches resolved."""
    found: list[ast.AST] = []
    for node in body:
        holds = constant(node.test) if isinstance(node, ast.If | ast.While) else None
        if isinstance(node, ast.If) and holds is not None:
            found += _live(node.body if holds else node.orelse)
        elif isinstance(node, ast.While) and holds is False:
            found += _live(node.orelse)
        else:
            found.append(node)
        if leaves(node):
            break
    return found


def leaves(node: ast.stmt) -> bool:
    """Whether control never comes behind a statement."""
    if isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
        return True
    if isinstance(node, ast.If):
        holds = constant(node.test)
        if holds is not None:
            return _block_leaves(node.body if holds else node.orelse)
        return _block_leaves(node.body) and _block_leaves(node.orelse)
    if isinstance(node, ast.While) and constant(node.test):
        return not _breaks(node.body)
    if isinstance(node, ast.With | ast.AsyncWith):
        return False  # a context manager may swallow what was raised
    if isinstance(node, ast.Try):
        if _block_leaves(node.finalbody):
            return True
        handlers = all(_block_leaves(handler.body) for handler in node.handlers)
        return handlers and _block_leaves([*node.body, *node.orelse])
    return False


def _block_leaves(body: list[ast.stmt]) -> bool:
    return any(leaves(node) for node in body)


def _breaks(body: list[ast.stmt]) -> bool:
    """Whether a loop's own body holds a break."""
    for node in body:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.For | ast.AsyncFor | ast.While | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner: list[ast.AST] = getattr(node, field, [])
            for item in inner:
                if _breaks(getattr(item, "body", None) or ([item] if isinstance(item, ast.stmt) else [])):
                    return True
    return False
