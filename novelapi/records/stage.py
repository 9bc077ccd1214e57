"""What a stage hands to the next one: a pointer, never the data."""

from __future__ import annotations

from pydantic import Field

from novelapi.records.base import Record


class StageResult(Record):
    """A finished stage: where its rows are and how many there are."""

    stage: str
    """Name of the stage, such as `stage1_discovery`."""

    path: str
    """File of the rows, relative to NOVELAPI_HOME."""

    sha256: str
    """Digest of that file."""

    counts: dict[str, int] = Field(default_factory=dict)
    """Units by outcome: `candidates`, `bundles`, `tasks`, `accepted` ..."""

    reasons: dict[str, int] = Field(default_factory=dict)
    """Losses by reason: the funnel prints them."""
