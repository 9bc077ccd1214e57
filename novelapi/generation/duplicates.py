"""Removes tasks that ask the same: equal references and inputs, or equal behaviour under another name of the API."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence

from novelapi.fingerprint import canonical_json
from novelapi.records.task import Task

SUBMODULE_SHARE = 0.2
"""Largest share of a library's tasks from one submodule, where others have candidates (DESIGN section 6)."""


def distinct(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks without repetitions, numbered anew within each API, the share of each submodule bounded."""
    return _renumbered(_bounded(without_repetitions(tasks)))


def without_repetitions(tasks: Sequence[Task]) -> list[Task]:
    """Return the first of tasks that ask the same: equal references and inputs, or equal behaviour."""
    seen: set[str] = set()
    kept: list[Task] = []
    for task in sorted(tasks, key=lambda task: (task.api, task.task_id)):
        text = ast.unparse(ast.parse(task.reference_solution)).replace(task.api.rsplit(".", 1)[-1], "_")
        behaviour = canonical_json([[item.args for item in task.inputs], task.expected])
        keys = {f"{text} {behaviour}", f"{task.api} {behaviour}"}
        if keys & seen:
            continue
        seen |= keys
        kept.append(task)
    return kept


def _bounded(tasks: list[Task]) -> list[Task]:
    """Drop the last tasks of APIs with several while a submodule holds too large a share."""
    while True:
        groups: dict[str, list[Task]] = defaultdict(list)
        for task in tasks:
            groups[submodule(task)].append(task)
        over = [name for name, own in groups.items() if name and len(own) > max(4, SUBMODULE_SHARE * len(tasks))]
        if not over or len(groups) < 2:
            return tasks
        crowded = groups[max(over, key=lambda name: (len(groups[name]), name))]
        by_api: dict[str, list[Task]] = defaultdict(list)
        for task in crowded:
            by_api[task.api].append(task)
        largest = max(by_api.values(), key=lambda own: (len(own), own[0].api))
        tasks = [task for task in tasks if task is not largest[-1]]


def submodule(task: Task) -> str:
    """Return the part of the API's path between the package and the leaf; empty for the package itself."""
    return ".".join(task.api.split(".")[1:-1])


def _renumbered(tasks: list[Task]) -> list[Task]:
    numbers: dict[str, int] = defaultdict(int)
    found: list[Task] = []
    taken: set[str] = set()
    for task in tasks:
        stem = f"{task.library}/{task.api.rsplit('.', 1)[-1]}"
        number = numbers[stem] + 1
        while f"{stem}/{number}" in taken:
            number += 1
        numbers[stem] = number
        taken.add(f"{stem}/{number}")
        found.append(task.model_copy(update={"task_id": f"{stem}/{number}"}))
    return found
