"""From an answer to the calls that it makes.

Looked for in this order: the record of a run; JSON that is the whole answer; fenced blocks; Python code that is the
whole answer; JSON values and lists of calls in prose, found by balanced brackets; lines that are nothing but a call.
Of several complete lists the last counts, calls that stand alone are joined. What is left is text: candidates that are
mentioned in it, which is scored apart and never resolves a task.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from novelapi.selection.calls import Call, Extraction, Place
from novelapi.selection.decoding import Decoded, decode
from novelapi.selection.names import Names, normal
from novelapi.selection.python_calls import read_python
from novelapi.selection.scanning import fences, load_json, spans, strip_thinking
from novelapi.selection.tasks import Tool
from novelapi.selection.traces import read_trace, read_transcript

EXTRACTION_VERSION = 1
"""Raise it whenever other calls would be found in the same answer."""

_CODE = frozenset({"", "python", "py", "python3", "tool_code", "tool_call", "json", "jsonc"})
_MARKS = "`*-> \t"


def extract(text: str, tools: Sequence[Tool], names: Names) -> Extraction:
    """Find the calls of an answer.

    Args:
        text: the answer, as the model gave it.
        tools: all candidates of the row; mentions in text are sought for each of them.
        names: the row's table of names.
    """
    text = strip_thinking(text).strip()

    def known(name: str) -> bool:
        return bool(names.find(name))

    return (
        _from_whole(text, known)
        or _from_fences(text, known)
        or _from_transcript(text)
        or _from_prose(text, known)
        or Extraction(kind="text", place="none", calls=mentions(text, tools))
    )


def _from_whole(text: str, known: Callable[[str], bool]) -> Extraction | None:
    if text[:1] in "{[":
        try:
            value = load_json(text)
        except ValueError:
            value = None
        if value is not None:
            return _from_value(value, known, "whole")
    calls = read_python(text, known)
    return Extraction(kind="ast", place="whole", calls=tuple(calls)) if calls else None


def _from_value(value: Any, known: Callable[[str], bool], place: Place) -> Extraction | None:
    trace = read_trace(value)
    if trace is not None:
        return Extraction(kind="trace", place=place, calls=tuple(trace))
    found = decode(value, known, trusted=True)
    return None if found is None else _joined([found], place)


def _from_fences(text: str, known: Callable[[str], bool]) -> Extraction | None:
    blocks = [content for language, content in fences(text) if language in _CODE]
    decoded: list[Decoded] = []
    programs: list[list[Call]] = []
    for block in blocks:
        content = block.strip()
        try:
            value = load_json(content)
        except ValueError:
            program = read_python(content, known)
            if program:
                programs.append(program)
            else:
                decoded += _in_spans(content, known)[0]
            continue
        trace = read_trace(value)
        if trace is not None:
            return Extraction(kind="trace", place="fence", calls=tuple(trace))
        found = decode(value, known, trusted=True)
        if found is not None:
            decoded.append(found)
    if decoded:
        return _joined(decoded, "fence")
    if programs:
        return Extraction(kind="ast", place="fence", calls=tuple(programs[-1]))
    return None


def _from_transcript(text: str) -> Extraction | None:
    calls = read_transcript(text)
    return None if calls is None else Extraction(kind="trace", place="whole", calls=tuple(calls))


def _from_prose(text: str, known: Callable[[str], bool]) -> Extraction | None:
    decoded, programs = _in_spans(text, known)
    if decoded:
        return _joined(decoded, "prose")
    lines = [line.strip(_MARKS) for line in text.splitlines()]
    alone = [calls for line in lines if line.endswith(")") and (calls := read_python(line, known))]
    programs = programs[-1:] or [[call for calls in alone for call in calls if known(call.name)]]
    return Extraction(kind="ast", place="prose", calls=tuple(programs[0])) if programs[0] else None


def _in_spans(text: str, known: Callable[[str], bool]) -> tuple[list[Decoded], list[list[Call]]]:
    """Return what the bracketed parts of a text hold: calls as JSON, and lists of calls as Python."""
    decoded: list[Decoded] = []
    programs: list[list[Call]] = []
    for span, value in spans(text):
        if value is None:
            programs += [calls] if (calls := read_python(span, known)) else []
            continue
        found = decode(value, known)
        if found is not None and (found.calls or found.malformed or "calls" in span):
            decoded.append(found)
    return decoded, programs


def _joined(decoded: Iterable[Decoded], place: Place) -> Extraction:
    several = list(decoded)
    complete = [found for found in several if found.whole]
    chosen = complete[-1:] or several
    return Extraction(
        kind="json",
        place=place,
        calls=tuple(call for found in chosen for call in found.calls),
        links=chosen[-1].links,
        malformed=sum(found.malformed for found in chosen),
    )


def mentions(text: str, tools: Sequence[Tool]) -> tuple[Call, ...]:
    """Return the candidates that a text mentions, in the order of their first mention; all are sought, not the labels.

    An API of a tool is mentioned where both names, joined, occur in the text without its punctuation, or where each
    occurs somewhere; any other where its name does, as a word.
    """
    lowered, compact = text.lower(), normal(text)
    found: list[tuple[int, Call]] = []
    for tool in tools:
        at = _mention(lowered, compact, tool)
        if at >= 0:
            found.append((at, Call(name=tool.title or tool.name, owner=tool.owner)))
    return tuple(call for _, call in sorted(found, key=lambda item: item[0]))


def _mention(lowered: str, compact: str, tool: Tool) -> int:
    """Return where a tool is first mentioned, or -1."""
    if not tool.owner:
        found = re.search(rf"(?<!\w){re.escape(tool.name.lower())}(?!\w)", lowered)
        return found.start() if found else -1
    for joined in (normal(tool.owner) + normal(tool.title), f"{normal(tool.title)}for{normal(tool.owner)}"):
        at = compact.find(joined)
        if at >= 0:
            return at
    both = lowered.find(tool.owner.lower()), lowered.find(tool.title.lower())
    return max(both) if min(both) >= 0 else -1
