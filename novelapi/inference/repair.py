"""The delivery `repair`: an answer whose code raises on the inputs that the prompt shows gets one more attempt.

What the model is told is the traceback alone, from visible inputs alone: neither hidden inputs nor expected values, nor
whether the answer was right. An answer that raises nothing there stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from novelapi.fingerprint import digest
from novelapi.inference.abilities import require
from novelapi.inference.asking import Answered, AskOnce, Transcript, sample_request
from novelapi.inference.prompts import Prompt
from novelapi.inference.requests import StreamingCompleter
from novelapi.inference.templates import render_template
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Request
from novelapi.records.effort import Effort

REPAIR_VERSION = 1
"""Version of the loop and of what counts as a problem."""


class Attempt(NamedTuple):
    """A first answer."""

    task_id: str
    text: str
    """The raw answer."""


PROBLEM_CAP = 4000
"""Characters of a traceback that the model is shown: its head and its tail."""

FindProblems = Callable[[Sequence[Attempt]], Sequence[str | None]]
"""Returns the traceback of each answer on visible inputs, or null; equal attempts give equal problems, also later."""


class Repair:
    """Asks once, as the delivery `oracle` does, and once more where the code raises."""

    def __init__(self, problems: FindProblems) -> None:
        """Choose who runs the first answers."""
        self._problems = problems
        self.identity = digest(["repair", REPAIR_VERSION])

    def answers(
        self, todo: Mapping[str, Prompt], completer: StreamingCompleter, sampling: Sampling
    ) -> Iterator[Answered]:
        """Yield each task with its last answers, tasks without a problem first.

        Raises:
            EndpointError: the endpoint as a whole does not answer.
            PrerequisiteError: the model answers single prompts only, or key, model or extra is missing.
        """
        require(completer, "turns", "repair")
        first: dict[str, Completion] = {}
        for answered in AskOnce().answers(todo, completer, sampling):
            if answered.completion.failure:
                yield answered
            else:
                first[answered.task_id] = answered.completion
        attempts = [Attempt(task_id, text) for task_id, own in first.items() for text in own.texts]
        found = iter(self._problems(attempts))
        problems = {task_id: [next(found) for _ in own.texts] for task_id, own in first.items()}
        for task_id, own in first.items():
            if not any(problems[task_id]):
                yield _joined(task_id, own, {}, {})
        yield from self._second(todo, first, problems, completer, sampling)

    def _second(
        self,
        todo: Mapping[str, Prompt],
        first: Mapping[str, Completion],
        problems: Mapping[str, Sequence[str | None]],
        completer: StreamingCompleter,
        sampling: Sampling,
    ) -> Iterator[Answered]:
        owners = [(name, sample) for name in first for sample, why in enumerate(problems[name]) if why is not None]
        requests = [
            repair_request(todo[name].text, first[name].texts[sample], problems[name][sample] or "", sampling, sample)
            for name, sample in owners
        ]
        asked = dict(zip(owners, requests, strict=True))
        again: dict[str, dict[int, Completion]] = {}
        for index, completion in completer.stream(requests):
            name, sample = owners[index]
            again.setdefault(name, {})[sample] = completion
            if len(again[name]) == sum(why is not None for why in problems[name]):
                turns = {number: asked[name, number].turns for number in again[name]}
                yield _joined(name, first[name], again[name], turns)


def repair_request(prompt: str, answer: str, problem: str, sampling: Sampling, sample: int) -> Request:
    """Return the request for a second attempt.

    Args:
        prompt: the prompt of the first attempt.
        answer: its raw text.
        problem: the traceback, without hidden inputs and expected values.
        sampling: how texts are drawn.
        sample: index of the sample.
    """
    turns = (
        {"role": "assistant", "content": answer},
        {"role": "user", "content": render_template("repair", problem=_capped(problem)).strip("\n")},
    )
    return sample_request(prompt, sampling, sample, turns=turns)


def _capped(problem: str) -> str:
    half = PROBLEM_CAP // 2
    return problem if len(problem) <= PROBLEM_CAP else f"{problem[: half - 5]}\n...\n{problem[-half:]}"


def _joined(
    task_id: str, first: Completion, again: Mapping[int, Completion], turns: Mapping[int, Transcript]
) -> Answered:
    """Put second answers in the place of first ones; a failure of one is the task's.

    Tokens of the first request are one figure for all samples: the greedy prompt is counted, answers in equal parts.
    """
    failed = next((item for item in again.values() if item.failure), None)
    share = first.completion_tokens // max(1, len(first.texts))
    efforts = tuple(
        Effort(
            turns=2 if sample in again else 1,
            prompt_tokens=first.prompt_tokens + (again[sample].prompt_tokens if sample in again else 0),
            completion_tokens=share + (again[sample].completion_tokens if sample in again else 0),
        )
        for sample in range(len(first.texts))
    )
    transcripts = tuple(turns.get(sample, ()) for sample in range(len(first.texts)))
    if failed is not None:
        return Answered(task_id, failed, efforts, transcripts)
    update = {
        "texts": tuple(again[n].texts[0] if n in again else text for n, text in enumerate(first.texts)),
        "finish": tuple(
            again[n].finish[0] if n in again and again[n].finish else f for n, f in enumerate(first.finish)
        ),
        "thinking": tuple(
            (again[n].thinking or ("",))[0] if n in again else text for n, text in enumerate(first.thinking)
        ),
        "prompt_tokens": first.prompt_tokens + sum(item.prompt_tokens for item in again.values()),
        "completion_tokens": first.completion_tokens + sum(item.completion_tokens for item in again.values()),
    }
    return Answered(task_id, first.model_copy(update=update), efforts, transcripts)
