"""Every deployment is imported, bound and placed before it is deployed; what is wrong is named in one line."""

from __future__ import annotations

import pytest

from deployments.verify import verify
from novelapi.errors import DataError

GOOD = """
name: x
deployments:
  - name: rediscover
    description: d
    entrypoint: flows.rediscover.rediscover
    parameters: {libraries: [numpy]}
    schedules:
      - cron: "30 3 * * *"
        timezone: Europe/Berlin
    work_pool: {name: cpu, work_queue_name: nightly}
"""


@pytest.fixture
def check(tmp_path):
    def run(text):
        path = tmp_path / "prefect.yaml"
        path.write_text(text)
        return verify(path)

    return run


def test_the_shipped_deployments_are_in_order():
    assert "paper-grid" in verify()


def test_a_good_file_passes(check):
    assert check(GOOD) == ["rediscover"]


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("name: cpu", "name: cpus", "no pool 'cpus'; pools: cpu, gpu"),
        ("work_queue_name: nightly", "work_queue_name: night", "no queue 'night' in cpu"),
        ("libraries: [numpy]", "librarys: [numpy]", "librarys.*correct its parameters"),
        ("libraries: [numpy]", "libraries: 3", "libraries.*correct its parameters"),
        ("rediscover.rediscover", "rediscover.discover", "cannot import flows.rediscover.discover"),
        ("flows.rediscover", "flows.rediscovery", "cannot import flows.rediscovery"),
        ("- name: rediscover", "- name: nightly", "its flow is called 'rediscover'; give both the same name"),
        ("        timezone: Europe/Berlin\n", "", "needs a timezone"),
        ("Europe/Berlin", "Europe/Berln", "needs a timezone"),
        ('"30 3 * * *"', '"30 3 * *"', "correct the schedule"),
        ("cron:", "corn:", "unknown schedule key 'corn'"),
    ],
)
def test_what_is_wrong_is_named_in_one_line(check, right, wrong, message):
    assert right in GOOD
    with pytest.raises(DataError, match=message) as caught:
        check(GOOD.replace(right, wrong))
    assert "\n" not in str(caught.value)


def test_a_deployment_that_is_there_twice_is_refused(check):
    with pytest.raises(DataError, match="rediscover is there twice"):
        check(GOOD + GOOD.split("deployments:\n")[1])
