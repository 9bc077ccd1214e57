"""How retrieval holds up: over the number of passages shown and the number of distractors in the corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from novelapi.fingerprint import digest
from novelapi.inference.tokens import TokenCounter, estimate_tokens
from novelapi.records.base import Record
from novelapi.retrieval.delivery import retrieved_knowledge
from novelapi.retrieval.index import Ranking
from novelapi.retrieval.metrics import score_rankings
from novelapi.retrieval.passages import Passage
from novelapi.retrieval.ranking import Mode


class SweepPoint(Record):
    """One setting of a sweep."""

    mode: Mode
    """How passages were ranked."""

    distractors: int
    """APIs in the corpus that no query asks for."""

    k: int
    """Passages shown."""

    hit: float
    """Share of queries whose target is among them."""

    mrr: float
    """Mean reciprocal rank within the corpus of this size."""

    tokens: float
    """Mean tokens of what is shown."""


def sweep(
    rankings: Sequence[Ranking],
    targets: Mapping[str, str],
    passages: Mapping[str, Passage],
    *,
    distractors: Sequence[int],
    ks: Sequence[int],
    count: TokenCounter = estimate_tokens,
) -> list[SweepPoint]:
    """Score every combination from one set of full-length rankings, without searching again.

    A smaller corpus leaves the order of what stays as it is (exactly so for vectors; BM25's term rarities are those of
    the whole corpus). Distractors are added in the order of the digest of their name.

    Args:
        rankings: one per query, over the whole corpus.
        targets: API by query.
        passages: the corpus by id.
        distractors: numbers of APIs that no query asks for.
        ks: numbers of passages shown.
        count: counts tokens.
    """
    wanted = frozenset(targets.values())
    others = sorted({passage.api for passage in passages.values()} - wanted, key=digest)
    relevant = {
        query: frozenset(name for name, passage in passages.items() if passage.api == api)
        for query, api in targets.items()
    }
    points: list[SweepPoint] = []
    for number in sorted({min(number, len(others)) for number in distractors}):
        inside = wanted | set(others[:number])
        small = [
            ranking.model_copy(
                update={"hits": tuple(hit for hit in ranking.hits if passages[hit.passage].api in inside)}
            )
            for ranking in rankings
        ]
        scores = score_rankings(small, relevant, ks)
        for k in ks:
            shown = [count(retrieved_knowledge(ranking, passages, k)) for ranking in small]
            points.append(
                SweepPoint(
                    mode=rankings[0].mode,
                    distractors=number,
                    k=k,
                    hit=scores.hit[k],
                    mrr=scores.mrr,
                    tokens=sum(shown) / len(shown),
                )
            )
    return points
