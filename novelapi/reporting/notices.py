"""Statements that stand at the top of a report: what a reader must know before believing a number."""

from __future__ import annotations

from typing import Literal

from novelapi.records.base import Record


class Notice(Record):
    """One statement about the data."""

    kind: Literal["partial", "missing", "unscored", "torn", "changed", "weak", "few", "uniform", "details"]
    """What it is about; `details` concerns the page alone, not the numbers."""

    text: str
    """One or two sentences with numbers."""
