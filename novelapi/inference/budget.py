"""Limits on what requests may cost, held while they run, and the price of a plan before it starts."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from pydantic import Field

from novelapi.inference.profile import ModelProfile
from novelapi.inference.tokens import TokenCounter, estimate_tokens
from novelapi.records.base import Record
from novelapi.records.completion import Completion, Request, Usage


class Budget(Record):
    """The most that may be spent; null is without limit."""

    calls: int | None = Field(default=None, ge=0)
    """Requests."""

    tokens: int | None = Field(default=None, ge=0)
    """Tokens of prompts and answers together."""

    usd: float | None = Field(default=None, ge=0)
    """US dollars."""


UNLIMITED = Budget()


def estimate_usage(
    requests: Iterable[Request], profile: ModelProfile, count: TokenCounter = estimate_tokens, answer_tokens: int = 0
) -> Usage:
    """Price requests before they are sent.

    Args:
        requests: what would be sent.
        profile: where the prices come from.
        count: counts the tokens of a prompt.
        answer_tokens: expected length of one answer; 0 takes each request's limit, which is the worst case.
    """
    total = Usage()
    for request in requests:
        answers = request.n * (min(answer_tokens, request.max_tokens) if answer_tokens else request.max_tokens)
        total += Usage(calls=1, prompt_tokens=count(request.text), completion_tokens=answers)
    return profile.priced(total)


class Meter:
    """Counts what was spent and says whether another request still fits.

    A request is reserved at its worst case before it is sent and settled at its real cost, so the budget holds with any
    number of requests under way.
    """

    def __init__(self, budget: Budget, profile: ModelProfile, count: TokenCounter = estimate_tokens) -> None:
        """Start with nothing spent."""
        self._budget = budget
        self._profile = profile
        self._count = count
        self._reserved = Usage()
        self._lock = threading.Lock()
        self.spent = Usage()

    def reserve(self, request: Request) -> Usage | None:
        """Set the worst case of a request aside; null when it does not fit into the budget any more."""
        with self._lock:
            worst = estimate_usage([request], self._profile, self._count)
            if not self._fits(self.spent + self._reserved + worst):
                return None
            self._reserved += worst
            return worst

    def settle(self, reserved: Usage, completion: Completion) -> None:
        """Replace a reservation by what the answer really cost."""
        tokens = Usage(prompt_tokens=completion.prompt_tokens, completion_tokens=completion.completion_tokens)
        outcome = {"failed": 1} if completion.failure else {"calls": 1}
        if completion.failure == "budget":  # nothing was sent
            outcome = {}
        with self._lock:
            back = {name: -getattr(reserved, name) for name in Usage.model_fields}
            self._reserved += Usage(**back)
            self.spent += self._profile.priced(tokens) + Usage(**outcome)

    def count_cached(self) -> None:
        """Count an answer that cost nothing."""
        with self._lock:
            self.spent += Usage(cached=1)

    def _fits(self, total: Usage) -> bool:
        limits = (
            (self._budget.calls, total.calls + total.failed),
            (self._budget.tokens, total.prompt_tokens + total.completion_tokens),
            (self._budget.usd, total.usd),
        )
        return all(limit is None or value <= limit for limit, value in limits)
