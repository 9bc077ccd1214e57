"""Rankings: which passages answer which query, by vectors, by terms, or by both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from novelapi.records.base import Record
from novelapi.retrieval.embedding import import_numpy

if TYPE_CHECKING:
    from novelapi.retrieval.embedding import Vectors

Mode = Literal["vector", "bm25", "hybrid"]
MODES: tuple[Mode, ...] = ("vector", "bm25", "hybrid")

DEPTH = 100
"""Passages of each list that are fused, and the most that a ranking keeps."""


class Hit(Record):
    """One passage in a ranking."""

    passage: str
    """Id of the passage."""

    score: float
    """Cosine, BM25 or fused score; only the order within one ranking has a meaning."""


def order(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """Sort by score, ties by id, and keep the first."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.passage))[:limit]


def rank_by_vectors(queries: Vectors, passages: Vectors, ids: Sequence[str], limit: int = DEPTH) -> list[list[Hit]]:
    """Rank all passages for all queries by cosine with one matrix product per block of queries.

    Args:
        queries: shape (queries, dimensions), rows of length 1.
        passages: shape (passages, dimensions), rows of length 1.
        ids: ids of the passages, in the order of the rows.
        limit: length of the rankings.
    """
    np = import_numpy()
    places = np.argsort(np.asarray(ids))
    passages, names = passages[places], [ids[place] for place in places]
    rankings: list[list[Hit]] = []
    for start in range(0, len(queries), 256):
        scores = cosines(queries[start : start + 256], passages)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :limit]
        rankings += [
            [Hit(passage=names[place], score=float(row[place])) for place in places_of_row]
            for row, places_of_row in zip(scores, best, strict=True)
        ]
    return rankings


def fuse(lists: Sequence[Sequence[Hit]], limit: int = DEPTH) -> list[Hit]:
    """Fuse rankings by the mean of their scores, each list scaled to a maximum of 1 (what it does not hold counts 0).

    Unlike a fusion of ranks it keeps the distance between the first and the second, by which a list of terms says that
    an identifier was met exactly (Bruch, Gai and Ingber 2023, on convex combinations).
    """
    scores: dict[str, float] = {}
    for hits in lists:
        top = max((hit.score for hit in hits), default=0.0)
        for hit in hits if top > 0 else ():
            scores[hit.passage] = scores.get(hit.passage, 0.0) + max(hit.score, 0.0) / top / len(lists)
    return order([Hit(passage=passage, score=round(score, 9)) for passage, score in scores.items()], limit)


def cosines(queries: Vectors, passages: Vectors) -> Any:
    """Return all cosines, shape (queries, passages).

    They are computed in double precision and rounded, so that they do not depend on the order in which a machine adds,
    and equal passages tie.
    """
    np = import_numpy()
    return np.round(queries.astype(np.float64) @ passages.astype(np.float64).T, 6)
