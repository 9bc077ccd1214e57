"""The manifest of a run or a stage: clocks, versions, counts; all that may differ between two equal runs."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from novelapi.records.base import Record


class Manifest(Record):
    """One manifest.json."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    """Version of this format."""

    kind: Literal["stage", "cell", "evaluation"]
    """What the manifest belongs to."""

    name: str
    """Stage, cell or run."""

    spec: dict[str, Any] = Field(default_factory=dict)
    """What was asked for."""

    inputs: dict[str, str] = Field(default_factory=dict)
    """Input files or records, by name, with their SHA-256."""

    outputs: dict[str, str] = Field(default_factory=dict)
    """Output files with their SHA-256."""

    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of this project, Python, the stage and the libraries that matter."""

    counts: dict[str, Any] = Field(default_factory=dict)
    """Numbers of units by outcome."""

    usage: dict[str, float] = Field(default_factory=dict)
    """What models were asked in this run: calls, cached, failed, tokens, usd; empty where none was."""

    started: str = ""
    """UTC time of the start, ISO 8601."""

    wall_s: float = 0.0
    """Elapsed seconds."""

    cpu_s: float = 0.0
    """CPU seconds of this process and its children."""

    peak_kb: int = 0
    """Largest resident set of one of our processes in kB."""

    partial: bool = False
    """Whether a limit or a budget left units out."""

    isolation: dict[str, Any] = Field(default_factory=dict)
    """What held the executed code: sandbox, cgroups, seccomp, or `unsafe`."""
