"""ToolBench and StableToolBench: which of the listed APIs a query needs, by the label `relevant APIs`.

Format: github.com/THUNLP-MT/StableToolBench, solvable_queries/test_instruction/{group}.json (Apache-2.0); ToolBench's
own query files are the same. Neither pass rate nor win rate: those are judged by models.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from novelapi.errors import DataError
from novelapi.evaluation.suites.choice import ChoiceSuite, Row, finish, need, read_rows
from novelapi.selection.names import changed, find_defect, normal
from novelapi.selection.tasks import Skipped, Task, TaskSet, Tool, Wanted
from novelapi.selection.traces import FINISH

LABEL = "relevant APIs"


def read(folder: Path) -> TaskSet:
    """Read the query files of a folder, or one file; a task's id is `{group}/{query_id}`.

    Raises:
        DataError: a file is broken, a row has no labels, an id is repeated, or no row can be scored.
    """
    files = SUITE.files(folder) if folder.is_dir() else [folder]
    tasks: dict[str, Task] = {}
    skipped: list[Skipped] = []
    repeated = 0
    for path in files:
        for number, row in enumerate(read_rows(path), 1):
            place = f"{path}, row {number}"
            if "query" not in row or "api_list" not in row:
                raise DataError(f"{place}: field missing: query or api_list; is this a query file of ToolBench?")
            key = f"{path.stem}/{need(row, ('query_id', 'id'), place)}"
            if key in tasks or any(item.key == key for item in skipped):
                raise DataError(f"{place}: duplicate query_id '{key}'; remove one of the rows")
            labels = _labels(row, place)
            repeated += len(labels) > len(set(labels))
            found = _task(key, path.stem, row, labels)
            if isinstance(found, Task):
                tasks[key] = found
            else:
                skipped.append(found)
    notes = [f"{repeated} rows repeat a label: it counts once"] if repeated else []
    shared = sum(_shares_a_name(task) for task in tasks.values())
    if shared:
        notes.append(f"{shared} rows show two APIs under one function name: a trace that uses it matches neither")
    return finish(TaskSet(tasks=tasks, skipped=skipped, notes=notes), folder)


def _labels(row: Row, place: str) -> list[tuple[str, str]]:
    """Return the labels of a row.

    Raises:
        DataError: it has none, or one is no pair of names.
    """
    labels = row.get(LABEL)
    if not isinstance(labels, list) or not labels:
        raise DataError(f"{place}: no '{LABEL}': without labels nothing can be scored; remove the row or label it")
    found: list[tuple[str, str]] = []
    for label in labels:
        pair = [label.get("tool_name"), label.get("api_name")] if isinstance(label, dict) else label
        names = [part for part in pair if isinstance(part, str)] if isinstance(pair, list) else []
        if not isinstance(pair, list) or len(pair) != 2 or len(names) != 2:
            raise DataError(f"{place}: a label is no pair of tool and API: {label!r}; correct the row")
        found.append((names[0], names[1]))
    return found


def _task(key: str, group: str, row: Row, labels: Iterable[tuple[str, str]]) -> Task | Skipped:
    listed = row["api_list"]
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        return Skipped(key=key, part=group, reason="api_list is no list of objects")
    tools: list[Tool] = []
    for item in listed:
        owner, title = item.get("tool_name"), item.get("api_name")
        if not isinstance(owner, str) or not isinstance(title, str):
            return Skipped(key=key, part=group, reason="a listed API has no tool_name or no api_name")
        tools.append(_tool(owner, title, item))
    reason = find_defect(tools, "toolbench")
    if reason:
        return Skipped(key=key, part=group, reason=reason)
    by_form = {normal(tool.owner) + normal(tool.title): tool.name for tool in tools}
    wanted: dict[str, Wanted] = {}
    for owner, title in labels:
        name = by_form.get(normal(owner) + normal(title))
        if name is None:
            return Skipped(key=key, part=group, reason=f"a label names an API that is not listed: '{owner} / {title}'")
        wanted[name] = Wanted(name=name)
    return Task(
        key=key, part=group, query=str(row["query"]), tools=tuple(tools), wanted=tuple(wanted.values()), match="set",
        listing=listed, scheme="toolbench", aliases=(key.partition("/")[2],), ignored=frozenset({FINISH}),
    )  # fmt: skip


def _tool(owner: str, title: str, item: Row) -> Tool:
    required, optional = _named(item.get("required_parameters")), _named(item.get("optional_parameters"))
    return Tool(
        name=f"{owner} / {title}", owner=owner, title=title, parameters={**required, **optional},
        required=tuple(required),
    )  # fmt: skip


def _named(values: Any) -> dict[str, Row]:
    several = values if isinstance(values, list) else []
    return {str(item["name"]): item for item in several if isinstance(item, dict) and "name" in item}


def _shares_a_name(task: Task) -> bool:
    names = [changed(tool, "toolbench")[-1] for tool in task.tools]
    return len(set(names)) < len(names)


SUITE = ChoiceSuite(
    name="toolbench",
    folders=(
        "toolbench", "stabletoolbench", "tools/toolbench", "tools/stabletoolbench", "solvable_queries/test_instruction",
        "stabletoolbench/solvable_queries/test_instruction", "tools/stabletoolbench/solvable_queries/test_instruction",
        "test_instruction", "instruction",
    ),
    markers=("G[1-3]_*.json",),
    source="the folder `solvable_queries/test_instruction` of github.com/THUNLP-MT/StableToolBench",
    version=1,
    read=read,
)  # fmt: skip
