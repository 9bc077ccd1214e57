"""What a class takes when it is called, and in which order its members are inherited."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence

from novelapi.discovery.surface.facts import (
    KEYWORD_ONLY,
    POSITIONAL_OR_KEYWORD,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    ClassFacts,
    FieldFacts,
    FunctionFacts,
    Param,
)
from novelapi.discovery.surface.namespace import Namespace

_DATACLASS = {"dataclass", "dataclass_transform"}
_ATTRS = {"s", "attrs", "define", "frozen", "mutable", "attributes", "dataclass"}
_ROLES = (
    ("typeddict", ("TypedDict",)),
    ("namedtuple", ("NamedTuple",)),
    ("protocol", ("Protocol",)),
    ("enum", ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")),
    ("model", ("BaseModel", "RootModel", "BaseSettings")),
)


class ClassReader:
    """Follows base classes."""

    def __init__(self, namespace: Namespace) -> None:
        """Remember where to look names up."""
        self._namespace = namespace
        self._orders: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self._facts: dict[str, ClassFacts] = {}

    def order(self, canonical: str, facts: ClassFacts) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the classes of this library in the order of inheritance, and the foreign base classes.

        The order is depth first with the last of equal entries kept, which is Python's own except in rare diamonds.
        """
        if canonical not in self._orders:
            self._orders[canonical] = ((canonical,), ())  # a circle ends here
            self._facts[canonical] = facts
            mine, foreign = [canonical], list[str]()
            module = canonical.partition(":")[0]
            for base in facts.bases:
                target = self._namespace.follow(module, base)
                if target.kind == "object" and isinstance(target.facts, ClassFacts):
                    inherited, outside = self.order(target.name, target.facts)
                    mine += inherited
                    foreign += outside
                else:
                    foreign.append(target.name if target.kind == "foreign" else base)
            self._orders[canonical] = (_last_of_equal(mine), tuple(dict.fromkeys(foreign)))
        return self._orders[canonical]

    def facts(self, canonical: str) -> ClassFacts:
        """Return the facts of a class that `order` has named."""
        return self._facts[canonical]

    def role(self, canonical: str, facts: ClassFacts) -> str:
        """Return the sort of class."""
        mro, foreign = self.order(canonical, facts)
        leaves = {name.rpartition(".")[2] for name in foreign}
        for role, names in _ROLES:
            if leaves & set(names) and (role != "protocol" or "Protocol" in facts.bases or facts.bases):
                return role
        found = [getattr(builtins, leaf, None) for leaf in leaves]
        errors = [item for item in found if isinstance(item, type) and issubclass(item, BaseException)]
        if any(issubclass(item, Warning) for item in errors):
            return "warning"
        own = {name.rpartition(":")[2] for name in mro[1:]} | leaves
        if errors or any(name.endswith(("Error", "Exception")) for name in own):
            return "exception"
        if any(name.endswith("Warning") for name in own):
            return "warning"
        return "dataclass" if self._is_dataclass(facts) else ""

    def parameters(self, canonical: str, facts: ClassFacts) -> tuple[list[Param] | None, str | None]:
        """Return the parameters of a call without `self`, and a docstring of the constructor.

        Null parameters mean that a foreign base class decides.
        """
        mro, foreign = self.order(canonical, facts)
        role = self.role(canonical, facts)
        if role == "enum":
            return None, None
        for name in mro:
            own = self.facts(name)
            method = _constructor(own)
            if method is not None:
                return _without_self(method), method.doc
            if self._is_dataclass(own):
                return self._fields(mro[mro.index(name) :], own), None
            if role in {"model", "typeddict", "namedtuple"} and own.fields and name == mro[0]:
                return self._fields(mro, own, role), None
        if role in {"model", "typeddict", "namedtuple"}:
            return self._fields(mro, facts, role), None
        return (
            ([], None)
            if not foreign or set(foreign) <= {"builtins.object", "abc.ABC", "typing.Generic"}
            else (None, None)
        )

    def _is_dataclass(self, facts: ClassFacts) -> bool:
        for name in facts.decorators:
            module, _, leaf = name.rpartition(".")
            if leaf in _DATACLASS or leaf == "_internal_dataclass":
                return True
            if leaf in _ATTRS and (
                module in {"attr", "attrs", "_attr"} or (leaf in {"define", "frozen"} and facts.fields)
            ):
                return True
        return False

    def _fields(self, mro: Sequence[str], facts: ClassFacts, role: str = "") -> list[Param]:
        """Return the parameters that fields make, those of base classes first."""
        collected: dict[str, tuple[FieldFacts, bool]] = {}
        for name in reversed(mro):
            own = self.facts(name)
            keyword_only = role in {"model", "typeddict"} or own.decorator_options.get("kw_only") == "True"
            for item in own.fields:
                if role == "model" and (item.name.startswith("_") or item.name == "model_config"):
                    continue
                only = keyword_only if item.keyword_only is None else item.keyword_only
                collected[item.name] = (item, only)
        total = role != "typeddict" or facts.keywords.get("total") != "False"
        params: list[Param] = []
        for item, only in collected.values():
            if not item.init:
                continue
            default = item.default if total or item.default is not None else "..."
            name = item.name if role else item.name.lstrip("_") or item.name
            params.append(
                Param(name, KEYWORD_ONLY if only else POSITIONAL_OR_KEYWORD, default, item.annotation or None)
            )
        return sorted(params, key=lambda param: param.kind)


def _constructor(facts: ClassFacts) -> FunctionFacts | None:
    """Return `__init__` or `__new__`, the more telling one."""
    found = [facts.members.get(name) for name in ("__init__", "__new__")]
    methods = [item for item in found if isinstance(item, FunctionFacts)]
    return min(methods, key=is_generic, default=None)


def is_generic(method: FunctionFacts) -> bool:
    """Return whether a method only takes whatever it is given."""
    return all(param.kind in {VAR_POSITIONAL, VAR_KEYWORD} for param in method.params[1:]) and len(method.params) > 1


def _without_self(method: FunctionFacts) -> list[Param]:
    return method.params[1:] if method.params and method.params[0].kind < VAR_POSITIONAL else list(method.params)


def _last_of_equal(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(reversed(dict.fromkeys(reversed(names))))


def method_kind(method: FunctionFacts) -> str:
    """Return how a function in a class body is reached: method, classmethod, staticmethod or property."""
    for name in _leaves(method.decorators):
        if name in {"classmethod", "staticmethod"}:
            return name
        if name in {
            "property",
            "cached_property",
            "classproperty",
            "lazyproperty",
            "memoized_property",
            "cache_readonly",
        }:
            return "property"
    return "method"


def _leaves(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield name.rpartition(".")[2]
