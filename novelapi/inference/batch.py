"""Asks a model every task of a cell and writes predictions.jsonl, so that a kill loses nothing that was paid for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field

from novelapi import jsonl
from novelapi.errors import EndpointError, PartialError
from novelapi.fingerprint import digest
from novelapi.inference.asking import Answered, Asker, AskOnce
from novelapi.inference.budget import UNLIMITED, Budget
from novelapi.inference.cache import CompletionCache
from novelapi.inference.cached import CachedCompleter
from novelapi.inference.profile import DEFAULT_PROFILE, ModelProfile
from novelapi.inference.prompts import Prompt
from novelapi.ports import Completer
from novelapi.records.base import Record
from novelapi.records.cell import Sampling
from novelapi.records.completion import Completion, Usage
from novelapi.records.prediction import Prediction
from novelapi.records.task import Task

PREDICTIONS = "predictions.jsonl"
PROMPTS = "prompts.jsonl"
ASK_ONCE = AskOnce()


class BatchResult(Record):
    """What became of a batch."""

    predictions: Path
    """The file of predictions, sealed: one row per answered or refused task, sorted by task id."""

    prompts: Path
    """The file of the prompts' texts by digest."""

    resumed: int = 0
    """Tasks whose prediction was there already."""

    answered: int = 0
    """Tasks answered now."""

    unscored: dict[str, int] = Field(default_factory=dict)
    """Tasks of the file that cannot be scored, by reason (`context`, `refused`)."""

    missing: dict[str, int] = Field(default_factory=dict)
    """Tasks without a row because their request failed for a reason that may pass (`transient`, `budget` ...)."""

    detail: str = ""
    """The last of these failures in words."""

    usage: Usage = Usage()
    """What this run cost."""

    def require_complete(self) -> None:
        """Check that every task has its row.

        Raises:
            EndpointError: some requests failed for a reason that may pass; what was answered is kept.
            PartialError: the budget has ended, or a replay has no recording.
        """
        if not self.missing:
            return
        number = sum(self.missing.values())
        kind = EndpointError if "transient" in self.missing else PartialError
        reasons = ", ".join(sorted(self.missing))
        raise kind(
            f"{number} of {number + self.answered + self.resumed} tasks without an answer ({reasons}): {self.detail}"
        )

    @property
    def partial(self) -> bool:
        """Whether a task has no sample."""
        return bool(self.missing or self.unscored)


def complete_tasks(  # noqa: PLR0917  the six things a batch is made of
    tasks: Sequence[Task],
    prompts: Sequence[Prompt | str],
    completer: Completer,
    sampling: Sampling,
    cache: CompletionCache,
    out: Path,
    *,
    budget: Budget = UNLIMITED,
    profile: ModelProfile = DEFAULT_PROFILE,
    on_done: Callable[[str], None] = lambda _: None,
    asker: Asker = ASK_ONCE,
) -> BatchResult:
    """Ask every task that has no prediction for this very prompt yet.

    Args:
        tasks: the tasks of a cell.
        prompts: their prompts, in the same order.
        completer: the model.
        sampling: how texts are drawn.
        cache: recorded answers.
        out: folder of predictions.jsonl and prompts.jsonl.
        budget: the most that may be spent.
        profile: prices of the model.
        on_done: called with each task id that is finished, for a progress bar.
        asker: how the answers to a task are asked for.

    Raises:
        EndpointError: the endpoint as a whole does not answer; what was answered is kept.
        PrerequisiteError: key, model or extra is missing.
    """
    asked = [prompt if isinstance(prompt, Prompt) else Prompt(text=prompt) for prompt in prompts]
    by_task = dict(zip((task.task_id for task in tasks), asked, strict=True))
    jsonl.write(out / PROMPTS, _prompt_rows(asked))
    cached = CachedCompleter(completer, cache, budget=budget, profile=profile)
    way = [asker.identity] if asker.identity else []
    model_sha = digest([cached.revision, cached.adapter_sha, cached.engine, sampling, *way])
    done = _finished(out / PREDICTIONS, by_task, model_sha)
    missing: Counter[str] = Counter()
    answered, detail = 0, ""
    with jsonl.Appender(out / PREDICTIONS) as file:
        todo = {task_id: prompt for task_id, prompt in by_task.items() if task_id not in done}
        for found in _answers(todo, cached, sampling, asker):
            task_id, completion = found.task_id, found.completion
            if completion.failure in ("transient", "budget", "unrecorded"):
                missing[completion.failure] += 1
                detail = completion.detail
                continue
            file.append(_prediction(by_task[task_id], model_sha, found).to_row())
            answered += completion.failure is None
            on_done(task_id)
    jsonl.seal(out / PREDICTIONS, key=lambda row: row["task_id"])
    return BatchResult(
        predictions=out / PREDICTIONS,
        prompts=out / PROMPTS,
        resumed=len(done),
        answered=answered,
        unscored=dict(Counter(row["unscored"] for row in jsonl.scan(out / PREDICTIONS) if row["unscored"])),
        missing=dict(missing),
        detail=detail,
        usage=cached.usage,
    )


def _prompt_rows(prompts: Sequence[Prompt]) -> list[jsonl.Row]:
    texts = {prompt.sha: prompt.text for prompt in prompts}
    return [{"prompt": sha, "text": texts[sha]} for sha in sorted(texts)]


def _finished(path: Path, prompts: dict[str, Prompt], model_sha: str) -> set[str]:
    """Keep the rows of earlier runs that answer the prompts of this one, and return their tasks.

    Prompts that were too long are looked at again, since the window may have been set in the meantime.
    """
    rows = {row["task_id"]: row for row in jsonl.scan(path)}
    kept = {
        task_id: row
        for task_id, row in rows.items()
        if task_id in prompts
        and row.get("prompt_sha") == prompts[task_id].sha
        and row.get("model_sha") == model_sha
        and row.get("unscored") != "context"
    }
    if len(kept) < len(rows):
        jsonl.write(path, (kept[task_id] for task_id in sorted(kept)))
    return set(kept)


def _answers(
    todo: Mapping[str, Prompt], completer: CachedCompleter, sampling: Sampling, asker: Asker
) -> Iterator[Answered]:
    """Yield each task with its answers; those whose prompt cannot be sent first."""
    for task_id, prompt in todo.items():
        if prompt.refused:
            yield Answered(task_id, Completion(failure="context", detail=prompt.refused))
    fitting = {task_id: prompt for task_id, prompt in todo.items() if not prompt.refused}
    yield from asker.answers(fitting, completer, sampling)


def _prediction(prompt: Prompt, model_sha: str, found: Answered) -> Prediction:
    completion = found.completion
    return Prediction(
        task_id=found.task_id,
        samples=() if completion.failure else completion.texts,
        prompt_sha=prompt.sha,
        model_sha=model_sha,
        unscored=completion.failure,
        thinking=completion.thinking,
        finish=completion.finish,
        trimmed=prompt.trimmed,
        prompt_tokens=completion.prompt_tokens,
        completion_tokens=completion.completion_tokens,
        efforts=() if completion.failure else found.efforts,
        transcripts=found.transcripts,
    )
