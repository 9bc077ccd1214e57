"""What all suites have in common: the request of the verb, and whose results a folder holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from novelapi.errors import DataError


@dataclass(frozen=True, kw_only=True)
class Request:
    """One call of the verb."""

    suite: str
    predictions: Path | None
    """Null for the suite's own answers."""
    data: Path | None
    out: Path | None
    limit: int | None
    fresh: bool
    now: datetime


def check_folder(out: Path, suite: str, whose: str, *, fresh: bool) -> None:
    """Refuse to mix the results of two suites, or of gold answers and a model's, in one folder."""
    path = out / "manifest.json"
    if fresh or not path.exists():
        return
    spec = json.loads(path.read_text()).get("spec", {})
    if (spec.get("suite"), spec.get("answers")) != (suite, whose):
        raise DataError(f"{out} holds results of something else; choose another --out or give --fresh")
