"""Cells in which the model is asked more than once: deliveries `search` and `repair`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from novelapi.evaluation.run import EnvironmentOf
from novelapi.filters.models import Shown
from novelapi.grid.retrieved import OpenIndex
from novelapi.grid.shelf import Shelf
from novelapi.grid.workbench import Workbench
from novelapi.inference.abilities import Ability
from novelapi.inference.agent import MAX_TURNS, READ, RUN, SEARCH, Search
from novelapi.inference.asking import Asker
from novelapi.inference.batch import ASK_ONCE
from novelapi.inference.prompts import build_prompt
from novelapi.inference.repair import Repair
from novelapi.inference.templates import render_template
from novelapi.layout import Layout
from novelapi.records.cell import Cell
from novelapi.records.task import Task
from novelapi.records.verdict import ResultRow

NEEDS: Mapping[str, Ability] = {"search": "tools", "repair": "turns"}
"""Deliveries in which a sample takes several requests, and what the model must be able to take."""


def most_turns(delivery: str) -> int:
    """Return how many requests one sample of a delivery takes at most."""
    return {"search": MAX_TURNS, "repair": 2}.get(delivery, 1)


def show_searching(tasks: Sequence[Task]) -> dict[str, Shown]:
    """Return prompts without knowledge, which say that there are tools to find it with."""
    introduction = render_template("search", turns=MAX_TURNS).strip("\n")
    return {task.task_id: Shown(prompt=f"{introduction}\n\n{build_prompt(task, '')}", overlap=None) for task in tasks}


@contextmanager
def open_asker(
    cell: Cell,
    tasks: Sequence[Task],
    paths: Mapping[str, Sequence[str]],
    layout: Layout,
    *,
    open_index: OpenIndex,
    environment_of: EnvironmentOf,
    jobs: int,
) -> Generator[tuple[Asker, dict[str, Any]]]:
    """Open how the tasks of a cell are asked; yields that, and what the manifest says of it.

    Raises:
        UsageError: there is no knowledge to search.
        PrerequisiteError: the extra of the index, or the sandbox, is missing.
    """
    if cell.delivery not in NEEDS:
        yield ASK_ONCE, {}
        return
    folder = layout.cell(cell.experiment, cell.name)
    with Workbench({task.task_id: task for task in tasks}, environment_of, folder, jobs) as bench:
        if cell.delivery == "repair":
            yield Repair(bench.problems), {"most_turns": most_turns("repair")}
            return
        shelf = Shelf(cell, tasks, paths, layout, open_index)
        tools = {SEARCH: shelf.search, READ: shelf.read, RUN: bench.run}
        targets = {task.task_id: task.api for task in tasks}
        yield Search(tools, targets, identity=shelf.use.corpus_sha), {"most_turns": MAX_TURNS, **shelf.about()}


def effort_of(rows: Sequence[ResultRow]) -> dict[str, Any]:
    """Return what the answers of a cell took together; nothing where each took one request."""
    efforts = [row.effort for row in rows if row.effort is not None]
    if not efforts:
        return {}
    calls: Counter[str] = Counter()
    for effort in efforts:
        calls.update(effort.tool_calls)
    found = [effort.found for effort in efforts if effort.found is not None]
    return {
        "samples": len(efforts),
        "turns": sum(effort.turns for effort in efforts),
        "tool_calls": dict(sorted(calls.items())),
        "prompt_tokens": sum(effort.prompt_tokens for effort in efforts),
        "completion_tokens": sum(effort.completion_tokens for effort in efforts),
        **({"target_found": sum(found)} if found else {}),
    }
