"""Nightly re-discovery against an index on loopback: what is new is announced once, whatever else fails."""

from __future__ import annotations

import pytest

from novelapi.errors import NovelApiError
from novelapi.jsonl import read
from tests.fakes.package_index import NAME, OLD, package, tiny_index

pytestmark = pytest.mark.flows


@pytest.fixture
def index(home, monkeypatch):
    """An index with two small libraries, and the events that the flow emits."""
    from flows import rediscover as module
    from novelapi.discovery import requests
    from novelapi.settings import load_settings

    index = tiny_index()
    index.start()
    monkeypatch.setenv("UV_DEFAULT_INDEX", index.url)
    load_settings.cache_clear()
    index.events = []
    monkeypatch.setattr(module, "emit_event", lambda name, **fields: index.events.append((name, fields)))

    def night(*libraries):
        requests._workspace.cache_clear()  # every night is a process of its own
        index.events.clear()
        return module.rediscover(libraries=list(libraries))

    index.night = night
    yield index
    requests._workspace.cache_clear()
    index.stop()


def test_a_release_is_announced_once_and_a_failing_library_stops_nobody(index, home):
    first = index.night(NAME, "stillshapes", "nowhere-to-be-found")
    assert (first.released, index.events, list(first.failures)) == ({}, [], ["nowhere-to-be-found"])

    index.add(NAME, "2.1", package(OLD), "2024-11-10T00:00:00Z")
    index.add("stillshapes", "1.2rc1", package(OLD), "2024-11-10T00:00:00Z")
    second = index.night("nowhere-to-be-found", NAME, "stillshapes")
    assert second.released == {NAME: "2.1"}
    ((name, event),) = index.events
    assert (name, event["resource"]["prefect.resource.id"]) == ("library.released", f"library.{NAME}")
    assert event["payload"] == {"library": NAME, "old": "2.0", "new": "2.1", "model": "copy"}

    third = index.night(NAME, "stillshapes")
    assert (third.released, third.unchanged, index.events) == ({}, 2, [])
    assert {row["library"]: row["release"] for row in read(home / "releases" / "known.jsonl")} == {
        NAME: "2.1",
        "stillshapes": "1.1",
    }


def test_an_index_that_does_not_answer_forgets_nothing_and_fails_with_the_remedy(index, home):
    index.night(NAME)
    before = (home / "releases" / "known.jsonl").read_bytes()
    index.answering = False
    with pytest.raises(NovelApiError, match="no library could be looked up"):
        index.night(NAME)
    assert (home / "releases" / "known.jsonl").read_bytes() == before
