"""Tasks of several APIs before anything runs: what is put together, what is said, what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from novelapi.filters.models import own, own_paths
from novelapi.filters.release import names_target
from novelapi.generation import joins, linked
from novelapi.generation.drafts import drafts_of
from novelapi.generation.members import Member
from novelapi.generation.mining import mine_example
from novelapi.generation.uses import NO_DATA, Use, fits
from novelapi.graph.model import Edge, Evidence, Input, Node, Output, Port
from novelapi.graph.subsets import Subset
from novelapi.records.bundle import KnowledgeBundle, KnownParameter, Surface
from novelapi.records.verdict import ErrorEvidence
from tests.unit.generation.examples import candidate, example

ARRAY = ("array", "real", "2")


def member(api, names, prose, novel=True, options=()):
    found = candidate(api, names=names)
    parameters = tuple(
        KnownParameter(
            name=name, kind="positional_or_keyword", description=f"The {name} of it.",
            default="None" if name in options else None,
        )
        for name in names
    )  # fmt: skip
    bundle = KnowledgeBundle(
        api=api, library="numpy", release="2", change="added", kind="function",
        surface=Surface(s_name=api, parameters=parameters, returns="the outcome"), exemplars=(), m_prose=prose,
        m_code=None, licence="",
    )  # fmt: skip
    return Member(candidate=found, bundle=bundle, novel=novel)


def use(one, code, ports=("result",)):
    seed = mine_example(one.candidate, example(code))[0]
    draft = drafts_of(one.candidate, seed)
    assert draft is not None
    takes = {free.feeds: ARRAY for free in draft.free if free.feeds not in NO_DATA}
    return Use(draft=draft, ports=dict.fromkeys(ports, ARRAY), takes=takes, ends=True)


SPLIT = member("numpy.unstack", ("x", "axis"), "Cuts it into parts.")
JOIN = member("numpy.stack", ("arrays", "axis"), "Puts parts together.", novel=False)
SPLIT_USE = use(SPLIT, "import numpy as np\nnp.unstack(np.array([[1, 2]]), axis=1)\n")
JOIN_USE = use(JOIN, "import numpy as np\nnp.stack([np.array([1, 2])], axis=0)\n")


def pair(port="result"):
    found = linked.compose("pair", [(SPLIT, SPLIT_USE), (JOIN, JOIN_USE)], [(port, "arrays")])
    assert found is not None
    return found


def test_a_value_goes_where_the_example_had_one_of_its_own():
    draft = pair("result[0]")
    lines = draft.reference().splitlines()
    assert lines[1:3] == ["    first = np.unstack(x, axis=axis)", "    second = np.stack(first[0], axis=axis_2)"]
    assert [free.name for free in draft.free] == ["x", "axis", "axis_2"]


def test_a_task_names_its_calls_links_and_topology():
    task = linked.to_task(pair(), pair().inputs(2))
    assert task.task_id == "numpy/unstack+stack/1"
    assert [(call.api, call.novel) for call in task.calls] == [("numpy.unstack", True), ("numpy.stack", False)]
    assert [link.to_row() for link in task.links] == [
        {"source": 0, "port": "result", "target": 1, "parameter": "arrays"}
    ]
    assert (task.motif, task.difficulty, task.api) == ("pair", "medium", "numpy.unstack")


def test_a_description_says_what_is_handed_on_and_names_nobody():
    text = linked.description(pair("result[0]"))
    assert "1. Cuts it into parts." in text
    assert "item 0 of what the first step gives, passed on as it is, becomes: The arrays of it." in text
    assert "stack" not in text
    assert text.endswith("Return what the second step gives: the outcome.\n")


def test_two_links_into_one_argument_are_refused():
    parts = [(SPLIT, SPLIT_USE), (SPLIT, SPLIT_USE), (JOIN, JOIN_USE)]
    assert linked.compose("collider", parts, [("result", "arrays"), ("result", "arrays")]) is None
    assert linked.compose("pair", parts[1:], [("result", "no such parameter")]) is None


def test_arguments_that_are_equal_in_the_examples_are_changed_apart():
    both = linked.compose("fork", [(SPLIT, SPLIT_USE), (JOIN, JOIN_USE), (JOIN, JOIN_USE)], [("result", "arrays")] * 2)
    assert both is not None
    names = [free.name for free in both.free]
    assert names == ["x", "axis", "axis_2", "axis_3"]
    columns = [tuple(item.args[place] for item in both.inputs(12)) for place in (2, 3)]
    assert columns[0] != columns[1]


def test_values_stand_in_for_calls_and_for_links():
    draft = pair()
    assert "    first = None\n" in draft.reference({0: "None"})
    assert "    second = np.stack(known, axis=axis_2)\n" in draft.reference(passed={0: "known"})
    assert draft.reference(shows=linked.handed(draft.links[0])).endswith("    return first\n")


FIXED = use(JOIN, "import numpy as np\nnp.stack(axis=None, arrays=[np.array([1, 2])])\n")


def test_a_link_stays_in_its_place_when_an_option_before_it_is_left_out():
    found = linked.compose("pair", [(SPLIT, SPLIT_USE), (JOIN, FIXED)], [("result", "arrays")])
    assert found is not None
    without = linked.without_option(found, 1, "axis")
    assert "np.stack(axis=None, arrays=first)" in found.reference()
    assert "np.stack(arrays=first)" in without.reference()
    assert "np.stack(arrays=known)" in without.reference(passed={0: "known"})


@pytest.mark.parametrize(
    ("given", "wanted", "right"),
    [
        (("array", "integer", "1"), ("array", "real", "1"), True),
        (("array", "real", "1"), ("array", "integer", "1"), False),  # positions, counts
        (("array", "real", "1"), ("array", "real", "2"), False),
        (("array", "text", "1"), ("array", "real", "1"), False),
        (("x.Graph",), ("x.Graph",), True),
        (("x.Graph",), ("x.DiGraph",), False),
    ],
)
def test_a_port_fits_by_the_kind_of_its_values(given, wanted, right):
    assert fits(given, wanted) is right


@pytest.mark.parametrize("text", ["result", "result.values", "result[1]"])
def test_a_port_is_an_expression_and_back(text):
    assert joins.expression(joins.port_of(text)) == text
    assert joins.expression(Port(kind="receiver")) is None


def test_new_apis_are_joined_where_their_values_fit():
    other = member("numpy.trace", ("x",), "Adds what stands on the diagonal of x.")
    uses = {
        "numpy.unstack": [SPLIT_USE],
        "numpy.trace": [use(other, "import numpy as np\nnp.trace(np.array([[1, 2]]))\n")],
    }
    members = {"numpy.unstack": SPLIT, "numpy.trace": other}
    library = joins.make_graph("numpy", (), ())
    found = joins.join(library, members, uses)
    assert ("numpy.unstack", "numpy.trace") in found.joined(["weak"])
    assert {edge.parameter for edge in found.edges} == {"x"}
    assert {subset.kind for subset in joins.draw(found, 10, seed=0)} == {"pair"}


@pytest.mark.parametrize(("source", "joined"), [("numpy.mean", True), ("numpy.unstack", False)])
def test_what_may_be_left_out_is_joined_only_to_what_gives_it_by_name(source, joined):
    giver = member(source, ("x",), "Makes something of x.")
    taker = member("numpy.var", ("a", "mean"), "Says how far the numbers of a lie apart.", options=("mean",))
    call = "np.var(np.array([[1, 2]]), mean=np.array([[1.5]]))"
    uses = {
        source: [use(giver, f"import numpy as np\nnp.{source[6:]}(np.array([[1, 2]]))\n")],
        "numpy.var": [use(taker, f"import numpy as np\n{call}\n")],
    }
    found = joins.join(joins.make_graph("numpy", (), ()), {source: giver, "numpy.var": taker}, uses)
    edges = {(edge.source, edge.parameter) for edge in found.edges}
    assert (source, "a") in edges
    assert ((source, "mean") in edges) == joined


def test_what_follows_from_the_other_arguments_is_joined_to_nothing():
    giver = member("numpy.mean", ("x",), "Makes something of x.")
    taker = member("numpy.var", ("a", "mean"), "Says how far the numbers of a lie apart.", options=("mean",))
    saved = taker.bundle.surface.parameters[1].model_copy(
        update={"description": "The mean, to prevent its recalculation."}
    )
    surface = taker.bundle.surface.model_copy(update={"parameters": (taker.bundle.surface.parameters[0], saved)})
    saving = replace(taker, bundle=taker.bundle.model_copy(update={"surface": surface}))
    call = "np.var(np.array([[1, 2]]), mean=np.array([[1.5]]))"
    uses = {
        "numpy.mean": [use(giver, "import numpy as np\nnp.mean(np.array([[1, 2]]))\n")],
        "numpy.var": [use(taker, f"import numpy as np\n{call}\n")],
    }
    seen = Edge(
        source="numpy.mean", port=Port(), target="numpy.var", parameter="mean", label="strong",
        evidence=(Evidence(tier="observed", detail="np.var(a, mean=np.mean(a))"),),
    )  # fmt: skip
    nodes = [
        Node(api="numpy.mean", novel=True, outputs=(Output(port=Port()),)),
        Node(api="numpy.var", novel=True, inputs=(Input(name="mean"),)),
    ]
    library = joins.make_graph("numpy", nodes, [seen])

    def joined(target):
        found = joins.join(library, {"numpy.mean": giver, "numpy.var": target}, uses)
        return {edge.parameter for edge in found.edges}

    assert joined(taker) == {"a", "mean", "x"}
    assert joined(saving) == {"a", "x"}


def test_namesakes_are_no_subset():
    same = Subset(kind="pair", members=("numpy.trace", "numpy.linalg.trace"), novel=(0,))
    assert not joins._distinct(same)


def test_the_old_release_has_to_fail_at_what_is_new():
    task = linked.to_task(pair(), pair().inputs(1))
    missing = ErrorEvidence(type="builtins.AttributeError", message="no attribute 'unstack'", name="unstack")
    known = ErrorEvidence(type="builtins.TypeError", message="stack() got an unexpected argument")
    assert names_target(task, missing)
    assert not names_target(task, known)


def test_the_knowledge_of_every_new_api_is_shown():
    task = linked.to_task(pair(), pair().inputs(1))
    bundles = {"numpy.unstack": SPLIT.bundle, "numpy.stack": JOIN.bundle}
    assert [bundle.api for bundle in own(task, bundles)] == ["numpy.unstack"]
    assert own_paths(task, {"numpy.unstack": ("numpy.unstack", "np.u")}) == ("numpy.unstack", "np.u", "numpy.stack")
