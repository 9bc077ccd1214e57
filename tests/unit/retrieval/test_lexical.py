"""The index that needs no extra: terms in memory, the same order every time, vectors where there are any."""

from __future__ import annotations

import pytest

from novelapi.errors import UsageError
from novelapi.retrieval.embedding import HashedNgrams
from novelapi.retrieval.index import ensure_index, rank_queries, search
from novelapi.retrieval.lexical import LexicalIndex
from novelapi.retrieval.passages import BLOCKS, make_passages

TEXTS = {
    "numpy.cumulative_sum": "Running totals along an axis; see cumulative_prod.",
    "numpy.cumulative_prod": "Running products along an axis.",
    "numpy.linalg.vector_norm": "Length of a vector. cumulative sum of squares, square root of the sum.",
    "pandas.DataFrame.to_iceberg": "Write a frame to an Iceberg table.",
}
PASSAGES = [
    passage for api, text in TEXTS.items() for passage in make_passages(api, api.split(".")[0], f"`{api}`\n\n{text}")
]


@pytest.fixture
def index():
    index = LexicalIndex()
    ensure_index(index, PASSAGES, BLOCKS, None)
    return index


@pytest.mark.parametrize("query", ["cumulative_sum", "DataFrame.to_iceberg", "to_iceberg", "vector_norm"])
def test_an_identifier_finds_its_api_first(index, query):
    (ranking,) = rank_queries(index, None, {"q": query}, "bm25")
    assert ranking.hits[0].passage.rpartition("#")[0].endswith(query)


def test_words_of_an_identifier_find_it_too(index):
    assert index.search_terms("write frame iceberg", 1)[0].passage == "pandas.DataFrame.to_iceberg#1"


def test_rare_terms_count_more_than_frequent_ones(index):
    scores = {hit.passage: hit.score for hit in index.search_terms("axis iceberg", 9)}
    assert scores["pandas.DataFrame.to_iceberg#1"] > scores["numpy.cumulative_prod#1"]


def test_the_order_of_the_corpus_does_not_matter_and_ties_fall_to_the_id():
    hits = []
    for passages in (PASSAGES, PASSAGES[::-1]):
        index = LexicalIndex()
        ensure_index(index, passages, BLOCKS, None)
        hits.append(index.search_terms("running", 9))
    assert hits[0] == hits[1]
    assert index.search_terms("xyzzy plugh", 9) == []


def test_vectors_are_searched_where_there_are_any(index):
    embedder = HashedNgrams()
    both = LexicalIndex()
    ensure_index(both, PASSAGES, BLOCKS, embedder)
    assert search(both, embedder, "length of a vector", "hybrid", 1)[0].passage == "numpy.linalg.vector_norm#1"
    with pytest.raises(UsageError, match="no vectors"):
        index.read()


def test_an_index_of_other_passages_is_rebuilt(index):
    assert not ensure_index(index, PASSAGES, BLOCKS, None)
    assert ensure_index(index, PASSAGES[:2], BLOCKS, None)
    assert index.find_api("to_iceberg") == []
    with pytest.raises(UsageError, match="no knowledge to index"):
        ensure_index(index, [], BLOCKS, None)
