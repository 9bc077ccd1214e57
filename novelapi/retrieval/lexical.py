"""The passage index in memory: BM25 over identifiers and their parts, without any extra; vectors if there are any."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from novelapi.errors import UsageError
from novelapi.retrieval.passages import Passage
from novelapi.retrieval.ranking import Hit, order, rank_by_vectors
from novelapi.retrieval.terms import terms

if TYPE_CHECKING:
    from novelapi.retrieval.embedding import Vectors

_K1, _B = 1.2, 0.75
"""Saturation of term counts and weight of a passage's length, the usual values (Robertson and Zaragoza 2009)."""


class LexicalIndex:
    """Passages and their postings; nothing is stored, since the rankings are."""

    version = 1

    def __init__(self) -> None:
        """Start empty."""
        self.corpus_sha: str | None = None
        self._passages: list[Passage] = []
        self._vectors: Vectors | None = None
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._norms: list[float] = []

    def build(self, passages: Sequence[Passage], vectors: Vectors | None, corpus_sha: str) -> None:
        """Replace what is there."""
        places = sorted(range(len(passages)), key=lambda place: passages[place].id)
        self._passages = [passages[place] for place in places]
        self._vectors = None if vectors is None else vectors[places]
        counts = [Counter(terms(passage.text)) for passage in self._passages]
        lengths = [count.total() for count in counts]
        mean = max(1.0, sum(lengths) / max(1, len(lengths)))
        self._norms = [_K1 * (1 - _B + _B * length / mean) for length in lengths]
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, count in enumerate(counts):
            for term, number in count.items():
                postings[term].append((place, number))
        self._postings = dict(postings)
        self.corpus_sha = corpus_sha

    def read(self) -> tuple[list[Passage], Vectors]:
        """Return passages and vectors, sorted by id.

        Raises:
            UsageError: it was built without vectors.
        """
        if self._vectors is None:
            raise UsageError("this index holds no vectors: take --retrieval bm25, or name an embedder")
        return self._passages, self._vectors

    def find_api(self, name: str) -> list[str]:
        """Return the ids of the passages of the API of this path, or whose path ends so."""
        return [
            passage.id
            for passage in self._passages
            if name and (passage.api == name or passage.api.endswith(f".{name}"))
        ]

    def search_vector(self, vector: Vectors, limit: int) -> list[Hit]:
        """Return the nearest passages by cosine."""
        passages, vectors = self.read()
        if not vector.any():
            return []
        return rank_by_vectors(vector[None, :], vectors, [passage.id for passage in passages], limit)[0]

    def search_terms(self, query: str, limit: int) -> list[Hit]:
        """Return the best passages by BM25."""
        scores: dict[int, float] = {}
        for term, wanted in sorted(Counter(terms(query)).items()):
            found = self._postings.get(term, ())
            rarity = math.log(1 + (len(self._passages) - len(found) + 0.5) / (len(found) + 0.5))
            for place, number in found:
                gain = wanted * rarity * number * (_K1 + 1) / (number + self._norms[place])
                scores[place] = scores.get(place, 0.0) + gain
        hits = [Hit(passage=self._passages[place].id, score=round(score, 5)) for place, score in scores.items()]
        return order(hits, limit)
