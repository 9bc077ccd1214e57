"""The retrieval arm of one condition: passages of all bundles, an index, rankings made once, prompts read from them.

Distractors are all bundles of the group, APIs without tasks included. Rankings are files, so that every cell and every
model is shown the same passages, and what retrieval contributed can be read afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from novelapi import jsonl
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.render import render
from novelapi.records.base import Record
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.task import Task
from novelapi.retrieval.delivery import retrieved_knowledge, task_query
from novelapi.retrieval.embedding import Embedder
from novelapi.retrieval.index import PassageIndex, Ranking, ensure_index, rank_queries
from novelapi.retrieval.metrics import RetrievalScores, score_rankings
from novelapi.retrieval.passages import BLOCKS, Chunking, Passage, make_passages
from novelapi.retrieval.ranking import Mode

RETRIEVAL_VERSION = 1
"""Version of chunking, ranking and delivery; part of every rag cell's identity."""


class IndexUse(Record):
    """What a manifest says of the index behind a ranking."""

    corpus_sha: str
    """Digest of passages, chunking and embedder."""

    version: int
    """Version of the stored table."""

    embedder: str
    """Identity of the embedder."""

    passages: int
    """Number of passages."""

    apis: int
    """Number of APIs in the corpus, distractors included."""


@dataclass(frozen=True, kw_only=True)
class RagArm:
    """One condition, ready to write prompts."""

    passages: Mapping[str, Passage]
    rankings: Mapping[str, Ranking]
    use: IndexUse

    def knowledge(self, task_id: str, k: int, hidden: AbstractSet[str] = frozenset()) -> str:
        """Return what the prompt of a task shows: the first k passages; `hidden` as in `retrieved_knowledge`."""
        return retrieved_knowledge(self.rankings[task_id], self.passages, k, hidden)

    def scores(self, tasks: Sequence[Task], ks: Sequence[int] = (1, 3, 5, 10)) -> RetrievalScores:
        """Return how well the targets were found."""
        by_api: dict[str, set[str]] = {}
        for passage in self.passages.values():
            by_api.setdefault(passage.api, set()).add(passage.id)
        relevant = {task.task_id: frozenset(by_api.get(task.api, ())) for task in tasks}
        return score_rankings([self.rankings[task.task_id] for task in tasks], relevant, ks)


def corpus_of(
    bundles: Sequence[KnowledgeBundle], condition: KnowledgeCondition, chunking: Chunking = BLOCKS
) -> list[Passage]:
    """Cut the rendered knowledge of all bundles into passages, sorted by id."""
    found = [
        passage
        for bundle in bundles
        for passage in make_passages(bundle.api, bundle.library, render(bundle, condition), chunking)
    ]
    return sorted(found, key=lambda passage: passage.id)


def prepare_rag(
    passages: Sequence[Passage],
    tasks: Sequence[Task],
    *,
    condition: str,
    index: PassageIndex,
    embedder: Embedder,
    rankings: Path,
    mode: Mode = "hybrid",
    chunking: Chunking = BLOCKS,
    depth: int = 20,
) -> RagArm:
    """Index a corpus, rank it for every task, and store the rankings; what is there is kept.

    Args:
        passages: the corpus: `corpus_of` the bundles of a group, or `read_documents` of a folder.
        tasks: whose queries are asked.
        condition: components that the passages hold, for the rows of the file.
        index: the index of this corpus; rebuilt if it holds another one.
        embedder: turns texts into vectors.
        rankings: file of the rankings, one line per task.
        mode: how passages are ranked.
        chunking: how the passages were cut.
        depth: length of the stored rankings.

    Raises:
        UsageError: there is no knowledge to index.
        NovelApiError: the disk is full.
    """
    ensure_index(index, passages, chunking, embedder)
    assert index.corpus_sha is not None
    queries = {task.task_id: task_query(task) for task in tasks}
    spec = [index.corpus_sha, mode, depth, RETRIEVAL_VERSION]
    found = _read(rankings, spec, queries)
    if found is None:
        found = {row.query: row for row in rank_queries(index, embedder, queries, mode, depth)}
        api_of = {passage.id: passage.api for passage in passages}
        jsonl.write(rankings, (_row(found[name], condition, spec, queries[name], api_of) for name in sorted(found)))
    use = IndexUse(
        corpus_sha=index.corpus_sha,
        version=index.version,
        embedder=embedder.identity,
        passages=len(passages),
        apis=len({passage.api for passage in passages}),
    )
    return RagArm(passages={passage.id: passage for passage in passages}, rankings=found, use=use)


def _row(ranking: Ranking, condition: str, spec: Sequence[object], query: str, api_of: Mapping[str, str]) -> jsonl.Row:
    hits = [
        {"rank": rank, "passage": hit.passage, "api": api_of[hit.passage], "score": hit.score}
        for rank, hit in enumerate(ranking.hits, start=1)
    ]
    return {
        "task_id": ranking.query, "condition": str(condition), "mode": ranking.mode, "spec": list(spec), "query": query,
        "hits": hits,
    }  # fmt: skip


def _read(path: Path, spec: Sequence[object], queries: Mapping[str, str]) -> dict[str, Ranking] | None:
    """Read stored rankings; null unless they answer exactly these queries on this corpus."""
    rows = {row["task_id"]: row for row in jsonl.scan(path)}
    if rows.keys() != queries.keys():
        return None
    if any(row["spec"] != list(spec) or row["query"] != queries[name] for name, row in rows.items()):
        return None
    return {
        name: Ranking.model_validate(
            {
                "query": name,
                "mode": row["mode"],
                "hits": [{"passage": hit["passage"], "score": hit["score"]} for hit in row["hits"]],
            }
        )
        for name, row in rows.items()
    }
