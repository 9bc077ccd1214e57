"""What a pack leaves on disk, what the delivery shows, and what the server answers."""

from __future__ import annotations

import anyio
import pytest

from novelapi import jsonl
from novelapi.errors import DataError, NovelApiError, UnknownNameError, UsageError
from novelapi.grid.expand import expand_grid
from novelapi.grid.packed import read_pack, show_packed, store_pack
from novelapi.layout import Layout
from novelapi.packing.choose import make_pack
from novelapi.packing.evidence import read_run
from novelapi.packing.lookup import PackIndex
from novelapi.packing.write import BEGIN, END, agents_text, write_pack
from novelapi.records.cell import Cell, Retrieval
from novelapi.records.pack import Effect
from tests import synthetic_runs
from tests.fakes.bundles import numpy_bundle
from tests.unit.packing.conftest import evidence_of

PATHS = {"numpy.unstack": ("numpy.unstack",)}


@pytest.fixture
def pack(evidence):
    return make_pack(evidence, 2000)


def test_files_are_written_and_read_back(pack, tmp_path):
    files = write_pack(pack, tmp_path / "p")
    assert read_pack(tmp_path / "p") == pack
    assert read_pack(tmp_path / "p" / "pack.json").digest == pack.digest
    assert (tmp_path / "p" / "numpy-new-apis" / "SKILL.md").read_text().startswith("---\nname: numpy-new-apis\n")
    assert (tmp_path / "p" / "numpy-new-apis" / "apis" / "numpy.vecdot.md") in files
    assert "not measured yet" in (tmp_path / "p" / "llms.txt").read_text()


def test_a_pack_replaces_its_own_section_and_nothing_else(pack):
    first = agents_text(pack, "# Mine\n\nKeep \\1 this.\n")
    measured = pack.model_copy(update={"measured": Effect(gain=0.5, low=0.4, high=0.6, tasks=5)})
    second = agents_text(measured, first + "\nAnd this.\n")
    assert second.startswith("# Mine\n\nKeep \\1 this.\n")
    assert second.endswith("\nAnd this.\n")
    assert second.count(BEGIN) == second.count(END) == 1
    assert "gain measured +50.0% [+40.0%, +60.0%] on 5 tasks" in second


def test_the_effect_is_no_part_of_the_identity(pack):
    measured = pack.model_copy(update={"measured": Effect(gain=0.5, low=0.4, high=0.6, tasks=5)})
    assert measured.digest == pack.digest
    expected = tuple(item.model_copy(update={"expected": 9.0}) for item in pack.sections)
    assert pack.model_copy(update={"sections": expected}).digest == pack.digest
    assert pack.model_copy(update={"sections": pack.sections[:1]}).digest != pack.digest


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda row: row | {"sections": []}, "it has no section"),
        (lambda row: row | {"sections": row["sections"] * 2}, "an API has two sections"),
        (lambda row: row | {"budget": "much"}, "budget"),
    ],
)
def test_a_broken_pack_is_refused(pack, tmp_path, change, reason):
    jsonl.write_text(tmp_path / "pack.json", jsonl.dumps(change(pack.to_row())))
    with pytest.raises(DataError, match=reason):
        read_pack(tmp_path)


def test_a_missing_pack_says_how_one_is_written(tmp_path):
    with pytest.raises(DataError, match="novelapi pack"):
        read_pack(tmp_path)


def cell(digest):
    return Cell(
        experiment="numpy-m", group="numpy", model="m", model_revision="1", condition="full", delivery="pack",
        instance_sha="0", bundles_sha="0", retrieval=Retrieval(documents=digest),
    )  # fmt: skip


def test_each_task_is_shown_the_pack_it_had_no_part_in(pack, tmp_path, evidence):
    layout = Layout(tmp_path)
    tasks = list(evidence.tasks.values())
    shown, spec = show_packed(cell(store_pack(pack, "numpy", layout)), tasks, PATHS, layout)
    assert spec["pack"]["digest"] == pack.digest
    for task in tasks:
        sections = pack.shown_for(task.task_id)
        assert all(section.text.split("\n\n")[1] in shown[task.task_id].knowledge for section in sections)
        assert shown[task.task_id].retrieved == any(section.api == task.api for section in sections)
        assert shown[task.task_id].knowledge.replace("##", "####")[:40] in shown[task.task_id].prompt.replace(
            "###", "####"
        )


def test_an_example_that_gives_the_solution_away_is_left_out(tmp_path):
    telling = "import numpy as np\nx = np.arange(6).reshape(2, 3)\nnp.unstack(x, axis=1)"
    bundle = numpy_bundle()
    example = bundle.exemplars[0].model_copy(update={"code": telling})
    outcomes = {f"numpy/unstack/{number}": {"full"} for number in (1, 2)}
    evidence = evidence_of(
        outcomes, bundles={"numpy.unstack": bundle.model_copy(update={"exemplars": (*bundle.exemplars, example)})}
    )
    pack, layout = make_pack(evidence, 2000), Layout(tmp_path)
    assert telling in pack.sections[0].text
    task = evidence.tasks["numpy/unstack/1"]
    shown, _ = show_packed(cell(store_pack(pack, "numpy", layout)), [task], PATHS, layout)
    assert "axis=1" not in shown[task.task_id].prompt
    assert "np.eye(7)" in shown[task.task_id].prompt


def test_a_pack_that_is_gone_is_said(tmp_path):
    with pytest.raises(NovelApiError, match="give it with --pack again"):
        show_packed(cell("0" * 20), [], PATHS, Layout(tmp_path))


def test_the_delivery_has_one_cell_and_no_other_cell_changes():
    assert expand_grid(("baseline", "s", "full"), ("pack",)) == [("pack", "full")]
    plain = Cell.model_validate({**cell("0").to_row(), "delivery": "oracle", "retrieval": None})
    assert set(plain.to_row()["retrieval"] or {}) == set()


def test_a_run_is_read_from_its_files(tmp_path):
    home = tmp_path / "data"
    cells = synthetic_runs.write_experiment(home, apis=4, tasks=8, conditions=("baseline", "s", "full"))
    found = read_run(cells[0].parent)
    assert found.group == "numpy"
    assert found.together is None
    assert set(found.passed) == {"baseline", "s", "full"}
    assert len(found.tasks) + found.unscored == 8
    assert set(found.fold.values()) == {0, 1}
    with pytest.raises(UsageError, match="no finished experiment with a baseline"):
        read_run(cells[0])


def test_sections_are_found_by_purpose_and_by_the_end_of_their_name(pack):
    index = PackIndex(pack)
    assert index.search("vecdot", 1)[0].api == "numpy.vecdot"
    assert index.search("vecdot", -1) == []
    assert index.read("vecdot").api == "numpy.vecdot"
    with pytest.raises(UnknownNameError, match=r"did you mean numpy\.vecdot"):
        index.read("numpy.vecdots")


def test_the_server_answers_its_two_tools(pack):
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from mcp import Client

    from novelapi.adapters.mcp_server import make_server

    async def ask():
        async with Client(make_server(pack)) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            found = await client.call_tool("search_api", {"query": "what is vecdot for", "limit": 1})
            text = await client.call_tool("read_api", {"api": "numpy.vecdot"})
            missing = await client.call_tool("read_api", {"api": "numpy.vecdots"})
            return tools, found.structured_content, text, missing

    tools, found, text, missing = anyio.run(ask)
    assert tools == ["search_api", "read_api"]
    assert found == {"result": [{"api": "numpy.vecdot", "summary": "What numpy.vecdot is for."}]}
    assert text.content[0].text == PackIndex(pack).read("numpy.vecdot").text
    assert missing.is_error
    assert "did you mean numpy.vecdot" in missing.content[0].text
