"""A completer that never spends more than a budget, however many parts of a run share it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from novelapi.inference.abilities import Ability, abilities_of
from novelapi.inference.budget import Meter
from novelapi.inference.profile import ModelProfile, profile_of
from novelapi.inference.requests import as_stream, complete_by_stream
from novelapi.inference.tokens import TokenCounter, counter_of
from novelapi.ports import Completer
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Request, Usage


class MeteredCompleter:
    """Any completer behind a meter; itself a streaming completer with the same identity."""

    def __init__(self, completer: Completer, meter: Meter) -> None:
        """Wrap a completer; what does not fit into the meter's budget any more is not sent."""
        self._inner = as_stream(completer)
        self.meter = meter
        self.name = self._inner.name
        self.revision = self._inner.revision
        self.engine = self._inner.engine
        self.adapter_sha = self._inner.adapter_sha

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
        """Yield answers as they come, then `budget` for every request that was not sent."""
        sent: list[tuple[int, Usage]] = []
        unsent: deque[int] = deque()

        def affordable() -> Iterator[Request]:
            for index, request in enumerate(requests):
                reserved = self.meter.reserve(request)
                if reserved is None:
                    unsent.append(index)
                    continue
                sent.append((index, reserved))
                yield request

        for position, completion in self._inner.stream(affordable()):
            index, reserved = sent[position]
            self.meter.settle(reserved, completion)
            yield index, completion
        for index in unsent:
            yield index, Completion(failure="budget", detail="the budget has ended; raise it and run again")
