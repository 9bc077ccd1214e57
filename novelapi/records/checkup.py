"""What `novelapi doctor` found: prerequisites, and whether the sandbox holds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from novelapi.records.base import Record


class Prerequisite(Record):
    """One thing that must, or may, be there."""

    name: str
    """What is looked for."""

    needed: bool
    """Whether nothing can be scored without it."""

    found: bool
    """Whether it is there."""

    detail: str
    """Version or place; what is missing where it is not there."""

    remedy: str = ""
    """What to run; empty where it is there."""


class Trial(Record):
    """One program that ran in the real sandbox: an attack that must fail, or an honest solution that must pass."""

    name: str
    """Short name."""

    kind: Literal["attack", "control"]
    """Which of the two."""

    holds: bool
    """Whether it came out as it must."""

    detail: str
    """What was seen."""


class Checkup(Record):
    """The whole report."""

    ok: bool
    """Whether completions can be scored safely here."""

    prerequisites: tuple[Prerequisite, ...]
    """In the order in which they are looked for."""

    trials: tuple[Trial, ...] = ()
    """Empty when the sandbox could not be started."""

    isolation: dict[str, object] = Field(default_factory=dict)
    """What holds a completion, as in the manifests."""
