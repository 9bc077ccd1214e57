"""Stage 2 as a task: what there is to know about each candidate."""

from __future__ import annotations

from novelapi.generation.authored import improver
from novelapi.knowledge.requests import extract
from novelapi.knowledge.stage import STAGE_VERSION
from novelapi.records.request import DIRECT, LibraryRequest, ModelAccess
from novelapi.records.stage import StageResult
from tasks._stage import ACCESS_IS_IRRELEVANT, JOBS_ARE_IRRELEVANT, SUBSETS_ARE_IRRELEVANT, run_layout, stage_task
from tasks.inference import strong


@stage_task(
    "stage2_knowledge",
    version=STAGE_VERSION,
    subject="{request.library}/{request.model}",
    irrelevant={**JOBS_ARE_IRRELEVANT, **SUBSETS_ARE_IRRELEVANT, **ACCESS_IS_IRRELEVANT},
)
def knowledge(request: LibraryRequest, found: StageResult, access: ModelAccess = DIRECT) -> StageResult:  # noqa: ARG001 - `found` is part of the key
    """Write the knowledge bundles of one library."""
    model = strong(access) if request.author else None
    improve = improver(request, run_layout(), model) if model else None
    return extract(request, run_layout(), improve=improve)
