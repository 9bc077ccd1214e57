"""Markdown as prompts use it: fenced code, and blocks that are shown whole or not at all."""

from __future__ import annotations

import re
from itertools import pairwise

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")


def fenced(code: str, language: str = "python") -> str:
    """Put code into a block whose fence is longer than any run of backticks at a line start in it."""
    runs = [len(run) for run in re.findall(r"^\s*(`{3,})", code, flags=re.MULTILINE)]
    fence = "`" * max([3, *(run + 1 for run in runs)])
    body = code.strip("\n")
    return f"{fence}{language}\n{body}\n{fence}"


def block_ends(text: str) -> list[int]:
    """Return the offset after each block; blocks are parted by blank lines outside fences."""
    ends: list[int] = []
    offset, fence, inside = 0, "", False
    for line in text.splitlines(keepends=True):
        blank = not line.strip()
        if blank and inside and not fence:
            ends.append(offset)
            inside = False
        mark = _FENCE.match(line)
        if mark:
            fence = "" if fence and line.strip() == fence else fence or mark[1]
        inside = inside or not blank
        offset += len(line)
    return [*ends, offset] if inside else ends


def blocks(text: str) -> list[str]:
    """Return the blocks of a text without the blank lines around them, every other byte kept."""
    starts = [0, *block_ends(text)]
    return [text[start:end].strip("\n") for start, end in pairwise(starts)]


def nested(text: str, level: int) -> str:
    """Push the headings of a text down, so that its highest one has a level; code is left as it is."""
    lines = text.split("\n")
    fence = ""
    headings: dict[int, int] = {}
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark:
            fence = "" if fence and line.strip() == fence else fence or mark[1]
        found = None if fence else re.match(r"(#{1,6}) ", line)
        if found:
            headings[number] = len(found[1])
    down = max(0, level - min(headings.values(), default=level))
    return "\n".join("#" * down + line if number in headings else line for number, line in enumerate(lines))


def is_heading(block: str) -> bool:
    """Say whether a block is a heading or a rule, which is nothing without what follows."""
    return re.fullmatch(r"#+ .*|---+", block.strip()) is not None
