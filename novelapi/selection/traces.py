"""Reads calls from the record of a run: ToolBench's answers, chat messages with tool calls, `Action:` transcripts."""

from __future__ import annotations

import re
from typing import Any

from novelapi.selection.calls import Call
from novelapi.selection.decoding import parsed

FINISH = "Finish"
"""What ends a run of ToolBench; it belongs to no task."""
_ACTION = re.compile(r"^[ \t]*Action[ \t]*:[ \t]*(.+?)[ \t]*$(?:\s*^[ \t]*Action Input[ \t]*:[ \t]*)?", re.MULTILINE)
_NEXT = re.compile(r"^[ \t]*(?:Thought|Observation|Action|Final Answer)[ \t]*:", re.MULTILINE)


def read_trace(value: Any) -> list[Call] | None:
    """Return the calls of a recorded run in order, or null when a JSON value is none.

    Of a search tree the path that ended in the answer counts, as ToolBench itself converts it; of a run without an
    answer everything that was tried last.
    """
    if isinstance(value, list):
        return _messages(value)
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("answer"), dict) and "answer_details" in value["answer"]:
        return _details(value["answer"]["answer_details"])
    if "answer_details" in value:
        return _details(value["answer_details"])
    if "answer_generation" in value or "trys" in value:
        return _run(value)
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return _messages([choices[0].get("message")])
    messages = value.get("messages")
    if isinstance(messages, list):
        return _messages(messages)
    return _messages([value]) if value.get("role") == "assistant" else None


def read_transcript(text: str) -> list[Call] | None:
    """Return the calls of an `Action:` / `Action Input:` transcript, or null when a text is none."""
    calls: list[Call] = []
    for found in _ACTION.finditer(text):
        if "Action Input" not in found.group():
            continue
        after = _NEXT.search(text, found.end())
        given = text[found.end() : after.start() if after else len(text)].strip()
        calls.append(_call(found[1], given, None))
    return _without_finish(calls) if calls else None


def _run(value: dict[str, Any]) -> list[Call]:
    generation = value.get("answer_generation")
    paths = generation.get("train_messages") if isinstance(generation, dict) else None
    if isinstance(paths, list) and paths and (found := _messages(paths[-1])) is not None:
        return found
    tried = value.get("trys")
    if isinstance(tried, list) and tried and isinstance(tried[-1], dict):
        return _chain(tried[-1].get("chain") or [])
    tree = value.get("tree")
    root = tree.get("tree") if isinstance(tree, dict) else None
    return _chain(_walk(root)) if isinstance(root, dict) else []


def _walk(root: dict[str, Any]) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting += [child for child in reversed(node.get("children") or []) if isinstance(child, dict)]
    return nodes


def _chain(nodes: list[Any]) -> list[Call]:
    calls: list[Call] = []
    for node in nodes:
        if not isinstance(node, dict):
            continue
        if node.get("node_type") == "Action":
            calls.append(_call(str(node.get("description")), "", None))
        elif node.get("node_type") == "Action Input" and calls:
            code = node.get("observation_code")
            ok = None if code is None else code == 0 and _fine(node.get("observation"))
            calls[-1] = _call(calls[-1].name, node.get("description"), ok)
    return _without_finish(calls)


def _details(value: Any) -> list[Call]:
    calls: list[Call] = []
    waiting = list(reversed(value)) if isinstance(value, list) else []
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict):
            continue
        message = node.get("message")
        if node.get("role") == "tool" and isinstance(message, dict):
            calls.append(_call(str(message.get("name")), message.get("arguments"), _fine(message.get("response"))))
        waiting += reversed(node.get("next") or [])
    return _without_finish(calls)


def _messages(values: Any) -> list[Call] | None:
    """Return the calls of chat messages, or null when the values are no messages with an assistant's among them."""
    if not isinstance(values, list) or not any(isinstance(item, dict) and item.get("role") for item in values):
        return None
    calls: list[Call] = []
    places: dict[str, int] = {}
    for message in values:
        if not isinstance(message, dict):
            continue
        if message.get("role") in ("tool", "function") and calls:
            at = places.get(str(message.get("tool_call_id")), len(calls) - 1)
            calls[at] = _answered(calls[at], _fine(message.get("content")))
        asked = [*(message.get("tool_calls") or []), {"function": message.get("function_call")}]
        for item in asked:
            function = item.get("function") if isinstance(item, dict) else None
            if message.get("role") == "assistant" and isinstance(function, dict):
                places[str(item.get("id"))] = len(calls)
                calls.append(_call(str(function.get("name")), function.get("arguments"), None))
    return _without_finish(calls)


def _call(name: str, given: Any, ok: bool | None) -> Call:
    given = parsed(given) if isinstance(given, str) else given
    return Call(name=name, arguments=given if isinstance(given, dict) else {}, ok=ok)


def _answered(call: Call, ok: bool) -> Call:
    return Call(name=call.name, arguments=call.arguments, ok=ok)


def _fine(response: Any) -> bool:
    """Whether a response reports no error."""
    response = parsed(response) if isinstance(response, str) else response
    return not (isinstance(response, dict) and response.get("error"))


def _without_finish(calls: list[Call]) -> list[Call]:
    return [call for call in calls if call.name != FINISH]
