"""Corpus: the documents, examples and tests that come with a release, and where they use which API."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from novelapi.knowledge.material import Material
from novelapi.knowledge.snippets import Script, Source, parse_or_none, script_of, statements_of
from novelapi.knowledge.targets import Site, Target, sites
from novelapi.knowledge.testscripts import package_of, test_scripts

PER_TARGET = 60
"""Places that are remembered per API, half of them for calls that pass what is new."""

MAKERS = 240
"""Assignments that are run to see which objects they make."""

MAX_BYTES = 600_000
"""Larger files are generated tables, not examples."""

_TEXTS = {".rst", ".md", ".txt"}
_DOC_FOLDERS = {"doc", "docs", "docs_src", "examples", "tutorials", "tutorial", "documentation", "doc_src"}
_TEST_FOLDERS = {"tests", "test", "testing"}
_SKIPPED = {"benchmarks", "asv_bench", "node_modules", ".git", "vendored", "_vendor", "locale", "pydantic-core"}
_SOURCES: dict[str, Source] = {"text": "docs", "module": "doctest", "test": "tests", "script": "docs"}
_ORDER = {"doctest": 0, "docs": 1, "tests": 2}


@dataclass(frozen=True)
class Place:
    """A statement of a script that seems to use a target."""

    script: Script
    """Where it stands."""
    index: int
    """Index of the statement."""
    uses_change: bool
    """Whether it passes what is new, as far as syntax shows."""


@dataclass(frozen=True)
class Document:
    """A text that may hold code."""

    text: str
    """Its text."""
    origin: str
    """Where it comes from, for the reader."""
    source: Source
    """Kind of origin."""
    kind: str
    """text, module or test."""
    module: str = ""
    """Module whose names its examples take for granted."""
    package: str = ""
    """Package of a test file."""


class Corpus:
    """The places of many targets in many documents."""

    def __init__(self, targets: Sequence[Target]) -> None:
        """Start with no documents.

        Args:
            targets: what to look for.
        """
        self._by_leaf: dict[str, list[Target]] = defaultdict(list)
        for target in targets:
            for leaf in sorted(target.leaves):
                self._by_leaf[leaf].append(target)
        self._new: dict[str, list[Place]] = defaultdict(list)
        self._old: dict[str, list[Place]] = defaultdict(list)
        self._mentions: dict[str, list[Place]] = defaultdict(list)
        self._values: dict[str, Counter[str]] = defaultdict(Counter)
        self._makers: dict[str, list[Place]] = defaultdict(list)

    def mentions(self, api: str) -> list[Place]:
        """Return where a target is named but not called: in a table of cases, as an argument, as a type."""
        return sorted(self._mentions[api], key=_order)

    def makers(self) -> list[Place]:
        """Return assignments of what a call returns, a few per callee: how documents make their objects."""
        kept = [place for callee in sorted(self._makers) for place in sorted(self._makers[callee], key=_order)[:2]]
        return sorted(kept, key=_order)[:MAKERS]

    @property
    def values(self) -> dict[str, list[str]]:
        """Literals that documents pass, per parameter name, the most frequent first."""
        return {
            name: [text for text, _ in sorted(counts.items(), key=lambda item: (-item[1], len(item[0]), item[0]))[:4]]
            for name, counts in self._values.items()
        }

    def places(self, api: str) -> list[Place]:
        """Return the places of a target: documentation first, short statements first."""
        return sorted(self._new[api], key=_order) + sorted(self._old[api], key=_order)

    def add(self, document: Document) -> None:
        """Read one document if it mentions any target."""
        words = set(re.findall(r"\w+", document.text))
        leaves = self._by_leaf.keys() & words
        if not leaves and document.kind != "text":
            return
        for script in _scripts(document, frozenset(leaves)):
            self._index(script, frozenset(leaves))

    def _index(self, script: Script, leaves: frozenset[str]) -> None:
        imports = script.imports
        if script.source != "tests":
            self._note_makers(script)
        for index in range(script.start, len(script.statements)):
            statement = script.statements[index]
            if isinstance(statement.node, ast.Import | ast.ImportFrom):
                continue
            mentioned = leaves & statement.identifiers
            for target in {item.api: item for leaf in mentioned for item in self._by_leaf[leaf]}.values():
                found = list(sites(statement.node, target, imports))
                place = Place(script, index, any(site.uses_change for site in found))
                if found:
                    self._remember(target, place)
                    self._note_values(found)
                elif len(self._mentions[target.api]) < PER_TARGET:
                    self._mentions[target.api].append(place)

    def _remember(self, target: Target, place: Place) -> None:
        store = self._new if place.uses_change and not target.added else self._old
        if len(store[target.api]) < PER_TARGET:
            store[target.api].append(place)

    def _note_makers(self, script: Script) -> None:
        for index, statement in enumerate(script.statements):
            node = statement.node
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and isinstance(node.value, ast.Call)
            ):
                known = self._makers[ast.unparse(node.value.func).rsplit(".", 1)[-1]]
                if len(known) < 20:
                    known.append(Place(script, index, uses_change=False))

    def _note_values(self, found: Iterable[Site]) -> None:
        for site in found:
            for item in site.node.keywords if isinstance(site.node, ast.Call) else ():
                text = ast.unparse(item.value)
                if item.arg is not None and len(text) <= 40 and _is_literal(item.value):
                    self._values[item.arg][text] += 1


def _order(place: Place) -> tuple[int, int, str, int]:
    """Documentation first, short statements first."""
    length = len(place.script.statements[place.index].text)
    return _ORDER[place.script.source], length, place.script.origin, place.index


def _is_literal(node: ast.expr) -> bool:
    literals = ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.UnaryOp | ast.USub | ast.Load
    return all(isinstance(part, literals) for part in ast.walk(node))


CONVENTIONAL = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "sp": "import scipy as sp",
    "sa": "import sqlalchemy as sa",
    "math": "import math",
    "os": "import os",
    "sys": "import sys",
    "re": "import re",
    "json": "import json",
    "datetime": "import datetime",
    "warnings": "import warnings",
    "asyncio": "import asyncio",
    "itertools": "import itertools",
    "functools": "import functools",
    "u": "from astropy import units as u",
    "xp": "import numpy as xp",
}
"""Imports that documents leave out by convention."""


def _scripts(document: Document, leaves: frozenset[str]) -> Iterator[Script]:
    if document.kind == "text":
        yield script_of(document.text, document.origin, document.source, document.module)
        return
    tree = parse_or_none(document.text)
    if tree is None:
        return
    if document.kind == "test":
        yield from test_scripts(tree, document.text, document.origin, document.package, leaves)
    elif document.source == "docs":
        statements = statements_of(document.text)
        yield Script(tuple(statements), document.origin, document.source)
    else:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                doc = ast.get_docstring(node)
                coded = doc is not None and (">>>" in doc or "```" in doc or "::" in doc)
                if doc and coded and leaves & set(re.findall(r"\w+", doc)):
                    name = getattr(node, "name", "")
                    yield script_of(doc, f"{document.origin}:{name}", document.source, document.module)


def documents(material: Material) -> Iterator[Document]:
    """Yield everything that may hold examples: documentation, example scripts, tests, docstrings of the package."""
    folders = [(material.sdist, True)] if material.sdist is not None else []
    folders += [(folder, False) for folder in material.folders]
    seen_tests = False
    for folder, is_sdist in folders:
        for path in sorted(folder.rglob("*")):
            parts = path.relative_to(folder if is_sdist else folder.parent).parts
            if path.suffix not in _TEXTS | {".py"} or _SKIPPED & set(parts) or not path.is_file():
                continue
            kind = _kind(parts, is_sdist=is_sdist)
            if kind is None or (kind == "test" and not is_sdist and seen_tests) or path.stat().st_size > MAX_BYTES:
                continue
            seen_tests = seen_tests or (kind == "test" and is_sdist)
            text = path.read_text(encoding="utf-8", errors="replace")
            origin = "/".join(parts)
            source = _SOURCES[kind]
            package = package_of(parts, frozenset(material.roots))
            module = f"{package}.{path.stem}" if kind == "module" and path.stem != "__init__" else package
            yield Document(
                text=text,
                origin=origin,
                source=source,
                kind="module" if kind == "script" else kind,
                module=module if kind == "module" else "",
                package=package,
            )


def _kind(parts: Sequence[str], *, is_sdist: bool) -> str | None:
    """Return what a file is: text, script of the documentation, test, module of the package, or nothing of use."""
    folders, name = set(parts[:-1]), parts[-1]
    if not name.endswith(".py"):
        return "text" if is_sdist and (folders & _DOC_FOLDERS or name.lower().startswith("readme")) else None
    if folders & _TEST_FOLDERS or name.startswith("test_"):
        return "test" if name != "conftest.py" else None
    if is_sdist:
        return "script" if folders & _DOC_FOLDERS else None
    return "module"
