"""A model labels open edges alone; what it did not say, or said about what was seen, changes nothing."""

from __future__ import annotations

import pytest

from novelapi.graph.model import Edge, Evidence, Input, Node, Output, Port, make_graph
from novelapi.graph.refine import read_answer, refine


class Labeller:
    """Answers every prompt with one text, and remembers the prompts."""

    name = "labeller"
    revision = "1"

    def __init__(self, text):
        self.text, self.asked = text, []

    def complete(self, prompts, sampling):
        self.asked += prompts
        return [[self.text] * sampling.n for _ in prompts]


def graph():
    nodes = [
        Node(api=name, text=f"About {name}.", outputs=(Output(port=Port()),)) for name in ("seen", "typed", "typed2")
    ]
    nodes.append(Node(api="taker", inputs=(Input(name="x"),)))
    edges = [
        Edge(source=name, port=Port(), target="taker", parameter="x", label=label, score=score,
             evidence=(Evidence(tier=tier, detail="d", where="w"),))
        for name, label, score, tier in (("seen", "strong", 2, "observed"), ("typed", "weak", 1, "type"),
                                         ("typed2", "weak", 0.5, "type"))
    ]  # fmt: skip
    return make_graph("g", nodes, edges)


def labels(found):
    return {edge.source: edge.label for edge in found.edges}


def test_open_edges_are_labelled_and_an_observation_is_never_overruled():
    model = Labeller('Sure. {"label": "non", "reason": "Nobody would."}')
    found = refine(graph(), model, 10)
    assert labels(found) == {"seen": "strong", "typed": "non", "typed2": "non"}
    assert not any("About seen" in prompt for prompt in model.asked)
    said = next(edge for edge in found.edges if edge.source == "typed").evidence[-1]
    assert (said.tier, said.detail, said.where) == ("model", "labeller: Nobody would.", "w")
    assert found.digest != graph().digest


def test_no_more_than_asked_for_the_best_first():
    model = Labeller('{"label": "strong"}')
    found = refine(graph(), model, 1)
    assert labels(found) == {"seen": "strong", "typed": "strong", "typed2": "weak"}
    assert found.left_out["open edges that no model was asked about"] == 1
    assert refine(graph(), Labeller(""), 0).left_out == {"open edges that no model was asked about": 2}


@pytest.mark.parametrize("text", ["", "strong", "{", '{"label": "maybe"}', "[1]", '{"label": "non", "more": 1}'])
def test_what_is_no_answer_changes_nothing_and_is_counted(text):
    found = refine(graph(), Labeller(text), 10)
    assert labels(found) == labels(graph())
    assert found.left_out["answers of the model that are none"] == 2


def test_the_last_answer_in_a_text_counts():
    text = 'I thought {"label": "weak"} but: ```json\n{"label": "strong", "reason": "{}"}\n```'
    assert read_answer(text).label == "strong"
