"""How the answers to a task are asked for: in one request, or in several that depend on each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from novelapi.inference.prompts import Prompt
from novelapi.inference.requests import StreamingCompleter, join_completions, requests_for
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Request
from novelapi.records.effort import Effort

Transcript = tuple[dict[str, Any], ...]


class Answered(NamedTuple):
    """All samples of one task, or why there are none."""

    task_id: str
    completion: Completion
    efforts: tuple[Effort, ...] = ()
    """One per sample, where the model is asked more than once."""
    transcripts: tuple[Transcript, ...] = ()
    """Likewise what was said between prompt and answer."""


class Asker(Protocol):
    """A way of asking; requests are answered by the cache where it knows them, so a killed run repeats none."""

    @property
    def identity(self) -> str:
        """What decides the answers besides model, prompt and sampling; empty for a single request."""
        ...

    def answers(
        self, todo: Mapping[str, Prompt], completer: StreamingCompleter, sampling: Sampling
    ) -> Iterator[Answered]:
        """Yield each task as soon as all of its samples are there.

        Raises:
            EndpointError: the endpoint as a whole does not answer.
            PrerequisiteError: key, model or extra is missing, or the model cannot be asked in this way.
        """
        ...


class AskOnce:
    """One request for the greedy answer and one for all drawn ones."""

    identity = ""

    def answers(
        self, todo: Mapping[str, Prompt], completer: StreamingCompleter, sampling: Sampling
    ) -> Iterator[Answered]:
        """Yield each task as soon as its requests are answered."""
        requests: list[Request] = []
        owners: list[tuple[str, int]] = []
        parts: dict[str, list[Completion | None]] = {}
        for task_id, prompt in todo.items():
            mine = requests_for(prompt.text, sampling)
            parts[task_id] = [None] * len(mine)
            owners += [(task_id, slot) for slot in range(len(mine))]
            requests += mine
        for index, completion in completer.stream(requests):
            task_id, slot = owners[index]
            parts[task_id][slot] = completion
            finished = [part for part in parts[task_id] if part is not None]
            if len(finished) == len(parts[task_id]):
                yield Answered(task_id, join_completions(finished))


def sample_request(prompt: str, sampling: Sampling, sample: int, **fields: Any) -> Request:
    """Return the request for one sample of a conversation: the first is greedy, each other one has a seed of its own.

    Args:
        prompt: the user message.
        sampling: how texts are drawn.
        sample: index of the sample.
        fields: further fields of the request: `turns`, `tools`.
    """
    if sample == 0:
        return Request(prompt=prompt, max_tokens=sampling.max_tokens, **fields)
    return Request(
        prompt=prompt,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_tokens=sampling.max_tokens,
        seed=sampling.seed + sample,
        **fields,
    )
