"""The observed tier on a small package: identity, parts, changed receivers; what fails or hangs is counted."""

from __future__ import annotations

import sys
import venv
from pathlib import Path

import pytest

from novelapi.graph import observe as module
from novelapi.graph.build import build_graph, documented_programs
from novelapi.graph.flow import Text
from novelapi.graph.observe import observe
from novelapi.records.environment import Environment
from tests.unit.graph.minilib import read, write

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def env(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("minilib").resolve() / "env"
    venv.create(prefix, with_pip=False)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    write(prefix / "lib" / f"python{version}" / "site-packages")
    return Environment(
        key="minilib-1.0",
        library="minilib",
        release="1.0",
        python=str(prefix / "bin" / "python"),
        prefix=str(prefix),
        base_prefix=str(Path(sys.base_prefix).resolve()),
        python_version=version,
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return read(tmp_path_factory.mktemp("lib"))


HEAD = "import minilib\n"
# program, flows
SEEN = [
    ("minilib.save(minilib.load('x'))", {"minilib.load return minilib.save table"}),
    ("t = minilib.load('x')\nu = t\nminilib.save(path='p', table=u)", {"minilib.load return minilib.save table"}),
    # equal is not the same
    ("t = minilib.load('x')\nminilib.save(minilib.Table([3, 1, 2]))", {"minilib.Table return minilib.save table"}),
    # texts and numbers never count
    ("minilib.title(minilib.name())", set()),
    ("minilib.merge(minilib.load('x').column)", {"minilib.load return.column minilib.merge column"}),
    ("a, b = minilib.split(minilib.Table(), 1)\nminilib.pick(b)",
     {"minilib.Table return minilib.split table", "minilib.split return[1] minilib.pick row"}),
    ("minilib.pick(minilib.index(None)['a'])", {"minilib.index return[a] minilib.pick row"}),
    # a receiver that the call changed, and one that it did not
    ("t = minilib.load('x')\nt.sort()\nminilib.save(t)",
     {"minilib.load return minilib.Table.sort self", "minilib.Table.sort self minilib.save table"}),
    ("t = minilib.Table([1])\nt.sort()\nminilib.save(t)",
     {"minilib.Table return minilib.Table.sort self", "minilib.Table return minilib.save table"}),
    # in a function of the program's own
    ("def solve():\n    return minilib.save(minilib.load('x'))\nsolve()", {"minilib.load return minilib.save table"}),
    # a statement that fails is skipped
    ("t = minilib.load('x')\nminilib.nothing(t)\nminilib.save(t)", {"minilib.load return minilib.save table"}),
    # a call that fails took nothing
    ("t = minilib.load('x')\nminilib.save(t, 1, 2, 3)", set()),
]  # fmt: skip


@pytest.fixture(scope="module")
def flows(env, library):
    programs = [Text(code=HEAD + code, where=str(place)) for place, (code, _) in enumerate(SEEN)]
    found = observe(env, programs, library[2], ["minilib"])
    by_program = {str(place): set() for place in range(len(SEEN))}
    for flow in found.flows:
        place = flow.where.partition(",")[0]
        by_program[place].add(f"{flow.source} {flow.port.text} {flow.target} {flow.parameter}")
    return by_program


@pytest.mark.parametrize("place", range(len(SEEN)))
def test_what_is_seen(flows, place):
    assert flows[str(place)] == SEEN[place][1]


def test_the_graph_calls_what_was_seen_strong_and_says_where(env, library):
    surface, table, nodes = library
    programs = documented_programs(table)
    found = observe(env, programs, nodes, ["minilib"])
    graph = build_graph(surface, nodes, read=programs, observed=found.flows, counts=found.counts)
    edge = next(edge for edge in graph.edges if edge.key == ("minilib.index", "return[a]", "minilib.pick", "row"))
    assert edge.label == "strong"
    assert edge.evidence[0].tier == "observed"
    assert edge.evidence[0].where.startswith("minilib/_core.py:")
    assert 'minilib.index(minilib.load("x"))["a"]' in edge.evidence[0].detail
    assert graph.left_out["statements that failed"] == 1  # minilib.pick(undefined)


def test_a_program_that_hangs_or_dies_is_counted_and_stops_nothing(env, library, monkeypatch):
    monkeypatch.setattr(module, "WALL_S", 2)
    monkeypatch.setattr(module, "CPU_S", 60)  # the time that passes has to end it, not the time that it works
    codes = ["while True: minilib.load(minilib.name())", "import os\nminilib.load('x'); os._exit(3)", SEEN[0][0]]
    found = observe(env, [Text(code=HEAD + code, where=code) for code in codes], library[2], ["minilib"])
    assert found.counts["programs that gave nothing: timeout"] == 1
    assert found.counts["programs that gave nothing: died"] == 1
    assert [flow.target for flow in found.flows] == ["minilib.save"]
