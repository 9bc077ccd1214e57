"""What the verbs print about a finished grid."""

from __future__ import annotations

from types import SimpleNamespace

from flows import summary
from novelapi import jsonl
from novelapi.records.gate import FilteredTask, GateVerdict
from tests.fakes.tasks import numpy_task


def test_some_tasks_with_the_old_releases_error(tmp_path, monkeypatch):
    monkeypatch.setattr(summary, "load_settings", lambda: SimpleNamespace(home_dir=tmp_path))

    def row(number, accepted):
        task = numpy_task().model_copy(update={"task_id": f"numpy/x/{number}"})
        detail = {"old_error": f"AttributeError: no x{number}"}
        gate = GateVerdict(gate="C0", passed=True, reason="the old release does not have it", detail=detail)
        return FilteredTask(task=task, gates=(gate,), accepted=accepted, tags=())

    jsonl.write(tmp_path / "stage4.jsonl", [row(number, accepted=number < 4).to_row() for number in range(6)])
    build = SimpleNamespace(stages=[SimpleNamespace(path="stage4.jsonl")])
    done = SimpleNamespace(instance=SimpleNamespace(libraries=[build]))
    lines = summary.old_errors(done, 3).splitlines()
    assert lines[0] == "3 of 4 tasks: what the reference does in the old release"
    assert [line.split()[0] for line in lines[1:]] == sorted({line.split()[0] for line in lines[1:]})
    assert all(line.split()[0][-1] == line[-1] and line.split()[0][-1] in "0123" for line in lines[1:])
    assert summary.old_errors(done, 30).count("AttributeError") == 4
