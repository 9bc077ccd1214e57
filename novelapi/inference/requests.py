"""Requests as a stream: how the batch, the cache and the budget talk to any completer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from novelapi.errors import EndpointError, PartialError
from novelapi.ports import Completer
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Request


@runtime_checkable
class StreamingCompleter(Completer, Protocol):
    """A completer that answers requests one by one, in the order in which they finish."""

    @property
    def engine(self) -> str:
        """What computes the answers (`copy`, `openai`, `transformers` with version): part of every cache key."""
        ...

    @property
    def adapter_sha(self) -> str | None:
        """Digest of trained or edited weights on top of the revision, or null."""
        ...

    def stream(self, requests: Iterable[Request]) -> Iterator[tuple[int, Completion]]:
        """Yield (index of the request, answer) for every request; closing the iterator cancels the rest.

        Requests are taken from the iterable when there is room for them, possibly in another thread.

        Raises:
            EndpointError: the endpoint as a whole does not answer.
            PrerequisiteError: key, model or extra is missing.
        """
        ...


class _OneByOne:
    """Any plain completer seen as a stream."""

    def __init__(self, completer: Completer) -> None:
        self._completer = completer
        self.name = completer.name
        self.revision = completer.revision
        self.engine = ""
        self.adapter_sha: str | None = None

    def complete(self, prompts: Sequence[str], sampling: Sampling) -> list[list[str]]:
        return self._completer.complete(prompts, sampling)

    def stream(self, requests: Iterable[Request]) -> Iterator[tuple[int, Completion]]:
        for index, request in enumerate(requests):
            # The port gives the greedy text first, so drawn texts cost one more.
            drawn = request.temperature > 0
            sampling = Sampling(
                n=request.n + drawn,
                temperature=request.temperature,
                top_p=request.top_p,
                max_tokens=request.max_tokens,
                seed=request.seed,
            )
            (texts,) = self._completer.complete([request.prompt], sampling)
            yield index, Completion(texts=tuple(texts[1:] if drawn else texts[:1]))


def as_stream(completer: Completer) -> StreamingCompleter:
    """Return the completer itself if it streams, else a wrapper that asks it one by one."""
    return completer if isinstance(completer, StreamingCompleter) else _OneByOne(completer)


def requests_for(prompt: str, sampling: Sampling) -> list[Request]:
    """Split a sampling into its greedy request and, for n > 1, one request for all drawn texts.

    The two are cached apart: more samples of a task never ask again for the greedy one.
    """
    greedy = Request(prompt=prompt, max_tokens=sampling.max_tokens)
    if sampling.n == 1:
        return [greedy]
    drawn = Request(
        prompt=prompt,
        n=sampling.n - 1,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_tokens=sampling.max_tokens,
        seed=sampling.seed,
    )
    return [greedy, drawn]


def join_completions(parts: Sequence[Completion]) -> Completion:
    """Join answers to the same prompt into one: texts in order, tokens added, the prompt counted once."""
    thinking = tuple(text for part in parts for text in part.thinking or ("",) * len(part.texts))
    return Completion(
        texts=tuple(text for part in parts for text in part.texts),
        thinking=thinking if any(thinking) else (),
        logprobs=tuple(value for part in parts for value in part.logprobs),
        tool_calls=next((part.tool_calls for part in parts if part.texts), ()),
        finish=tuple(reason for part in parts for reason in part.finish),
        prompt_tokens=max((part.prompt_tokens for part in parts), default=0),
        completion_tokens=sum(part.completion_tokens for part in parts),
        failure=next((part.failure for part in parts if part.failure), None),
        detail=next((part.detail for part in parts if part.failure), ""),
    )


def complete_by_stream(completer: StreamingCompleter, prompts: Sequence[str], sampling: Sampling) -> list[list[str]]:
    """Implement `Completer.complete` on top of `stream`.

    Raises:
        EndpointError: a request failed for a reason that may pass.
        PartialError: a prompt was refused for good.
    """
    parts = [requests_for(prompt, sampling) for prompt in prompts]
    owners = [(index, slot) for index, requests in enumerate(parts) for slot in range(len(requests))]
    answers = [[Completion()] * len(requests) for requests in parts]
    for position, answer in completer.stream([request for requests in parts for request in requests]):
        if answer.failure is not None:
            kind = EndpointError if answer.failure == "transient" else PartialError
            raise kind(f"{completer.name} did not answer a prompt ({answer.failure}): {answer.detail}")
        index, slot = owners[position]
        answers[index][slot] = answer
    return [list(join_completions(row).texts) for row in answers]
