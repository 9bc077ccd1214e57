"""The verbs of results on the command line: exit codes, one line per mistake, JSON alone on stdout."""

import gc
import json
import sys

import pytest

from novelapi.cli import main
from tests.synthetic_runs import write_experiment


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    home = tmp_path_factory.mktemp("verbs")
    return write_experiment(home, apis=12, tasks=20, conditions=("baseline", "s_name", "full"))


@pytest.fixture
def verb(monkeypatch, capsys):
    """Runs a verb and returns exit code, stdout and stderr."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["novelapi", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return ended.value.code or 0, out, err

    return run


def test_report_writes_page_and_tables_and_says_where(verb, cells, tmp_path):
    code, out, _ = verb("report", cells[0].parent, "--out", tmp_path / "r", "--no-figures")
    assert code == 0
    assert out.splitlines()[0].endswith("%.")
    assert (tmp_path / "r/report.html").is_file()
    assert (tmp_path / "r/tables/pass_at_1.csv").is_file()
    assert gc.isenabled()  # the verb only pauses the collector


def test_the_collector_is_on_again_after_a_report_that_failed(verb, tmp_path):
    assert verb("report", tmp_path / "none", "--out", tmp_path / "r")[0] == 2
    assert gc.isenabled()


def test_report_as_json_is_one_document(verb, cells, tmp_path):
    code, out, _ = verb("report", *cells, "--out", tmp_path / "r", "--no-figures", "--json")
    assert code == 0
    assert json.loads(out)["counts"]["runs"] == 3


def test_compare_names_the_flips(verb, cells):
    code, out, _ = verb("compare", cells[0], cells[2])
    assert code == 0
    assert "newly solved" in out
    code, out, _ = verb("compare", cells[0], cells[2], "--json")
    assert json.loads(out)["difference"]["pairs"] > 0


@pytest.mark.parametrize("words", [("report", "{}x"), ("compare", "{}", "{}x")])
def test_a_folder_that_is_not_there_is_one_line_and_exit_2(verb, cells, words):
    code, out, err = verb(*(word.format(cells[0]) for word in words))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "no folder" in err


def test_a_file_cut_in_the_middle_of_a_row_is_named(verb, cells, tmp_path):
    folder = tmp_path / "home/results/numpy-copy/oracle-full"
    folder.mkdir(parents=True)
    for name in ("manifest.json", "predictions.jsonl", "prompts.jsonl"):
        (folder / name).write_bytes((cells[2] / name).read_bytes())
    data = (cells[2] / "results.jsonl").read_bytes()
    (folder / "results.jsonl").write_bytes(data[: len(data) // 2])
    code, _, err = verb("report", folder, "--out", tmp_path / "r", "--no-figures")
    assert code == 0
    assert "oracle-full: results.jsonl ends in the middle of a line" in err
