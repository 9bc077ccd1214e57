"""What stands beside the rows: probes, second opinions, retrieval, cost, fits and graphs, in tables, figures and page."""

import csv
import json
import re

import pytest

from novelapi import jsonl
from novelapi.errors import DataError
from novelapi.graph.model import ApiGraph
from novelapi.layout import Layout
from novelapi.reporting.analysis import analyse
from novelapi.reporting.graphs import MOST_SHOWN, choose_picture, describe_picture, read_pictures
from novelapi.reporting.report import write_report
from novelapi.reporting.scatter import Point, Scatter, draw_scatters
from tests.synthetic_evidence import add_fits, add_graph, add_opinion, add_rankings, add_tokens
from tests.synthetic_runs import write_experiment


@pytest.fixture(scope="module")
def rich(tmp_path_factory):
    """A home whose experiment has everything; read only."""
    home = tmp_path_factory.mktemp("rich")
    cells = write_experiment(
        home, apis=12, tasks=24, deliveries=("oracle", "rag"), conditions=("baseline", "s_name", "full")
    )
    instance = Layout(home).instance("numpy", "copy") / "instance.jsonl"
    for place, cell in enumerate(cells):
        add_tokens(cell, 100 * (place + 1), 50)
        if cell.name.startswith("rag"):
            add_rankings(cell, instance, hit=0.5)
    add_opinion(cells[2])
    add_fits(cells[0].parent, (0.5, 1.0))
    apis = sorted({row["api"] for row in jsonl.read(instance)})
    add_graph(home, apis, [(apis[0], apis[1]), (apis[1], apis[2])])
    return home


@pytest.fixture(scope="module")
def written(rich, tmp_path_factory):
    out = tmp_path_factory.mktemp("written")
    write_report([rich / "results/numpy-copy"], out)
    return out


def table(written, name):
    return list(csv.DictReader((written / f"tables/{name}.csv").read_text().splitlines()))


def test_every_relation_has_figure_table_and_place_on_the_page(written):
    page = (written / "report.html").read_text()
    for name in ("retrieval", "costs", "probes", "adaptation", "graph"):
        assert table(written, name), name
        assert (written / f"figures/{name}.svg").is_file(), name
        assert (written / f"figures/{name}.png").is_file(), name
        assert f'data-table="{name}"' in page, name
    assert page.count('class="scatter"') == 4
    weights = page[page.index('id="weights"') : page.index('id="labels"')]  # unfolded, in full width
    assert '<details class="numbers" open>' in weights
    assert 'data-table="adaptation"' in weights
    assert 'class="graph"' in page


def test_probes_split_the_tasks_of_a_run(rich, written):
    tasks = list(jsonl.read(Layout(rich).instance("numpy", "copy") / "instance.jsonl"))
    named = {task["task_id"] for task in tasks if task["provenance"]["gates"]["C2"]["probe"]["call_name"]}
    row = next(row for row in table(written, "probes") if (row["delivery"], row["condition"]) == ("oracle", "full"))
    results = list(jsonl.read(rich / "results/numpy-copy/oracle-full/results.jsonl"))
    known = [r["outcome"] == "pass" for r in results if r["task_id"] in named and r["outcome"] != "unscored"]
    assert 0 < len(known) < len(results)
    assert int(row["known_tasks"]) == len(known)
    assert float(row["known"]) == pytest.approx(sum(known) / len(known), abs=1e-6)
    apis = {task["api"]: task["provenance"]["gates"]["C2"]["probe"] for task in tasks}
    assert float(row["path"]) == pytest.approx(sum(p["import_path"] for p in apis.values()) / len(apis), abs=1e-6)


def test_a_model_is_judged_by_the_probe_of_its_own_instance(tmp_path):
    """Both instances hold the same tasks; what one model knew must not be read as what the other knew."""
    for model in ("copy", "other"):
        write_experiment(tmp_path, model=model, apis=6, tasks=12, conditions=("baseline", "full"))
    path = Layout(tmp_path).instance("numpy", "other") / "instance.jsonl"
    rows = list(jsonl.read(path))
    for row in rows:
        row["provenance"]["gates"]["C2"]["probe"] |= {"call_name": False, "import_path": False}
    jsonl.write(path, rows)
    analysis = analyse([tmp_path / "results/numpy-copy", tmp_path / "results/numpy-other"])
    shares = {analysis.rows.runs[entry.run].model: entry.name for entry in analysis.probed}
    assert shares["other"] == 0.0
    assert shares["copy"] > 0.0


def test_instances_without_probes_have_no_such_table(tmp_path):
    cells = write_experiment(tmp_path, apis=4, tasks=8, conditions=("baseline", "full"))
    path = Layout(tmp_path).instance("numpy", "copy") / "instance.jsonl"
    jsonl.write(path, [{**row, "provenance": {"gates": {"C2": "0 of 3"}}} for row in jsonl.read(path)])
    assert not analyse([cells[0].parent]).probed


def test_kappa_stands_on_the_page_in_all_and_per_label(written):
    rows = table(written, "second_opinion")
    assert [row["label"] for row in rows][:2] == ["all", "WrongSyntax"]
    assert {row["condition"] for row in rows} == {"full"}
    assert (rows[0]["pairs"], rows[0]["kappa"]) == ("31", "0.62")
    assert rows[-1]["kappa"] == ""  # chance alone would always agree
    page = (written / "report.html").read_text()
    assert re.search(r'data-table="second_opinion".*?<td[^>]*>0\.62</td>', page, re.DOTALL)


def test_points_are_the_runs_with_both_numbers(rich):
    analysis = analyse([rich / "results/numpy-copy"])
    figures = {figure.name: figure for figure in draw_scatters(analysis)}
    costs = {point.name: point for point in figures["costs"].points}
    assert costs["oracle s_name"].x == 250
    assert costs["oracle s_name"].y == analysis.estimates[1].pass_at_1.value
    assert {point.name for point in figures["retrieval"].points} == {"rag s_name", "rag full"}
    assert [(p.x, p.y, p.hollow) for p in figures["adaptation"].points][:2] == [(0.5, 0.05, False), (0.5, 0.45, True)]


@pytest.mark.parametrize(("largest", "end"), [(0.0, 1.0), (7, 8.0), (10, 10.0), (0.03, 0.04), (1001, 2000.0)])
def test_an_axis_of_numbers_ends_at_a_round_one(largest, end):
    figure = Scatter(name="a", title="a", x_title="a", kind="number", points=(Point(name="a", x=largest, y=0.5),))
    assert figure.most == pytest.approx(end)


def names(count):
    return [f"lib.a{number:02d}" for number in range(count)]


def test_a_small_graph_is_drawn_whole_and_the_same_every_time(tmp_path):
    apis = names(6)
    path = add_graph(tmp_path, apis, [(apis[0], apis[1]), (apis[1], apis[2])])
    picture = choose_picture(ApiGraph.load(path), "lib", "copy")
    assert picture.whole
    assert [spot.short for spot in picture.spots] == ["a00", "a01", "a02"]  # what has no edge is not drawn
    assert "3 of 6 novel APIs" in describe_picture(picture)
    assert picture == choose_picture(ApiGraph.load(path), "lib", "copy")
    assert all(0 <= spot.x <= 1 and 0 <= spot.y <= 1 for spot in picture.spots)


def test_of_a_large_graph_the_most_connected_are_drawn_and_the_words_say_so(tmp_path):
    apis = names(60)
    hub = [(apis[0], api) for api in apis[1:]] + [(apis[1], api) for api in apis[2:10]]
    picture = choose_picture(ApiGraph.load(add_graph(tmp_path, apis, hub)), "lib", "copy")
    assert not picture.whole
    assert len(picture.spots) == MOST_SHOWN
    assert {apis[0], apis[1], apis[9]} <= {spot.api for spot in picture.spots}
    assert len(picture.edges) == len(hub)  # the table has all
    assert f"the {MOST_SHOWN} novel APIs with the most novel neighbours" in describe_picture(picture)


def test_names_do_not_stand_on_each_other(tmp_path):
    apis = names(20)
    star = [(apis[0], api) for api in apis[1:]]
    spots = choose_picture(ApiGraph.load(add_graph(tmp_path, apis, star)), "lib", "copy").spots
    close = [
        (a.api, b.api) for a in spots for b in spots
        if a.api < b.api and abs(a.x - b.x) < 0.08 and abs(a.y - b.y) < 0.02
    ]  # fmt: skip
    assert not close


def test_a_missing_networkx_is_said_and_a_broken_graph_refused(rich, monkeypatch, tmp_path):
    rows = analyse([rich / "results/numpy-copy"]).rows
    monkeypatch.setattr("novelapi.reporting.graphs.find_spec", lambda _name: None)
    pictures, notices = read_pictures(rows)
    assert not pictures
    assert "pip install 'novelapi[graph]'" in notices[0].text
    monkeypatch.undo()
    path = add_graph(tmp_path, names(2), [(names(2)[0], names(2)[1])])
    graph = json.loads(path.read_text())
    graph["edges"][0]["target"] = "lib.gone"
    path.write_text(json.dumps(graph))
    with pytest.raises(DataError, match=r"graph\.copy\.json"):
        ApiGraph.load(path)
