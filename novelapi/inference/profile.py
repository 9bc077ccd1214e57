"""What has to be known of a model to ask it: its window, its habits and its price."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError

from novelapi.errors import DataError
from novelapi.records.base import Record
from novelapi.records.completion import Usage


class ModelProfile(Record):
    """How one model is asked; the `inference` mapping of a model's catalogue file."""

    window: int | None = Field(default=None, ge=64)
    """Context window in tokens, prompt and answer together; null when unknown (then nothing is trimmed)."""

    max_tokens: int = Field(default=2048, ge=1)
    """Longest answer in tokens, thinking included."""

    thinking_tags: tuple[str, str] = ("<think>", "</think>")
    """Marks around what a reasoning model thinks before it answers; it is kept apart from the sample."""

    limit_parameter: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Name under which the endpoint takes the length limit."""

    fixed_sampling: bool = False
    """Whether the endpoint refuses temperature, top_p and seed, as some hosted reasoning models do."""

    mode: Literal["chat", "completions"] = "chat"
    """Chat messages, or bare text for models without a chat template."""

    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further fields of each request, such as `reasoning_effort`; part of the revision."""

    usd_per_million_prompt_tokens: float = Field(default=0.0, ge=0)
    """Price of the input; 0 when it costs nothing."""

    usd_per_million_completion_tokens: float = Field(default=0.0, ge=0)
    """Price of the output."""

    def price(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of so many tokens in US dollars."""
        return (
            prompt_tokens * self.usd_per_million_prompt_tokens
            + completion_tokens * self.usd_per_million_completion_tokens
        ) / 1e6

    def priced(self, usage: Usage) -> Usage:
        """Return the usage with its price."""
        return usage.model_copy(update={"usd": self.price(usage.prompt_tokens, usage.completion_tokens)})


DEFAULT_PROFILE = ModelProfile()


def parse_profile(data: dict[str, Any], origin: str) -> ModelProfile:
    """Read a profile from a mapping.

    Raises:
        DataError: a field is unknown or out of range.
    """
    try:
        return ModelProfile.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{origin}: inference.{where}: {first['msg']}; correct the model's file") from error
