"""Finds what may be a call list in a text: fenced blocks, and JSON values in prose by balanced braces."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from typing import Any

MOST_STEPS = 2_000_000
"""Brackets and quotes that are looked at in one text, and characters that are parsed in vain; then it is given up."""
DEEPEST = 64
"""Values that are nested deeper are none."""
LONGEST_CODE = 200_000
"""Longer texts are not parsed as Python."""

_MARK = re.compile(r'["\\{}\[\]]')
_FENCE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+.-]*)[^\n`]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_CLOSING = {"{": "}", "[": "]"}


def strip_thinking(text: str) -> str:
    """Remove a reasoning model's thoughts."""
    return text.rpartition("</think>")[2] if "</think>" in text else text


def fences(text: str) -> list[tuple[str, str]]:
    """Return language (lower case, may be empty) and content of each fenced block; an open one runs to the end."""
    return [(found[2].lower(), found[3]) for found in _FENCE.finditer(text)]


def load_json(text: str) -> Any:
    """Parse JSON.

    Raises:
        ValueError: it is none, is nested too deeply, or holds a number that JSON does not have.
    """
    try:
        return _limited(json.loads(text, strict=False, parse_constant=_refuse))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _limited(value: Any) -> Any:
    """Return a value that is not nested deeper than code that walks it can go.

    Raises:
        ValueError: it is.
    """
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for item in level
            if isinstance(item, dict | list | tuple | set)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return value
    raise ValueError("nested too deeply")


def _refuse(name: str) -> Any:
    raise ValueError(f"JSON has no {name}")


def load_python(text: str) -> Any:
    """Parse a Python literal, as models write JSON with single quotes.

    Raises:
        ValueError: it is none.
    """
    if len(text) > LONGEST_CODE:
        raise ValueError("too long")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _limited(ast.literal_eval(text))
    except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError("not a literal") from error


def spans(text: str) -> Iterator[tuple[str, Any]]:
    """Yield text and value of each outermost JSON object or array in a text, in order.

    A bracket whose partner is missing, or whose content does not parse, is passed over, and its inside is searched;
    spans that are Python lists of calls, which do not parse as JSON, are yielded with the value null.
    """
    marks = [(found.start(), found.group()) for found in _MARK.finditer(text)]
    steps, index = 0, 0
    while index < len(marks):
        start, mark = marks[index]
        if mark not in _CLOSING:
            index += 1
            continue
        end, looked = _partner(marks, index)
        steps += looked
        if steps > MOST_STEPS:
            return
        after = index + 1
        if end is not None:
            span = text[start : marks[end][0] + 1]
            value = _value(span)
            if value is not None or (mark == "[" and "(" in span and _is_code(span)):
                yield span, value
                after = end + 1
            else:
                steps += len(span)
        index = after


def _partner(marks: list[tuple[int, str]], index: int) -> tuple[int | None, int]:
    """Return the index of the closing mark, or null, and how many marks were looked at."""
    stack: list[str] = []
    quoted, escaped = False, -1
    for position in range(index, len(marks)):
        at, mark = marks[position]
        if mark == "\\":
            escaped = at + 1 if quoted and escaped != at else escaped
        elif mark == '"':
            quoted = not quoted if escaped != at else quoted
        elif quoted:
            continue
        elif mark in _CLOSING:
            stack.append(_CLOSING[mark])
        elif mark != stack.pop():
            return None, position - index + 1
        elif not stack:
            return position, position - index + 1
    return None, len(marks) - index


def _value(span: str) -> Any:
    """Return the object or array in a span, or null."""
    for load in (load_json, load_python):
        try:
            value = load(span)
        except ValueError:
            continue
        return value if isinstance(value, dict | list) else None
    return None


def _is_code(span: str) -> bool:
    return parse_python(span) is not None


def parse_python(text: str) -> ast.Module | None:
    """Return the syntax tree of Python code, or null."""
    if len(text) > LONGEST_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
