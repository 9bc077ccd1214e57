"""Markup: reStructuredText and Markdown turned into plain prose."""

from __future__ import annotations

import inspect
import re

from novelapi.knowledge.snippets import blocks

_DROPPED = {
    "code",
    "code-block",
    "deprecated",
    "doctest",
    "figure",
    "image",
    "index",
    "ipython",
    "only",
    "plot",
    "seealso",
    "sourcecode",
    "testcode",
    "testsetup",
    "toctree",
    "versionadded",
    "versionchanged",
    "versionremoved",
    "autosummary",
    "currentmodule",
    "array-api-note",
    "try_examples",
}
_DIRECTIVE = re.compile(r"^(?P<indent>[ \t]*)\.\. (?P<name>[\w:-]+?)::[ \t]*(?P<rest>.*)$")
_REFERENCE = re.compile(r"^[ \t]*\.\. (?:\[[^\]]+\]|_[^:]+:)")
_ADMONITION = re.compile(r"^(?P<indent>[ \t]*)(?:!!!|\?\?\?\+?) *\w*(?: +\"(?P<title>[^\"]*)\")?[ \t]*$")


def prose_of(text: str) -> str:
    """Return the prose of a marked-up text: no code, no pictures, no version remarks, no links."""
    lines = text.split("\n")
    for block in sorted(blocks(text), key=lambda item: item.first, reverse=True):
        _cut(lines, block.first, block.last)
    return _polish(inline("\n".join(_without_directives(lines))))


def _cut(lines: list[str], first: int, last: int) -> None:
    """Remove a code block and a short sentence that only announces it."""
    lines[first:last] = [""]
    above = first - 1
    while above >= 0 and not lines[above].strip():
        above -= 1
    announces = above >= 0 and lines[above].rstrip().endswith(":") and len(lines[above].split()) <= 12
    if announces and (above == 0 or not lines[above - 1].strip()):
        lines[above] = ""


def _without_directives(lines: list[str]) -> list[str]:
    kept: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        directive, admonition = _DIRECTIVE.match(line), _ADMONITION.match(line)
        end = _end(lines, number)
        body = inspect.cleandoc("\n" + "\n".join(lines[number + 1 : end])).split("\n")
        body = [item for item in body if not re.match(r"^:[\w-]+:", item)]
        if directive and directive.group("name") in _DROPPED:
            number = end
        elif directive:
            rest = directive.group("rest").strip()
            kept += [*([rest] if rest else []), *_without_directives(body), ""]
            number = end
        elif admonition:
            inner = _without_directives(body)
            title = admonition.group("title")
            if title != "Usage Documentation" and any(item.strip() for item in inner):
                kept += [*([f"{title}:"] if title else []), *inner, ""]
            number = end
        elif _REFERENCE.match(line):
            number = end
        else:
            kept.append(line)
            number += 1
    return kept


def _end(lines: list[str], start: int) -> int:
    """Return the index after the lines that are indented below a line."""
    indent = len(lines[start]) - len(lines[start].lstrip())
    number = start + 1
    while number < len(lines) and (
        not lines[number].strip() or len(lines[number]) - len(lines[number].lstrip()) > indent
    ):
        number += 1
    return number


def inline(text: str) -> str:
    """Return a text with roles, links and doubled backquotes simplified."""
    text = re.sub(r":[\w:+-]+:`([^`<]+?)\s*<[^>`]*>`", r"`\1`", text)
    text = re.sub(r":math:`([^`]*)`", r"\1", text)
    text = re.sub(r":pep:`([^`]*)`", r"PEP \1", text)
    text = re.sub(r":[\w:+-]+:`~(?:[\w]+\.)*(\w+)(\(\))?`", r"`\1`", text)
    text = re.sub(r":[\w:+-]+:`[!.]?([^`]*)`", r"`\1`", text)
    text = re.sub(r"``([^`]*)``", r"`\1`", text)
    text = re.sub(r"`([^`<>]+?)\s*<[^`<>]*>`_{1,2}", r"\1", text)
    text = re.sub(r"`([^`]+)`_{1,2}(?!\w)", r"\1", text)
    text = re.sub(r"\s?\[(?:\d+|[A-Z]\w*)\]_", "", text)
    text = re.sub(r"\[((?:[^\[\]]|\[\])+)\]\((?:[^()]|\([^)]*\))*\)", r"\1", text)
    text = re.sub(r"\[(`[^`\]]+`|[^\[\]]+)\]\[[^\]]*\]", r"\1", text)
    text = re.sub(r"<https?://[^>]*>|https?://\S+", "", text)
    text = re.sub(r"</?[a-z][^>]*>", "", text)
    return text.replace("\\*", "*").replace("\\_", "_").replace("::", ":")


def _polish(text: str) -> str:
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip()
