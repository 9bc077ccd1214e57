"""prefect.yaml as it is read; a typo is an error here, although Prefect would ignore it."""

from __future__ import annotations

import pytest

from deployments.entries import read_entries
from novelapi.errors import DataError

GOOD = """
name: x
deployments:
  - name: library
    description: d
    entrypoint: flows.library.build_library
    work_pool: {name: cpu}
"""


def write(tmp_path, text):
    path = tmp_path / "prefect.yaml"
    path.write_text(text)
    return path


def test_flow_names_are_deployment_names_and_all_flows_are_there():
    names = [entry.name for entry in read_entries()]
    wanted = {"library", "group", "instance", "cell", "paper-grid", "adaptation", "report", "rediscover"}
    assert set(names) == wanted
    assert len(names) == len(wanted)


def test_rediscovery_runs_at_night_in_a_named_timezone():
    (schedule,) = next(entry for entry in read_entries() if entry.name == "rediscover").schedules
    assert schedule["timezone"] == "Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace("deployments:", "deployment:"), "unknown key 'deployment'"),
        (GOOD.replace("    description: d\n", "    descripton: d\n"), "deployments|descript"),
        (GOOD.replace("    work_pool: {name: cpu}\n", ""), "Field required at 'work_pool'"),
        (GOOD.replace("name: cpu", "nam: cpu"), "work_pool"),
        ("{", "cannot read"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_entries(write(tmp_path, text))
