"""A package that is on no index, in two versions, from its wheels to accepted tasks; no index is asked."""

from __future__ import annotations

from datetime import date

import pytest

from novelapi import jsonl
from novelapi.adapters.copy_model import CopyModel
from novelapi.discovery import requests
from novelapi.discovery.private import keep_private
from novelapi.discovery.requests import discover, find_versions, release_environments
from novelapi.filters.stage import filter_tasks
from novelapi.generation.stage import generate
from novelapi.knowledge.requests import extract
from novelapi.records.request import LibraryRequest
from novelapi.settings import load_settings
from tests.fakes.package_index import NEW, OLD, package, wheel

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("NOVELAPI_HOME", str(tmp_path / "home"))
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/simple")
    load_settings.cache_clear()
    requests._workspace.cache_clear()
    yield tmp_path
    load_settings.cache_clear()
    requests._workspace.cache_clear()


def keep(home, new, old):
    """Keep two wheels and return the request for them with its releases."""
    paths = {}
    for version, source in (("2.0", new), ("1.0", old)):
        paths[version] = home / f"tinyshapes-{version}-py3-none-any.whl"
        paths[version].write_bytes(wheel("tinyshapes", version, package(source)))
    workspace = requests._workspace(home / "home")
    name = keep_private(workspace, paths["2.0"], paths["1.0"], date(2026, 1, 2)).name
    request = LibraryRequest(library=name, jobs=1)
    found = find_versions(request, workspace.layout)
    return request.model_copy(update={"old": found.old, "new": found.new}), workspace.layout


def test_two_wheels_become_tasks_that_fail_in_the_old_one(home):
    request, layout = keep(home, NEW, OLD)
    found = discover(request, layout)
    assert found.counts["candidates"] == 4
    assert extract(request, layout).counts["e_executed"] == 4
    assert generate(request, layout).counts["tasks"] >= 3
    gates = filter_tasks(request, layout, CopyModel())
    assert gates.counts["C0"] == gates.counts["tasks"] >= 3
    assert gates.counts["accepted"] > 0
    rows = list(jsonl.scan(layout.home / gates.path))
    assert all(row["task"]["task_id"].startswith(f"{request.library}/") for row in rows)
    new, old = release_environments(request, layout)
    assert (new.distributions, old.distributions) == ({"tinyshapes": "2.0"}, {"tinyshapes": "1.0"})


def test_another_build_of_the_same_version_has_environments_of_its_own(home):
    first, layout = keep(home, NEW, OLD)
    before = release_environments(first, layout)[0]
    second, _ = keep(home, NEW.replace("in place", "in its place"), OLD)
    after = release_environments(second, layout)[0]
    assert first.library != second.library
    assert (before.release, before.key != after.key) == (after.release, True)
