"""What an outside suite is: tasks that name what they need, hand a request to a guest program and read its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from novelapi.execution.isolated import Limits

PASSES = "passes"
"""What `Verdict.plain` says of an answer that also passes without what its task provides."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """The environment of a task."""

    library: str
    """Distribution on the index; `python` for the standard library alone."""
    release: str
    """Its version; empty for `python`."""
    python: str | None = None
    """Python that the suite declares (`3.10`); null where it declares none."""
    requirements: tuple[str, ...] = ()
    """Further requirements that the suite declares."""
    extras: tuple[str, ...] = ()
    """What the suite puts beside the library, with markers of the Python; must not change what the rest resolves to."""
    extras_before: datetime | None = None
    """Only files uploaded before this moment are considered for them, UTC; null for that of the rest."""
    runner: str = ""
    """The one of the extras without which no test can run; empty when the guest program needs none."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the suite's tests said about one answer."""

    reason: str | None
    """Null for a pass, else why not, in one line."""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    plain: str | None = None
    """What the answer raised without what its task provides, or null."""


class Case(Protocol):
    """One task of a suite."""

    @property
    def key(self) -> str:
        """Its id in the suite."""
        ...

    @property
    def need(self) -> Need:
        """The environment that it declares."""
        ...

    @property
    def gold(self) -> str:
        """The suite's own answer."""
        ...

    def code(self, text: str) -> str:
        """Return the code in a model's answer."""
        ...

    def request(self, code: str) -> dict[str, Any]:
        """Return what the guest program runs for an answer; equal requests are the same run."""
        ...

    def judge(self, answer: Any) -> Verdict:
        """Read the guest program's answer."""
        ...


@dataclass(frozen=True, kw_only=True)
class Suite:
    """One outside suite."""

    name: str
    """Name on the command line."""
    folder: str
    """Name of its folder among the data of all suites."""
    marker: str
    """File that tells that a folder holds it."""
    source: str
    """Where its data are had from, in words."""
    script: str
    """Guest program that runs its tests."""
    version: int
    """Of how its rows are run and judged; rows of another version are run again."""
    limits: Limits
    """What one row may use."""
    read: Reader
    scratch_mb: int = 1024
    """Size of the folder that the tests may write to in MB."""


class Reader(Protocol):
    """Reads the data of a suite."""

    def __call__(self, folder: Path) -> Mapping[str, Case]:
        """Return the tasks by id, in the order of the file.

        Raises:
            DataError: a file is missing or broken.
        """
        ...
