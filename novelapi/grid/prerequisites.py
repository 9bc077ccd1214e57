"""What may have to be called before an API, in prompts: delivery `rag_graph` and condition `s_prereq`.

`rag_graph` spends the tokens that `rag` would spend on the same task, so that the two are compared at equal length:
fewer passages, and for the room that is left the signatures of what their APIs need, by the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from novelapi import jsonl
from novelapi.errors import NovelApiError, UsageError
from novelapi.filters import models
from novelapi.filters.models import Shown
from novelapi.filters.stage import read_bundles
from novelapi.fingerprint import digest
from novelapi.graph.model import ApiGraph
from novelapi.graph.retrieve import Prerequisites, describe
from novelapi.inference.prompts import build_prompt
from novelapi.inference.tokens import estimate_tokens
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.layout import Layout
from novelapi.records.base import Record
from novelapi.records.cell import Cell
from novelapi.records.task import Task
from novelapi.retrieval.delivery import RULE

HEADING = "## Called before"
DEPTH = 2
"""Calls before the target that are followed."""
PER_PARAMETER = 2
MOST = 8
"""Lines in a prompt of `s_prereq`."""


class PrerequisitePlan(Record):
    """The lines on what comes before each API that has knowledge."""

    graphs: dict[str, str]
    """Digest of each library's graph."""

    depth: int = DEPTH
    """Depth of the closure."""

    lines: dict[str, tuple[str, ...]]
    """By API: what may have to be called before, nearest first; empty where the graph knows nothing."""

    def block(self, lines: Sequence[str]) -> str:
        """Return lines as a section."""
        return "\n".join([HEADING, "", *lines])

    def with_room(self, task: Task, whole: Shown, fewer: Iterable[tuple[Shown, Sequence[str]]]) -> Shown:
        """Return a prompt with prerequisites that is no longer than the whole one; that one where there is no room.

        Args:
            task: the task.
            whole: what `rag` shows.
            fewer: with ever fewer passages: what is shown, and the APIs in it.
        """
        budget = estimate_tokens(whole.knowledge)
        for shown, apis in fewer:
            lines = list(dict.fromkeys(line for api in apis for line in self.lines.get(api, ())))
            while lines:
                text = f"{shown.knowledge}\n\n{RULE}\n\n{self.block(lines)}"
                if estimate_tokens(text) <= budget:
                    return replace(shown, knowledge=text, prompt=build_prompt(task, text))
                lines.pop()
        return whole

    def about(self, texts: Sequence[str]) -> dict[str, Any]:
        """Return what a manifest says: the graphs, and how many prompts had room for prerequisites."""
        held = sum(HEADING in text for text in texts)
        return {"graphs": self.graphs, "depth": self.depth, "prompts_with": held, "prompts_without": len(texts) - held}


def store_prerequisites(group: str, libraries: Sequence[str], model: str, layout: Layout) -> str:
    """Write down what comes before each API of a group, and return the digest of that.

    Raises:
        UsageError: a library has no graph yet.
        DataError: a graph is broken.
    """
    graphs: dict[str, str] = {}
    lines: dict[str, tuple[str, ...]] = {}
    for library in libraries:
        path = layout.graph(library, model)
        if not path.exists():
            raise UsageError(
                f"{library} has no graph for {model}: run `novelapi graph {library} --model {model}` with the same "
                "cutoff first"
            )
        graph = ApiGraph.load(path)
        graphs[library] = graph.digest
        known = Prerequisites(graph)
        for api in sorted(read_bundles(layout, library, model)):
            found = known.of(api, DEPTH, PER_PARAMETER) if api in graph.by_api else []
            lines[api] = tuple(
                f"- {describe(graph.by_api[item.api])} Gives `{item.parameter}` of `{item.target}`." for item in found
            )
    plan = PrerequisitePlan(graphs=graphs, lines=lines)
    name = digest(plan)
    jsonl.write_text(layout.prerequisites(group, name), plan.model_dump_json(indent=1) + "\n")
    return name


def read_plan(cell: Cell, layout: Layout) -> PrerequisitePlan:
    """Read the prerequisites that a cell is about.

    Raises:
        NovelApiError: they are gone.
    """
    name = cell.retrieval.documents if cell.retrieval else None
    path = layout.prerequisites(cell.group, name or "")
    if name is None or not path.exists():
        raise NovelApiError(f"the prerequisites of cell {cell.name} are not there: run the same command again")
    return PrerequisitePlan.model_validate_json(path.read_bytes())


def show_prerequisites(
    cell: Cell, tasks: Sequence[Task], paths: Mapping[str, Sequence[str]], layout: Layout
) -> tuple[dict[str, Shown], dict[str, Any]]:
    """Return prompts with S of the target and the signatures of what may have to be called before it."""
    plan = read_plan(cell, layout)
    shown: dict[str, Shown] = {}
    for library in sorted({task.library for task in tasks}):
        bundles = read_bundles(layout, library, cell.source or cell.model)
        for task in tasks:
            if task.library == library:
                own = models.own(task, bundles)
                plain = models.show(task, own, KnowledgeCondition.S, models.own_paths(task, paths))
                before = [line for bundle in own for line in plan.lines.get(bundle.api, ())]
                lines = list(dict.fromkeys(before))[:MOST]
                text = f"{plain.knowledge}\n\n{plan.block(lines)}" if lines else plain.knowledge
                shown[task.task_id] = replace(plain, knowledge=text, prompt=build_prompt(task, text))
    return shown, {"prerequisites": plan.about([item.knowledge for item in shown.values()])}
