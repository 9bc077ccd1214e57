"""Tool graphs: exact on the published links, motifs as counted before, rankings not below plain BM25."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from novelapi.errors import DataError
from novelapi.graph.model import make_graph
from novelapi.graph.motifs import count_motifs, find_motifs
from novelapi.graph.text import Ranker, score_ranking
from novelapi.graph.tools import observed_graph, read_nestful, read_nestful_edges, read_taskbench
from novelapi.graph.typed import join_types

SHARED = next(
    (
        folder / "shared" / "data" / "tools"
        for folder in Path(__file__).resolve().parents
        if (folder / "shared" / "data" / "tools").is_dir()
    ),
    None,
)
needs_shared = pytest.mark.skipif(SHARED is None, reason="the published data is not beside this checkout")


def write(tmp_path, name, body):
    path = tmp_path / name
    path.write_text(body if isinstance(body, str) else json.dumps(body))
    return path


def taskbench(tmp_path, links=()):
    nodes = [
        {"id": "Read", "desc": "Read a page.", "input-type": ["url"], "output-type": ["text"]},
        {"id": "Compare", "desc": "Compare texts.", "input-type": ["text", "text"], "output-type": ["text"]},
        {"id": "Draw", "desc": "Draw a text.", "input-type": ["text"], "output-type": ["Image"]},
        {"id": "Label", "desc": "Label an image.", "input-type": ["image"], "output-type": ["text"]},
    ]
    return write(tmp_path, "g.json", {"nodes": nodes, "links": list(links)})


def test_types_join_exactly_and_capitals_matter(tmp_path):
    nodes, _ = read_taskbench(taskbench(tmp_path))
    found = join_types(nodes)
    graph = make_graph("g", nodes, found.edges, left_out=found.left_out)
    assert graph.joined() == {
        ("Read", "Compare"), ("Read", "Draw"), ("Label", "Compare"), ("Label", "Draw"), ("Compare", "Draw"),
    }  # fmt: skip
    assert graph.left_out["an API to itself"] == 2  # Compare gives text and takes two


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{", "not valid JSON"),
        ([], "expected a JSON object"),
        ({"nodes": [{"id": "a"}]}, "lacks 'input-type'"),
        ({"nodes": [{"id": "a", "input-type": [], "output-type": []}] * 2}, "occurs 2 times"),
        ({"nodes": [], "links": [{"source": "a", "target": "b"}]}, "not among the nodes"),
    ],
)
def test_a_broken_tool_graph_is_refused_at_load(tmp_path, body, reason):
    with pytest.raises(DataError, match=reason):
        read_taskbench(write(tmp_path, "g.json", body))


SPEC = [
    {
        "name": "Find",
        "description": "Find a person.",
        "query_parameters": {"name": {"type": "string", "required": True}},
        "output_parameters": {"personId": {"type": "string", "description": "Id of the person."}},
    },
    {
        "name": "Follow",
        "arguments": {"person_id": {"description": "Id of the person to follow.", "required": True}},
        "output_parameters": {"ok": {"type": "boolean"}},
    },
]
SEQUENCES = [
    {
        "output": [
            {"name": "Find", "arguments": {"name": "Ada"}, "label": "var1"},
            {"name": "Follow", "arguments": {"person_id": "$var1.personId$"}, "label": "var2"},
            {"name": "Follow", "arguments": {"person_id": "2 * $var1.age$", "other": "$var1.personId$"}},
            {"name": "Unknown", "arguments": {"x": "$var1.personId[0].id$"}, "label": "var3"},
            {"name": "var_result", "arguments": {"done": "$var2.ok$"}},
        ]
    }
]


def nestful(tmp_path):
    return read_nestful(write(tmp_path, "spec.json", SPEC), write(tmp_path, "data.json", SEQUENCES))


def test_references_of_a_gold_sequence_become_edges_and_defects_are_named(tmp_path):
    nodes, edges, counts = nestful(tmp_path)
    assert counts == {"references": 4, "dropped": 1, "edges": 3, "clean": 1}
    assert {(edge.output, edge.parameter): edge.status for edge in edges} == {
        ("personId", "person_id"): "clean",
        ("age", "person_id"): "field absent from spec",
        ("personId", "other"): "argument absent from spec",
    }
    graph = observed_graph("n", nodes, edges)
    assert [edge.key for edge in graph.edges] == [("Find", "return[personId]", "Follow", "person_id")]
    assert graph.left_out == {"argument absent from spec": 1, "field absent from spec": 1}


def test_a_ranking_never_offers_an_api_its_own_output(tmp_path):
    nodes, edges, _ = nestful(tmp_path)
    found = Ranker(nodes).rank(nodes[1], nodes[1].inputs[0])
    assert [item.source for item in found] == ["Find"]
    assert score_ranking(nodes, edges).to_row() == {"queries": 1, "hit_1": 1.0, "hit_5": 1.0, "mrr": 1.0}


def test_motifs_of_a_small_graph_with_a_cycle_and_a_self_edge():
    pairs = [("a", "b"), ("b", "c"), ("b", "a"), ("d", "b"), ("d", "d")]
    assert count_motifs(pairs) == {"chain": 3, "fork": 1, "collider": 1}
    assert list(find_motifs("chain", pairs)) == [("a", "b", "c"), ("d", "b", "a"), ("d", "b", "c")]
    assert list(find_motifs("fork", pairs)) == [("b", "a", "c")]
    assert list(find_motifs("collider", pairs)) == [("a", "d", "b")]


@needs_shared
@pytest.mark.parametrize(
    ("name", "links", "motifs"), [("huggingface", 225, (2038, 1189, 1351)), ("multimedia", 449, (4957, 3303, 2921))]
)
def test_every_link_of_taskbench_and_no_other(name, links, motifs):
    nodes, gold = read_taskbench(SHARED / "taskbench" / f"{name}_graph_desc.json")
    found = join_types(nodes)
    joined = make_graph(name, nodes, found.edges, left_out=found.left_out).joined()
    assert (len(gold), joined - gold, gold - joined) == (links, frozenset(), frozenset())
    assert tuple(count_motifs(joined).values()) == motifs


@needs_shared
@pytest.mark.parametrize(
    ("split", "files", "motifs", "row"),
    [
        ("executable", "executable", (8, 15, 3), (26, 0.500, 0.731, 0.588)),
        ("non-executable-sgd", "non-executable-sgd", (1, 1, 1), (32, 0.969, 1.000, 0.975)),
    ],
)
def test_nestful_motifs_and_a_ranking_not_below_plain_bm25(split, files, motifs, row):
    nodes, edges = read_nestful_edges(SHARED / "nestful_v1_edges.json")[split]
    assert tuple(count_motifs(observed_graph(split, nodes, edges).joined()).values()) == motifs
    found = score_ranking(nodes, edges)
    assert found.queries == row[0]
    assert all(
        round(value, 3) >= least for value, least in zip((found.hit_1, found.hit_5, found.mrr), row[1:], strict=True)
    )
    folder = SHARED / "nestful_v1"
    _, derived, _ = read_nestful(folder / f"{files}-spec.json", folder / f"{files}-data.json")
    assert {edge.model_dump_json() for edge in derived} == {edge.model_dump_json() for edge in edges}
