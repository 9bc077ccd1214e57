"""From an observation to a row: pass, fail with a label, or unscored. A pure function of records."""

from __future__ import annotations

from novelapi.evaluation import labels
from novelapi.evaluation.extraction import EXTRACTION_VERSION
from novelapi.execution.harness import HARNESS_VERSION, Harness, calls_right, result_used
from novelapi.fingerprint import text_digest
from novelapi.records.task import Task
from novelapi.records.verdict import Observation, ResultRow

EVALUATOR_VERSION = 100 * HARNESS_VERSION + 10 * labels.LABELS_VERSION + EXTRACTION_VERSION
"""Part of every cell's key: raise one of its parts by hand, with a line in the changelog, when verdicts can change."""


def passes(task: Task, harness: Harness, seen: Observation) -> bool:
    """Whether a sample is right: every answer as expected, every call made, and the answer follows the result."""
    answered = seen.stage == "done" and seen.ended is None and len(seen.inputs) == len(harness.expected)
    if not answered or not all(found.equal for found in seen.inputs):
        return False
    if calls_right(task, seen, harness) is not None:
        return False
    return result_used(harness, seen.stubs)


def row(
    task: Task, harness: Harness, seen: Observation, *, sample: int, text: str, prompt: str | None = None
) -> ResultRow:
    """Make the row of one sample.

    Args:
        task: the task.
        harness: its prepared harness.
        seen: what was observed.
        sample: index in the list of samples.
        text: the raw answer.
        prompt: digest of the prompt, when we asked it.
    """
    label, reason = None, ""
    if seen.infra is not None:
        outcome, reason = "unscored", seen.infra
    elif passes(task, harness, seen):
        outcome = "pass"
        reason = (
            "right answers, the call is made and its result is used"
            if harness.stub
            else "right answers, the call is made"
        )
    else:
        outcome = "fail"
        diagnosis = labels.diagnose(task, harness, seen)
        label, reason = diagnosis.label, diagnosis.reason
    evidence = seen.model_dump(
        mode="json",
        include={"code", "stage", "error", "inputs", "stubs", "ended", "stdout", "flags"},
        exclude_defaults=True,
    )
    return ResultRow(
        task_id=task.task_id,
        sample=sample,
        outcome=outcome,
        label=label,
        reason=reason,
        integrity=seen.integrity,
        calls=seen.calls,
        evidence=evidence,
        cpu_ms=seen.cpu_ms,
        wall_ms=seen.wall_ms,
        peak_kb=seen.peak_kb,
        executor=seen.executor,
        env=seen.env,
        prompt=prompt,
        text=text_digest(text),
    )


def unscored(task_id: str, sample: int, reason: str, *, text: str = "", env: str = "") -> ResultRow:
    """Make the row of a sample of which nothing can be said."""
    return ResultRow(
        task_id=task_id, sample=sample, outcome="unscored", label=None, reason=reason, integrity="weak", env=env,
        text=text_digest(text),
    )  # fmt: skip
