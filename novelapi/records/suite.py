"""A row of the results of an outside suite."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from novelapi.records.base import Record


class SuiteRow(Record):
    """What one answer to one task of an outside suite came to."""

    schema_version: int = Field(default=1, alias="schema")
    """Version of this record."""

    suite: str
    """Name of the suite."""

    task_id: str
    """The task's own id in the suite."""

    sample: int = Field(ge=0)
    """Index of the answer in its prediction; 0 for a gold answer."""

    library: str
    """Distribution that the task is about."""

    release: str
    """Its release, as the suite declares it; empty for the standard library."""

    declared_python: str | None
    """Python that the suite declares, or null."""

    python: str | None = None
    """Python that the row ran on, in full; null when it did not run."""

    env: str | None = None
    """Key of the environment; null when there is none."""

    outcome: Literal["pass", "fail", "unscored"]
    """Whether the suite's own tests accepted the answer; `unscored` if they could not be run."""

    reason: str | None = None
    """Why it failed or was not run, in one line; null for a pass."""

    cause: Literal["environment", "prediction", "run"] | None = None
    """What kept an unscored row from running; null for the others."""

    notes: tuple[str, ...] = ()
    """Where the run differs from what the suite declares, in words."""

    passed: int = Field(default=0, ge=0)
    """Tests that passed."""

    failed: int = Field(default=0, ge=0)
    """Tests that failed or could not be collected."""

    skipped: int = Field(default=0, ge=0)
    """Tests that skipped themselves."""

    plain: str | None = None
    """What the answer raised without what its task provides (CodeUpdateArena: the update); null if not asked."""

    integrity: Literal["weak"] = "weak"
    """Always weak: a suite's tests run beside the answer, so an answer made for it could forge the verdict."""

    text: str
    """Digest of all that was run: the answer, the tests and the rest of the task."""

    wall_ms: float = Field(default=0.0, ge=0)
    """Elapsed time in milliseconds."""
