"""Stage 1 as files: candidates and exclusions of one library for one model or window."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from novelapi import __version__, jsonl
from novelapi.catalog import Library
from novelapi.discovery.discover import Discovery, Progress, discover
from novelapi.discovery.surface.model import EXTRACTOR_VERSION
from novelapi.discovery.workspace import Workspace
from novelapi.execution.sandbox import GUEST
from novelapi.fingerprint import canonical_json, digest, file_digest, text_digest
from novelapi.records.api import Candidate, Exclusion
from novelapi.records.manifest import Manifest
from novelapi.records.stage import StageResult

STAGE = "stage1_discovery"
EXCLUDED = "stage1_excluded"
STAGE_VERSION = 5
"""Raise it, with a line in the changelog, whenever the same releases would give other rows."""


def _now() -> datetime:
    return datetime.now(UTC)


def run_discovery(
    workspace: Workspace,
    library: Library,
    *,
    old: str | None,
    new: str,
    model: str | None = None,
    limit: int | None = None,
    fresh: bool = False,
    progress: Progress = lambda _: None,
    now: Callable[[], datetime] = _now,
) -> StageResult:
    """Run stage 1 unless its files are there for the same releases; return where they are.

    Args:
        workspace: caches, index and environments.
        library: the library.
        old: the last release that the model can know; null when there was none.
        new: the release under test.
        model: names the files; null for a window without a model.
        limit: keep this many candidates, chosen by the digest of their names.
        fresh: do it again even if the files are there.
        progress: is told what happens, in words.
        now: the clock; its readings go to the manifest only.

    Raises:
        NovelApiError: see `discover`.
    """
    layout = workspace.layout
    path, excluded_path = layout.stage(library.name, STAGE, model), layout.stage(library.name, EXCLUDED, model)
    manifest_path = layout.stage_manifest(library.name, STAGE, model)
    spec = stage_spec(library, old, new, limit)
    if not fresh:
        recorded = _recorded(manifest_path, spec, path, excluded_path)
        if recorded is not None:
            return _result(recorded, path, layout.home)
    started, cpu = now(), _cpu()
    found = discover(workspace, library, old, new, progress)
    candidates = limited(found.candidates, limit)
    jsonl.write(excluded_path, (row.to_row() for row in found.excluded))
    jsonl.write(path, (row.to_row() for row in candidates))
    manifest = Manifest(
        kind="stage",
        name=STAGE,
        spec=spec,
        outputs={path.name: file_digest(path), excluded_path.name: file_digest(excluded_path)},
        versions={"novelapi": __version__, "stage": str(STAGE_VERSION), library.distribution: new},
        counts={**_counts(found, candidates), "reasons": found.reasons},
        started=started.isoformat(timespec="seconds"),
        wall_s=round((now() - started).total_seconds(), 3),
        cpu_s=round(_cpu() - cpu, 3),
        peak_kb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        partial=len(candidates) < len(found.candidates),
    )
    jsonl.write_text(manifest_path, manifest.model_dump_json(indent=1))
    return _result(manifest, path, layout.home)


def stage_spec(library: Library, old: str | None, new: str, limit: int | None) -> dict[str, Any]:
    """Return all that decides the rows of stage 1."""
    return {
        "stage": STAGE,
        "version": STAGE_VERSION,
        "library": library.name,
        "entry": digest(library),
        "old": old,
        "new": new,
        "limit": limit,
        "extractor": EXTRACTOR_VERSION,
        "guest": file_digest(GUEST / "inspect_api.py")[:20],
    }


def _recorded(manifest_path: Path, spec: dict[str, Any], *outputs: Path) -> Manifest | None:
    """Return the manifest if it is about the same request and its files are as it says."""
    if not manifest_path.exists():
        return None
    manifest = Manifest.model_validate_json(manifest_path.read_bytes())
    same = canonical_json(manifest.spec) == canonical_json(spec)
    intact = all(path.exists() and manifest.outputs.get(path.name) == file_digest(path) for path in outputs)
    return manifest if same and intact else None


def _result(manifest: Manifest, path: Path, home: Path) -> StageResult:
    counts = dict(manifest.counts)
    reasons = counts.pop("reasons")
    return StageResult(
        stage=STAGE,
        path=path.relative_to(home).as_posix(),
        sha256=manifest.outputs[path.name],
        counts=counts,
        reasons=reasons,
    )


def _counts(found: Discovery, candidates: Sequence[Candidate]) -> dict[str, int]:
    return {
        **found.counts,
        "candidates": len(candidates),
        "added": sum(row.change == "added" for row in candidates),
        "modified": sum(row.change == "modified" for row in candidates),
        "usable": sum("no_usable_change" not in row.tags for row in candidates),
        "left_out_by_limit": len(found.candidates) - len(candidates),
    }


def limited(candidates: Iterable[Candidate], limit: int | None) -> list[Candidate]:
    """Keep `limit` candidates, those whose names have the smallest digests, in their order."""
    rows = list(candidates)
    if limit is None or len(rows) <= limit:
        return rows
    kept = {row.api for row in sorted(rows, key=lambda row: text_digest(row.api))[:limit]}
    return [row for row in rows if row.api in kept]


def read_candidates(path: Path) -> list[Candidate]:
    """Return the candidates of a stage file, by rank; none when there is no file."""
    return [Candidate.model_validate(row) for row in jsonl.scan(path)]


def read_exclusions(path: Path) -> list[Exclusion]:
    """Return the exclusions of a stage file, by path; none when there is no file."""
    return [Exclusion.model_validate(row) for row in jsonl.scan(path)]


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
