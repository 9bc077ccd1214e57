"""Prompts of the deliveries that retrieve: `rag` from a group's bundles, `docs` from a maintainer's documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.catalog import named_group
from novelapi.errors import NovelApiError
from novelapi.filters.instance import read_instance
from novelapi.filters.models import Shown, hidden_calls, own_paths
from novelapi.filters.stage import read_bundles
from novelapi.fingerprint import digest
from novelapi.grid.prerequisites import read_plan
from novelapi.inference.markdown import blocks
from novelapi.inference.prompts import build_prompt
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.leakage import normalised_calls, overlap
from novelapi.knowledge.render import render
from novelapi.layout import Layout
from novelapi.records.bundle import Exemplar, KnowledgeBundle
from novelapi.records.cell import Cell, Retrieval
from novelapi.records.task import Task
from novelapi.retrieval.documents import read_documents
from novelapi.retrieval.embedding import Embedder
from novelapi.retrieval.index import PassageIndex
from novelapi.retrieval.lexical import LexicalIndex
from novelapi.retrieval.passages import Chunking, Passage
from novelapi.retrieval.rag import RagArm, corpus_of, prepare_rag

OpenIndex = Callable[[Retrieval, Path, str], tuple[PassageIndex, Embedder | None]]
"""Opens the index of a corpus: how it is searched, folder for its files, name within it."""


@dataclass(frozen=True, kw_only=True)
class Retrieved:
    """The prompts of a cell, and what a manifest says of how they came about."""

    shown: Mapping[str, Shown]
    """Prompts by task."""
    spec: Mapping[str, Any]
    """`k`, the file of the rankings below the home, the index, and how well the targets were found."""


def open_lexical(_retrieval: Retrieval, _folder: Path, _name: str) -> tuple[PassageIndex, Embedder | None]:
    """Open the index that needs no extra."""
    return LexicalIndex(), None


def show_retrieved(
    cell: Cell,
    tasks: Sequence[Task],
    paths: Mapping[str, Sequence[str]],
    layout: Layout,
    open_index: OpenIndex,
    *,
    without: AbstractSet[str] = frozenset(),
) -> Retrieved:
    """Return the prompt of every task with what retrieval found for it.

    Distractors are all bundles of the group, APIs without tasks included. Examples that give a task's calls away are
    left out, as they are with the oracle.

    Args:
        cell: a cell of a delivery that retrieves.
        tasks: the tasks that are asked.
        paths: public paths by API.
        layout: where everything lies.
        open_index: opens the index.
        without: APIs whose bundles are left out of the corpus: training prompts show nothing of held-out ones.

    Raises:
        UsageError: there is no knowledge to index.
        NovelApiError: the documentation that the cell is about is gone.
        PrerequisiteError: the extra of the index is missing.
    """
    bundles = {} if cell.delivery == "docs" else bundles_of(cell, layout)
    bundles = {api: bundle for api, bundle in bundles.items() if api not in without}
    asked = tasks if without else read_instance(layout, cell.group, cell.model)
    arm, where = prepare(cell, bundles, asked, layout, open_index, without=without)
    assert cell.retrieval is not None
    k = cell.retrieval.k
    shown: dict[str, Shown] = {}
    plan = read_plan(cell, layout) if cell.delivery == "rag_graph" else None
    for task in tasks:
        own = own_paths(task, paths)
        view = View(task=task, paths=own, hide=hidden_calls(task, own), bundles=bundles)
        condition, cut = KnowledgeCondition(cell.condition), cell.retrieval.chunking
        shown[task.task_id] = view.show(arm, k, condition, cut=cut)
        if plan is not None:
            fewer = ((view.show(arm, n, condition, cut=cut), arm.shown(task.task_id, n)) for n in range(k - 1, 0, -1))
            shown[task.task_id] = plan.with_room(task, shown[task.task_id], fewer)
    scores = arm.scores([task for task in tasks if task.task_id in arm.rankings], sorted({1, 3, 5, 10, k}))
    spec = {
        "k": k,
        "rankings": where.relative_to(layout.home).as_posix(),
        "index": arm.use.to_row(),
        "scores": scores.to_row() if bundles else {},
    }
    if plan is not None:
        spec |= {"prerequisites": plan.about([item.knowledge for item in shown.values()])}
    return Retrieved(shown=shown, spec=spec)


def prepare(
    cell: Cell,
    bundles: Mapping[str, KnowledgeBundle],
    tasks: Sequence[Task],
    layout: Layout,
    open_index: OpenIndex,
    *,
    without: AbstractSet[str] = frozenset(),
) -> tuple[RagArm, Path]:
    """Index the corpus of a cell and rank it for some tasks; return it with the file of the rankings.

    The corpus is `bundles`; `without` names those that the group has beside them.
    """
    retrieval = retrieval_of(cell)
    chunking = Chunking(kind=retrieval.chunking)
    if cell.delivery == "docs":
        passages = _stored_documents(layout, cell)
    else:
        passages = corpus_of(list(bundles.values()), KnowledgeCondition(cell.condition), chunking)
    source = cell.source or cell.model
    corpus = f"docs-{retrieval.documents}" if cell.delivery == "docs" else f"{cell.condition}-{cell.bundles_sha[:12]}"
    if without:
        corpus += f"-without-{digest(sorted(without), 12)}"
    index, embedder = open_index(retrieval, layout.rag(cell.group), f"{corpus}-{retrieval.chunking}")
    name = digest([cell.instance_sha, source, corpus, retrieval.model_dump(exclude={"k"})])
    rankings = layout.rankings(cell.group, f"{cell.condition}-{name}")
    arm = prepare_rag(
        passages,
        tasks,
        condition=cell.condition,
        index=index,
        embedder=embedder,
        rankings=rankings,
        mode=retrieval.mode,
        chunking=chunking,
        depth=max(20, retrieval.k),
    )
    return arm, rankings


def retrieval_of(cell: Cell) -> Retrieval:
    """Return how a cell finds passages.

    Raises:
        NovelApiError: it does not say.
    """
    if cell.retrieval is None:
        raise NovelApiError(f"cell {cell.name} does not say how it retrieves: make the grid again")
    return cell.retrieval


def bundles_of(cell: Cell, layout: Layout) -> dict[str, KnowledgeBundle]:
    """Return all bundles of a cell's group by API."""
    entry = named_group(cell.group)
    libraries = entry.libraries if entry else (cell.group,)
    return {
        api: bundle
        for library in libraries
        for api, bundle in read_bundles(layout, library, cell.source or cell.model).items()
    }


@dataclass(frozen=True, kw_only=True)
class View:
    """What one task may be shown."""

    task: Task
    paths: Sequence[str]
    hide: frozenset[str]
    bundles: Mapping[str, KnowledgeBundle]

    def show(self, arm: RagArm, k: int, condition: KnowledgeCondition, *, cut: str) -> Shown:
        """Return the prompt with the first k passages of the task's ranking."""
        apis = arm.shown(self.task.task_id, k)
        exemplars = [item for api in apis if api in self.bundles for item in self.bundles[api].exemplars]
        telling = {item.code for item in exemplars if self._tells(item.code, item)}
        if not self.bundles:
            telling |= self._telling_blocks(arm, k)
        whole = (lambda api: self.whole(api, condition)) if self.bundles and cut == "blocks" else None
        text = arm.knowledge(self.task.task_id, k, telling, whole)
        examples = [item.code for item in exemplars if item.code not in telling]
        return Shown(
            prompt=build_prompt(self.task, text),
            knowledge=text,
            overlap=overlap(self.task.reference_solution, examples) if "e" in condition.components else None,
            retrieved=self.task.api in apis if self.bundles else None,
        )

    def whole(self, api: str, condition: KnowledgeCondition) -> str:
        """Return all there is about an API, but for examples that give the task's calls away."""
        bundle = self.bundles[api]
        kept = tuple(item for item in bundle.exemplars if not self._tells(item.code, item))
        return render(bundle.model_copy(update={"exemplars": kept}), condition)

    def _tells(self, code: str, item: Exemplar | None = None) -> bool:
        """Tell whether code holds a call of the task's solution; an example of another API may do so too."""
        return bool(self.hide & (set(item.calls if item else ()) | normalised_calls(code, self.paths)))

    def _telling_blocks(self, arm: RagArm, k: int) -> set[str]:
        hits = arm.rankings[self.task.task_id].hits[:k]
        found = [block for hit in hits for block in blocks(arm.passages[hit.passage].text)]
        codes = ["\n".join(block.split("\n")[1:-1]) for block in found if block.startswith(("```", "~~~"))]
        return {code for code in codes if self._tells(code)}


# A maintainer's documentation: read once, kept below the home under its digest


def store_documents(folder: Path, group: str, layout: Layout) -> str:
    """Cut a folder of documentation into passages, keep them, and return their digest.

    Raises:
        DataError: there is no such folder, or no documentation in it.
    """
    passages = read_documents(folder)
    name = digest([[passage.id, passage.sha] for passage in passages])
    jsonl.write(layout.documents(group, name), (passage.to_row() for passage in passages))
    return name


def _stored_documents(layout: Layout, cell: Cell) -> list[Passage]:
    assert cell.retrieval is not None
    name = cell.retrieval.documents
    path = layout.documents(cell.group, name or "")
    if name is None or not path.exists():
        raise NovelApiError("the documentation of this cell is not there: give its folder with --docs again")
    return [Passage.model_validate(row) for row in jsonl.scan(path)]
