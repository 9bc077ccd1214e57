"""Second opinions on the failures of a cell: a column of its rows, a file with the reasons, an agreement figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from novelapi import jsonl
from novelapi.inference.agreement import Agreement
from novelapi.inference.opinions import OpinionRow, ask_opinions
from novelapi.inference.strong import strong_model
from novelapi.layout import Layout
from novelapi.ports import Completer
from novelapi.records.completion import Usage
from novelapi.records.task import Task
from novelapi.records.verdict import ResultRow

OPINIONS = "second_opinion.jsonl"


def with_opinions(
    rows: Sequence[ResultRow], tasks: Sequence[Task], strong: Completer, folder: Path, layout: Layout
) -> tuple[list[ResultRow], Agreement, Usage]:
    """Ask a strong model about every labelled failure; write results.jsonl again with its labels in `opinion`.

    Raises:
        EndpointError: the endpoint as a whole does not answer; the verdicts are kept.
    """
    with strong_model(strong, layout.completions / "cache.sqlite") as (model, asked):
        agreement = ask_opinions(rows, {task.task_id: task for task in tasks}, model, folder / OPINIONS)
        usage = asked.usage
    found = [OpinionRow.model_validate(row) for row in jsonl.scan(folder / OPINIONS)]
    labels = {(row.task_id, row.sample): row.opinion for row in found}
    told = [row.model_copy(update={"opinion": labels.get((row.task_id, row.sample))}) for row in rows]
    told.sort(key=lambda row: (row.task_id, row.sample))
    jsonl.write(folder / "results.jsonl", (row.to_row() for row in told))
    return told, agreement, usage
