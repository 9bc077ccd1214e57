"""Scores a predictions file against a task file: the whole of `novelapi evaluate`, resumable, without Prefect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.errors import DataError, NovelApiError
from novelapi.evaluation import outcome, scoring
from novelapi.execution.harness import Harness
from novelapi.execution.pool import Died, Pool, SlotOptions
from novelapi.fingerprint import digest, text_digest
from novelapi.records.environment import Environment
from novelapi.records.prediction import Prediction
from novelapi.records.task import Task
from novelapi.records.verdict import ResultRow

EnvironmentOf = Callable[[str, str], Environment]
"""Builds or finds the environment of (library, release)."""
Progress = Callable[[ResultRow], None]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What is to be scored."""

    tasks: Mapping[str, Task]
    predictions: Mapping[str, Prediction]
    results: Path
    """results.jsonl: rows are appended, finished ones are kept."""
    environment_of: EnvironmentOf
    harnesses: Path | None = None
    """Folder of prepared harnesses, shared by all runs of an environment; null prepares anew."""
    slots: int = 1
    options: SlotOptions = field(default_factory=SlotOptions)
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Digest of the prompt of each task, when we asked it."""
    overlaps: Mapping[str, float | None] = field(default_factory=dict)
    """Overlap of reference and shown examples per task."""
    retrieved: Mapping[str, bool | None] = field(default_factory=dict)
    """Whether the target was among what was retrieved for a task."""


@dataclass(kw_only=True)
class Finished:
    """What came out."""

    rows: int = 0
    judged: int = 0
    """Rows that this run scored; the others were there."""
    broken: dict[str, str] = field(default_factory=dict)
    """Tasks that could not be scored, with the reason."""
    isolation: dict[str, Any] = field(default_factory=dict)
    compared: int = 0
    """Samples that ran both forked and fresh."""
    differing: list[str] = field(default_factory=list)
    """Where the two did not agree."""
    demoted: dict[str, str] = field(default_factory=dict)
    """Environments whose samples ran fresh, with the reason."""


def evaluate(request: Evaluation, progress: Progress | None = None) -> Finished:
    """Score what is missing in the results file, then seal it.

    A task without a prediction becomes one unscored row; a fault of the infrastructure becomes unscored rows with the
    cause. Rows of texts that have changed since are scored again.

    Raises:
        PrerequisiteError: the sandbox is not to be had.
        NovelApiError: the disk is full.
    """
    done = _keep_valid(request)
    finished = Finished()
    jobs, unscored = _jobs(request, done)
    with jsonl.Appender(request.results) as appender:

        def record(row: ResultRow) -> None:
            row = row.model_copy(update=_circumstances(request, row))
            appender.append(row.to_row())
            finished.judged += 1
            if progress is not None:
                progress(row)

        for row in unscored:
            record(row)
        ordered = scoring.order(jobs)
        with Pool(scoring.score, request.slots, request.options) as pool:
            for index, result in pool.map(ordered):
                job = ordered[index]
                if isinstance(result, Died):
                    for sample in job.samples:
                        record(outcome.unscored(job.task.task_id, sample.index, result.reason, text=sample.text))
                    continue
                finished.compared += result.compared
                finished.differing += result.differing
                if result.demoted is not None:
                    finished.demoted[job.env.key] = result.demoted
                if result.broken is not None:
                    finished.broken[result.task_id] = result.broken
                for row in result.rows:
                    record(row)
                if result.harness is not None:
                    _store_harness(request, job.task, result.harness)
            finished.isolation = pool.isolation()
    finished.rows = jsonl.seal(request.results, key=lambda row: (row["task_id"], row["sample"]))
    return finished


def _circumstances(request: Evaluation, row: ResultRow) -> dict[str, Any]:
    """Return what is known of a sample besides its verdict: what the prompt showed, and what the answer took."""
    prediction = request.predictions.get(row.task_id)
    efforts = prediction.efforts if prediction else ()
    effort = efforts[row.sample] if row.sample < len(efforts) else None
    retrieved = request.retrieved.get(row.task_id)
    if effort is not None and effort.found is not None:
        retrieved = effort.found
    return {"overlap": request.overlaps.get(row.task_id), "retrieved": retrieved, "effort": effort}


def _keep_valid(request: Evaluation) -> set[tuple[str, int]]:
    """Drop rows that no longer fit (another text, not asked for, unscored for infrastructure); return the rest."""
    kept: list[dict[str, Any]] = []
    done: set[tuple[str, int]] = set()
    dropped = False
    for row in jsonl.scan(request.results):
        key = (row["task_id"], row["sample"])
        prediction = request.predictions.get(row["task_id"])
        text = prediction.samples[row["sample"]] if prediction and row["sample"] < len(prediction.samples) else None
        current = text is not None and row["text"] == text_digest(text)
        if current and row["outcome"] != "unscored" and row["task_id"] in request.tasks and key not in done:
            done.add(key)
            kept.append(row)
        else:
            dropped = True
    if dropped:
        jsonl.write(request.results, kept)
    return done


def _jobs(request: Evaluation, done: set[tuple[str, int]]) -> tuple[list[scoring.Job], list[ResultRow]]:
    """Make a job per task with missing samples; what cannot be run at all becomes an unscored row."""
    open_samples: dict[str, tuple[scoring.Sample, ...]] = {}
    unscored: list[ResultRow] = []
    for task_id in request.tasks:
        prediction = request.predictions.get(task_id)
        if prediction is None or not prediction.samples:
            reason = (prediction.unscored if prediction else None) or "no prediction for this task"
            unscored.append(outcome.unscored(task_id, 0, reason))
            continue
        open_samples[task_id] = tuple(
            scoring.Sample(index=index, text=text, prompt=request.prompts.get(task_id))
            for index, text in enumerate(prediction.samples)
            if (task_id, index) not in done
        )
    jobs: list[scoring.Job] = []
    groups: dict[tuple[str, str], list[Task]] = {}
    for task_id, samples in open_samples.items():
        if samples:
            task = request.tasks[task_id]
            groups.setdefault((task.library, task.release), []).append(task)
    for (library, release), tasks in sorted(groups.items()):
        preload = scoring.preload_of(request.tasks[task.task_id] for task in tasks)
        try:
            env = request.environment_of(library, release)
        except NovelApiError as error:
            if error.exit_code == 3:
                raise
            for task in tasks:
                unscored += [
                    outcome.unscored(task.task_id, sample.index, f"environment: {error}", text=sample.text)
                    for sample in open_samples[task.task_id]
                ]
            continue
        for task in tasks:
            harness = _load_harness(request, task, env)
            jobs.append(
                scoring.Job(task=task, env=env, samples=open_samples[task.task_id], preload=preload, harness=harness)
            )
    return jobs, unscored


# Prepared harnesses: found by running the reference, kept per (task, environment, version)


def harness_path(folder: Path, task: Task, env: Environment) -> Path:
    """Return where a prepared harness is kept; its name says all that it depends on."""
    content = task.model_dump(mode="json", exclude={"integrity", "provenance", "description", "difficulty", "change"})
    return folder / f"{digest([content, env.key, outcome.EVALUATOR_VERSION])}.json"


def _load_harness(request: Evaluation, task: Task, env: Environment) -> Harness | None:
    if request.harnesses is None:
        return None
    path = harness_path(request.harnesses, task, env)
    return Harness.model_validate_json(path.read_bytes()) if path.exists() else None


def _store_harness(request: Evaluation, task: Task, harness: Harness) -> None:
    if request.harnesses is None:
        return
    env = Environment.model_construct(key=harness.env)
    path = harness_path(request.harnesses, task, env)
    if not path.exists():
        jsonl.write_text(path, harness.model_dump_json())


def read_results(path: Path) -> list[ResultRow]:
    """Read a results file.

    Raises:
        DataError: it is missing or broken.
    """
    if not path.exists():
        raise DataError(f"{path} is missing; run `novelapi evaluate` first")
    return [ResultRow.model_validate(row) for row in jsonl.scan(path)]
