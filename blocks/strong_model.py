"""The strong model that may write prose and solve tasks with the full knowledge, within a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from blocks.model_endpoint import ModelEndpoint

if TYPE_CHECKING:
    from novelapi.inference.budget import Budget
    from novelapi.ports import Completer


class StrongModel(ModelEndpoint):
    """An endpoint with a model of its own and the most that may be spent on it."""

    _block_type_name = "Strong model"
    _block_type_slug = "strong-model"
    _description = "A paid model that improves knowledge and checks tasks; it never gates."

    model: str = Field(default="", description="Name of the model, as `openai:NAME`; empty uses none.")
    budget_calls: int | None = Field(default=None, ge=0, description="Requests at most; empty is without limit.")
    budget_tokens: int | None = Field(default=None, ge=0, description="Tokens at most; empty is without limit.")
    budget_usd: float | None = Field(default=0.0, ge=0, description="US dollars at most; empty is without limit.")

    def budget(self) -> Budget:
        """Return the most that may be spent."""
        from novelapi.inference.budget import Budget

        return Budget(calls=self.budget_calls, tokens=self.budget_tokens, usd=self.budget_usd)

    def open_strong(self) -> Completer | None:
        """Return the model, or None if none is configured."""
        return self.open(self.model) if self.model else None
