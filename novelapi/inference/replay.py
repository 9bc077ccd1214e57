"""Answers from recordings alone: a whole build or grid can be repeated offline, byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from novelapi.inference.abilities import Ability, abilities_of
from novelapi.inference.cache import CompletionCache, request_spec
from novelapi.inference.profile import ModelProfile, profile_of
from novelapi.inference.requests import as_stream, complete_by_stream
from novelapi.inference.tokens import TokenCounter, counter_of
from novelapi.ports import Completer
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Request


class Replay:
    """A completer that has a model's identity and recordings and never asks the model itself."""

    def __init__(self, completer: Completer, cache: CompletionCache | None = None) -> None:
        """Take name, revision, engine and adapter from a completer, and the answers from a cache.

        Without a cache nothing is answered: behind a `CachedCompleter` only its own recordings are.
        """
        self._identity = as_stream(completer)
        self._cache = cache
        self.name = self._identity.name
        self.revision = self._identity.revision
        self.engine = self._identity.engine
        self.adapter_sha = self._identity.adapter_sha

    @property
    def profile(self) -> ModelProfile:
        """The profile of the model."""
        return profile_of(self._identity)

    @property
    def abilities(self) -> frozenset[Ability]:
        """What it can take besides a prompt."""
        return abilities_of(self._identity)

    @property
    def count_tokens(self) -> TokenCounter:
        """How its tokens are counted."""
        return counter_of(self._identity)

    def complete(self, prompts: Sequence[str], sampling: Sampling) -> list[list[str]]:
        """Return the recorded texts.

        Raises:
            PartialError: a recording is missing.
        """
        return complete_by_stream(self, prompts, sampling)

    def stream(self, requests: Iterable[Request]) -> Iterator[tuple[int, Completion]]:
        """Yield recorded answers in the order of the requests; a missing one fails with `unrecorded`."""
        for index, request in enumerate(requests):
            found = self._cache.get(request_spec(self._identity, request)) if self._cache else None
            yield index, found or Completion(failure="unrecorded", detail="there is no recording of this answer")
