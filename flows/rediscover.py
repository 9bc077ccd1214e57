"""Flow `rediscover`: which libraries have a release that nobody has looked at yet."""

from __future__ import annotations

from prefect import flow
from prefect.artifacts import create_table_artifact
from prefect.events import emit_event
from pydantic import Field

from flows import _plan
from flows._artifacts import artifact_key
from flows._runs import progress
from novelapi.catalog import find_library
from novelapi.discovery.releases import resolve_new
from novelapi.discovery.requests import workspace_of
from novelapi.errors import NovelApiError
from novelapi.jsonl import read, write
from novelapi.records.base import Record
from tasks._stage import run_layout

RELEASED = "library.released"
"""Name of the event; an automation starts the flow `library` for each."""


class Rediscovered(Record):
    """What the flow `rediscover` found."""

    released: dict[str, str] = Field(default_factory=dict)
    """New releases by library."""

    unchanged: int = 0
    """Libraries whose newest release was known."""

    failures: dict[str, str] = Field(default_factory=dict)
    """One line of reason per library that could not be looked up."""


@flow(name="rediscover")
def rediscover(libraries: list[str] | None = None, model: str = "copy") -> Rediscovered:
    """Compare the package index with the recorded releases; emit an event per new release.

    Args:
        libraries: libraries to look up, default all of the catalogue.
        model: model for which the library is built anew, from the recorded release to the new one.

    Raises:
        NovelApiError: no library could be looked up.
    """
    # Extract: newest releases, those recorded before.
    layout = run_layout()
    recorded = (
        {row["library"]: row["release"] for row in read(layout.known_releases)}
        if layout.known_releases.exists()
        else {}
    )
    newest, failures = look_up(libraries or _plan.all_libraries())

    # Transform: a library that is seen for the first time is recorded, not announced.
    released = {name: version for name, version in newest.items() if name in recorded and recorded[name] != version}

    # Load: events, table, record. The record comes last: a release is announced again rather than lost.
    for name, version in released.items():
        announce(name, recorded[name], version, model)
    publish(released, recorded, failures)
    known = {**recorded, **newest}
    write(layout.known_releases, [{"library": name, "release": known[name]} for name in sorted(known)])
    if failures and not newest:
        raise NovelApiError(f"no library could be looked up, first {next(iter(failures.items()))}: check the network")
    return Rediscovered(released=released, unchanged=len(newest) - len(released), failures=failures)


def look_up(libraries: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the newest releases by library, and the reasons of those that could not be looked up."""
    newest: dict[str, str] = {}
    failures: dict[str, str] = {}
    for name in libraries:
        try:
            newest[name] = newest_release(name)
        except NovelApiError as error:
            failures[name] = str(error)
            progress.error("%s: %s", name, error)
    return newest, failures


def newest_release(name: str) -> str:
    """Return the newest final release of a library, whatever the catalogue pins.

    Raises:
        UnknownNameError: the index does not have it.
        IndexUnavailableError: the index did not answer.
    """
    library = find_library(name)
    releases = workspace_of(run_layout()).releases(library.distribution, fresh=True)
    return resolve_new(library.name, releases, None, None).version


def announce(library: str, old: str, new: str, model: str) -> None:
    """Emit the event that starts the flow `library` for what lies between two releases."""
    progress.info("%s %s is new, %s was known", library, new, old)
    emit_event(
        RELEASED,
        resource={"prefect.resource.id": f"library.{library}", "prefect.resource.name": library},
        payload={"library": library, "old": old, "new": new, "model": model},
    )


def publish(released: dict[str, str], recorded: dict[str, str], failures: dict[str, str]) -> None:
    """Show what is new."""
    rows = [{"library": name, "recorded": recorded[name], "new": version} for name, version in released.items()]
    rows += [
        {"library": name, "recorded": recorded.get(name, ""), "new": f"failed: {why}"} for name, why in failures.items()
    ]
    create_table_artifact(
        key=artifact_key("rediscovered"),
        table=rows,
        description=f"{len(released)} new releases, {len(failures)} failures",
    )
