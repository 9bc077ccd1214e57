"""What a cell would cost before it starts: its prompts are written as they would be sent, and nothing is."""

from __future__ import annotations

from collections.abc import Sequence

from novelapi.filters import models
from novelapi.grid.cells import asked_tasks, shown_tasks
from novelapi.grid.retrieved import OpenIndex, open_lexical
from novelapi.inference.cache import CompletionCache
from novelapi.inference.plan import plan_usage
from novelapi.inference.profile import profile_of
from novelapi.inference.prompts import Prompt
from novelapi.inference.tokens import counter_of
from novelapi.inference.window import fit_prompt
from novelapi.layout import Layout
from novelapi.ports import Completer
from novelapi.records.cell import Cell
from novelapi.records.completion import Usage
from novelapi.records.task import Task


def plan_cell(cell: Cell, layout: Layout, completer: Completer, open_index: OpenIndex = open_lexical) -> Usage:
    """Return the requests that a cell would send, with tokens and price; recorded ones count as `cached`.

    Answers are counted at their longest, so that a cell costs at most what is said here.

    Raises:
        UsageError: there is no knowledge to index.
        PrerequisiteError: the extra of the index is missing.
    """
    tasks = asked_tasks(cell, layout)
    shown, _ = shown_tasks(cell, tasks, layout, open_index)
    prompts = fit_all(tasks, [shown[task.task_id] for task in tasks], completer, cell.sampling.max_tokens)
    with CompletionCache(layout.completions / "cache.sqlite") as cache:
        return plan_usage(
            prompts, completer, cell.sampling, cache, profile=profile_of(completer), count=counter_of(completer)
        )


def fit_all(
    tasks: Sequence[Task], shown: Sequence[models.Shown], completer: Completer, max_tokens: int
) -> list[Prompt]:
    """Return the prompts as they would be sent."""
    profile, count = profile_of(completer), counter_of(completer)
    return [
        fit_prompt(task, item.knowledge, profile, max_tokens, count) for task, item in zip(tasks, shown, strict=True)
    ]
