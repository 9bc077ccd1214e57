"""What it took to reach one answer in several turns."""

from __future__ import annotations

from pydantic import Field

from novelapi.records.base import Record


class Effort(Record):
    """The requests behind one sample of a delivery in which the model is asked more than once."""

    turns: int = Field(ge=0)
    """Requests to the model."""

    tool_calls: dict[str, int] = Field(default_factory=dict)
    """Calls by tool, mistaken ones under `invalid`; empty where no tools are offered."""

    prompt_tokens: int = Field(default=0, ge=0)
    """Tokens of the prompts of all turns, as the server counted them (an estimate if it did not)."""

    completion_tokens: int = Field(default=0, ge=0)
    """Tokens of the answers of all turns, likewise."""

    found: bool | None = None
    """Whether knowledge of the target was among what the tools returned; null where nothing is looked up."""
