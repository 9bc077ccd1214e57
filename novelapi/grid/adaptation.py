"""Data of the adaptation matrix: which tasks, which split, which rows; prompts are those of the evaluation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from pydantic import Field

from novelapi import jsonl
from novelapi.adaptation.rows import Api, Form, Row, plain_row, raft_rows
from novelapi.catalog.splits import split_apis
from novelapi.errors import UsageError
from novelapi.filters import models
from novelapi.filters.instance import read_instance
from novelapi.filters.stage import read_bundles, read_candidates
from novelapi.fingerprint import digest, file_digest, text_digest
from novelapi.grid.retrieved import OpenIndex, open_lexical, show_retrieved
from novelapi.inference.prompts import build_prompt
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.render import render
from novelapi.layout import Layout
from novelapi.records.base import Record
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.cell import Cell, Condition, Retrieval
from novelapi.records.request import FileResult, LibraryRequest
from novelapi.records.task import Task

ROWS_VERSION = 1
TokenCounter = Callable[[str], int]
"""Counts the tokens of a prompt in its chat template, or of an answer."""


class Selection(Record):
    """Which tasks of an instance are adapted to and asked."""

    group: str
    """Group, or library."""

    source: str
    """Model whose instance and bundles are used."""

    instance_sha: str
    """Digest of that instance."""

    train: int | None = Field(default=None, ge=1)
    """Most training tasks (by hash of id), or null."""

    test: int | None = Field(default=None, ge=1)
    """Most held-out tasks, or null."""

    others: int = Field(default=0, ge=0)
    """Most tasks of trained APIs that are kept out of training, one of each API that has several: whether what was
    learned about an API helps with another task of it."""

    window: int | None = Field(default=None, ge=16)
    """Leave out tasks whose prompt with all knowledge does not fit; null keeps all."""

    answer: int = Field(default=256, ge=1)
    """Tokens kept free for the answer."""


def select_tasks(selection: Selection, model: str, layout: Layout, count: TokenCounter) -> FileResult:
    """Write the instance of an adapted model: tasks of another model's instance, split by API.

    Args:
        selection: which tasks.
        model: the model to be adapted; the instance is written under its name.
        layout: where everything lies.
        count: counts the tokens of a prompt.

    Raises:
        UsageError: nothing is left on a side.
    """
    knowledge = Knowledge(layout, selection.source, read_instance(layout, selection.group, selection.source))
    train = split_apis([(task.library, task.api) for task in knowledge.tasks], selection.group)
    sides: dict[str, list[Task]] = {"train": [], "test": []}
    too_long = Counter[str]()
    for task in sorted(knowledge.tasks, key=lambda task: text_digest(task.task_id)):
        side = "train" if (task.library, task.api) in train else "test"
        needed = count(knowledge.prompt(task, KnowledgeCondition.FULL)) + selection.answer
        if selection.window is not None and needed > selection.window:
            too_long[side] += 1
            continue
        sides[side].append(task)
    kept_back = _others(sides["train"], selection.others)
    sides["train"] = [task for task in sides["train"] if task not in kept_back]
    for side, most in (("train", selection.train), ("test", selection.test)):
        if not sides[side]:
            raise UsageError(
                f"no {side} task of {selection.group} fits into {selection.window} tokens: use a longer window"
                if too_long[side]
                else f"{selection.group} has no {side} tasks: its libraries gave none on that side of the split"
            )
        sides[side] = sorted(sides[side][:most], key=lambda task: task.task_id)
    trained = {(task.library, task.api) for task in sides["train"]}
    sides["others"] = [task for task in kept_back if (task.library, task.api) in trained]
    folder = layout.instance(selection.group, model)
    tasks = sorted([*sides["train"], *sides["test"]], key=lambda task: task.task_id)
    for name, chosen in (*sides.items(), ("instance", tasks)):
        jsonl.write(folder / f"{name}.jsonl", (task.to_row() for task in chosen))
    apis = {(task.library, task.api): "train" if task in sides["train"] else "test" for task in tasks}
    rows = [{"library": library, "api": api, "split": side} for (library, api), side in sorted(apis.items())]
    jsonl.write(folder / "split.jsonl", rows)
    path = folder / "instance.jsonl"
    counts = {
        **{name: len(chosen) for name, chosen in sides.items()}, "too_long": too_long.total(),
        "train_apis": sum(side == "train" for side in apis.values()),
        "test_apis": sum(side == "test" for side in apis.values()),
    }  # fmt: skip
    return FileResult(path=path.relative_to(layout.home).as_posix(), sha256=file_digest(path), counts=counts)


def _others(tasks: Sequence[Task], most: int) -> list[Task]:
    """Return one task of each API that has several: the last in the order that the tasks are given in."""
    last = {(task.library, task.api): task for task in tasks}
    first = {(task.library, task.api): task for task in reversed(tasks)}
    return [task for api, task in last.items() if task is not first[api]][:most]


class Knowledge:
    """Tasks with the bundles of their libraries, and the prompts that the evaluation would show."""

    def __init__(self, layout: Layout, source: str, tasks: Sequence[Task]) -> None:
        """Read the bundles of all libraries once."""
        self.tasks = list(tasks)
        self._bundles: dict[Api, KnowledgeBundle] = {}
        self._paths: dict[Api, tuple[str, ...]] = {}
        for library in sorted({task.library for task in self.tasks}):
            for api, bundle in read_bundles(layout, library, source).items():
                self._bundles[library, api] = bundle
            for candidate in read_candidates(layout, LibraryRequest(library=library, model=source)):
                self._paths[library, candidate.api] = tuple(candidate.paths)

    def prompt(self, task: Task, condition: KnowledgeCondition) -> str:
        """Return the prompt of a task under a condition."""
        known = {api: bundle for (library, api), bundle in self._bundles.items() if library == task.library}
        return models.show(task, models.own(task, known), condition, self.paths_of(task)).prompt

    def document(self, task: Task, api: Api, condition: KnowledgeCondition) -> str:
        """Return the text about an API as it may be shown for a task: examples with its solution's calls are hidden."""
        bundle = self._bundles.get(api)
        if bundle is None:
            return ""
        hidden = models.hidden_calls(task, self.paths_of(task))
        return render(bundle, condition, hide=hidden)

    def paths_of(self, task: Task) -> tuple[str, ...]:
        """Return the public paths of a task's APIs."""
        return models.own_paths(
            task, {api: found for (name, api), found in self._paths.items() if name == task.library}
        )

    def name_of(self, task: Task) -> str:
        """Return the name under which a task's API stands in its prompt."""
        bundle = self._bundles.get((task.library, task.api))
        return bundle.surface.s_name if bundle is not None else task.api


class RowsRequest(Record):
    """Which rows of an adapted model's instance are written."""

    group: str
    """Group, or library."""

    model: str
    """Model whose instance it is."""

    source: str
    """Model whose bundles are used."""

    instance_sha: str
    """Digest of the instance."""

    bundles_sha: str
    """Digest of the bundles."""

    form: Form
    """What the input shows."""

    split: str = "train"
    """`train`, `test`, or `others`: untrained tasks of trained APIs."""

    documents: Condition = "full"
    """Knowledge in each document (`documents` and `retrieved` only)."""

    retrieval: Retrieval | None = None
    """How passages are found (`retrieved` only)."""

    seed: int = 0
    """Seed of the draws."""


def write_rows(request: RowsRequest, layout: Layout, open_index: OpenIndex = open_lexical) -> FileResult:
    """Write training rows.

    Args:
        request: which.
        layout: where everything lies.
        open_index: opens the index of rows with retrieved knowledge.

    Raises:
        UsageError: the instance changed.
    """
    folder = layout.instance(request.group, request.model)
    if file_digest(folder / "instance.jsonl") != request.instance_sha:
        raise UsageError(f"the instance of {request.group} for {request.model} changed: start the run again")
    tasks = [Task.model_validate(row) for row in jsonl.scan(folder / f"{request.split}.jsonl")]
    knowledge = Knowledge(layout, request.source, tasks)
    form = f"{request.form}-{request.documents}" if request.form == "retrieved" else request.form
    path = layout.sft(request.group) / f"{form}-{request.split}.{digest(request)}.jsonl"
    rows = (
        _retrieved(request, knowledge, layout, open_index) if request.form == "retrieved" else _rows(request, knowledge)
    )
    jsonl.write(path, (row.to_row() for row in rows))
    counts = {"rows": len(rows), "apis": len({(row.library, row.api) for row in rows})}
    counts["dropped_targets"] = sum(row.dropped for row in rows)
    return FileResult(path=path.relative_to(layout.home).as_posix(), sha256=file_digest(path), counts=counts)


def _rows(request: RowsRequest, knowledge: Knowledge) -> list[Row]:
    if request.form == "documents":
        condition = KnowledgeCondition(request.documents)
        return raft_rows(
            knowledge.tasks, lambda task, api: knowledge.document(task, api, condition), build_prompt, seed=request.seed
        )
    if request.form == "subject":
        return [
            plain_row(task, knowledge.prompt(task, KnowledgeCondition.S_NAME), knowledge.name_of(task))
            for task in knowledge.tasks
        ]
    return [plain_row(task, knowledge.prompt(task, KnowledgeCondition.BASELINE)) for task in knowledge.tasks]


def _retrieved(request: RowsRequest, knowledge: Knowledge, layout: Layout, open_index: OpenIndex) -> list[Row]:
    """Return rows whose prompts show what retrieval finds, as the cells of `rag_sft` do under the same condition.

    What training prompts are searched for holds no bundle of a held-out API: it would be seen before it is asked.

    Raises:
        UsageError: the condition gives no knowledge, or the request does not say how passages are found.
    """
    if request.documents == "baseline" or request.retrieval is None:
        raise UsageError("rows with retrieved knowledge need a condition other than baseline, and a retrieval")
    cell = Cell(
        experiment="rows", group=request.group, model=request.model, model_revision="", condition=request.documents,
        delivery="rag_sft", instance_sha=request.instance_sha, bundles_sha=request.bundles_sha, source=request.source,
        retrieval=request.retrieval,
    )  # fmt: skip
    split = jsonl.scan(layout.instance(request.group, request.model) / "split.jsonl")
    held_out = {str(row["api"]) for row in split if row["split"] == "test"} if request.split == "train" else set[str]()
    paths = {task.api: knowledge.paths_of(task) for task in knowledge.tasks}
    found = show_retrieved(cell, knowledge.tasks, paths, layout, open_index, without=held_out)
    return [
        plain_row(task, found.shown[task.task_id].prompt).model_copy(
            update={"dropped": not found.shown[task.task_id].retrieved}
        )
        for task in knowledge.tasks
    ]
