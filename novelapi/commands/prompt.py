"""`novelapi prompt TASK --condition C`: exactly what a model is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from novelapi.commands._shared import JsonOption, print_json
from novelapi.errors import DataError, UnknownNameError, UsageError

if TYPE_CHECKING:
    from novelapi.layout import Layout
    from novelapi.records.task import Task


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command()
    def prompt(
        task: Annotated[str, typer.Argument(help="Id of a task, such as numpy/unstack/1.")],
        *,
        condition: Annotated[str, typer.Option("--condition", metavar="C", help="Knowledge that is given.")] = "full",
        tasks: Annotated[
            Path | None, typer.Option("--tasks", help="JSONL of tasks; default: the tasks that were built.")
        ] = None,
        model: Annotated[str, typer.Option("--model", help="Model for which the library was built.")] = "copy",
        as_json: JsonOption = False,
    ) -> None:
        """Print the prompt of a task under a knowledge condition."""
        from novelapi.inference.tokens import estimate_tokens
        from novelapi.layout import Layout
        from novelapi.settings import load_settings

        layout = Layout(load_settings().home_dir)
        found = find_task(task, layout, model, tasks)
        text = prompt_text(found, condition, layout, model)
        if as_json:
            print_json(
                {"task_id": found.task_id, "condition": condition, "tokens": estimate_tokens(text), "text": text}
            )
        else:
            typer.echo(text, nl=False)


def find_task(task_id: str, layout: Layout, model: str, file: Path | None) -> Task:
    """Return a task by id, from a file or from what was built.

    Raises:
        UnknownNameError: there is no such task; near matches are suggested.
        DataError: its row is broken.
    """
    from pydantic import ValidationError

    from novelapi import jsonl
    from novelapi.records.task import Task

    library = task_id.split("/", 1)[0]
    stages = [layout.stage(library, stage, model) for stage in ("stage4_filtered", "stage3_tasks")]
    rows = jsonl.read(file) if file else [row for path in stages for row in jsonl.scan(path)]
    by_id = {row.get("task_id"): row for row in (row.get("task", row) for row in reversed(rows))}
    if task_id not in by_id:
        known = [name for name in by_id if isinstance(name, str)]
        raise UnknownNameError("task", task_id, known, hint=f"build its library first: novelapi build {library}")
    try:
        return Task.model_validate(by_id[task_id])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise DataError(f"task {task_id}: {where}: {first['msg']}; correct the row") from error


def prompt_text(task: Task, condition: str, layout: Layout, model: str) -> str:
    """Return the prompt of a task under a condition, as a cell of a grid sends it.

    Raises:
        UnknownNameError: there is no such condition.
        UsageError: there is no knowledge about the task's API.
    """
    from novelapi.discovery.stage import read_candidates
    from novelapi.filters.models import own, own_paths, show
    from novelapi.filters.stage import read_bundles
    from novelapi.knowledge.conditions import KnowledgeCondition

    if condition not in set(KnowledgeCondition):
        raise UnknownNameError("condition", condition, list(KnowledgeCondition))
    wanted = KnowledgeCondition(condition)
    bundles = own(task, read_bundles(layout, task.library, model)) if wanted.components else []
    if not bundles and wanted.components:
        raise UsageError(
            f"there is no knowledge of {task.api}; run `novelapi build {task.library} --model {model}` first, or take "
            "--condition baseline"
        )
    candidates = read_candidates(layout.stage(task.library, "stage1_discovery", model))
    paths = {candidate.api: candidate.paths for candidate in candidates}
    return show(task, bundles, wanted, own_paths(task, paths)).prompt
