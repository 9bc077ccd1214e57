"""M_prose: how an API works, in words, from its docstring and the changelogs; its own names are masked."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from novelapi.knowledge.changelog import Entry
from novelapi.knowledge.docstrings import ParsedDocstring, Section
from novelapi.knowledge.markup import inline, prose_of
from novelapi.knowledge.masking import mask
from novelapi.knowledge.modules import Definition
from novelapi.knowledge.targets import Target

SHORT = 160
"""Prose of fewer characters is completed by what the source says of itself."""

MAX_CHARACTERS = 6000
"""Length of M_prose without changelog entries."""

_ELSEWHERE = {
    "args",
    "arguments",
    "parameters",
    "params",
    "keyword args",
    "keyword arguments",
    "other parameters",
    "attributes",
    "return",
    "returns",
    "yield",
    "yields",
    "receives",
    "example",
    "examples",
    "usage",
    "see also",
    "methods",
    "references",
    "fields",
    "usage documentation",
}
"""Sections that belong to S or E, or that name other APIs."""

_PAPER = re.compile(r"arxiv|doi[:. ]|doi\.org|\bet al\b|\bproc(?:eedings|\.)|\bjournal\b|\bvol\. ?\d", re.IGNORECASE)


@dataclass(frozen=True)
class Mechanism:
    """M_prose, and what it stands on."""

    text: str | None
    """The prose, masked."""
    tier: Literal["paper", "source", "docstring"] | None
    """paper: the docstring cites one; source: the prose was completed from the source; else docstring."""
    changelog: tuple[str, ...]
    """The entries that are part of it, each with its version, masked."""
    reason: str | None
    """Why there is none."""


def mechanism_of(
    target: Target, docs: Sequence[ParsedDocstring], definition: Definition | None, remarks: Iterable[Entry]
) -> Mechanism:
    """Return M_prose of an API.

    Args:
        target: the API.
        docs: its docstring, and that of the constructor of a class.
        definition: its source, if it has any.
        remarks: changelog entries inside the window.
    """
    parts = [part for doc in docs for part in _paragraphs(target, doc)]
    citations = [cited for doc in docs for cited in _citations(doc)]
    text = "\n\n".join(dict.fromkeys(parts))
    tier: Literal["paper", "source", "docstring"] = "docstring"
    if len(text) < SHORT and definition is not None:
        outline = " ".join(_outline(definition.node))
        if outline:
            text, tier = f"{text}\n\n{outline}".strip(), "source"
    if citations:
        text, tier = f"{text}\n\nReferences:\n" + "\n".join(f"- {cited}" for cited in citations), "paper"
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS].rsplit("\n\n", 1)[0] + "\n\n..."
    names = {*target.paths, *([definition.name] if definition is not None and definition.name.isidentifier() else [])}
    said = tuple(f"{entry.version}: {mask(entry.text, names, target.kind)}" for entry in _distinct(remarks))
    text = mask(text, names, target.kind)
    if said:
        text = f"{text}\n\nChanges:\n" + "\n".join(f"- {line}" for line in said)
    text = text.strip()
    if not text:
        return Mechanism(None, None, (), "no docstring, no changelog entry, no outline of the source")
    return Mechanism(text, tier, said, None)


def _distinct(remarks: Iterable[Entry]) -> Iterator[Entry]:
    seen: set[tuple[str, str]] = set()
    for entry in remarks:
        if (entry.version, entry.text) not in seen:
            seen.add((entry.version, entry.text))
            yield entry


def _paragraphs(target: Target, doc: ParsedDocstring) -> Iterator[str]:
    for section in doc.sections:
        if section.title in _ELSEWHERE:
            continue
        body = section.body
        if not section.title:
            body = _without_signature(body, target)
        prose = _listed(section) if section.title in {"raises", "warns"} else prose_of(body)
        if len(prose) > 2:
            titled = section.title not in {"", "notes", "note", "description", "extended summary"}
            yield f"{section.title.capitalize()}:\n{prose}" if titled else prose


def _without_signature(body: str, target: Target) -> str:
    """Drop the signature that compiled functions and ufuncs print first."""
    first, _, rest = body.partition("\n\n")
    call = re.match(r"\s*(?:\w+\.)*(\w+)\(.*\)\s*(?:->.*)?$", first, re.DOTALL)
    return rest if call and call.group(1) in target.leaves else body


def _listed(section: Section) -> str:
    """Write a section of raised types as a list: type, then condition."""
    lines: list[str] = []
    for line in section.body.split("\n"):
        if line and not line[0].isspace():
            lines.append(f"- {line.strip()}")
        elif line.strip() and lines:
            lines[-1] += (" " if lines[-1].endswith(":") or len(lines[-1].split()) > 3 else ": ") + line.strip()
    return inline("\n".join(lines))


def _citations(doc: ParsedDocstring) -> list[str]:
    """Return the papers that a docstring cites."""
    found: list[str] = []
    for section in doc.sections:
        if section.title == "references":
            items = re.split(r"\n(?=\s*\.\. \[)|\n\s*\n", section.body)
            texts = [" ".join(re.sub(r"^\s*\.\. \[[^\]]*\]", "", item).split()) for item in items]
            found += [inline(text) for text in texts if len(text) > 20]
    return found if any(_PAPER.search(text) for text in found) else []


def _outline(node: ast.stmt) -> Iterator[str]:
    """Yield sentences on a short source: what it derives from, refuses, and hands its work to."""
    if isinstance(node, ast.ClassDef):
        bases = [ast.unparse(base) for base in node.bases]
        if bases:
            yield f"It derives from {', '.join(f'`{base}`' for base in bases)}."
        fields = [ast.unparse(item.target) for item in node.body if isinstance(item, ast.AnnAssign)]
        if fields:
            yield f"Its objects hold {', '.join(f'`{name}`' for name in fields[:12])}."
        methods = [
            item.name for item in node.body if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")
        ]
        if methods:
            yield f"It defines {', '.join(f'`{name}`' for name in dict.fromkeys(methods[:8]))}."
        return
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    for part in ast.walk(node):
        if isinstance(part, ast.If) and part.body and isinstance(part.body[0], ast.Raise) and part.body[0].exc:
            error = part.body[0].exc
            name = ast.unparse(error.func if isinstance(error, ast.Call) else error)
            yield f"It raises `{name}` if `{' '.join(ast.unparse(part.test).split())}`."
    if all(isinstance(part, ast.Pass | ast.Expr) for part in node.body):
        yield "It does nothing by itself: others replace or extend it."
    returned = [item.value for item in ast.walk(node) if isinstance(item, ast.Return) and item.value is not None]
    calls = [ast.unparse(value.func) for value in returned if isinstance(value, ast.Call)]
    if calls:
        yield f"Its result comes from {', '.join(f'`{name}`' for name in dict.fromkeys(calls[:3]))}."
    elif len(returned) == 1 and len(ast.unparse(returned[0])) < 80:
        yield f"It returns `{ast.unparse(returned[0])}`."


def is_masked(text: str, target: Target) -> bool:
    """Say whether no identifier token of a text is one of the API's names."""
    return not any(re.search(rf"(?<!\w){re.escape(leaf)}(?!\w)", text) for leaf in target.leaves)
