"""Stage 2 as a task: what there is to know about each candidate."""

from __future__ import annotations

from novelapi.knowledge.requests import extract
from novelapi.knowledge.stage import STAGE_VERSION
from novelapi.records.request import LibraryRequest
from novelapi.records.stage import StageResult
from tasks._stage import JOBS_ARE_IRRELEVANT, run_layout, stage_task


@stage_task(
    "stage2_knowledge",
    version=STAGE_VERSION,
    subject="{request.library}/{request.model}",
    irrelevant=JOBS_ARE_IRRELEVANT,
)
def knowledge(request: LibraryRequest, found: StageResult) -> StageResult:  # noqa: ARG001 - `found` is part of the key
    """Write the knowledge bundles of one library."""
    return extract(request, run_layout())
