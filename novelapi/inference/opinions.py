"""A strong model's second opinion on failures: a column beside the labels with an agreement figure, never a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.inference.agreement import Agreement, measure_agreement
from novelapi.inference.roles import Opinion
from novelapi.inference.strong import Authorship, StrongModel
from novelapi.records.base import Record
from novelapi.records.task import Task
from novelapi.records.verdict import Label, ResultRow

_CODE_CAP = 4000
_EVIDENCE_CAP = 2000


class OpinionRow(Record):
    """One line of second_opinion.jsonl."""

    task_id: str
    """The task."""

    sample: int
    """Index of the sample."""

    label: Label
    """The deterministic label."""

    opinion: Label | None
    """The model's; null when it gave none."""

    reason: str
    """Its reason in one sentence, or why there is no opinion."""

    author: Authorship
    """Who was asked, and how."""


def ask_opinions(rows: Sequence[ResultRow], tasks: Mapping[str, Task], model: StrongModel, out: Path) -> Agreement:
    """Ask about every labelled failure, write the opinions, and return the agreement.

    The model sees the task, the code, and what happened; neither the label nor the rule that gave it.

    Args:
        rows: verdicts of a run.
        tasks: its tasks by id.
        model: the strong model.
        out: file of the opinions, sorted by task and sample.

    Raises:
        EndpointError: the endpoint as a whole does not answer.
    """
    failures = sorted((row for row in rows if row.label is not None), key=lambda row: (row.task_id, row.sample))
    answers = model.ask("second_opinion", [_question(row, tasks[row.task_id]) for row in failures], Opinion)
    found: list[OpinionRow] = []
    for row, answer in zip(failures, answers, strict=True):
        assert row.label is not None
        found.append(
            OpinionRow(
                task_id=row.task_id,
                sample=row.sample,
                label=row.label,
                opinion=answer.value.label if answer.value else None,
                reason=answer.value.reason if answer.value else answer.reason,
                author=answer.author,
            )
        )
    jsonl.write(out, (row.to_row() for row in found))
    return measure_agreement([(row.label, row.opinion) for row in found if row.opinion is not None])


def _question(row: ResultRow, task: Task) -> dict[str, Any]:
    return {
        "api": task.api,
        "description": task.description,
        "code": str(row.evidence.get("code", ""))[:_CODE_CAP] or "# no code",
        "evidence": _happened(row)[:_EVIDENCE_CAP],
    }


def _happened(row: ResultRow) -> str:
    """Describe the run in words: calls of the API with what came of them, then errors and wrong answers."""
    lines: list[str] = []
    for call in row.calls[:5]:
        given = ", ".join(f"{name}={value}" for name, value in call.arguments.items())
        came = f"raised {call.error.type}: {call.error.message}" if call.error else f"returned {call.result}"
        lines.append(f"called {call.api}({given}): {came}")
    if not row.calls:
        lines.append("the API was not called")
    error = row.evidence.get("error")
    if isinstance(error, dict):
        lines.append(f"{error.get('type')}: {error.get('message')}")
    inputs = row.evidence.get("inputs") or []
    lines += [f"input {item['index']}: {item['difference']}" for item in inputs if not item.get("equal")][:3]
    return "\n".join(lines)
