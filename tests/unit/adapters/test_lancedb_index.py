"""The index in LanceDB: exact, in step with its corpus, and equal to a plain ranking."""

from __future__ import annotations

import collections
import fractions
import inspect
import json
import statistics
import textwrap

import pytest

from novelapi.errors import UsageError
from novelapi.inference.markdown import fenced
from novelapi.retrieval.embedding import HashedNgrams
from novelapi.retrieval.index import ensure_index, rank_queries, search
from novelapi.retrieval.passages import BLOCKS, Chunking, make_passages

pytest.importorskip("lancedb", reason="the extra rag is not installed")
from novelapi.adapters.lancedb_index import LanceIndex

HASHED = HashedNgrams()


@pytest.fixture(scope="module")
def passages():
    """The documentation of a few standard modules, as bundles would be rendered."""
    rows = []
    for module in (collections, fractions, json, statistics, textwrap):
        for name in sorted(vars(module)):
            member = getattr(module, name)
            if callable(member) and not name.startswith("_") and inspect.getdoc(member):
                example = fenced(f"{name}(  1,\n   2)")
                text = f"### Name\n\n`{module.__name__}.{name}`\n\n{inspect.getdoc(member)}\n\n{example}"
                rows += make_passages(f"{module.__name__}.{name}", module.__name__, text)
    return rows


@pytest.fixture(scope="module")
def built(passages, tmp_path_factory):
    index = LanceIndex(tmp_path_factory.mktemp("rag"), "full")
    ensure_index(index, passages, BLOCKS, HashedNgrams())
    return index


def test_top_k_equals_an_exact_ranking(built, passages):
    queries = {passage.id: passage.text for passage in passages}
    for row in rank_queries(built, HashedNgrams(), queries, "vector", 10):
        assert tuple(search(built, HashedNgrams(), queries[row.query], "vector", 10)) == row.hits


@pytest.mark.parametrize("mode", ["bm25", "hybrid"])
def test_one_query_and_many_agree(built, passages, mode):
    queries = {passage.id: passage.text[:200] for passage in passages[::7]}
    for row in rank_queries(built, HashedNgrams(), queries, mode, 10):
        assert tuple(search(built, HashedNgrams(), queries[row.query], mode, 10)) == row.hits


@pytest.mark.parametrize(
    "query", ["harmonic_mean", "OrderedDict", "JSONDecodeError", "statistics.quantiles", "TextWrapper"]
)
@pytest.mark.parametrize("mode", ["bm25", "hybrid"])
def test_identifiers_find_their_api_first(built, query, mode):
    hit = search(built, HashedNgrams(), query, mode, 1)[0]
    assert hit.passage.split("#")[0].endswith(query)


def test_passages_come_back_byte_for_byte(built, passages):
    stored, vectors = built.read()
    assert {row.id: row.text for row in stored} == {row.id: row.text for row in passages}
    assert vectors.shape == (len(passages), 1024)


def test_rebuilding_gives_the_same_rankings(built, passages, tmp_path):
    other = LanceIndex(tmp_path, "full")
    ensure_index(other, list(reversed(passages)), BLOCKS, HashedNgrams())
    queries = {passage.id: passage.text[:150] for passage in passages[::5]}
    for mode in ("vector", "bm25", "hybrid"):
        assert rank_queries(other, HashedNgrams(), queries, mode) == rank_queries(built, HashedNgrams(), queries, mode)


def test_an_index_is_rebuilt_only_when_its_corpus_changes(passages, tmp_path):
    def build(rows=passages, chunking=BLOCKS, embedder=HASHED):
        return ensure_index(LanceIndex(tmp_path, "full"), rows, chunking, embedder)

    assert build()
    assert not build()
    assert not build(rows=list(reversed(passages)))
    assert build(rows=passages[1:])
    assert build(embedder=HashedNgrams(256))
    assert build(chunking=Chunking(limit=500), embedder=HashedNgrams(256))
    assert build()
    assert LanceIndex(tmp_path, "full").read()[1].shape == (len(passages), 1024)


def test_versions_are_tagged_with_the_corpus(passages, tmp_path):
    index = LanceIndex(tmp_path, "full")
    assert (index.version, index.corpus_sha) == (0, None)
    ensure_index(index, passages, BLOCKS, HashedNgrams())
    again = LanceIndex(tmp_path, "full")
    assert again.version == index.version > 0
    assert again.corpus_sha == index.corpus_sha
    assert f"corpus-{index.corpus_sha}-{index.version}" in again._table.tags.list()


def test_nothing_to_index(tmp_path):
    with pytest.raises(UsageError, match="novelapi build"):
        ensure_index(LanceIndex(tmp_path, "full"), [], BLOCKS, HashedNgrams())


@pytest.mark.parametrize("query", ["", "   ", "???", "'\"; DROP", "a:b^2 (x OR", "\\"])
def test_odd_queries_are_harmless(built, query):
    assert isinstance(search(built, HashedNgrams(), query, "hybrid", 5), list)
