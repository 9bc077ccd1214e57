"""Precision, recall and F1 of sets and multisets; NDCG, recall and completeness of rankings. Pure functions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import NamedTuple

from pydantic import Field

from novelapi.records.base import Record
from novelapi.records.selection import Tally

CUTOFFS = (1, 3, 5, 10)
"""Depths at which rankings are scored."""


class Rates(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def rates(hits: int, given: int, wanted: int) -> Rates:
    """Return the rates of counts; precision is 0 where nothing was given, recall where nothing was wanted."""
    precision = hits / given if given else 0.0
    recall = hits / wanted if wanted else 0.0
    return Rates(precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0)


def match_counts(given: Iterable[Hashable], wanted: Iterable[Hashable]) -> Tally:
    """Count the pairs of equal units, each used once: repeating a right one is no second hit."""
    left, right = Counter(given), Counter(wanted)
    return Tally(hits=(left & right).total(), given=left.total(), wanted=right.total())


def ndcg(gains: Sequence[bool], relevant: int, depth: int) -> float:
    """Return the normalised discounted cumulative gain with binary relevance (Järvelin and Kekäläinen 2002).

    Args:
        gains: whether each ranked item is relevant, best first.
        relevant: number of relevant items.
        depth: cut-off.
    """
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(depth, relevant) + 1))
    found = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:depth], start=1))
    return found / ideal if ideal else 0.0


class RankScores(Record):
    """Scores of one ranking, or their means."""

    ndcg: dict[int, float] = Field(default_factory=dict)
    """Normalised discounted cumulative gain, by cut-off."""

    recall: dict[int, float] = Field(default_factory=dict)
    """Share of the relevant items among the first k, by cut-off."""

    complete: dict[int, float] = Field(default_factory=dict)
    """1 where all relevant items are among the first k, else 0, by cut-off: what a chain of calls needs."""


def score_ranking(
    ranking: Sequence[Hashable], relevant: Collection[Hashable], cutoffs: Sequence[int] = CUTOFFS
) -> RankScores:
    """Score one ranking; an item that is ranked twice counts at its first place.

    Raises:
        ValueError: nothing is relevant, so no share has a meaning.
    """
    wanted = set(relevant)
    if not wanted:
        message = "a ranking can only be scored against at least one relevant item"
        raise ValueError(message)
    gains = [item in wanted for item in dict.fromkeys(ranking)]
    return RankScores(
        ndcg={k: ndcg(gains, len(wanted), k) for k in cutoffs},
        recall={k: sum(gains[:k]) / len(wanted) for k in cutoffs},
        complete={k: float(sum(gains[:k]) == len(wanted)) for k in cutoffs},
    )


def mean_ranking(scores: Sequence[RankScores], cutoffs: Sequence[int] = CUTOFFS) -> RankScores:
    """Return the means over rankings; empty without any."""
    if not scores:
        return RankScores()

    def mean(name: str) -> dict[int, float]:
        return {k: sum(getattr(score, name)[k] for score in scores) / len(scores) for k in cutoffs}

    return RankScores(ndcg=mean("ndcg"), recall=mean("recall"), complete=mean("complete"))
