"""The retrieval arm of one condition: passages of all bundles, an index, rankings made once, prompts read from them.

Distractors are all bundles of the group, APIs without tasks included. Rankings are files, so that every cell and every
model is shown the same passages, and what retrieval contributed can be read afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from novelapi import jsonl
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.render import render
from novelapi.records.base import Record
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.task import Task
from novelapi.retrieval.delivery import retrieved_knowledge, task_query
from novelapi.retrieval.embedding import Embedder
from novelapi.retrieval.index import TERMS_ONLY, PassageIndex, Ranking, ensure_index, rank_queries
from novelapi.retrieval.metrics import RetrievalScores, score_rankings
from novelapi.retrieval.passages import BLOCKS, Chunking, Passage, make_passages
from novelapi.retrieval.ranking import Hit, Mode

RETRIEVAL_VERSION = 2
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

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Number of passages by API."""
        return Counter(passage.api for passage in self.passages.values())

    def shown(self, task_id: str, k: int) -> list[str]:
        """Return the APIs of the first k passages, best first, each once."""
        return list(dict.fromkeys(self.passages[hit.passage].api for hit in self.rankings[task_id].hits[:k]))

    def knowledge(
        self, task_id: str, k: int, hidden: AbstractSet[str] = frozenset(), whole: Callable[[str], str] | None = None
    ) -> str:
        """Return what the prompt of a task shows: the first k passages.

        Args:
            task_id: the task.
            k: number of passages.
            hidden: as in `retrieved_knowledge`.
            whole: writes all there is about an API; where every passage of an API is shown, this stands in their place,
                so that retrieval adds no formatting of its own. Null shows passages as they were cut.
        """
        texts: dict[str, str] = {}
        if whole is not None:
            found = Counter(self.passages[hit.passage].api for hit in self.rankings[task_id].hits[:k])
            texts = {api: whole(api) for api, number in found.items() if number == self.sizes[api]}
        return retrieved_knowledge(self.rankings[task_id], self.passages, k, hidden, texts)

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
    embedder: Embedder | None,
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
        embedder: turns texts into vectors; null ranks by terms alone.
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
        ranked = rank_queries(index, embedder, queries, mode, depth)
        found = {row.query: with_siblings(row, passages, depth) for row in ranked}
        api_of = {passage.id: passage.api for passage in passages}
        jsonl.write(rankings, (_row(found[name], condition, spec, queries[name], api_of) for name in sorted(found)))
    use = IndexUse(
        corpus_sha=index.corpus_sha,
        version=index.version,
        embedder=embedder.identity if embedder else TERMS_ONLY,
        passages=len(passages),
        apis=len({passage.api for passage in passages}),
    )
    return RagArm(passages={passage.id: passage for passage in passages}, rankings=found, use=use)


def with_siblings(ranking: Ranking, passages: Sequence[Passage], depth: int) -> Ranking:
    """Return a ranking that ends early, as one by terms may, continued with the other passages of the APIs it found.

    They follow in the order in which their APIs were found, with a score of 0.
    """
    if not ranking.hits or len(ranking.hits) >= depth:
        return ranking
    there = {hit.passage for hit in ranking.hits}
    by_api: dict[str, list[str]] = {}
    api_of: dict[str, str] = {}
    for passage in passages:
        api_of[passage.id] = passage.api
        if passage.id not in there:
            by_api.setdefault(passage.api, []).append(passage.id)
    apis = dict.fromkeys(api_of[hit.passage] for hit in ranking.hits)
    rest = [Hit(passage=name, score=0.0) for api in apis for name in by_api.get(api, ())]
    return ranking.model_copy(update={"hits": (*ranking.hits, *rest)[:depth]})


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
