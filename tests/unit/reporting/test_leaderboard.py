"""The leaderboard: ranks only what is complete and comparable, and no further than the tests decide."""

import csv
import json
import sys
from pathlib import Path

import pytest

from novelapi import jsonl
from novelapi.cli import main
from novelapi.errors import DataError, PartialError, UsageError
from novelapi.reporting.leaderboard import describe, rank_runs, rank_text, write_leaderboard
from tests.synthetic_runs import write_experiment

EFFECTS = {"alpha": 0.0, "beta": 0.1, "gamma": 1.6, "delta": -1.6}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Four complete runs of the same 80 tasks: one clearly better, one clearly worse, two alike; read only."""
    home = tmp_path_factory.mktemp("board")
    return {
        model: write_experiment(
            home, model=model, apis=40, tasks=80, conditions=("full",), unscored=0, effect=effect
        )[0]
        for model, effect in EFFECTS.items()
    }  # fmt: skip


@pytest.fixture(scope="module")
def board(runs):
    return rank_runs(list(runs.values()))


def place(board, model):
    return next(place for place in board.places if place.model == model)


def test_ranks_are_ranges_where_the_tests_do_not_decide(board):
    assert [place.model for place in board.places][0::3] == ["gamma", "delta"]
    assert [rank_text(place(board, model)) for model in ("gamma", "alpha", "beta", "delta")] == ["1", "2–3", "2–3", "4"]
    assert place(board, "alpha").alike == ("numpy-beta/oracle-full",)
    assert place(board, "gamma").alike == ()
    assert "numpy-gamma/oracle-full leads" in describe(board)
    assert "5 of 6 pairs" in describe(board)


def test_one_family_holds_all_pairs(board):
    assert {pair.family_size for pair in board.pairs} == {6}
    assert any(pair.p < pair.p_holm for pair in board.pairs)


def test_the_order_of_the_arguments_changes_nothing(runs, board):
    assert rank_runs(list(reversed(runs.values()))) == board


def test_a_leader_that_is_not_alone_is_said(runs):
    board = rank_runs([runs["alpha"], runs["beta"]])
    assert [rank_text(place) for place in board.places] == ["1–2", "1–2"]
    assert "is not shown to differ from" in describe(board)


def test_page_csv_and_markdown_show_the_same(runs, tmp_path):
    board = write_leaderboard(list(runs.values()), tmp_path)
    page = board.page.read_text()
    rows = list(csv.DictReader((tmp_path / "tables/leaderboard.csv").read_text().splitlines()))
    assert [row["rank"] for row in rows] == ["1", "2–3", "2–3", "4"]
    for row, place in zip(rows, board.places, strict=True):
        assert float(row["pass_at_1"]) == pytest.approx(place.pass_at_1.value, abs=1e-6)
        shown = f"{100 * place.pass_at_1.value:.1f}"
        assert f"<b>{shown}</b>" in page
        assert f"| {shown} |" in (tmp_path / "tables/leaderboard.md").read_text()
    assert len(list(csv.DictReader((tmp_path / "tables/pairs.csv").read_text().splitlines()))) == 6
    assert "<script" not in page
    assert "http:" not in page
    assert "https:" not in page


def copy_of(run, target, change=lambda rows: rows, **manifest):
    """A copy of a run with changed rows and manifest."""
    target.mkdir(parents=True)
    for name in ("predictions.jsonl", "prompts.jsonl"):
        (target / name).write_bytes((run / name).read_bytes())
    jsonl.write(target / "results.jsonl", change(list(jsonl.read(run / "results.jsonl"))))
    recorded = json.loads((run / "manifest.json").read_text())
    recorded["spec"] |= {"experiment": target.parent.name, **manifest.pop("spec", {})}
    jsonl.write_text(target / "manifest.json", json.dumps(recorded | manifest))
    return target


def unscored(rows):
    return [{**rows[0], "outcome": "unscored", "label": None}, *rows[1:]]


@pytest.mark.parametrize(
    ("change", "manifest", "reason"),
    [
        (lambda rows: rows[1:], {}, "1 without a row"),
        (unscored, {}, "1 unscored"),
        (lambda rows: rows[:5], {"spec": {"limit": 5}}, "limited to 5 tasks"),
        (lambda rows: rows, {"partial": True}, "marked as partial"),
    ],
)
def test_a_partial_run_is_refused_by_name(runs, tmp_path, change, manifest, reason):
    partial = copy_of(runs["beta"], tmp_path / "home/results/some-partial/oracle-full", change, **manifest)
    with pytest.raises(PartialError, match=rf"some-partial.*\({reason}\)"):
        rank_runs([runs["alpha"], partial])


def test_a_run_without_results_or_manifest_is_refused_by_name(runs, tmp_path):
    started = tmp_path / "results/some-started/oracle-full"
    started.mkdir(parents=True)
    (started / "predictions.jsonl").touch()
    with pytest.raises(PartialError, match=r"oracle-full \(no results\)"):
        rank_runs([runs["alpha"], started])
    killed = copy_of(runs["beta"], tmp_path / "results/some-killed/oracle-full")
    manifest = json.loads((killed / "manifest.json").read_text())
    (killed / "manifest.json").unlink()
    with pytest.raises(PartialError, match=r"not finished"):
        rank_runs([runs["alpha"], killed], tasks=Path(manifest["spec"]["instance"]))


def test_runs_of_different_tasks_are_refused(runs, tmp_path):
    other = write_experiment(tmp_path, model="other", apis=40, tasks=81, conditions=("full",), unscored=0)[0]
    with pytest.raises(DataError, match=r"different tasks|different texts"):
        rank_runs([runs["alpha"], other])


def test_one_run_is_no_leaderboard(runs):
    with pytest.raises(UsageError, match="at least two"):
        rank_runs([runs["alpha"]])


def test_one_api_ranks_nothing(tmp_path):
    cells = [
        write_experiment(tmp_path, model=model, apis=1, tasks=8, conditions=("full",), unscored=0, effect=effect)[0]
        for model, effect in (("bad", -3), ("good", 3))
    ]
    board = rank_runs(cells)
    assert {rank_text(place) for place in board.places} == {"1–2"}
    assert board.places[0].pass_at_1.low is None
    assert "one API" in board.notices[0]


def test_the_verb_prints_ranks_and_refuses_in_one_line(runs, tmp_path, monkeypatch, capsys):
    def verb(*words):
        monkeypatch.setattr(sys, "argv", ["novelapi", "leaderboard", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    code, out, _ = verb(*runs.values(), "--out", tmp_path / "board.html")
    assert code == 0
    assert "2–3" in out
    assert (tmp_path / "board.html").is_file()
    code, out, _ = verb(*runs.values(), "--out", tmp_path, "--json")
    assert [place["best"] for place in json.loads(out)["places"]] == [1, 2, 2, 4]
    partial = copy_of(runs["beta"], tmp_path / "home/results/some-partial/oracle-full", unscored)
    code, out, err = verb(runs["alpha"], partial, "--out", tmp_path / "never")
    assert (code, out, err.count("\n")) == (4, "", 1)
    assert "some-partial" in err
    assert not (tmp_path / "never").exists()
