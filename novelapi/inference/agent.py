"""Agentic deliveries: `search`, where the model looks knowledge up by tool calls, and `repair`, one more attempt.

Both end in the same kind of answer as every other delivery and are judged in the same way; what they cost is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import Field

from novelapi.inference.requests import StreamingCompleter
from novelapi.inference.templates import render_template
from novelapi.records.base import Record
from novelapi.records.completion import Completion, Request, ToolCall, Usage

RESULT_CAP = 8000
"""Characters of a tool's result that the model is shown."""


class Tool(Record):
    """A function that a model may call."""

    name: str
    """Name."""

    description: str
    """What it does, for the model."""

    parameter: str
    """Name of its one text parameter."""

    def declared(self) -> dict[str, Any]:
        """Return the declaration in the form of the chat protocol."""
        properties = {self.parameter: {"type": "string"}}
        schema = {
            "type": "object",
            "properties": properties,
            "required": [self.parameter],
            "additionalProperties": False,
        }
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": schema},
        }


SEARCH = Tool(name="search_api", description="Search the library's documentation.", parameter="query")
READ = Tool(name="read_api", description="Read everything about one API, by its full name.", parameter="name")
RUN = Tool(name="run", description="Run a Python program; returns what it prints, or the error.", parameter="code")


class AgentResult(Record):
    """How a task was answered in several turns."""

    text: str | None
    """The final answer; null when there is none."""

    unscored: str | None = None
    """Why there is none (`context`, `refused`, `transient` ...), or null."""

    turns: int = 0
    """Requests to the model."""

    tool_calls: dict[str, int] = Field(default_factory=dict)
    """Calls by tool, mistaken ones under `invalid`."""

    usage: Usage = Usage()
    """Tokens of all turns."""

    transcript: tuple[dict[str, Any], ...] = ()
    """The conversation after the prompt."""


def run_search(
    prompt: str,
    completer: StreamingCompleter,
    tools: Mapping[Tool, Callable[[str], str]],
    *,
    max_turns: int = 8,
    max_tokens: int = 2048,
) -> AgentResult:
    """Let a model answer a prompt with the help of tools.

    In the last turn no tool is offered, so that it has to answer.

    Args:
        prompt: the prompt of the task, without knowledge.
        completer: a model whose endpoint has native tool calls.
        tools: what each tool does with its argument; results are cut at `RESULT_CAP` characters.
        max_turns: most requests to the model.
        max_tokens: longest answer per turn.

    Raises:
        EndpointError: the endpoint as a whole does not answer.
        PrerequisiteError: key, model or extra is missing.
    """
    functions = {tool.name: (tool, function) for tool, function in tools.items()}
    turns: list[dict[str, Any]] = []
    calls: dict[str, int] = {}
    usage = Usage()
    for number in range(1, max_turns + 1):
        offered = tuple(tool.declared() for tool in tools) if number < max_turns else ()
        request = Request(prompt=prompt, turns=tuple(turns), tools=offered, max_tokens=max_tokens)
        ((_, completion),) = completer.stream([request])
        usage += _cost(completion)
        if completion.failure or not completion.tool_calls:
            text = None if completion.failure else completion.texts[0]
            return AgentResult(
                text=text,
                unscored=completion.failure,
                turns=number,
                tool_calls=dict(sorted(calls.items())),
                usage=usage,
                transcript=tuple(turns),
            )
        turns.append(_spoken(completion))
        for call in completion.tool_calls:
            name, result = _call(call, functions)
            calls[name] = calls.get(name, 0) + 1
            turns.append({"role": "tool", "tool_call_id": call.id, "content": result[:RESULT_CAP]})
    return AgentResult(
        text=None, unscored="turns", turns=max_turns, tool_calls=calls, usage=usage, transcript=tuple(turns)
    )


def repair_requests(
    prompts: Sequence[str], answers: Sequence[str], problems: Sequence[str], max_tokens: int = 2048
) -> list[Request]:
    """Return the requests for a second attempt: the first answer, and what went wrong with it on visible inputs.

    Args:
        prompts: prompts of the first attempt.
        answers: raw texts of the first attempt.
        problems: traceback or difference, without hidden inputs and expected values.
        max_tokens: longest answer.
    """
    return [
        Request(
            prompt=prompt,
            turns=(
                {"role": "assistant", "content": answer},
                {"role": "user", "content": render_template("repair", problem=problem).strip("\n")},
            ),
            max_tokens=max_tokens,
        )
        for prompt, answer, problem in zip(prompts, answers, problems, strict=True)
    ]


def _call(call: ToolCall, functions: Mapping[str, tuple[Tool, Callable[[str], str]]]) -> tuple[str, str]:
    """Return (tool, result); a mistaken call is answered with what was wrong, as a function would."""
    if call.name not in functions:
        return "invalid", f"there is no function {call.name}; there are: {', '.join(sorted(functions))}"
    tool, function = functions[call.name]
    try:
        argument = json.loads(call.arguments)[tool.parameter]
    except (ValueError, KeyError, TypeError):
        argument = None
    if not isinstance(argument, str):
        return "invalid", f'{tool.name} takes {{"{tool.parameter}": "text"}}'
    return tool.name, function(argument)


def _spoken(completion: Completion) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in completion.tool_calls
    ]
    return {"role": "assistant", "content": completion.texts[0] if completion.texts else "", "tool_calls": calls}


def _cost(completion: Completion) -> Usage:
    return Usage(
        calls=0 if completion.failure else 1,
        failed=1 if completion.failure else 0,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
    )
