"""One request to a model and what came back: the unit of the completion cache."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field

from novelapi.records.base import Record

Failure = Literal["context", "refused", "transient", "unrecorded", "budget"]


class Request(Record):
    """What is asked of a model in one request."""

    prompt: str
    """The user message."""

    turns: tuple[dict[str, Any], ...] = ()
    """Messages of the conversation after the prompt, in the form of the chat protocol; empty for a single question."""

    tools: tuple[dict[str, Any], ...] = ()
    """Functions that the model may call, in the form of the chat protocol."""

    n: int = Field(default=1, ge=1)
    """Number of texts."""

    temperature: float = Field(default=0.0, ge=0)
    """Sampling temperature; 0 is greedy."""

    top_p: float = Field(default=1.0, gt=0, le=1)
    """Nucleus."""

    max_tokens: int = Field(default=2048, ge=1)
    """Longest answer in tokens."""

    json_schema: dict[str, Any] | None = None
    """JSON schema that the answer must satisfy, for endpoints with structured outputs; null for free text."""

    logprobs: bool = False
    """Whether the log-probability of each text is wanted, where the endpoint offers it."""

    seed: int = 0
    """Sampling seed; without meaning when greedy."""

    @property
    def text(self) -> str:
        """All that is sent, as one text: for counting tokens."""
        return "\n".join(
            [self.prompt, *(str(part) for turn in self.turns for part in turn.values()), *map(str, self.tools)]
        )

    def normalised(self) -> Self:
        """Return the request without what cannot change the answer: seed and nucleus of a greedy one."""
        return self.model_copy(update={"seed": 0, "top_p": 1.0}) if self.temperature == 0 else self


class Usage(Record):
    """What requests cost."""

    calls: int = 0
    """Requests that were answered."""

    cached: int = 0
    """Requests answered from the completion cache, at no cost."""

    failed: int = 0
    """Requests that were not answered."""

    prompt_tokens: int = 0
    """Tokens of the prompts, as the server counted them (an estimate if it did not)."""

    completion_tokens: int = 0
    """Tokens of the answers, likewise."""

    usd: float = 0.0
    """Price by the model's profile in US dollars; 0 when it has none."""

    def __add__(self, other: Usage) -> Usage:
        """Return the sum, field by field."""
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields})


class ToolCall(Record):
    """A function that a model asks to be called."""

    id: str
    """The model's name for this call; its result is returned under it."""

    name: str
    """Name of the function."""

    arguments: str
    """JSON text of the arguments, as the model wrote it."""


class Completion(Record):
    """The answer to one request."""

    texts: tuple[str, ...] = ()
    """Texts as the model gave them, without thinking; empty after a failure."""

    thinking: tuple[str, ...] = ()
    """What a reasoning model thought before each text; empty when none did."""

    finish: tuple[str, ...] = ()
    """Why each text ended: `stop`, `length` ..."""

    logprobs: tuple[float | None, ...] = ()
    """Log-probability of each text (sum over its tokens); empty unless asked for, null where the endpoint has none."""

    tool_calls: tuple[ToolCall, ...] = ()
    """Functions that the first text asks to be called."""

    prompt_tokens: int = 0
    """Tokens of the prompt."""

    completion_tokens: int = 0
    """Tokens of all texts, thinking included."""

    failure: Failure | None = None
    """`context`: the prompt is too long; `refused`: the server rejects this request for good; `transient`: it may
    succeed later; `unrecorded`: a replay without this recording; `budget`: it was not sent."""

    detail: str = ""
    """The failure in words."""
