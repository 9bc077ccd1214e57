"""A completer that asks nothing twice and never spends more than its budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from novelapi.fingerprint import digest
from novelapi.inference.abilities import Ability, abilities_of
from novelapi.inference.budget import UNLIMITED, Budget, Meter
from novelapi.inference.cache import CompletionCache, request_spec
from novelapi.inference.metered import MeteredCompleter
from novelapi.inference.profile import DEFAULT_PROFILE, ModelProfile, profile_of
from novelapi.inference.requests import complete_by_stream
from novelapi.inference.tokens import TokenCounter, counter_of, estimate_tokens
from novelapi.ports import Completer
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Request, Usage


class CachedCompleter:
    """Any completer behind the completion cache and a budget; itself a streaming completer."""

    def __init__(
        self,
        completer: Completer,
        cache: CompletionCache,
        *,
        budget: Budget = UNLIMITED,
        profile: ModelProfile = DEFAULT_PROFILE,
        count: TokenCounter = estimate_tokens,
    ) -> None:
        """Wrap a completer.

        Args:
            completer: who answers what the cache does not know.
            cache: recorded answers.
            budget: the most that may be spent through this object.
            profile: prices.
            count: counts the tokens of a prompt, for the budget.
        """
        self._meter = Meter(budget, profile, count)
        self._inner = MeteredCompleter(completer, self._meter)
        self._cache = cache
        self.name = self._inner.name
        self.revision = self._inner.revision
        self.engine = self._inner.engine
        self.adapter_sha = self._inner.adapter_sha

    @property
    def usage(self) -> Usage:
        """What was spent so far."""
        return self._meter.spent

    @property
    def profile(self) -> ModelProfile:
        """The profile of the model."""
        return profile_of(self._inner)

    @property
    def abilities(self) -> frozenset[Ability]:
        """What it can take besides a prompt."""
        return abilities_of(self._inner)

    @property
    def count_tokens(self) -> TokenCounter:
        """How its tokens are counted."""
        return counter_of(self._inner)

    def complete(self, prompts: Sequence[str], sampling: Sampling) -> list[list[str]]:
        """Return `sampling.n` texts per prompt, the first of them greedy.

        Raises:
            EndpointError: the endpoint did not answer.
            PartialError: a prompt was refused, or the budget has ended.
        """
        return complete_by_stream(self, prompts, sampling)

    def stream(self, requests: Iterable[Request]) -> Iterator[tuple[int, Completion]]:
        """Yield recorded answers first, then new ones as they come; equal requests are sent once.

        Failures are never recorded. What the budget has no room for fails with `budget`.
        """
        missing: dict[str, list[int]] = {}
        asked: dict[str, Request] = {}
        for index, request in enumerate(requests):
            spec = request_spec(self._inner, request)
            found = self._cache.get(spec)
            if found is not None:
                self._meter.count_cached()
                yield index, found
                continue
            key = digest(spec)
            asked[key] = request
            missing.setdefault(key, []).append(index)
        for key, completion in self._ask(asked):
            for index in missing[key]:
                yield index, completion

    def _ask(self, asked: dict[str, Request]) -> Iterator[tuple[str, Completion]]:
        keys = list(asked)
        for index, completion in self._inner.stream(asked.values()):
            key = keys[index]
            if completion.failure is None:
                completion = self._cache.put(request_spec(self._inner, asked[key]), completion)  # noqa: PLW2901
            yield key, completion
