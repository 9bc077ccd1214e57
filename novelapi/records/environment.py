"""An installed environment of a library under test, and the request that leads to it."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from novelapi.records.base import Record


class EnvironmentRequest(Record):
    """What to install: one release of one library, with dependencies of its own time."""

    library: str
    """Library in the catalogue or distribution."""

    distribution: str
    """Name of the distribution on the index."""

    release: str
    """Its version."""

    before: datetime
    """Only files that were uploaded before this moment are considered, UTC."""

    undated: tuple[str, ...] = ()
    """Distributions of which newer files are considered."""

    undated_before: datetime | None = None
    """Files of these that were uploaded before this moment are considered, UTC; null for the moment of the rest."""

    requires_python: str | None = None
    """Versions of Python that the release admits."""

    requirements: tuple[str, ...] = ()
    """Further requirements that take part in the resolution."""

    wheel: str | None = None
    """Wheel of the release itself, where it comes from no index; `requirements` then hold what it needs."""

    extras_before: datetime | None = None
    """The same moment for the extras and what they bring, UTC; null for that of the rest."""

    extras: tuple[str, ...] = ()
    """Further requirements that must not change what the rest resolves to; left out where they cannot be had."""


class Environment(Record):
    """One Python with one release of one library and its dependencies of that time."""

    key: str
    """Identity: `{dist}-{version}-{lock digest}`, or `python-{version}` for the standard library alone."""

    library: str
    """Library in the catalogue or distribution."""

    release: str
    """Its release; for `python` the version of the interpreter."""

    python: str
    """Path of the interpreter to start."""

    prefix: str
    """Folder of the environment (equal to `base_prefix` without a virtual environment)."""

    base_prefix: str
    """Folder of the interpreter that the environment stands on, links resolved."""

    python_version: str
    """Version of the interpreter."""

    distributions: dict[str, str] = Field(default_factory=dict)
    """Installed distributions and their versions."""

    lock_sha: str = ""
    """SHA-256 of the lock file."""

    left_out: tuple[str, ...] = ()
    """Requested extras that could not be had beside the rest."""

    undated: tuple[str, ...] = ()
    """Dependencies that may be newer than the release, since none of its time has a wheel for this Python."""

    undated_before: datetime | None = None
    """The moment as of which these were chosen, UTC."""
