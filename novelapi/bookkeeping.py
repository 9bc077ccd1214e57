"""The manifest beside a stage's file: what was asked, from which inputs, what came out, and the clocks."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from novelapi import __version__, jsonl
from novelapi.fingerprint import canonical_json, file_digest
from novelapi.layout import Layout
from novelapi.records.manifest import Manifest
from novelapi.records.stage import StageResult


def utc_now() -> datetime:
    """Return the time; the one clock of the stages, read for manifests only."""
    return datetime.now(UTC)


@dataclass(kw_only=True)
class StageRun:
    """One run of one stage of one library: finds a finished run of the same request, drops a stale one."""

    layout: Layout
    library: str
    model: str
    stage: str
    version: int
    spec: Mapping[str, Any]
    """What decides the rows, besides the inputs."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Input files by name with their digests."""
    now: Callable[[], datetime] = utc_now
    _started: datetime | None = None
    _cpu: float = 0.0

    @property
    def path(self) -> Path:
        """The stage's file."""
        return self.layout.stage(self.library, self.stage, self.model)

    @property
    def manifest_path(self) -> Path:
        """The manifest beside it."""
        return self.layout.stage_manifest(self.library, self.stage, self.model)

    @property
    def full_spec(self) -> dict[str, Any]:
        """Return everything that decides the rows."""
        return {"stage": self.stage, "version": self.version, **self.spec, "inputs": dict(self.inputs)}

    def finished(self) -> StageResult | None:
        """Return the result of a finished run of the same request whose file is as it was; else null."""
        manifest = self._manifest()
        if manifest is None or not manifest.outputs or not self.path.exists():
            return None
        if manifest.outputs.get(self.path.name) != file_digest(self.path):
            return None
        return self._result(manifest.counts, manifest.outputs[self.path.name])

    def begin(self, *work: Path) -> None:
        """Start: rows and work files of another request are dropped, those of this one are kept for the resume."""
        if self._manifest() is None:
            for path in (self.path, *work):
                path.unlink(missing_ok=True)
        self._started, self._cpu = self.now(), cpu_seconds()
        self._write({}, {})

    def finish(
        self,
        counts: Mapping[str, int],
        reasons: Mapping[str, int],
        *,
        partial: bool = False,
        usage: Mapping[str, float] | None = None,
    ) -> StageResult:
        """Write the manifest of a finished run and return its result.

        Raises:
            NovelApiError: the disk is full.
        """
        digest = file_digest(self.path)
        found = {**counts, "reasons": dict(reasons)}
        self._write({self.path.name: digest}, found, partial=partial, usage=usage)
        return self._result(found, digest)

    def _manifest(self) -> Manifest | None:
        """Return the manifest if it is about the same request."""
        if not self.manifest_path.exists():
            return None
        manifest = Manifest.model_validate_json(self.manifest_path.read_bytes())
        return manifest if canonical_json(manifest.spec) == canonical_json(self.full_spec) else None

    def _write(
        self,
        outputs: dict[str, str],
        counts: dict[str, Any],
        *,
        partial: bool = False,
        usage: Mapping[str, float] | None = None,
    ) -> None:
        assert self._started is not None
        manifest = Manifest(
            kind="stage",
            name=self.stage,
            spec=self.full_spec,
            inputs=dict(self.inputs),
            outputs=outputs,
            versions={"novelapi": __version__, "stage": str(self.version)},
            counts=counts,
            usage=dict(usage or {}),
            started=self._started.isoformat(timespec="seconds"),
            wall_s=round((self.now() - self._started).total_seconds(), 3),
            cpu_s=round(cpu_seconds() - self._cpu, 3),
            peak_kb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            partial=partial,
        )
        jsonl.write_text(self.manifest_path, manifest.model_dump_json(indent=1) + "\n")

    def _result(self, counts: Mapping[str, Any], digest: str) -> StageResult:
        numbers = {name: value for name, value in counts.items() if name != "reasons"}
        path = self.path.relative_to(self.layout.home).as_posix()
        return StageResult(stage=self.stage, path=path, sha256=digest, counts=numbers, reasons=counts["reasons"])


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def input_digest(path: Path) -> dict[str, str]:
    """Return the name and digest of an input file, for `StageRun.inputs`."""
    return {path.name: file_digest(path)} if path.exists() else {}
