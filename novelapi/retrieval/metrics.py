"""How well rankings find the target: hit@k, reciprocal rank, nDCG@k. Pure functions of rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from novelapi.records.base import Record
from novelapi.retrieval.index import Ranking
from novelapi.selection.measures import ndcg


class RetrievalScores(Record):
    """Means over queries."""

    queries: int
    """Number of queries."""

    hit: dict[int, float] = Field(default_factory=dict)
    """Share of queries with a passage of the target among the first k, by k."""

    mrr: float = 0.0
    """Mean reciprocal rank of the target's first passage; 0 where it is not in the ranking."""

    ndcg: dict[int, float] = Field(default_factory=dict)
    """Normalised discounted cumulative gain with binary relevance (Järvelin and Kekäläinen 2002), by k."""


def first_rank(ranking: Ranking, relevant: set[str] | frozenset[str]) -> int | None:
    """Return the rank of the first relevant passage, from 1, or null."""
    return next((rank for rank, hit in enumerate(ranking.hits, start=1) if hit.passage in relevant), None)


def score_rankings(
    rankings: Sequence[Ranking], relevant: Mapping[str, frozenset[str]], ks: Sequence[int] = (1, 3, 5, 10)
) -> RetrievalScores:
    """Score rankings.

    Args:
        rankings: one per query, at least as long as the largest k.
        relevant: ids of the target's passages by query.
        ks: cut-offs.
    """
    if not rankings:
        return RetrievalScores(queries=0)
    ranks = [first_rank(ranking, relevant[ranking.query]) for ranking in rankings]
    count = len(rankings)
    return RetrievalScores(
        queries=count,
        hit={k: sum(rank is not None and rank <= k for rank in ranks) / count for k in ks},
        mrr=sum(1 / rank for rank in ranks if rank) / count,
        ndcg={k: sum(_gain(ranking, relevant[ranking.query], k) for ranking in rankings) / count for k in ks},
    )


def _gain(ranking: Ranking, relevant: frozenset[str], k: int) -> float:
    return ndcg([hit.passage in relevant for hit in ranking.hits], len(relevant), k)
