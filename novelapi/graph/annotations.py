"""Annotations taken apart: which classes a port holds, at which part of it.

Unions are split, `None` is dropped, generics are opened: the items of `list[X]` are X, the second position of
`tuple[X, Y]` is Y, the values of `dict[str, X]` are X. A class, a callable or a literal is no instance of what it
names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from novelapi.graph.model import Port

WHOLE = Port()
ANY_ITEM = Port(kind="item")
ANY_KEY = Port(kind="key")

Held = tuple[Port, str]
"""A part, and the name of the class that it is an instance of."""

_SEQUENCES = frozenset(
    {
        "list", "List", "set", "Set", "frozenset", "FrozenSet", "Sequence", "MutableSequence", "Iterable", "Iterator",
        "Collection", "Generator", "AsyncIterator", "AsyncIterable", "AsyncGenerator", "deque", "Deque", "AbstractSet",
    }
)  # fmt: skip
_MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict"})
_OPENED = frozenset({"Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly", "Awaitable", "Coroutine"})
_NO_INSTANCE = frozenset({"type", "Type", "Callable", "Literal", "TypeGuard", "TypeIs", "Concatenate", "Unpack"})
_DEPTH = 12


def parts_of(annotation: str | None) -> list[Held]:
    """Return what an annotation says of a value and of its parts, each once; nothing where it cannot be read."""
    if not annotation:
        return []
    try:
        tree = ast.parse(annotation.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return []
    return list(dict.fromkeys(_parts(tree, _DEPTH)))


def _parts(node: ast.expr, depth: int) -> Iterator[Held]:
    if depth == 0:
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from parts_of(node.value)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        yield from _parts(node.left, depth - 1)
        yield from _parts(node.right, depth - 1)
    elif isinstance(node, ast.Subscript):
        yield from _generic(node, depth - 1)
    elif isinstance(node, ast.Name | ast.Attribute):
        name = ast.unparse(node)
        if name != "None":
            yield WHOLE, name


def _generic(node: ast.Subscript, depth: int) -> Iterator[Held]:
    name = ast.unparse(node.value)
    leaf = name.rpartition(".")[2]
    arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if leaf in {"Union", "Optional"}:
        for item in arguments:
            yield from _parts(item, depth)
    elif leaf in _OPENED:
        yield from _parts(arguments[-1 if leaf == "Coroutine" else 0], depth)
    elif leaf in {"tuple", "Tuple"}:
        endless = any(isinstance(item, ast.Constant) and item.value is ... for item in arguments)
        for place, item in enumerate(arguments):
            yield from _within(ANY_ITEM if endless else Port(kind="item", name=str(place)), item, depth)
    elif leaf in _SEQUENCES:
        yield from _within(ANY_ITEM, arguments[0], depth)
    elif leaf in _MAPPINGS:
        yield from _within(ANY_KEY, arguments[-1], depth)
    elif leaf not in _NO_INSTANCE:
        yield WHOLE, name


def _within(port: Port, item: ast.expr, depth: int) -> Iterator[Held]:
    """Yield what stands in one part; parts of parts are left out: nobody passes them on by name."""
    yield from ((port, name) for inner, name in _parts(item, depth) if inner == WHOLE)
