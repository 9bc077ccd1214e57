"""NESTFUL: nested sequences of API calls, in which later calls take what earlier ones return.

Format: github.com/IBM/NESTFUL, data/ (Apache-2.0): per split `*-data.json` with `input` and `output`, beside it
`*-spec.json` with all APIs of the split. Version 2 writes both the tools and the answer into each row. The closing
`var_result`, which only collects results, is no call. The gold calls are not checked against the specification: part
of them use arguments or fields that it lacks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from novelapi.errors import DataError
from novelapi.evaluation.suites.choice import ChoiceSuite, Row, clean, finish, need, read_rows
from novelapi.selection.tasks import Skipped, Task, TaskSet, Tool, Wanted

CLOSING = "var_result"
_PARAMETERS = ("arguments", "query_parameters", "path_parameters", "body_parameters", "parameters")
"""Keys of a specification that hold parameters."""


def read(folder: Path) -> TaskSet:
    """Read the splits of a folder, or one file; a task's id is `{split}/{number}`, from 0, or version 2's own.

    Raises:
        DataError: a file is missing or broken, a row has no answer, an id is repeated, or no row can be scored.
    """
    files = SUITE.files(folder) if folder.is_dir() else [folder]
    tasks: dict[str, Task] = {}
    skipped: list[Skipped] = []
    for path in files:
        split = path.stem.removesuffix("-data").removesuffix("_data").removeprefix("non-executable-")
        shared: tuple[tuple[Tool, ...], dict[str, str], Any] | None = None
        for number, row in enumerate(read_rows(path)):
            place = f"{path}, row {number + 1}"
            key = f"{split}/{row.get('sample_id', number)}"
            if key in tasks or any(item.key == key for item in skipped):
                raise DataError(f"{place}: duplicate id '{key}'; remove one of the rows")
            output = _output(row, place)
            if "tools" in row:
                listed = _plain(row["tools"], place)
                tools, bad = clean(_tools(listed, place))
            else:
                shared = shared or _specification(path)
                tools, bad, listed = shared
            steps, reason = _steps(output, tools, bad)
            if reason:
                skipped.append(Skipped(key=key, part=split, reason=reason))
                continue
            tasks[key] = Task(
                key=key, part=split, query=str(need(row, ("input", "question"), place)), tools=tools,
                wanted=tuple(steps), match="sequence", listing=listed, ignored=frozenset({CLOSING}),
                aliases=(str(row["sample_id"]),) if "sample_id" in row else (),
            )  # fmt: skip
    return finish(TaskSet(tasks=tasks, skipped=skipped), folder)


def _plain(value: Any, place: str) -> Any:
    """Return a value that version 2 stores as text.

    Raises:
        DataError: it is not valid JSON.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: a field is not valid JSON ({error}); fetch the file anew") from error


def _output(row: Row, place: str) -> list[Any]:
    """Return the answer of a row.

    Raises:
        DataError: there is none.
    """
    output = _plain(row.get("output"), place)
    if not isinstance(output, list) or not output:
        raise DataError(f"{place}: no 'output': without labels nothing can be scored; remove the row")
    return output


def _steps(output: Sequence[Any], tools: Sequence[Tool], bad: Mapping[str, str]) -> tuple[list[Wanted], str | None]:
    """Return the calls of an answer, and why it cannot be scored, or null."""
    names = {tool.name for tool in tools}
    found: list[Wanted] = []
    for item in output:
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            return found, "a call of the answer has no name"
        name, given = item["name"], item.get("arguments") or {}
        if name == CLOSING:
            continue
        if not isinstance(given, dict):
            return found, f"the arguments of a call are no object: '{name}'"
        if name not in names:
            return found, f"a label names an API that is not listed: '{name}'"
        if name in bad:
            return found, bad[name]
        found.append(Wanted(name=name, arguments=given, label=str(item.get("label") or "").strip("$")))
    return found, None if found else "the answer calls nothing"


def _specification(path: Path) -> tuple[tuple[Tool, ...], dict[str, str], Any]:
    """Return the APIs of a split.

    Raises:
        DataError: the file is missing or broken.
    """
    beside = path.with_name(path.name.replace("data", "spec"))
    if beside == path or not beside.is_file():
        raise DataError(
            f"{path}: its specification is not beside it: fetch {path.stem.replace('data', 'spec')}.json too"
        )
    listed = read_rows(beside)
    tools, bad = clean(_tools(listed, str(beside)))
    return tools, bad, listed


def _tools(listed: Any, place: str) -> list[Tool]:
    if not isinstance(listed, list) or not listed:
        raise DataError(f"{place}: no tool is listed; fetch the file anew")
    return [_tool(item, place) for item in listed]


def _tool(item: Any, place: str) -> Tool:
    name = item.get("name", item.get("id")) if isinstance(item, dict) else None
    if not isinstance(name, str):
        raise DataError(f"{place}: a specification has no name; correct the file")
    parameters: dict[str, Row] = {}
    required: list[str] = []
    for key in _PARAMETERS:
        schema = item.get(key)
        if not isinstance(schema, dict):
            continue
        inner = schema.get("properties")
        named = inner if isinstance(inner, dict) else schema
        parameters |= {str(name): part for name, part in named.items() if isinstance(part, dict)}
        listed = schema.get("required")
        required += [str(name) for name in listed] if isinstance(listed, list) else []
    required += [name for name, part in parameters.items() if part.get("required") is True]
    return Tool(name=name, parameters=parameters, required=tuple(dict.fromkeys(required)))


SUITE = ChoiceSuite(
    name="nestful",
    folders=("nestful", "nestful_v1", "tools/nestful", "tools/nestful_v1", "data", "data_v1"),
    markers=("*-data.json", "*/*-data.json", "nestful_data.json*", "data_v2/*.jsonl"),
    source="the folder `data` of github.com/IBM/NESTFUL",
    version=1,
    read=read,
)
