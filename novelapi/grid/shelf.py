"""What the tools `search_api` and `read_api` return: passages and bundles of a group, APIs without tasks included.

As with every other delivery, examples that give the calls of the task at hand away are left out.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from novelapi.filters.models import hidden_calls
from novelapi.grid.retrieved import OpenIndex, View, bundles_of, retrieval_of
from novelapi.inference.agent import ToolResult, Use
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.layout import Layout
from novelapi.records.cell import Cell
from novelapi.records.task import Task
from novelapi.retrieval.index import TERMS_ONLY, Ranking, ensure_index, search
from novelapi.retrieval.passages import Chunking
from novelapi.retrieval.rag import IndexUse, RagArm, corpus_of, with_siblings
from novelapi.retrieval.ranking import Mode

HITS = 3
"""Passages that one search returns."""
NEAR = 5
"""Names that are suggested for one that does not exist."""


class Shelf:
    """The knowledge of a group, as the tools of one cell find it."""

    def __init__(
        self,
        cell: Cell,
        tasks: Sequence[Task],
        paths: Mapping[str, Sequence[str]],
        layout: Layout,
        open_index: OpenIndex,
    ) -> None:
        """Index the bundles of the cell's group, unless that was done before.

        Args:
            cell: a cell of the delivery `search`.
            tasks: the tasks that are asked.
            paths: public paths by API.
            layout: where everything lies.
            open_index: opens the index.

        Raises:
            UsageError: there is no knowledge to index.
            PrerequisiteError: the extra of the index is missing.
        """
        retrieval = retrieval_of(cell)
        self._mode: Mode = retrieval.mode
        self._cut = retrieval.chunking
        self._condition = KnowledgeCondition(cell.condition)
        self._bundles = bundles_of(cell, layout)
        self._tasks = {task.task_id: task for task in tasks}
        self._paths = paths
        self._names = {path: api for api in self._bundles for path in (*paths.get(api, ()), api)}
        chunking = Chunking(kind=retrieval.chunking)
        passages = corpus_of(list(self._bundles.values()), self._condition, chunking)
        corpus = f"{cell.condition}-{cell.bundles_sha[:12]}-{retrieval.chunking}"
        self._index, self._embedder = open_index(retrieval, layout.rag(cell.group), corpus)
        ensure_index(self._index, passages, chunking, self._embedder)
        self._passages = {passage.id: passage for passage in passages}

    @property
    def use(self) -> IndexUse:
        """What a manifest says of the index."""
        assert self._index.corpus_sha is not None
        return IndexUse(
            corpus_sha=self._index.corpus_sha,
            version=self._index.version,
            embedder=self._embedder.identity if self._embedder else TERMS_ONLY,
            passages=len(self._passages),
            apis=len(self._bundles),
        )

    def search(self, uses: Sequence[Use]) -> list[ToolResult]:
        """Return the best passages for each query, with the names under which `read_api` knows their APIs."""
        return [self._search(use) for use in uses]

    def read(self, uses: Sequence[Use]) -> list[ToolResult]:
        """Return all there is about each API, or near names where there is no such one."""
        return [self._read(use) for use in uses]

    def _search(self, use: Use) -> ToolResult:
        hits = search(self._index, self._embedder, use.argument, self._mode, HITS) if use.argument.strip() else []
        if not hits:
            return ToolResult("nothing was found; use other words")
        ranking = Ranking(query=use.task_id, mode=self._mode, hits=tuple(hits))
        ranking = with_siblings(ranking, list(self._passages.values()), HITS)
        arm = RagArm(passages=self._passages, rankings={use.task_id: ranking}, use=self.use)
        shown = self._view(use.task_id).show(arm, HITS, self._condition, cut=self._cut)
        apis = tuple(arm.shown(use.task_id, HITS))
        return ToolResult(f"Found: {', '.join(apis)}\n\n{shown.knowledge}", apis)

    def _read(self, use: Use) -> ToolResult:
        name = use.argument.strip().removesuffix("()")
        api = self._names.get(name)
        if api is None:
            leaf = name.rpartition(".")[2]
            near = [path for path in sorted(self._names) if path.rpartition(".")[2] == leaf]
            near += difflib.get_close_matches(name, sorted(self._names), NEAR)
            words = f"; near names: {', '.join(dict.fromkeys(near[:NEAR]))}" if near else ""
            return ToolResult(f"there is no {name} in the documentation{words}")
        return ToolResult(self._view(use.task_id).whole(api, self._condition), (api,))

    def _view(self, task_id: str) -> View:
        task = self._tasks[task_id]
        own = self._paths.get(task.api, (task.api,))
        return View(task=task, paths=own, hide=hidden_calls(task, own), bundles=self._bundles)

    def about(self) -> dict[str, Any]:
        """Return what a manifest says of the search."""
        return {"index": self.use.to_row(), "hits": HITS}
