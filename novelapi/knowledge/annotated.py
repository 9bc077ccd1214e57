"""Parameter texts in annotations: `Annotated[int, Doc("...")]`."""

from __future__ import annotations

import ast
import inspect

from novelapi.knowledge.modules import Definition


def documented_parameters(definition: Definition | None) -> dict[str, str]:
    """Return the `Doc` text of each parameter, and the string below each attribute of a class."""
    if definition is None:
        return {}
    node = definition.node
    found: dict[str, str] = {}
    if isinstance(node, ast.ClassDef):
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and member.name in {"__init__", "__new__"}:
                found |= _of_arguments(member)
        return _of_attributes(node) | found
    return _of_arguments(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else {}


def _of_arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, str]:
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    texts = {item.arg: _doc(item.annotation) for item in arguments if item is not None}
    return {name: text for name, text in texts.items() if text}


def _doc(annotation: ast.expr | None) -> str | None:
    for part in ast.walk(annotation) if annotation is not None else ():
        if isinstance(part, ast.Call) and ast.unparse(part.func).rsplit(".", 1)[-1] in {"Doc", "doc"} and part.args:
            value = part.args[0]
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                return inspect.cleandoc(value.value).strip()
    return None


def _of_attributes(node: ast.ClassDef) -> dict[str, str]:
    """Return the strings below annotated attributes: fields are the parameters of generated constructors."""
    found: dict[str, str] = {}
    for member, below in zip(node.body, node.body[1:], strict=False):
        named = isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name)
        text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else None
        if named and isinstance(text, str):
            assert isinstance(member, ast.AnnAssign)
            assert isinstance(member.target, ast.Name)
            found[member.target.id] = inspect.cleandoc(text)
    return found
