"""The index of one corpus: what it has to be able to do, and how it is kept in step with the bundles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from novelapi.errors import UsageError
from novelapi.fingerprint import digest
from novelapi.records.base import Record
from novelapi.retrieval.embedding import Embedder
from novelapi.retrieval.passages import Chunking, Passage
from novelapi.retrieval.ranking import DEPTH, Hit, Mode, fuse, rank_by_vectors

if TYPE_CHECKING:
    from novelapi.retrieval.embedding import Vectors


TERMS_ONLY = "terms"
"""Stands for the embedder of an index without vectors."""


class Ranking(Record):
    """The passages that answer one query, best first."""

    query: str
    """Id of the query: a task id."""

    mode: Mode
    """How they were ranked."""

    hits: tuple[Hit, ...]
    """Passages and scores."""


class PassageIndex(Protocol):
    """Passages with their vectors and terms, on disk."""

    @property
    def corpus_sha(self) -> str | None:
        """Digest of the corpus it was built from; null before it is built."""
        ...

    @property
    def version(self) -> int:
        """Version of the stored table, for the manifest."""
        ...

    def build(self, passages: Sequence[Passage], vectors: Vectors | None, corpus_sha: str) -> None:
        """Replace what is stored; without vectors only terms can be searched."""
        ...

    def read(self) -> tuple[list[Passage], Vectors]:
        """Return everything that is stored, sorted by id."""
        ...

    def find_api(self, name: str) -> list[str]:
        """Return the ids of the passages of the API of this path, or whose path ends so; sorted."""
        ...

    def search_vector(self, vector: Vectors, limit: int) -> list[Hit]:
        """Return the nearest passages by an exact search; ties by id."""
        ...

    def search_terms(self, query: str, limit: int) -> list[Hit]:
        """Return the best passages by BM25 over identifiers and their parts; ties by id."""
        ...


def corpus_digest(passages: Sequence[Passage], chunking: Chunking, embedder: Embedder | None) -> str:
    """Return the identity of an index: every passage, how it was cut and how it was embedded."""
    rows = sorted([passage.id, passage.library, passage.sha] for passage in passages)
    return digest([rows, chunking, embedder.identity if embedder else TERMS_ONLY], 32)


def ensure_index(
    index: PassageIndex, passages: Sequence[Passage], chunking: Chunking, embedder: Embedder | None
) -> bool:
    """Build the index unless it holds exactly this corpus; return whether it was built.

    Raises:
        UsageError: there is nothing to index.
    """
    if not passages:
        raise UsageError("there is no knowledge to index; run `novelapi build` for the group's libraries first")
    sha = corpus_digest(passages, chunking, embedder)
    if index.corpus_sha == sha:
        return False
    texts = [passage.text for passage in passages]
    index.build(passages, embed_unique(embedder, texts) if embedder else None, sha)
    return True


def embed_unique(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed passages, equal texts once; shape (texts, dimensions)."""
    unique = sorted(set(texts))
    place = {text: number for number, text in enumerate(unique)}
    return embedder.embed(unique, "passage")[[place[text] for text in texts]]


def search(index: PassageIndex, embedder: Embedder | None, query: str, mode: Mode, limit: int) -> list[Hit]:
    """Answer one query; one that is nothing but an identifier is a look-up: passages of that API stand first."""
    by_vector: list[Hit] = []
    if mode != "bm25":
        assert embedder is not None, "vectors need an embedder"
        by_vector = index.search_vector(embedder.embed([query], "query")[0], DEPTH)
    by_terms = index.search_terms(query, DEPTH) if mode != "vector" else []
    hits = {"vector": by_vector, "bm25": by_terms, "hybrid": fuse([by_vector, by_terms])}[mode]
    own = set(index.find_api(query.strip()))
    return sorted(hits, key=lambda hit: hit.passage not in own)[:limit]


def rank_queries(
    index: PassageIndex, embedder: Embedder | None, queries: Mapping[str, str], mode: Mode, limit: int = 20
) -> list[Ranking]:
    """Answer all queries of a grid at once: one matrix product for the vectors, one search each for the terms.

    Args:
        index: a built index.
        embedder: the one that it was built with; null for terms alone.
        queries: texts by id.
        mode: how passages are ranked.
        limit: length of the rankings.
    """
    ids = sorted(queries)
    texts = [queries[name] for name in ids]
    by_vector: list[list[Hit]] = [[] for _ in ids]
    by_terms: list[list[Hit]] = [[] for _ in ids]
    if mode != "bm25":
        assert embedder is not None, "vectors need an embedder"
        passages, vectors = index.read()
        by_vector = rank_by_vectors(embedder.embed(texts, "query"), vectors, [passage.id for passage in passages])
    if mode != "vector":
        by_terms = [index.search_terms(text, DEPTH) for text in texts]
    if mode == "hybrid":
        lists = [fuse(pair) for pair in zip(by_vector, by_terms, strict=True)]
    else:
        lists = by_vector if mode == "vector" else by_terms
    return [Ranking(query=name, mode=mode, hits=tuple(hits[:limit])) for name, hits in zip(ids, lists, strict=True)]
