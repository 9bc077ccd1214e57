"""Stage 3 as tasks: coding tasks whose solutions must use an API, and tasks of several APIs."""

from __future__ import annotations

from novelapi.generation import linked_stage
from novelapi.generation.stage import STAGE_VERSION, generate
from novelapi.records.request import DIRECT, LibraryRequest, ModelAccess
from novelapi.records.stage import StageResult
from tasks._stage import ACCESS_IS_IRRELEVANT, JOBS_ARE_IRRELEVANT, SUBSETS_ARE_IRRELEVANT, run_layout, stage_task
from tasks.inference import strong


@stage_task(
    "stage3_tasks",
    version=STAGE_VERSION,
    subject="{request.library}/{request.model}",
    irrelevant={**JOBS_ARE_IRRELEVANT, **SUBSETS_ARE_IRRELEVANT, **ACCESS_IS_IRRELEVANT},
)
def generation(request: LibraryRequest, known: StageResult, access: ModelAccess = DIRECT) -> StageResult:  # noqa: ARG001 - `known` is part of the key
    """Write and check the tasks of one library."""
    return generate(request, run_layout(), strong=strong(access) if request.author else None)


@stage_task(
    "stage3_linked",
    version=linked_stage.STAGE_VERSION,
    subject="{request.library}/{request.model}",
    irrelevant=JOBS_ARE_IRRELEVANT,
)
def linked(request: LibraryRequest, written: StageResult, graph: str) -> StageResult:  # noqa: ARG001 - the key
    """Write and check tasks of several APIs of one library."""
    return linked_stage.generate_linked(request, run_layout())
