"""An installed environment of a library under test."""

from __future__ import annotations

from pydantic import Field

from novelapi.records.base import Record


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
