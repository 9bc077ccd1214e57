"""BFCL, the Berkeley Function-Calling Leaderboard: its single-turn categories, judged on the syntax of the calls.

Format: github.com/ShishirPatil/gorilla, berkeley-function-call-leaderboard/bfcl_eval/data (Apache-2.0): one file per
category with questions and functions, possible_answer/ with lists of accepted values. In `irrelevance` nothing must be
called, in `relevance` anything; both have no answers. Several turns, memory, web search and executed categories are
left out, and counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from novelapi.errors import DataError
from novelapi.evaluation.suites.choice import ChoiceSuite, Row, finish, need, read_rows
from novelapi.selection.accepted import alternatives
from novelapi.selection.names import find_defect
from novelapi.selection.tasks import Language, Skipped, Task, TaskSet, Tool, Wanted

ANSWERS = "possible_answer"
_CATEGORY = re.compile(r"^(?:BFCL_v\d+|gorilla_openfunctions_v\d+_test)_(.+)$")
_OTHER = ("multi_turn", "memory", "web_search", "format_sensitivity", "exec", "rest")
"""Categories that are not judged on the syntax of one turn."""
_NONE, _SOME = ("irrelevance", "chatable"), ("relevance",)
"""Categories in which nothing, or anything, must be called."""


def read(folder: Path) -> TaskSet:
    """Read the categories of a folder, or one file; a task's id is the suite's own.

    Raises:
        DataError: a file is broken, a row has no answer, an id is repeated, or no row can be scored.
    """
    files = [path for path in SUITE.files(folder) if path.parent.name != ANSWERS] if folder.is_dir() else [folder]
    tasks: dict[str, Task] = {}
    skipped: list[Skipped] = []
    notes: list[str] = []
    for path in files:
        category = _category(path)
        rows = read_rows(path)
        if category.removeprefix("live_").startswith(_OTHER):
            notes.append(f"{path.name}: {len(rows)} rows are left out: not judged on the syntax of a single turn")
            continue
        calls = "none" if _is(category, _NONE) else "some" if _is(category, _SOME) else "exact"
        answers = _answers(path) if calls == "exact" else {}
        for number, row in enumerate(rows, 1):
            place = f"{path}, row {number}"
            key = str(need(row, ("id",), place))
            if key in tasks or any(item.key == key for item in skipped):
                raise DataError(f"{place}: duplicate id '{key}'; remove one of the rows")
            if calls == "exact" and not answers.get(key):
                raise DataError(f"{place}: no answer for '{key}' in {ANSWERS}/: remove the row or fetch it anew")
            try:
                tools = _tools(row, place)
                wanted = _wanted(answers.get(key, []), tools)
            except _DefectError as defect:
                skipped.append(Skipped(key=key, part=category, reason=str(defect)))
                continue
            tasks[key] = Task(
                key=key, part=category, query=_question(row.get("question")), tools=tools, wanted=wanted,
                match="accepted", calls=calls, language=_language(category), listing=row.get("function", []),
            )  # fmt: skip
    return finish(TaskSet(tasks=tasks, skipped=skipped, notes=notes), folder)


class _DefectError(Exception):
    """What is wrong with one row."""


def _category(path: Path) -> str:
    found = _CATEGORY.match(path.stem)
    return found[1] if found else path.stem


def _is(category: str, kinds: tuple[str, ...]) -> bool:
    return category.removeprefix("live_") in kinds


def _language(category: str) -> Language:
    name = category.removeprefix("live_").removeprefix("simple_")
    return "java" if name == "java" else "javascript" if name == "javascript" else "python"


def _answers(path: Path) -> Mapping[str, list[Any]]:
    """Return the accepted calls by id.

    Raises:
        DataError: the file of answers is missing or broken.
    """
    beside = path.parent / ANSWERS / path.name
    if not beside.is_file():
        raise DataError(f"{path}: no labels: {ANSWERS}/{path.name} is not beside it; fetch it too")
    found: dict[str, list[Any]] = {}
    for number, row in enumerate(read_rows(beside), 1):
        place = f"{beside}, row {number}"
        key = str(need(row, ("id",), place))
        truth = need(row, ("ground_truth",), place)
        if key in found:
            raise DataError(f"{place}: duplicate id '{key}'; remove one of the rows")
        found[key] = truth if isinstance(truth, list) else [truth]
    return found


def _tools(row: Row, place: str) -> tuple[Tool, ...]:
    """Return the functions of a row.

    Raises:
        DataError: the row has no functions although a call could be made.
        _DefectError: they cannot be told apart.
    """
    listed = row.get("function", row.get("functions", []))
    listed = [listed] if isinstance(listed, dict) else listed
    if not isinstance(listed, list) or not all(isinstance(item, dict) and item.get("name") for item in listed):
        raise DataError(f"{place}: 'function' is no list of named functions; is this BFCL's own file?")
    tools = tuple(_tool(item) for item in listed)
    reason = find_defect(tools, "plain") if tools else None
    if reason:
        raise _DefectError(reason)
    return tools


def _tool(item: Row) -> Tool:
    schema = _object(item.get("parameters"))
    properties = {str(name): _object(part) for name, part in _object(schema.get("properties")).items()}
    required = schema.get("required")
    names = [str(name) for name in required] if isinstance(required, list) else []
    return Tool(name=str(item["name"]), parameters=properties, required=tuple(names))


def _object(value: Any) -> Row:
    """Return an object, also one that is stored as text, as data set libraries do.

    Raises:
        _DefectError: it is none.
    """
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise _DefectError(f"a schema is not valid JSON: {value[:80]!r}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _DefectError(f"a schema is no object: {value!r}"[:200])
    return value


def _wanted(answers: list[Any], tools: tuple[Tool, ...]) -> tuple[Wanted, ...]:
    """Return the calls of an answer.

    Raises:
        _DefectError: an answer calls what is not listed, or is no call.
    """
    by_name = {tool.name: tool for tool in tools}
    found: list[Wanted] = []
    for answer in answers:
        if not isinstance(answer, dict) or len(answer) != 1:
            raise _DefectError(f"an answer is no call: {answer!r}"[:200])
        name, accepted = next(iter(answer.items()))
        if name not in by_name:
            raise _DefectError(f"a label names an API that is not listed: '{name}'")
        if not isinstance(accepted, dict):
            raise _DefectError(f"an answer has no arguments: '{name}'")
        tool = by_name[name]
        unknown = [
            key for key, values in accepted.items() if key not in tool.parameters and "" not in alternatives(values)
        ]
        lacking = [key for key in tool.required if key not in accepted]
        if unknown:
            raise _DefectError(f"an answer needs a parameter that its function lacks: '{unknown[0]}' of '{name}'")
        if lacking:
            raise _DefectError(f"an answer lacks a required parameter: '{lacking[0]}' of '{name}'")
        found.append(Wanted(name=name, arguments=accepted))
    return tuple(found)


def _question(value: Any) -> str:
    """Return the text of a question: a text, messages, or turns of messages."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _question(value.get("content", ""))
    return "\n".join(_question(item) for item in value) if isinstance(value, list) else ""


SUITE = ChoiceSuite(
    name="bfcl",
    folders=("bfcl", "tools/bfcl", "data", "bfcl_eval/data"),
    markers=("BFCL_v*_*.json", "gorilla_openfunctions_v*_test_*.json"),
    source="bfcl_eval/data of the leaderboard in github.com/ShishirPatil/gorilla, with its possible_answer/",
    version=1,
    read=read,
)
