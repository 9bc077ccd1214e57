"""The agentic delivery `search`: the model looks knowledge up and tries code by native tool calls before it answers.

Conversations go in rounds: every open one sends its next request, then all tool calls of the round are answered. The
answer is judged like that of any other delivery, from its own code; what it took is recorded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from novelapi.fingerprint import digest
from novelapi.inference.abilities import require
from novelapi.inference.asking import Answered, Transcript, sample_request
from novelapi.inference.profile import profile_of
from novelapi.inference.prompts import Prompt
from novelapi.inference.requests import StreamingCompleter
from novelapi.inference.tokens import TokenCounter, counter_of
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Request, ToolCall
from novelapi.records.effort import Effort

SEARCH_VERSION = 1
"""Version of the loop and its tools; part of what predictions are kept for."""
MAX_TURNS = 8
"""Most requests per sample; the last offers no tools, so that it has to answer."""
CALLS_PER_TURN = 4
"""Tool calls of one turn that are carried out."""
RESULT_CAP = 8000
"""Characters of a tool's result that the model is shown."""
_SCRAP = 200
"""Characters below which a cut result says nothing."""
_NO_ROOM = "there is no room for more results; answer now"


@dataclass(frozen=True, kw_only=True)
class Tool:
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


class Use(NamedTuple):
    """One use of a tool."""

    task_id: str
    """The task that is being solved."""
    argument: str
    """What the model gave."""


class ToolResult(NamedTuple):
    """What a tool returns."""

    text: str
    """For the model."""
    apis: tuple[str, ...] = ()
    """APIs that the text is knowledge of."""


ToolFunction = Callable[[Sequence[Use]], Sequence[ToolResult]]
"""Answers the calls of one round, in order. Equal uses give equal results, also in a later run."""


@dataclass
class _Talk:
    """The conversation behind one sample."""

    task_id: str
    sample: int
    prompt: str
    turns: list[dict[str, Any]] = field(default_factory=list)
    asked: tuple[ToolCall, ...] = ()
    spent: Completion = field(default_factory=Completion)
    number: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    full: bool = False
    """Whether the window has no room for further results."""
    answer: Completion | None = None

    def hear(self, completion: Completion, *, last: bool) -> None:
        """Take an answer: a final one, or a wish for tools."""
        self.number += 1
        self.spent = self.spent.model_copy(
            update={
                "prompt_tokens": self.spent.prompt_tokens + completion.prompt_tokens,
                "completion_tokens": self.spent.completion_tokens + completion.completion_tokens,
            }
        )
        if completion.failure or not completion.tool_calls or last:
            self.answer = completion
            return
        self.asked = completion.tool_calls
        self.turns.append(_spoken(completion))

    def effort(self, target: str | None) -> Effort:
        return Effort(
            turns=self.number,
            tool_calls=dict(sorted(self.calls.items())),
            prompt_tokens=self.spent.prompt_tokens,
            completion_tokens=self.spent.completion_tokens,
            found=None if target is None else target in self.seen,
        )


class Search:
    """Lets a model answer prompts with the help of tools."""

    def __init__(
        self,
        tools: Mapping[Tool, ToolFunction],
        targets: Mapping[str, str],
        *,
        identity: str = "",
        max_turns: int = MAX_TURNS,
    ) -> None:
        """Choose what is offered.

        Args:
            tools: what each tool does with the calls of a round; results are cut at `RESULT_CAP` characters.
            targets: the API of each task, to record whether it was found; the model is not told.
            identity: what decides the tools' results, such as the digest of an index.
            max_turns: most requests per sample.
        """
        self._tools = tools
        self._declared = tuple(tool.declared() for tool in tools)
        self._targets = targets
        self._max_turns = max_turns
        self.identity = digest(["search", SEARCH_VERSION, max_turns, list(self._declared), identity])

    def answers(
        self, todo: Mapping[str, Prompt], completer: StreamingCompleter, sampling: Sampling
    ) -> Iterator[Answered]:
        """Yield each task as soon as all of its conversations have ended.

        A conversation that fills the model's window is shown no further results and is asked to answer.

        Raises:
            EndpointError: the endpoint as a whole does not answer.
            PrerequisiteError: the model takes no tool calls, or key, model or extra is missing.
        """
        require(completer, "tools", "search")
        room = _Room(
            window=profile_of(completer).window,
            answer=sampling.max_tokens,
            count=counter_of(completer),
            tools=self._declared,
        )
        talks = {
            task_id: [_Talk(task_id, sample, prompt.text) for sample in range(sampling.n)]
            for task_id, prompt in todo.items()
        }
        left = [talk for own in talks.values() for talk in own]
        for number in range(1, self._max_turns + 1):
            last = number == self._max_turns
            requests = [self._request(talk, sampling, last=last) for talk in left]
            for index, completion in completer.stream(requests):
                left[index].hear(completion, last=last or left[index].full)
            self._work([talk for talk in left if talk.answer is None], room)
            for task_id in dict.fromkeys(talk.task_id for talk in left if talk.answer is not None):
                if all(talk.answer is not None for talk in talks[task_id]):
                    yield self._answered(talks[task_id])
            left = [talk for talk in left if talk.answer is None]
            if not left:
                return

    def _request(self, talk: _Talk, sampling: Sampling, *, last: bool) -> Request:
        offered = () if last or talk.full else self._declared
        return sample_request(talk.prompt, sampling, talk.sample, turns=tuple(talk.turns), tools=offered)

    def _work(self, talks: Sequence[_Talk], room: _Room) -> None:
        """Answer the tool calls of a round, all calls of one tool at once; a mistaken call is told what was wrong."""
        by_name = {tool.name: tool for tool in self._tools}
        results: dict[tuple[int, int], ToolResult] = {}
        wanted: dict[str, list[tuple[int, int, Use]]] = {}
        for position, talk in enumerate(talks):
            for number, call in enumerate(talk.asked):
                tool = by_name.get(call.name)
                argument = _argument(call, tool) if tool else None
                if tool is None or argument is None or number >= CALLS_PER_TURN:
                    results[position, number] = ToolResult(_mistake(call, tool, by_name, number))
                    talk.calls["invalid"] += 1
                else:
                    talk.calls[tool.name] += 1
                    wanted.setdefault(tool.name, []).append((position, number, Use(talk.task_id, argument)))
        for name, uses in sorted(wanted.items()):
            found = self._tools[by_name[name]]([use for _, _, use in uses])
            results |= {(position, number): result for (position, number, _), result in zip(uses, found, strict=True)}
        for position, talk in enumerate(talks):
            for number, call in enumerate(talk.asked):
                text, apis = results[position, number]
                shown = room.cut(talk, text[:RESULT_CAP])
                talk.full = talk.full or not shown
                talk.seen |= set(apis) if shown else set()
                talk.turns.append({"role": "tool", "tool_call_id": call.id, "content": shown or _NO_ROOM})

    def _answered(self, talks: Sequence[_Talk]) -> Answered:
        """Join the samples of a task; a failure of one is the task's."""
        heard = [talk.answer for talk in talks if talk.answer is not None]
        failed = next((item for item in heard if item.failure), None)
        efforts = tuple(talk.effort(self._targets.get(talk.task_id)) for talk in talks)
        transcripts: tuple[Transcript, ...] = tuple(tuple(talk.turns) for talk in talks)
        if failed is not None:
            return Answered(talks[0].task_id, failed, efforts, transcripts)
        joined = Completion(
            texts=tuple(item.texts[0] if item.texts else "" for item in heard),
            thinking=_thinking(heard),
            finish=tuple(item.finish[0] if item.finish else "" for item in heard),
            prompt_tokens=sum(talk.spent.prompt_tokens for talk in talks),
            completion_tokens=sum(talk.spent.completion_tokens for talk in talks),
        )
        return Answered(talks[0].task_id, joined, efforts, transcripts)


@dataclass(frozen=True, kw_only=True)
class _Room:
    """What of the window is left for results."""

    window: int | None
    answer: int
    count: TokenCounter
    tools: tuple[dict[str, Any], ...]

    def cut(self, talk: _Talk, text: str) -> str:
        """Return as much of a result as fits beside the conversation and two answers; empty if hardly any does."""
        if self.window is None:
            return text
        used = self.count(Request(prompt=talk.prompt, turns=tuple(talk.turns), tools=self.tools).text)
        whole = len(text)
        while text and used + 2 * self.answer + self.count(text) > self.window:
            text = text[: len(text) // 2]
        return text if len(text) >= min(whole, _SCRAP) else ""


def _thinking(heard: Sequence[Completion]) -> tuple[str, ...]:
    found = tuple(item.thinking[0] if item.thinking else "" for item in heard)
    return found if any(found) else ()


def _argument(call: ToolCall, tool: Tool) -> str | None:
    """Return the text that a tool is called with; null for anything else."""
    try:
        argument = json.loads(call.arguments)[tool.parameter]
    except (ValueError, KeyError, TypeError):
        return None
    return argument if isinstance(argument, str) else None


def _mistake(call: ToolCall, tool: Tool | None, known: Mapping[str, Tool], number: int) -> str:
    if tool is None:
        return f"there is no function {call.name}; there are: {', '.join(sorted(known))}"
    if number >= CALLS_PER_TURN:
        return f"at most {CALLS_PER_TURN} calls a turn"
    return f'{tool.name} takes {{"{tool.parameter}": "text"}}'


def _spoken(completion: Completion) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in completion.tool_calls
    ]
    return {"role": "assistant", "content": completion.texts[0] if completion.texts else "", "tool_calls": calls}
