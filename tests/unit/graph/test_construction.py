"""Graph construction as data: splits that share no API, negatives without an edge, scores, arms of documentation."""

from __future__ import annotations

import pytest

from novelapi.adaptation.rows import Row
from novelapi.errors import DataError, UsageError
from novelapi.graph import construction
from novelapi.graph.model import make_graph
from novelapi.graph.motifs import find_motifs
from novelapi.graph.pairs import PairRow, read_pairs, sample_pairs, write_pairs
from tests.unit.graph.test_retrieve import graph_of

EDGES = [f"a{n}>b{n}" for n in range(12)] + [f"c{n}>b{n}:weak" for n in range(12)]


@pytest.fixture
def rows():
    return sample_pairs(graph_of(*EDGES), per_label=10)


def test_as_many_pairs_of_each_label_and_none_of_them_an_edge(rows):
    labels = [row.label for row in rows]
    assert [labels.count(label) for label in ("strong", "weak", "non")] == [10, 10, 10]
    edges = {edge.key for edge in graph_of(*EDGES).edges}
    assert not any(row.key in edges for row in rows if row.label == "non")
    assert any(
        row.label == "non" and row.key[:1] + row.key[2:3] in {key[:1] + key[2:3] for key in edges} for row in rows
    )


def test_one_seed_gives_the_same_pairs(rows):
    assert rows == sample_pairs(graph_of(*EDGES), per_label=10)
    assert rows != sample_pairs(graph_of(*EDGES), per_label=10, seed=1)


def test_no_api_takes_on_two_sides_of_the_split(rows, tmp_path):
    counts = write_pairs(rows, tmp_path)
    assert sum(counts.values()) == len(rows)
    sides = {split: {row.target for row in read_pairs(tmp_path, [split])} for split in counts}
    assert not sides["train"] & (sides["valid"] | sides["test"])
    assert sorted(read_pairs(tmp_path), key=lambda row: row.key) == rows


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.unlink(), "is missing: write it with"),
        (lambda path: path.write_text("{broken\n"), "pairs.train.jsonl"),
        (lambda path: path.write_text('{"library": "g"}\n'), "row 1: source: Field required"),
        (lambda path: path.write_text(path.read_text() * 2), "occurs twice"),
    ],
)
def test_a_broken_file_is_an_error_that_names_it(rows, tmp_path, damage, said):
    write_pairs(rows, tmp_path)
    damage(tmp_path / "pairs.train.jsonl")
    with pytest.raises(DataError, match=said):
        read_pairs(tmp_path)


@pytest.mark.parametrize("graph", [make_graph("empty", (), ()), graph_of("a>b")], ids=["no edge", "no pair asked"])
def test_nothing_to_draw_is_a_usage_error(graph):
    with pytest.raises(UsageError, match="build a graph with edges"):
        sample_pairs(graph, per_label=0 if graph.edges else 5)


def test_training_rows_are_those_of_the_adaptation_flow(rows):
    found = Row.model_validate(construction.training_row(rows[0]))
    assert found.answer == f'{{"label": "{rows[0].label}"}}'
    assert rows[0].giver in found.prompt


def pair(label, giver="g.f(): makes a tree", parameter="tree"):
    return PairRow(
        library="g", source="g.f", port="return", target="g.h", parameter=parameter, giver=giver, taker="g.h(tree)",
        label=label, split="train",
    )  # fmt: skip


def test_scores_count_each_label_and_what_could_not_be_read():
    rows = [pair("strong"), pair("strong"), pair("weak"), pair("non")]
    found = construction.score(rows, ["strong", "non", None, "non"])
    by_label = {item.label: (item.precision, item.recall) for item in found.labels}
    assert by_label == {"strong": (1.0, 0.5), "weak": (0.0, 0.0), "non": (0.5, 1.0)}
    assert (found.accuracy, found.unread) == (0.5, 1)


def test_words_that_were_seen_with_a_label_give_it():
    model = construction.WordModel([pair("strong"), pair("strong"), pair("non", giver="g.f(): prints colours")])
    assert model([pair("weak", giver="g.f(): a tree"), pair("weak", giver="g.f(): colours")]) == ["strong", "non"]
    with pytest.raises(UsageError, match="no pair to train on"):
        construction.WordModel([])


class Says:
    name = "says"

    def __init__(self, *texts):
        self.texts = texts

    def complete(self, prompts, _sampling):
        return [[text] for text, _ in zip(self.texts, prompts, strict=True)]


def test_an_answer_that_is_no_label_is_unread():
    label = construction.asked(Says('{"label": "weak", "reason": "r"}', "strong, I think"))
    assert label([pair("weak"), pair("strong")]) == ["weak", None]


def test_three_arms_of_documentation(rows):
    graph = graph_of(*EDGES)
    automated = construction.predicted_graph(graph, rows, ["non" for _ in rows], "nobody")
    gold = construction.predicted_graph(graph, rows, [row.label for row in rows], "the graph")
    target = next(row for row in rows if row.label == "strong")
    none, right, empty = (
        next(row for row in construction.documentation(arm, graph.nodes) if row["api"] == target.target)
        for arm in (None, gold, automated)
    )
    assert "prerequisite_apis" not in none
    assert target.source in right["prerequisite_apis"]
    assert empty["prerequisite_apis"] == []


def test_a_pair_is_a_motif_of_its_own():
    assert list(find_motifs("pair", [("b", "c"), ("a", "b"), ("a", "a")])) == [("a", "b"), ("b", "c")]
