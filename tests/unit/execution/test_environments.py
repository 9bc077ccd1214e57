"""Environments, resolved by uv against an index on loopback: which release of a dependency comes beside which library."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from novelapi.errors import UsageError
from novelapi.execution.environments import Environments
from novelapi.records.environment import EnvironmentRequest
from tests.fakes.package_index import PackageIndex

DAY = datetime(2022, 6, 1, tzinfo=UTC)


def module(name: str) -> dict[str, str]:
    return {f"{name}.py": ""}


@pytest.fixture
def index():
    index = PackageIndex()
    index.add("shapes", "1.0", module("shapes"), "2022-05-01T00:00:00Z", requires=("trees>=1",))
    index.start()
    yield index
    index.stop()


@pytest.fixture
def build(index, tmp_path):
    environments = Environments(root=tmp_path / "envs", index_url=index.url)

    def build(**more):
        request = {"library": "shapes", "distribution": "shapes", "release": "1.0", "before": DAY}
        return environments.build(EnvironmentRequest(**request | more))

    return build


def test_dependencies_are_of_the_day_of_the_release(index, build):
    index.add("trees", "1.0", module("trees"), "2022-04-01T00:00:00Z")
    index.add("trees", "2.0", module("trees"), "2023-04-01T00:00:00Z")
    env = build()
    assert env.distributions == {"shapes": "1.0", "trees": "1.0"}
    assert env.undated == ()


def test_a_dependency_that_had_no_wheel_yet_is_newer_and_on_record(index, build):
    index.add("trees", "1.0", module("trees"), "2022-04-01T00:00:00Z", requires=("leaves",))
    index.add("leaves", "1.0", module("leaves"), "2022-04-01T00:00:00Z")
    del index.files["leaves-1.0-py3-none-any.whl"]  # a source archive alone, as before wheels of this Python came
    index.add("leaves", "2.0", module("leaves"), "2022-10-01T00:00:00Z")
    index.add("leaves", "3.0", module("leaves"), "2025-10-01T00:00:00Z")
    index.add("trees", "2.0", module("trees"), "2023-04-01T00:00:00Z")
    env = build()
    assert env.distributions == {"leaves": "2.0", "shapes": "1.0", "trees": "1.0"}, "no newer than needed"
    assert env.undated == ("leaves",)
    assert env.undated_before == DAY + timedelta(days=180)


def test_a_dependency_that_came_later_is_newer_and_on_record(index, build):
    index.add("trees", "1.0", module("trees"), "2022-07-01T00:00:00Z")
    assert build().undated == ("trees",)


def test_what_nothing_resolves_is_refused_by_name(index, build):
    with pytest.raises(UsageError, match=r"shapes==1\.0 cannot be installed here: .*trees"):
        build()


def test_the_library_itself_is_never_another_one(index, build):
    index.add("trees", "1.0", module("trees"), "2022-04-01T00:00:00Z")
    index.add("shapes", "1.1", module("shapes"), "2024-05-01T00:00:00Z")
    del index.files["shapes-1.0-py3-none-any.whl"]
    with pytest.raises(UsageError, match=r"shapes==1\.0"):
        build()


def test_what_is_installed_is_compiled_once(index, build):
    index.add(
        "trees",
        "1.0",
        module("trees") | {"forest/tests/test_trees.py": "", "forest/odd.py": "print 1"},
        "2022-04-01T00:00:00Z",
    )
    [packages] = Path(build().prefix).glob("lib/python*/site-packages")
    assert len(list(packages.glob("__pycache__/trees.*.pyc"))) == 1
    assert not list(packages.glob("forest/**/*.pyc")), (
        "test suites and what is no Python of this version stay as they are"
    )


def test_nothing_that_is_installed_runs_while_it_is_compiled(index, build):
    index.add("trees", "1.0", module("trees") | {"trees.pth": "import sys; sys.exit('ran')"}, "2022-04-01T00:00:00Z")
    [packages] = Path(build().prefix).glob("lib/python*/site-packages")
    assert list(packages.glob("__pycache__/trees.*.pyc"))
