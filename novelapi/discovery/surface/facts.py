"""What one source file says, before names are followed into other files."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD, VAR_POSITIONAL, KEYWORD_ONLY, VAR_KEYWORD = range(5)
"""Parameter kinds, with the numbers of `inspect`."""


@dataclass(slots=True)
class Param:
    """One parameter as written."""

    name: str
    kind: int
    default: str | None = None
    annotation: str | None = None


@dataclass(slots=True)
class FunctionFacts:
    """A function or a method."""

    params: list[Param]
    returns: str | None
    decorators: tuple[str, ...]
    doc: str | None
    line: int
    end: int
    overloads: int = 0
    deprecated: bool = False
    is_stub: bool = False


@dataclass(slots=True)
class FieldFacts:
    """An annotated name in a class body: a field of a data class, if the class is one."""

    name: str
    annotation: str
    default: str | None
    init: bool = True
    keyword_only: bool | None = None


@dataclass(slots=True)
class ClassFacts:
    """A class."""

    bases: tuple[str, ...]
    keywords: dict[str, str]
    decorators: tuple[str, ...]
    decorator_options: dict[str, str]
    doc: str | None
    line: int
    end: int
    members: dict[str, Binding] = field(default_factory=dict)
    fields: list[FieldFacts] = field(default_factory=list)
    deprecated: bool = False
    is_stub: bool = False


@dataclass(slots=True)
class ImportFacts:
    """A name bound by an import; `name` is null when the module itself is bound."""

    module: str
    name: str | None
    redundant: bool = False
    """Written `import a as a` or `from x import a as a`: the author re-exports it."""
    typing_only: bool = False
    """Under `if TYPE_CHECKING`: there at run time only if the module makes it lazily."""


@dataclass(slots=True)
class StarFacts:
    """`from module import *`."""

    module: str
    typing_only: bool = False


@dataclass(slots=True)
class AliasFacts:
    """`name = other.name`."""

    target: str


@dataclass(slots=True)
class ValueFacts:
    """Any other assignment; `callee` is what made it, if a call did."""

    callee: str | None = None


Binding = FunctionFacts | ClassFacts | ImportFacts | StarFacts | AliasFacts | ValueFacts


@dataclass(slots=True)
class AllOperation:
    """One statement that builds `__all__`."""

    verb: str
    """set, add or remove"""
    value: ast.expr
    position: int
    """Number of bindings before it: `dir()` sees only those."""


@dataclass(slots=True)
class ModuleFacts:
    """One file."""

    name: str
    is_package: bool
    doc: str | None = None
    bindings: list[tuple[str, Binding]] = field(default_factory=list)
    """In the order of execution; stars have the name `*`."""
    all_operations: list[AllOperation] = field(default_factory=list)
    exports_open: bool = False
    """Whether `__all__` also grows in a way that only running tells: what it does not list may still be exported."""
    lists: dict[str, ast.expr] = field(default_factory=dict)
    """Module-level names assigned from literals: `__all__` may be built from them."""
    has_getattr: bool = False
    """Whether names are made on first use."""
    is_open: bool = False
    """Whether names are written in loops or through `globals()`: only running tells which."""
