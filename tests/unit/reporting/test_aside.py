"""The second process of a large report: values, errors and its end; the report is the same with and without it."""

import filecmp
import os
import signal
from pathlib import Path

import pytest

from novelapi.errors import DataError, NovelApiError
from novelapi.reporting import report
from novelapi.reporting.aside import Aside, Here
from novelapi.reporting.report import write_report
from tests.synthetic_runs import write_experiment


def refuse(reason):
    raise DataError(reason)


def import_polars():
    import polars as pl

    return pl.__name__


def end_at_once():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("kind", [Aside, Here])
def test_values_come_back_in_any_order(kind):
    with kind() as aside:
        jobs = [aside.begin(pow, number, 2) for number in range(5)]
        large = aside.begin(bytes, 3_000_000)
        assert [aside.result(job) for job in reversed(jobs)] == [16, 9, 4, 1, 0]
        assert len(aside.result(large)) == 3_000_000


def test_a_job_runs_in_another_process():
    with Aside() as aside:
        assert aside.result(aside.begin(os.getpid)) != os.getpid()


def test_what_a_job_prints_is_no_answer(capfd):
    with Aside() as aside:
        printed, number = aside.begin(print, "a line\nand another"), aside.begin(len, "four")
        assert aside.result(number) == 4
        assert aside.result(printed) is None
    assert "a line" in capfd.readouterr().err


def test_an_error_comes_back_as_it_was_raised_and_the_next_job_runs():
    with Aside() as aside:
        broken, absent, whole = aside.begin(refuse, "line 3"), aside.begin(os.listdir, "/no/such"), aside.begin(len, "")
        with pytest.raises(DataError, match="line 3"):
            aside.result(broken)
        with pytest.raises(FileNotFoundError):
            aside.result(absent)
        assert aside.result(whole) == 0


def test_a_process_that_was_killed_is_said_and_not_waited_for():
    with Aside() as aside:
        job = aside.begin(end_at_once)
        with pytest.raises(NovelApiError, match=r"ended \(code -9\)"):
            aside.result(job)
        with pytest.raises(NovelApiError, match="ended"):
            aside.begin(len, "")


def test_nothing_is_imported_from_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "polars.py").write_text("raise SystemExit(7)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with Aside() as aside:
        assert aside.result(aside.begin(import_polars)) == "polars"


def test_leaving_early_leaves_neither_process_nor_folder():
    with Aside() as aside:
        aside.begin(signal.pause)
        process, folder = aside._process, Path(aside._folder.name)
    assert process.returncode == -signal.SIGKILL
    assert not folder.exists()


def test_a_large_report_is_the_same_as_a_small_one(tmp_path, monkeypatch):
    cells = write_experiment(tmp_path / "home", apis=6, tasks=9, seed=1)
    started = []
    monkeypatch.setattr(report, "Aside", lambda: started.append(1) or Aside())
    first = write_report([cells[0].parent], tmp_path / "first")
    assert not started
    monkeypatch.setattr(report, "MANY", 1)
    second = write_report([cells[0].parent], tmp_path / "second")
    assert started
    assert second.figures
    for one, other in zip(
        (first.page, *first.tables, *first.figures), (second.page, *second.tables, *second.figures), strict=True
    ):
        assert one.name == other.name
        assert filecmp.cmp(one, other, shallow=False), one.name


def test_a_broken_file_of_answers_is_named_by_the_second_process_too(tmp_path, monkeypatch):
    cells = write_experiment(tmp_path / "home", apis=3, tasks=3, seed=1)
    (cells[0] / "predictions.jsonl").write_text("[1]\n", encoding="utf-8")
    monkeypatch.setattr(report, "MANY", 1)
    with pytest.raises(DataError, match=r"predictions\.jsonl"):
        write_report(cells, tmp_path / "report", figures=False)
