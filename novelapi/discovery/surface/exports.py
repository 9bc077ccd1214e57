"""Evaluates what a module assigns to `__all__`: literals, what other modules export, sets, filters over `dir()`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from novelapi.discovery.surface.facts import ModuleFacts
from novelapi.discovery.surface.text import callee, dotted

_PASS_THROUGH = {"list", "sorted", "tuple", "set", "frozenset", "dir", "globals", "vars", "locals"}


class UnknownExportsError(Exception):
    """`__all__` is built in a way that only running can tell."""


class ExportsReader:
    """Evaluates the statements of one module."""

    def __init__(
        self,
        module: ModuleFacts,
        bound_before: Callable[[int], Iterable[str]],
        exports_of: Callable[[str], list[str] | None],
    ) -> None:
        """Remember how to look around.

        Args:
            module: the module.
            bound_before: gives the names bound by the first n bindings of the module.
            exports_of: gives `__all__` of what a dotted name in this module stands for.
        """
        self._module, self._bound_before, self._exports_of = module, bound_before, exports_of
        self._current: list[str] = []
        self._position = 0

    def read(self) -> list[str]:
        """Return `__all__` in order, without repetitions.

        Raises:
            UnknownExportsError: it cannot be read from the source.
        """
        for operation in self._module.all_operations:
            self._position = operation.position
            names = self._evaluate(operation.value)
            if operation.verb == "set":
                self._current = names
            elif operation.verb == "add":
                self._current = [*self._current, *names]
            else:
                self._current = [name for name in self._current if name not in names]
        return list(dict.fromkeys(self._current))

    def _evaluate(self, node: ast.expr) -> list[str]:
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return self._elements(node.elts)
        if isinstance(node, ast.Dict):
            return self._elements([key for key in node.keys if key is not None])
        if isinstance(node, ast.BinOp):
            return self._combine(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            return self._comprehension(node)
        if isinstance(node, ast.Starred) or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
            return self._evaluate(node.value)  # `names[:]` copies
        name = dotted(node)
        if name is None:
            raise UnknownExportsError
        return self._named(name)

    def _elements(self, elements: Iterable[ast.expr]) -> list[str]:
        names: list[str] = []
        for element in elements:
            if isinstance(element, ast.Constant) and isinstance(element.value, str):
                names.append(element.value)
            elif isinstance(element, ast.Starred):
                names += self._evaluate(element.value)
            elif isinstance(element, ast.Attribute) and element.attr == "__name__":
                names.append((dotted(element.value) or "").rpartition(".")[2])
            else:
                raise UnknownExportsError
        return names

    def _combine(self, node: ast.BinOp) -> list[str]:
        left, right = self._evaluate(node.left), self._evaluate(node.right)
        if isinstance(node.op, (ast.Add, ast.BitOr)):
            return [*left, *right]
        if isinstance(node.op, ast.Sub):
            return [name for name in left if name not in right]
        raise UnknownExportsError

    def _call(self, node: ast.Call) -> list[str]:
        name = callee(node) or ""
        if name in {"dir", "globals", "vars", "locals"} and not node.args:
            return [item for item in self._bound_before(self._position) if item != "*"]
        if name in _PASS_THROUGH and len(node.args) <= 1:
            return self._evaluate(node.args[0]) if node.args else []
        owner, _, method = name.rpartition(".")
        if method in {"keys", "copy", "union"} and owner:
            names = self._evaluate(node.func.value) if isinstance(node.func, ast.Attribute) else []
            for argument in node.args:
                names = [*names, *self._evaluate(argument)]
            return names
        raise UnknownExportsError

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> list[str]:
        """Read `[name for name in NAMES if not name.startswith("_")]`; other filters are taken to keep public names."""
        generator = node.generators[0]
        if len(node.generators) != 1 or ast.dump(node.elt) != ast.dump(generator.target).replace("Store()", "Load()"):
            raise UnknownExportsError
        names = self._evaluate(generator.iter)
        return [name for name in names if not name.startswith("_")] if generator.ifs else names

    def _named(self, name: str) -> list[str]:
        if name == "__all__":
            return self._current
        owner, _, last = name.rpartition(".")
        if last == "__all__":
            found = self._exports_of(owner)
            if found is None:
                raise UnknownExportsError
            return found
        if not owner and name in self._module.lists:
            return self._evaluate(self._module.lists[name])
        found = self._exports_of(f"={name}")
        if found is None:
            raise UnknownExportsError
        return found
