"""Which names the documentation of a release mentions, and which are called in its documentation and tests."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from novelapi import jsonl

READER_VERSION = 1
"""Raise it whenever the same files would give another result."""

_SIZE_CAP = 2 << 20
_DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)\.\.[ \t]+(?:py:|[a-z]+:)?(?P<name>currentmodule|module|automodule|autofunction|autoclass|"
    r"automethod|autoattribute|autoproperty|autoexception|autodata|autosummary|function|class|method|attribute|"
    r"property|exception|decorator|data|classmethod|staticmethod)::[ \t]*(?P<rest>.*)$"
)
_MKDOCS = re.compile(r"^:::[ \t]+([\w.]+)", re.MULTILINE)
_MKDOCS_LINK = re.compile(r"\[`?[^\]\n]{1,80}`?\]\[([A-Za-z_][\w.]+)\]")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_DOTTED = re.compile(r"^[A-Za-z_][\w.]*$")
_TEXTS = {".rst", ".md", ".txt", ".ipynb", ".inc", ".mdx"}


@dataclass(slots=True)
class Documentation:
    """What documentation and tests say about names."""

    named: set[str] = field(default_factory=set)
    """Dotted names that the documentation describes."""
    in_docs: Counter[str] = field(default_factory=Counter)
    """Calls in documentation by last part of the name: an upper bound."""
    in_tests: Counter[str] = field(default_factory=Counter)
    """Calls in tests by last part of the name: an upper bound."""

    def save(self, path: Path, source: str) -> None:
        """Write it to a file, with the digest of what was read."""
        body = {
            "reader": READER_VERSION,
            "source": source,
            "named": sorted(self.named),
            "in_docs": dict(sorted(self.in_docs.items())),
            "in_tests": dict(sorted(self.in_tests.items())),
        }
        jsonl.write_text(path, json.dumps(body, separators=(",", ":")))


def load_documentation(path: Path, source: str) -> Documentation | None:
    """Read a recorded answer; null when there is none for this source and reader."""
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if (body.get("reader"), body.get("source")) != (READER_VERSION, source):
        return None
    return Documentation(set(body["named"]), Counter(body["in_docs"]), Counter(body["in_tests"]))


def read_documentation(tree: Path | None, folders: Iterable[str], module_docs: dict[str, str]) -> Documentation:
    """Read the documentation and the tests of an unpacked source archive.

    Args:
        tree: root of the archive; null when there is none.
        folders: folders of documentation below it.
        module_docs: docstrings of modules, which list names in some libraries.
    """
    found = Documentation()
    for module, text in module_docs.items():
        found.named.update(directive_names(text, module))
    if tree is None:
        return found
    wanted = tuple(folders)
    for path in _files(tree):
        parts = path.relative_to(tree).parts
        text = path.read_text("utf-8", "replace")
        if parts[0] in wanted:
            if path.suffix in _TEXTS:
                found.named.update(directive_names(text))
            found.in_docs.update(_CALL.findall(text))
        elif path.suffix == ".py" and any(part in {"tests", "test", "testing"} for part in parts):
            found.in_tests.update(_CALL.findall(text))
        elif len(parts) == 1 and path.suffix in {".rst", ".md"}:
            found.in_docs.update(_CALL.findall(text))
    return found


def _files(tree: Path) -> Iterator[Path]:
    for path in sorted(tree.rglob("*")):
        readable = path.suffix in _TEXTS or path.suffix == ".py"
        if readable and path.is_file() and not path.is_symlink() and path.stat().st_size <= _SIZE_CAP:
            yield path


def directive_names(text: str, module: str = "") -> set[str]:
    """Return the dotted names that directives of Sphinx and MkDocs describe, also below the current module."""
    names: set[str] = set(_MKDOCS.findall(text))
    names.update(_MKDOCS_LINK.findall(text))
    current = module
    lines = text.split("\n")
    for number, line in enumerate(lines):
        match = _DIRECTIVE.match(line)
        if match is None:
            continue
        name, rest = match["name"], match["rest"].strip()
        if name in {"currentmodule", "module", "automodule"}:
            current = rest or current
            names.add(rest)
        elif name == "autosummary":
            for item in _autosummary(lines[number + 1 :], len(match["indent"])):
                names.update(_qualify(item, current))
        else:
            first = rest.split("(")[0].split()
            if first:
                names.update(_qualify(first[-1], current))
                names.update(_members(lines[number + 1 :], _absolute(first[-1], current)))
    return {name for name in names if _DOTTED.match(name)}


def _qualify(name: str, module: str) -> tuple[str, ...]:
    return (name, f"{module}.{name}") if module else (name,)


def _absolute(name: str, module: str) -> str:
    return f"{module}.{name}" if module and not name.startswith(module) else name


def _autosummary(lines: Iterable[str], indent: int) -> Iterator[str]:
    """Yield the names of an autosummary block."""
    for line in lines:
        text = line.strip()
        if not text:
            continue
        if len(line) - len(line.lstrip()) <= indent:
            return
        if not text.startswith(":"):
            yield text.split(" ")[0].strip("~`")


def _members(lines: Iterable[str], owner: str) -> Iterator[str]:
    """Yield the members that a directive's options name."""
    for line in lines:
        text = line.strip()
        if line and not line[0].isspace():
            return
        if text.startswith(":members:"):
            for item in text.removeprefix(":members:").split(","):
                if item.strip():
                    yield f"{owner}.{item.strip()}"
        elif text and not text.startswith(":"):
            return
