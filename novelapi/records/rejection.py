"""Why an API has no task, or fewer than it could: one row per API and reason."""

from __future__ import annotations

from novelapi.records.base import Record


class Rejection(Record):
    """Drafts of one API that were refused for one reason."""

    api: str
    """Public path."""

    reason: str
    """The reason, in words that can be counted."""

    count: int
    """How many drafts."""

    tasks: int
    """How many tasks the API has all the same."""
