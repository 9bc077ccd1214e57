"""Backward closures, retrieval at equal budgets, subsets: cycles, hubs, budgets too small, one seed one sample."""

from __future__ import annotations

import pytest

from novelapi.errors import NovelApiError, UnknownNameError, UsageError
from novelapi.filters.models import Shown
from novelapi.graph import retrieve
from novelapi.graph.model import Edge, Evidence, Input, Node, Output, Port, make_graph
from novelapi.graph.retrieve import GraphSearch, Prerequisites, completeness, describe, with_prerequisites
from novelapi.graph.subsets import sample_subsets
from novelapi.grid.expand import expand_grid
from novelapi.grid.prerequisites import HEADING, PrerequisitePlan, show_prerequisites, store_prerequisites
from novelapi.inference.tokens import estimate_tokens
from novelapi.layout import Layout
from novelapi.records.cell import Cell, Retrieval
from tests.fakes.bundles import numpy_bundle
from tests.fakes.tasks import numpy_task


def graph_of(*edges, novel=()):
    """A graph of `A>B:label:score` edges; B takes it as `from_A`."""
    rows = [(*edge.split(":")[0].split(">"), *(edge.split(":")[1:] or ["strong"])) for edge in edges]
    names = sorted({name for row in rows for name in row[:2]})
    nodes = [
        Node(
            api=name,
            text=f"About {name}.",
            novel=name in novel,
            outputs=(Output(port=Port()),),
            inputs=tuple(Input(name=f"from_{row[0]}") for row in rows if row[1] == name),
        )
        for name in names
    ]
    found = [
        Edge(
            source=row[0], port=Port(), target=row[1], parameter=f"from_{row[0]}", label=row[2],
            score=float(row[3]) if len(row) > 3 else 1.0, evidence=(Evidence(tier="observed", detail="seen", where="w"),),
        )
        for row in rows
    ]  # fmt: skip
    return make_graph("g", nodes, found)


def names(found):
    return [(item.api, item.depth) for item in found]


def test_a_closure_goes_back_to_a_depth_and_ends_in_a_cycle():
    known = Prerequisites(graph_of("a>b", "b>c", "c>a", "x>c:weak"))
    assert names(known.of("c", 1)) == [("b", 1), ("x", 1)]
    assert names(known.of("c", 9)) == [("b", 1), ("x", 1), ("a", 2)]
    assert known.of("c", 0) == []
    diamond = Prerequisites(graph_of("a>b", "b>a", "a>t", "b>t"))
    assert names(diamond.of("t", 9)) == [("a", 1), ("b", 1)]
    with pytest.raises(UnknownNameError):
        known.of("d")


def test_edges_that_are_none_are_not_followed():
    assert Prerequisites(graph_of("a>b:non", "c>b")).of("b")[0].api == "c"


def test_the_best_sources_of_a_parameter_come_first_and_few():
    edges = [Edge(source=name, port=Port(), target="t", parameter="x", label=label, score=score)
             for name, label, score in (("a", "weak", 9), ("b", "strong", 1), ("c", "strong", 2))]  # fmt: skip
    nodes = [*(Node(api=name) for name in "abc"), Node(api="t", inputs=(Input(name="x"),))]
    known = Prerequisites(make_graph("g", nodes, edges))
    assert [item.api for item in known.of("t", per_parameter=2)] == ["c", "b"]


def test_a_hub_is_named_and_not_searched(monkeypatch):
    monkeypatch.setattr(retrieve, "HUB_IN", 2)
    graph = graph_of("hub>t", "a>hub", "b>hub", "c>hub")
    assert names(Prerequisites(graph).of("t", 5)) == [("hub", 1)]


def test_documentation_gets_a_field():
    rows = with_prerequisites(graph_of("a>b"), [{"api": "b", "text": "t"}, {"api": "zzz"}])
    assert rows == [{"api": "b", "text": "t", "prerequisite_apis": ["a"]}, {"api": "zzz", "prerequisite_apis": []}]


def test_both_ways_of_retrieving_keep_the_budget():
    graph = graph_of("make_box>open_box", "other>unrelated")
    search = GraphSearch(graph, len)
    line = len(describe(graph.by_api["open_box"])) + 1
    for budget in (line, 2 * line, 500):
        for found in (search.plain("open box", budget), search.with_graph("open box", budget)):
            assert found.tokens <= budget
            assert found.tokens == sum(len(describe(graph.by_api[api])) + 1 for api in found.apis)
    assert search.with_graph("open_box", 500).apis[:2] == ("open_box", "make_box")
    with pytest.raises(UsageError, match="holds not one API"):
        search.plain("open box", 3)
    with pytest.raises(UsageError, match="has no API"):
        GraphSearch(make_graph("empty", [], []), len)


def test_completeness_counts_all_or_nothing_at_one_budget():
    graph = graph_of("zzz>open_box")
    search = GraphSearch(graph, len)
    budget = sum(len(describe(node)) + 1 for node in graph.nodes)
    tasks = [("open box", {"open_box", "zzz"}), ("open box", {"open_box"}), ("nothing", set())]
    found = completeness(search, tasks, budget)
    assert (found.tasks, found.several) == (2, 1)
    assert (found.plain, found.graph, found.plain_several, found.graph_several) == (0.5, 1.0, 0.0, 1.0)


def test_subsets_cover_novel_apis_once_and_by_seed():
    graph = graph_of("a>b", "b>c", "b>d", "e>c", "f>g", "g>h", novel=("b", "g", "lonely"))
    found = sample_subsets(graph, 4)
    assert found.covered == 2
    assert found.uncovered == ()
    assert sample_subsets(graph, 4) == found
    assert len({frozenset(item.members) for item in found.subsets}) == len(found.subsets)
    assert all(item.members[place] in {"b", "g"} for item in found.subsets for place in item.novel)


def test_a_novel_api_stands_where_it_is_asked_for():
    graph = graph_of("a>b", "b>c", "b>d", "e>c", novel=("b",))
    for place in (0, 1, 2):
        found = sample_subsets(graph, 9, position=place)
        assert all(place in item.novel for item in found.subsets)
    assert sample_subsets(graph, 9, kinds=["chain"], position=2).subsets == ()
    assert sample_subsets(graph, 9, kinds=["chain"], position=2).uncovered == ("b",)


def test_no_hub_is_drawn_more_often_than_covering_needs():
    graph = graph_of(*(f"hub>{name}" for name in "abcdefgh"), novel=tuple("abcdefgh"))
    found = sample_subsets(graph, 50, cap=2)
    assert found.covered == 8
    assert len(found.subsets) <= 8  # one for each novel API at most; nothing is drawn beyond that
    assert len(sample_subsets(graph, 50, cap=20).subsets) == 20
    with pytest.raises(UsageError, match="a cap of at least 1"):
        sample_subsets(graph, 5, cap=0)


# In prompts


PLAN = PrerequisitePlan(graphs={"numpy": "0"}, lines={"numpy.unstack": tuple(f"- `make{n}()`" for n in range(30))})
TASK = numpy_task(1)


def test_rag_graph_is_never_longer_than_rag():
    whole = Shown(prompt="p", knowledge="word " * 200, overlap=None)
    fewer = [(Shown(prompt="p", knowledge="word " * n, overlap=None), ["numpy.unstack"]) for n in (199, 150, 10)]
    found = PLAN.with_room(TASK, whole, fewer)
    assert estimate_tokens(found.knowledge) <= estimate_tokens(whole.knowledge)
    assert HEADING in found.knowledge
    assert found.knowledge.startswith("word " * 150)
    assert PLAN.with_room(TASK, whole, [(whole, ["numpy.unstack"])]) is whole  # no room
    assert PLAN.with_room(TASK, whole, [(fewer[1][0], ["numpy.other"])]) is whole  # nothing to say


def cell(documents):
    return Cell(
        experiment="numpy-m", group="numpy", model="m", model_revision="1", condition="s_prereq", delivery="oracle",
        instance_sha="0", bundles_sha="0", retrieval=Retrieval(documents=documents),
    )  # fmt: skip


def test_s_prereq_is_s_with_what_comes_before(tmp_path):
    from novelapi import jsonl
    from novelapi.filters import models
    from novelapi.knowledge.conditions import KnowledgeCondition

    layout = Layout(tmp_path)
    jsonl.write(layout.stage("numpy", "stage2_knowledge", "m"), [numpy_bundle().to_row()])
    with pytest.raises(UsageError, match="run `novelapi graph numpy"):
        store_prerequisites("numpy", ["numpy"], "m", layout)
    graph_of("numpy.arange>numpy.unstack").save(layout.graph("numpy", "m"))
    name = store_prerequisites("numpy", ["numpy"], "m", layout)
    shown, spec = show_prerequisites(cell(name), [TASK], {}, layout)
    plain = models.show(TASK, [numpy_bundle()], KnowledgeCondition.S, (TASK.api,))
    assert shown[TASK.task_id].knowledge.startswith(plain.knowledge)
    assert "`numpy.arange()`: About numpy.arange. Gives `from_numpy.arange` of `numpy.unstack`." in (
        shown[TASK.task_id].knowledge
    )
    assert spec["prerequisites"]["prompts_with"] == 1
    with pytest.raises(NovelApiError, match="are not there"):
        show_prerequisites(cell("0"), [TASK], {}, layout)


def test_s_prereq_has_a_cell_with_the_oracle_alone():
    assert expand_grid(("s_prereq",), ("oracle", "rag", "rag_graph")) == [("oracle", "s_prereq")]
    assert expand_grid(("baseline", "s"), ("rag", "rag_graph")) == [
        ("oracle", "baseline"),
        ("rag", "s"),
        ("rag_graph", "s"),
    ]
