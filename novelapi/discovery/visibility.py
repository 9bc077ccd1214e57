"""Which paths a library's users are meant to use: underscores, trees of tests and vendored code, declared prefixes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Protocol

_TREES = {
    "tests": "test_tree",
    "conftest": "test_tree",
    "benchmarks": "test_tree",
    "vendor": "vendored",
    "vendored": "vendored",
    "extern": "vendored",
    "externals": "vendored",
    "third_party": "vendored",
    "compat": "compat",
    "__main__": "script",
    "setup": "script",
}


class _Prefix(Protocol):
    @property
    def prefix(self) -> str: ...


def is_private(path: str) -> bool:
    """Return whether a dotted path has a segment with a leading underscore; `__init__` and the like are private too."""
    return path.startswith("_") or "._" in path


_SAYS_PRIVATE = re.compile(
    r"\b(?:for internal use only|internal use only|internal API|this module is (?:private|internal)|"
    r"private (?:module|implementation)|not (?:part of|a part of) the public API|implementation details? of|"
    r"do(?:es)? not (?:use|import) (?:this module )?directly|considered private|internal utilities)\b",
    re.IGNORECASE,
)


def says_private(docstring: str | None) -> bool:
    """Return whether the first lines of a module's docstring call the module internal."""
    return bool(docstring and _SAYS_PRIVATE.search(docstring[:600]))


class Trees:
    """Knows which parts of a library hold tests, vendored code or scripts."""

    def __init__(self, modules: Iterable[str]) -> None:
        """Find packages called `test` that really hold tests (`django.test` does not)."""
        self._tests = {
            ".".join(parts[: position + 1])
            for parts in (module.split(".") for module in modules)
            for position, part in enumerate(parts[:-1])
            if part == "test" and parts[position + 1].startswith("test_")
        }

    def reason(self, path: str) -> str | None:
        """Return why a path lies outside of what users import, or null."""
        parts = path.split(".")
        for position, part in enumerate(parts[1:], 1):
            if part in _TREES:
                return _TREES[part]
            if part.startswith("test_") or part.endswith("_test"):
                return "test_tree"
            if part == "test" and ".".join(parts[: position + 1]) in self._tests:
                return "test_tree"
        return None


def declared_private(path: str, prefixes: Sequence[_Prefix]) -> str | None:
    """Return the declared private prefix or pattern that a path lies at or below, or null."""
    for entry in prefixes:
        pattern = entry.prefix
        if path == pattern or path.startswith(f"{pattern}."):
            return pattern
        if "*" in pattern and (fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}.*")):
            return pattern
    return None
