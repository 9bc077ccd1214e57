"""Stage 4 as tasks: the gates of one library, and the instance of a model over one or more libraries."""

from __future__ import annotations

from novelapi.filters.instance import INSTANCE_VERSION, build_instance
from novelapi.filters.stage import STAGE_VERSION, filter_tasks
from novelapi.records.request import FileResult, LibraryRequest, ModelAccess
from novelapi.records.stage import StageResult
from tasks._stage import ACCESS_IS_IRRELEVANT, JOBS_ARE_IRRELEVANT, run_layout, stage_task
from tasks.inference import completer, strong


@stage_task(
    "stage4_filtered",
    version=STAGE_VERSION,
    subject="{request.library}/{request.model}",
    irrelevant={**JOBS_ARE_IRRELEVANT, **ACCESS_IS_IRRELEVANT},
)
def filters(request: LibraryRequest, written: StageResult, revision: str, access: ModelAccess) -> StageResult:  # noqa: ARG001 - the key
    """Keep the tasks of one library that the model cannot solve without the knowledge."""
    solver = strong(access) if request.author else None
    return filter_tasks(request, run_layout(), completer(request.model, access), solver=solver)


@stage_task("instance", version=INSTANCE_VERSION, subject="{group}/{model}")
def instance(group: str, model: str, libraries: list[str], kept: list[StageResult]) -> FileResult:
    """Pool the accepted tasks of a group's libraries and split them."""
    return build_instance(group, model, libraries, kept, run_layout())
