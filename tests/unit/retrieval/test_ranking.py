"""Exact rankings, ties by id, fusion, and the measures of retrieval."""

from __future__ import annotations

import math

import pytest

from novelapi.retrieval.delivery import retrieved_knowledge, task_query
from novelapi.retrieval.embedding import HashedNgrams
from novelapi.retrieval.index import Ranking
from novelapi.retrieval.metrics import score_rankings
from novelapi.retrieval.passages import Passage
from novelapi.retrieval.ranking import Hit, fuse, rank_by_vectors
from novelapi.retrieval.sweep import sweep
from tests.fakes.tasks import numpy_task

np = pytest.importorskip("numpy", reason="the extra rag is not installed")


def ranking(*ids, query="q"):
    return Ranking(
        query=query, mode="vector", hits=tuple(Hit(passage=name, score=1 - i / 10) for i, name in enumerate(ids))
    )


def test_vectors_are_ranked_exactly_and_ties_fall_to_the_id():
    source = np.random.default_rng(0)
    passages = source.normal(size=(300, 32)).astype("f4")
    passages[7] = passages[3]  # two equal passages
    passages /= np.linalg.norm(passages, axis=1, keepdims=True)
    ids = [f"p{number:03d}" for number in source.permutation(300)]
    rankings = rank_by_vectors(passages[:50], passages, ids, limit=10)
    for row, query in zip(rankings, passages[:50], strict=True):
        scores = {
            name: round(float(vector.astype("f8") @ query.astype("f8")), 6)
            for name, vector in zip(ids, passages, strict=True)
        }
        assert [hit.passage for hit in row] == sorted(scores, key=lambda name: (-scores[name], name))[:10]
    assert [hit.passage for hit in rankings[3]][:2] == sorted([ids[3], ids[7]])


def test_fusion_rewards_agreement():
    cosines = [Hit(passage=name, score=score) for name, score in {"a": 0.3, "b": 0.2, "c": 0.1}.items()]
    rarities = [Hit(passage=name, score=score) for name, score in {"a": 20, "c": 10, "d": 5}.items()]
    fused = fuse([cosines, rarities])
    assert [(hit.passage, hit.score) for hit in fused] == [
        ("a", 1.0),
        ("c", pytest.approx((1 / 3 + 1 / 2) / 2)),
        ("b", pytest.approx(1 / 3)),
        ("d", 0.125),
    ]


def test_a_clear_lead_in_one_list_beats_a_narrow_one_in_the_other():
    close = [Hit(passage="x", score=0.30), Hit(passage="exact", score=0.29)]
    clear = [Hit(passage="exact", score=20), Hit(passage="x", score=8)]
    assert fuse([close, clear])[0].passage == "exact"


def test_a_list_without_any_agreement_changes_nothing():
    assert [hit.passage for hit in fuse([[Hit(passage="a", score=0)], [Hit(passage="b", score=2)]])] == ["b"]


def test_equal_fused_scores_fall_to_the_id():
    assert [hit.passage for hit in fuse([[Hit(passage="b", score=1)], [Hit(passage="a", score=1)]])] == ["a", "b"]


def test_measures():
    rankings = [ranking("t#1", "x", "t#2", query="1"), ranking("x", "t#1", query="2"), ranking("x", "y", query="3")]
    relevant = {"1": frozenset({"t#1", "t#2"}), "2": frozenset({"t#1"}), "3": frozenset({"t#1"})}
    scores = score_rankings(rankings, relevant, (1, 2, 3))
    assert scores.hit == {1: pytest.approx(1 / 3), 2: pytest.approx(2 / 3), 3: pytest.approx(2 / 3)}
    assert scores.mrr == pytest.approx((1 + 1 / 2) / 3)
    both = (1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    assert scores.ndcg[3] == pytest.approx((both + 1 / math.log2(3)) / 3)


def test_no_rankings_no_division_by_zero():
    assert score_rankings([], {}).queries == 0


def test_embeddings_are_unit_vectors_deterministic_and_lexical():
    embedder = HashedNgrams()
    texts = ["split an array into parts", "splitting arrays along an axis", "open a network connection", ""]
    rows = embedder.embed(texts, "passage")
    assert rows.shape == (4, 1024)
    assert np.array_equal(rows, HashedNgrams().embed(texts, "query"))
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 1, np.linalg.norm(rows[3])])
    assert rows[0] @ rows[1] > 2 * abs(rows[0] @ rows[2])


def test_shape_of_the_knowledge_in_a_prompt():
    passages = {
        name: Passage(id=name, api="a", library="l", text=f"text of {name}\n\n```python\nx  =  1\n```") for name in "ab"
    }
    shown = retrieved_knowledge(ranking("b", "a"), passages, 2)
    assert shown == f"{passages['b'].text}\n\n---\n\n{passages['a'].text}"
    assert retrieved_knowledge(ranking("b", "a"), passages, 1) == passages["b"].text


def test_an_example_with_the_solution_is_hidden_and_nothing_else_changes():
    text = "### Examples\n\n```python\nanswer = 1\n```\n\nOutput:\n\n```\n1\n```\n\n```python\nother = 2\n\n\nx\n```"
    passages = {"a": Passage(id="a", api="a", library="l", text=text)}
    shown = retrieved_knowledge(ranking("a"), passages, 1, hidden={"answer = 1\n"})
    assert shown == "### Examples\n\n```python\nother = 2\n\n\nx\n```"
    assert retrieved_knowledge(ranking("a"), passages, 1, hidden={"not there"}) == text


def test_the_query_holds_description_and_context_only():
    task = numpy_task()
    assert task_query(task) == f"{task.description}\nimport numpy as np"


def test_a_sweep_shows_what_distractors_cost():
    passages = {f"{name}#1": Passage(id=f"{name}#1", api=name, library="l", text="word " * 10) for name in "tuvwx"}
    points = sweep(
        [ranking("u#1", "v#1", "t#1", "w#1", "x#1")], {"q": "t"}, passages, distractors=(0, 2, 99), ks=(1, 3)
    )
    by_setting = {(point.distractors, point.k): point for point in points}
    assert by_setting[0, 1].hit == 1
    assert by_setting[4, 1].hit == 0
    assert by_setting[4, 3].hit == 1
    assert by_setting[4, 3].tokens > by_setting[4, 1].tokens
    assert sorted(by_setting) == [(0, 1), (0, 3), (2, 1), (2, 3), (4, 1), (4, 3)]
