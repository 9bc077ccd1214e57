"""Passages: the pieces of rendered knowledge that are retrieved. Code stays whole and white space intact."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from novelapi.fingerprint import text_digest
from novelapi.inference.markdown import blocks, is_heading
from novelapi.records.base import Record


class Chunking(Record):
    """How rendered knowledge is cut into passages."""

    kind: Literal["blocks", "windows"] = "blocks"
    """`blocks`: whole Markdown blocks up to a size; `windows`: the published windows of words, which flatten all white
    space and are there for comparison only."""

    limit: int = Field(default=2000, ge=100)
    """Characters of a passage of blocks; one block alone may be longer only if a single line is."""

    overlap: int = Field(default=3, ge=0)
    """Lines of code that are repeated where a code block longer than the limit had to be cut."""

    words: int = Field(default=512, ge=2)
    """Words of a window."""

    stride: int = Field(default=448, ge=1)
    """Words from the start of one window to the start of the next."""


BLOCKS = Chunking()


class Passage(Record):
    """One retrievable piece of knowledge."""

    id: str
    """`{api}#{number}`: unique within a corpus; equal scores are ordered by it."""

    api: str
    """The API whose bundle it was cut from."""

    library: str
    """Library of that API."""

    text: str
    """Markdown, as it is shown in a prompt."""

    @property
    def sha(self) -> str:
        """Digest of the text."""
        return text_digest(self.text)


def make_passages(api: str, library: str, knowledge: str, chunking: Chunking = BLOCKS) -> list[Passage]:
    """Cut the rendered knowledge about one API into passages."""
    cut = _windows(knowledge, chunking) if chunking.kind == "windows" else _packed(knowledge, chunking)
    return [
        Passage(id=f"{api}#{number}", api=api, library=library, text=text) for number, text in enumerate(cut, start=1)
    ]


def _windows(text: str, chunking: Chunking) -> list[str]:
    """Cut as the published evaluation does, except that no window is a pure repeat of the one before."""
    words = text.split()
    starts = range(0, max(1, len(words) - (chunking.words - chunking.stride)), chunking.stride)
    return [" ".join(words[start : start + chunking.words]) for start in starts if words]


def _packed(text: str, chunking: Chunking) -> list[str]:
    """Pack blocks in their order; a heading stays with what follows it."""
    passages: list[str] = []
    current: list[str] = []
    for block in (piece for whole in blocks(text) for piece in _pieces(whole, chunking)):
        size = len("\n\n".join([*current, block]))
        if current and size > chunking.limit and not all(map(is_heading, current)):
            held = _trailing_headings(current)
            passages.append("\n\n".join(current[: len(current) - held]))
            current = current[len(current) - held :]
        current.append(block)
    if current:
        passages.append("\n\n".join(current))
    return passages


def _trailing_headings(current: list[str]) -> int:
    count = 0
    while count < len(current) and is_heading(current[-1 - count]):
        count += 1
    return count


def _pieces(block: str, chunking: Chunking) -> list[str]:
    """Return a block, in parts only if it is longer than the limit: code at lines, prose at sentences."""
    if len(block) <= chunking.limit:
        return [block]
    first, *body = block.split("\n")
    if re.match(r"`{3,}|~{3,}", first) and body and body[-1].strip() == re.match(r"`{3,}|~{3,}", first)[0]:  # type: ignore[index]
        return ["\n".join([first, *part, body[-1]]) for part in _code_parts(body[:-1], chunking)]
    return _sentence_parts(block, chunking.limit)


def _code_parts(lines: list[str], chunking: Chunking) -> list[list[str]]:
    """Cut code at the last line before the limit that starts a definition or follows a blank line, else anywhere."""
    parts: list[list[str]] = []
    start = 0
    while start < len(lines):
        end, size = start, 0
        while end < len(lines) and (end == start or size + len(lines[end]) < chunking.limit):
            size += len(lines[end]) + 1
            end += 1
        if end < len(lines):
            good = [at for at in range(start + 1, end + 1) if not lines[at - 1].strip() or lines[at][:1].strip()]
            end = good[-1] if good and good[-1] - start > (end - start) // 2 else end
        parts.append(lines[start:end])
        start = end if end >= len(lines) else max(start + 1, end - chunking.overlap)
    return parts


def _sentence_parts(text: str, limit: int) -> list[str]:
    parts: list[str] = []
    for sentence in re.findall(r".+?(?:[.!?](?=\s)|\n|$)\s*", text, flags=re.DOTALL):
        if parts and len(parts[-1]) + len(sentence) <= limit:
            parts[-1] += sentence
        else:
            parts.append(sentence)
    return [part.strip("\n ") for part in parts]
