"""TaskBench: which tools a request needs, their arguments, and the links among them.

Format: github.com/microsoft/JARVIS, taskbench/data_{domain} (MIT): tool_desc.json with the tools, data.json with one
row per line. Arguments of tools with typed inputs have no names: they take the input types in their order. A domain
whose folder holds graph_desc.json but no data.json has one task: to find all links of its tool graph.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from novelapi.errors import DataError
from novelapi.evaluation.suites.choice import ChoiceSuite, Row, clean, finish, need, read_rows
from novelapi.selection.names import Names
from novelapi.selection.positions import name_arguments
from novelapi.selection.tasks import Edge, Skipped, Task, TaskSet, Tool, Wanted

TOOLS = "tool_desc.json"
GRAPH = "graph_desc.json"
ROWS = ("data.json", "data.jsonl", "data_human_classified.json")
"""Names of the file of rows, the first that is there."""
QUESTION = "Name every link among the tools: which tool's result can be an input of which other tool?"


def read(folder: Path) -> TaskSet:
    """Read the domains of a folder; a task's id is `{domain}/{id}`.

    Raises:
        DataError: a file is missing or broken, a row has no labels, an id is repeated, or no row can be scored.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: TaskBench needs the file of tools beside the rows: give the folder of both")
    tasks: dict[str, Task] = {}
    skipped: list[Skipped] = []
    notes: list[str] = []
    for path in SUITE.files(folder):
        prefix = path.name.removesuffix(TOOLS)
        domain = _domain(prefix.strip("_") or path.parent.name.removeprefix("data_"), path)
        rows = next((file for name in ROWS if (file := path.with_name(prefix + name)).is_file()), None)
        if rows is None:
            graph = path.with_name(prefix + GRAPH)
            if not graph.is_file():
                notes.append(f"{domain.name}: neither {prefix}{ROWS[0]} nor {graph.name} is there: it has no task")
                continue
            notes.append(f"{domain.name}: {prefix}{ROWS[0]} is not there: its only task is its tool graph")
            found = [_graph(domain, graph)]
        else:
            found = [_task(domain, row, f"{rows}, row {number}") for number, row in enumerate(read_rows(rows), 1)]
        seen = {*tasks, *(item.key for item in skipped)}
        for number, item in enumerate(found, 1):
            if item.key in seen:
                raise DataError(f"{rows}, row {number}: duplicate id '{item.key}'; remove one of the rows")
            seen.add(item.key)
            if isinstance(item, Task):
                tasks[item.key] = item
            else:
                skipped.append(item)
    return finish(TaskSet(tasks=tasks, skipped=skipped, notes=notes), folder)


@dataclass(frozen=True, kw_only=True)
class _Domain:
    """The tools of a domain."""

    name: str
    tools: tuple[Tool, ...]
    bad: Mapping[str, str]
    """Why some of the tools cannot be scored."""
    listed: Any
    """The tools as the file has them."""
    names: Names


def _domain(name: str, path: Path) -> _Domain:
    listed = _nodes(path)
    tools, bad = clean([_tool(item, path) for item in listed])
    return _Domain(name=name, tools=tools, bad=bad, listed=listed, names=Names(tools, "spaced"))


def _nodes(path: Path) -> list[Row]:
    """Return the tools of a domain.

    Raises:
        DataError: the file is broken.
    """
    rows = read_rows(path)
    listed = rows[0].get("nodes") if len(rows) == 1 and "nodes" in rows[0] else rows
    if not isinstance(listed, list) or not all(
        isinstance(item, dict) and isinstance(item.get("id"), str) for item in listed
    ):
        raise DataError(f"{path}: 'nodes' is no list of tools with an id; fetch it anew")
    return listed


def _tool(item: Row, path: Path) -> Tool:
    parameters: dict[str, Row] = {}
    declared = item.get("parameters", [])
    if not isinstance(declared, list):
        raise DataError(f"{path}: the parameters of '{item['id']}' are no list; fetch it anew")
    for part in declared:
        if isinstance(part, dict) and "name" in part:
            parameters[str(part["name"])] = part
    for number, kind in enumerate(item.get("input-type") or []):
        name = str(kind) if kind not in parameters else f"{kind} {number + 1}"
        parameters[name] = {"type": str(kind)}
    return Tool(name=item["id"], parameters=parameters)


def _task(domain: _Domain, row: Row, place: str) -> Task | Skipped:
    """Return the task of a row.

    Raises:
        DataError: it has no id, no question or no labels.
    """
    key = f"{domain.name}/{need(row, ('id',), place)}"
    nodes = _list(row, ("task_nodes", "tool_nodes"), place)
    links = _list(row, ("task_links", "tool_links"), place)
    wanted: list[Wanted] = []
    for number, node in enumerate(nodes):
        written = node.get("task", node.get("id", node.get("name"))) if isinstance(node, dict) else None
        if not isinstance(written, str):
            return Skipped(key=key, part=domain.name, reason="a node names no tool")
        found = domain.names.find(written)
        if len(found) != 1:
            reason = f"a label names an API that is not listed: '{written}'"
            return Skipped(key=key, part=domain.name, reason=reason)
        if found[0].name in domain.bad:
            return Skipped(key=key, part=domain.name, reason=domain.bad[found[0].name])
        given = _arguments(node.get("arguments"), found[0])
        wanted.append(Wanted(name=found[0].name, arguments=given, label=f"<node-{number}>"))
    if not wanted:
        raise DataError(f"{place}: no task_nodes: without labels nothing can be scored; remove the row")
    edges = _edges(links, domain.names)
    if edges is None:
        return Skipped(key=key, part=domain.name, reason="a link names no listed tool")
    query = str(need(row, ("user_request", "instruction"), place))
    return Task(
        key=key, part=domain.name, query=query, tools=domain.tools, wanted=tuple(wanted), match="sequence", links=edges,
        listing=domain.listed, scheme="spaced", aliases=(key.partition("/")[2],),
    )  # fmt: skip


def _list(row: Row, keys: Sequence[str], place: str) -> list[Any]:
    """Return a list of labels, which data set libraries store as text.

    Raises:
        DataError: it is missing or no list.
    """
    value = need(row, keys, place)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{place}: {keys[0]} is not valid JSON ({error}); fetch the file anew") from error
    if not isinstance(value, list):
        raise DataError(f"{place}: {keys[0]} is no list; correct the row")
    return value


def _arguments(value: Any, tool: Tool) -> dict[str, Any]:
    if isinstance(value, dict):
        return {str(name): item for name, item in value.items()}
    several = value if isinstance(value, list) else [] if value is None else [value]
    named = {
        str(item["name"]): item["value"]
        for item in several
        if isinstance(item, dict) and {"name", "value"} <= item.keys()
    }
    rest = [item for item in several if not (isinstance(item, dict) and {"name", "value"} <= item.keys())]
    return name_arguments(list(tool.parameters), named, rest)


def _edges(links: Sequence[Any], names: Names) -> tuple[Edge, ...] | None:
    found: list[Edge] = []
    for link in links:
        ends = [names.find(str(link.get(end))) for end in ("source", "target")] if isinstance(link, dict) else []
        if [len(end) for end in ends] != [1, 1]:
            return None
        found.append((ends[0][0].name, ends[1][0].name))
    return tuple(found)


def _graph(domain: _Domain, path: Path) -> Task | Skipped:
    """Return the task that a tool graph is by itself.

    Raises:
        DataError: the file is broken or states no link.
    """
    key = f"{domain.name}/graph"
    rows = read_rows(path)
    links = rows[0].get("links") if len(rows) == 1 else None
    if not isinstance(links, list) or not links:
        raise DataError(f"{path}: no 'links': without labels nothing can be scored; fetch it anew")
    edges = _edges(links, domain.names)
    if edges is None:
        return Skipped(key=key, part=domain.name, reason="a link names no listed tool")
    if domain.bad:
        return Skipped(key=key, part=domain.name, reason=next(iter(domain.bad.values())))
    linked = [tool for tool in domain.tools if any(tool.name in edge for edge in edges)]
    wanted = tuple(Wanted(name=tool.name) for tool in linked)
    return Task(
        key=key, part=domain.name, query=QUESTION, tools=domain.tools, wanted=wanted,
        match="sequence", links=edges, listing=domain.listed, scheme="spaced",
    )  # fmt: skip


SUITE = ChoiceSuite(
    name="taskbench",
    folders=("taskbench", "tools/taskbench"),
    markers=(f"*{TOOLS}", f"*/*{TOOLS}"),
    source="the folders data_* of taskbench in github.com/microsoft/JARVIS",
    version=1,
    read=read,
)
