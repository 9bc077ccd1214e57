"""What annotations, docstrings and read programs say of a library; hubs, names without a meaning, no types at all."""

from __future__ import annotations

import pytest

from novelapi.errors import DataError
from novelapi.graph import typed
from novelapi.graph.annotations import parts_of
from novelapi.graph.build import build_graph, documented_programs, gold_programs, label_of
from novelapi.graph.flow import Flow, Text, static_flows
from novelapi.graph.model import ApiGraph, Edge, Evidence, Input, Node, Output, Port, make_graph
from novelapi.graph.typed import join_types
from tests.fakes.tasks import numpy_task
from tests.unit.graph.minilib import read


@pytest.fixture
def library(tmp_path):
    return read(tmp_path)


@pytest.fixture
def graph(library):
    surface, table, nodes = library
    return build_graph(surface, nodes, read=documented_programs(table))


# annotation, what it holds
HELD = [
    ("X", [("return", "X")]),
    ("a.b.X | None", [("return", "a.b.X")]),
    ("Optional['X']", [("return", "X")]),
    ("Union[X, Y]", [("return", "X"), ("return", "Y")]),
    ("list[X]", [("return[]", "X")]),
    ("tuple[X, Y]", [("return[0]", "X"), ("return[1]", "Y")]),
    ("tuple[X, ...]", [("return[]", "X")]),
    ("Mapping[str, X]", [("return[]", "X")]),
    ("Annotated[X, 'about']", [("return", "X")]),
    ("Box[X]", [("return", "Box")]),
    ("type[X]", []),
    ("Callable[[X], Y]", []),
    ("Literal['X']", []),
    ("list[list[X]]", []),
    ("not an annotation", []),
    (None, []),
]


@pytest.mark.parametrize(("annotation", "held"), HELD)
def test_annotations_are_taken_apart(annotation, held):
    assert [(port.text, name) for port, name in parts_of(annotation)] == held


def test_a_very_deep_annotation_ends():
    assert parts_of("list[" * 200 + "X" + "]" * 200) == []


# source, port, target, parameter, label
EDGES = [
    ("minilib.load", "return", "minilib.save", "table", "strong"),  # type and written flow
    ("minilib.load", "return", "minilib.rows", "table", "weak"),  # Annotated[Optional[...]]
    ("minilib.load", "return", "minilib.Table.sort", "self", "strong"),  # receiver
    ("minilib.Table.copy", "return", "minilib.save", "table", "weak"),  # Self
    ("minilib.Sorted", "return", "minilib.save", "table", "weak"),  # a subclass fits its base
    ("minilib.split", "return[1]", "minilib.pick", "row", "strong"),  # position of a tuple
    ("minilib.index", "return[]", "minilib.pick", "row", "weak"),  # value of a mapping
    ("minilib.index", "return[a]", "minilib.pick", "row", "weak"),  # written flow alone: the key
    ("minilib.Table.first", "return", "minilib.pick", "row", "weak"),  # property
    ("minilib.load", "return.column", "minilib.merge", "column", "weak"),  # attribute, written flow alone
    ("minilib.Column", "return", "minilib.merge", "column", "weak"),  # a constructor gives its class
    ("minilib.pick", "return", "minilib.told", "thing", None),  # type[Row] is no row
    ("minilib.Table", "return", "minilib.maybe", "table", None),  # a base class does not fit
    ("minilib.name", "return", "minilib.title", "text", None),  # str links nothing
    ("minilib.apply", "return", "minilib.told", "thing", None),  # errors are not handed on
    ("minilib.told", "return", "minilib.merge", "column", "weak"),  # types told in words
    ("minilib.Row", "return", "minilib.told", "thing", "weak"),
]


@pytest.mark.parametrize(("source", "port", "target", "parameter", "label"), EDGES)
def test_edges_of_a_library(graph, source, port, target, parameter, label):
    found = {edge.key: edge.label for edge in graph.edges}
    assert found.get((source, port, target, parameter)) == label


def test_every_strong_edge_says_where_it_can_be_opened(graph):
    strong = [edge for edge in graph.edges if edge.label == "strong"]
    assert strong
    assert all(item.where and item.detail for edge in strong for item in edge.evidence)
    seen = next(edge for edge in strong if edge.target == "minilib.save")
    assert {item.tier for item in seen.evidence} == {"type", "static"}
    assert "minilib/_core.py:" in seen.evidence[-1].where


def test_what_says_nothing_is_counted(graph):
    assert "minilib.bare" in graph.by_api
    assert graph.by_api["minilib.split"].novel
    assert "minilib.Failure" not in graph.by_api
    assert graph.left_out["errors and warnings"] == 1
    assert graph.left_out["APIs without documentation"] == 1
    assert graph.left_out["an API to itself"] > 0  # Table.copy takes and gives a table


def test_a_graph_is_the_same_file_twice(graph, tmp_path):
    graph.save(tmp_path / "a.json")
    again = ApiGraph.load(tmp_path / "a.json")
    again.save(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert again.digest == graph.digest


def test_networkx_sees_ports_and_labels(graph):
    pytest.importorskip("networkx", reason="the extra graph is not installed")
    view = graph.to_networkx(["strong"])
    assert view.number_of_edges() == sum(edge.label == "strong" for edge in graph.edges)
    assert {"port": "return[1]", "parameter": "row"}.items() <= view["minilib.split"]["minilib.pick"][0].items()


def test_hub_types_are_named_not_joined(library, monkeypatch):
    surface, _, nodes = library
    monkeypatch.setattr("novelapi.graph.build.HUB", 3)
    graph = build_graph(surface, nodes)
    assert not any(edge.parameter == "table" and edge.target == "minilib.save" for edge in graph.edges)
    assert graph.left_out["hub type minilib._core:Table: pairs of output and parameter"] > 3


def test_thousands_of_producers_of_one_type_give_no_thousands_of_edges():
    nodes = [
        Node(api=f"make{number}", outputs=(Output(port=Port(), type="str"),), inputs=(Input(name="x", type="str"),))
        for number in range(3000)
    ]
    found = join_types(nodes, hub=typed.HUB)
    assert found.edges == []
    assert found.left_out["hub type str: pairs of output and parameter"] == 9_000_000


def test_specific_types_weigh_more():
    outputs = (Output(port=Port(), type="T"),)
    few = [Node(api="a", outputs=outputs), Node(api="b", inputs=(Input(name="x", type="T"),))]
    many = [*few, *(Node(api=f"c{number}", outputs=outputs) for number in range(9))]
    assert join_types(few).edges[0].score == 1
    assert join_types(many).edges[0].score < 0.5


OBSERVED, STATIC = Evidence(tier="observed", detail=""), Evidence(tier="static", detail="")
SPECIFIC, HUB = Evidence(tier="type", detail="", weight=0.9), Evidence(tier="type", detail="", weight=0.05)
TEXT = Evidence(tier="text", detail="", weight=9.0)


@pytest.mark.parametrize(
    ("evidence", "label"),
    [
        ([OBSERVED], "strong"),
        ([SPECIFIC, STATIC], "strong"),
        ([HUB, STATIC], "weak"),
        ([SPECIFIC], "weak"),
        ([STATIC], "weak"),
        ([TEXT], "non"),
        ([], "non"),
    ],
)
def test_labels(evidence, label):
    assert label_of(evidence) == label


def test_an_observed_flow_adds_ports_and_parameters_that_nothing_declared(library):
    surface, _, nodes = library
    flow = Flow(
        source="minilib.bare", port=Port(kind="receiver"), target="minilib.name", parameter="extra", where="w",
        statement="s",
    )  # fmt: skip
    self_edge = Flow(source="minilib.bare", port=Port(), target="minilib.bare", parameter="a", where="", statement="")
    graph = build_graph(surface, nodes, observed=[flow, flow, self_edge])
    edge = next(edge for edge in graph.edges if edge.source == "minilib.bare")
    assert (edge.label, edge.port.text, edge.parameter) == ("strong", "self", "extra")
    assert [item.name for item in graph.by_api["minilib.name"].inputs] == ["extra"]


NODES = (Node(api="a", outputs=(Output(port=Port()),)), Node(api="b", inputs=(Input(name="x"),)))


def edge(**fields):
    row = {"source": "a", "port": Port(), "target": "b", "parameter": "x", "label": "weak"}
    return Edge(**(row | fields))


@pytest.mark.parametrize(
    ("nodes", "edges", "reason"),
    [
        ((*NODES, NODES[0]), [], "the API a occurs 2 times"),
        (NODES, [edge(source="b", parameter="x")], "joins b to itself"),
        (NODES, [edge(source="c")], "the API c, which is not listed"),
        (NODES, [edge(parameter="y")], "the parameter y of b"),
        (NODES, [edge(), edge(label="strong")], "occurs twice"),
    ],
)
def test_a_graph_that_contradicts_itself_is_refused(nodes, edges, reason):
    with pytest.raises(DataError, match=reason):
        make_graph("g", nodes, edges)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not valid JSON"),
        ("[]", "expected a JSON object"),
        ('{"schema": 1, "name": "g"}', "nodes"),
        ('{"schema": 1, "name": "g", "nodes": [], "edges": [], "digest": "0"}', "says the digest 0"),
    ],
)
def test_a_broken_file_is_refused(tmp_path, text, reason):
    (tmp_path / "g.json").write_text(text)
    with pytest.raises(DataError, match=reason):
        ApiGraph.load(tmp_path / "g.json")


# program, flows as source port target parameter
PROGRAMS = [
    ("import minilib as m\nt = m.load('x')\nm.save(table=t)", ["minilib.load return minilib.save table"]),
    ("from minilib import *", []),
    ("from minilib import load, save\nsave(load('x'))", ["minilib.load return minilib.save table"]),
    ("import minilib\nt = minilib.load('x')\nt = 3\nminilib.save(t)", []),  # bound anew
    ("import minilib\nminilib = 3\nminilib.save(minilib.load('x'))", []),  # the import is gone
    (
        "import minilib\nif True:\n    t = minilib.load('x')\nwith open('x') as f:\n    minilib.save(t)",
        ["minilib.load return minilib.save table"],
    ),
    ("import minilib\nminilib.save(minilib.load('x').column[0])", []),  # a part of a part
    ("import minilib\nfor t in minilib.load('x'):\n    minilib.save(t)", []),  # an unknown item
    ("def broken(", []),
]


@pytest.mark.parametrize(("code", "flows"), PROGRAMS)
def test_written_flows(library, code, flows):
    found = static_flows([Text(code=code, where="here")], library[2])
    assert [f"{item.source} {item.port.text} {item.target} {item.parameter}" for item in found] == flows


def test_gold_solutions_become_programs():
    (program,) = gold_programs([numpy_task(1)])
    assert program.code.endswith("solve(np.arange(6).reshape(2, 3), 1)\n")
    assert program.where == "task numpy/unstack/1, reference solution"
