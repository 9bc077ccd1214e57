"""Stage 2: the bundles of all candidates of a library, one row each, resumable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from novelapi import jsonl
from novelapi.fingerprint import file_digest
from novelapi.knowledge.bundle import Author
from novelapi.knowledge.material import Material
from novelapi.layout import Layout
from novelapi.records.api import Candidate
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.stage import StageResult

STAGE = "stage2_knowledge"
"""Name of the stage, and of its file."""

STAGE_VERSION = 8
"""Raised by hand when equal inputs give other bundles."""

CHUNK = 40
"""Candidates whose programs run together; a killed stage loses at most so many."""


def write_knowledge(
    candidates: Sequence[Candidate],
    material: Material,
    layout: Layout,
    *,
    model: str | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> StageResult:
    """Write `stage2_knowledge.{model}.jsonl` of a library; rows that are there are kept.

    Args:
        candidates: the candidates of stage 1.
        material: sources and environment of the new release.
        layout: where files lie.
        model: model in the file's name.
        on_progress: called with the numbers of finished and of all bundles.

    Returns:
        Where the rows are, counts, and the reasons for missing components as `component: reason`.

    Raises:
        NovelApiError: the library cannot be asked, or the disk is full.
        PrerequisiteError: bubblewrap is missing.
    """
    path = layout.stage(material.library, STAGE, model)
    wanted = {candidate.api: candidate for candidate in candidates}
    done = {row["api"] for row in jsonl.scan(path)}
    left = [wanted[api] for api in sorted(wanted.keys() - done)]
    if left:
        author = Author(material, [wanted[api] for api in sorted(wanted)])
        with jsonl.Appender(path) as rows:
            for start in range(0, len(left), CHUNK):
                for bundle in author.write(left[start : start + CHUNK]):
                    rows.append(bundle.to_row())
                if on_progress is not None:
                    on_progress(len(wanted) - len(left) + min(start + CHUNK, len(left)), len(wanted))
    if not path.exists():
        jsonl.write(path, [])
    jsonl.seal(path, key=lambda row: row["api"])
    bundles = [KnowledgeBundle.from_row(row) for row in jsonl.scan(path)]
    return StageResult(
        stage=STAGE,
        path=path.relative_to(layout.home).as_posix(),
        sha256=file_digest(path),
        counts=_counts(bundles),
        reasons=_reasons(bundles),
    )


def count_bundles(bundles: Sequence[KnowledgeBundle]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the numbers of bundles by what they hold, and the reasons for missing components."""
    return _counts(bundles), _reasons(bundles)


def _counts(bundles: Sequence[KnowledgeBundle]) -> dict[str, int]:
    modified = [bundle for bundle in bundles if bundle.change == "modified"]
    return {
        "bundles": len(bundles),
        "s": len(bundles),
        "s_with_parameters": sum(bool(bundle.surface.parameters) for bundle in bundles),
        "e_executed": sum(any(item.status == "executed" for item in bundle.exemplars) for bundle in bundles),
        "m_prose": sum(bundle.m_prose is not None for bundle in bundles),
        "m_code": sum(bundle.m_code is not None for bundle in bundles),
        "modified": len(modified),
        "modified_e_uses_change": sum(any(item.uses_change for item in bundle.exemplars) for bundle in modified),
    }


def _reasons(bundles: Sequence[KnowledgeBundle]) -> dict[str, int]:
    found = Counter(
        f"{component}: {bundle.provenance[component]['missing']}"
        for bundle in bundles
        for component in ("e", "m_prose", "m_code")
        if "missing" in bundle.provenance[component]
    )
    return dict(sorted(found.items()))
