"""Answers that read no task, and the right one: what a score must be seen beside."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from novelapi.selection.accepted import alternatives, pick
from novelapi.selection.tasks import Task, Tool


def write_gold(task: Task) -> str:
    """Return the right answer as an artefact."""
    if task.calls == "none":
        return json.dumps({"calls": []})
    if task.calls == "some":
        return write_first(task)
    if task.match == "set":
        by_name = task.by_name
        return json.dumps({"api_calls": [_pair(by_name[call.name]) for call in task.wanted]}, ensure_ascii=False)
    calls: list[dict[str, Any]] = []
    for call in task.wanted:
        item: dict[str, Any] = {"name": call.name, "arguments": dict(call.arguments or {})}
        if task.match == "accepted":
            item["arguments"] = _choose(call.arguments or {}, task.by_name[call.name])
        if call.label:
            item["label"] = call.label
        calls.append(item)
    answer: dict[str, Any] = {"calls": calls}
    if task.links is not None:
        answer["links"] = [{"source": source, "target": target} for source, target in task.links]
    return json.dumps(answer, ensure_ascii=False)


def _choose(accepted: Mapping[str, Any], tool: Tool) -> dict[str, Any]:
    """Return one accepted value of each parameter; left out is one whose first choice that is, or that is unknown."""
    kept: dict[str, Any] = {}
    for name, values in accepted.items():
        if (alternatives(values)[:1] == [""] and name not in tool.required) or name not in tool.parameters:
            continue
        kept[name] = pick(values, tool.parameters.get(name, {}))
    return kept


def write_everything(task: Task) -> str:
    """Return calls of every listed tool, as valid JSON."""
    return json.dumps({"api_calls": [_pair(tool) for tool in task.tools]}, ensure_ascii=False)


def write_first(task: Task) -> str:
    """Return a call of the first listed tool."""
    return json.dumps({"api_calls": [_pair(tool) for tool in task.tools[:1]]}, ensure_ascii=False)


def write_empty(_: Task) -> str:
    """Return nothing."""
    return ""


def write_echo(task: Task) -> str:
    """Return what the task shows: the question and the list of tools."""
    return f"{task.query}\n{json.dumps(task.listing, ensure_ascii=False)}"


def write_everything_in_prose(task: Task) -> str:
    """Return calls of every listed tool after a line of prose, without a fence."""
    return f"I would call all of the following.\n{write_everything(task)}"


BASELINES: Mapping[str, Callable[[Task], str]] = {
    "gold": write_gold,
    "everything": write_everything,
    "everything in prose": write_everything_in_prose,
    "first": write_first,
    "empty": write_empty,
    "echo": write_echo,
}
"""Artefacts by name: the right answer, and five that read no task."""


def _pair(tool: Tool) -> Any:
    return [tool.owner, tool.title] if tool.owner else {"name": tool.name, "arguments": {}}
