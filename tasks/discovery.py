"""Stage 1 as a task: which public APIs are newer than the model."""

from __future__ import annotations

from novelapi.discovery.requests import discover
from novelapi.discovery.stage import STAGE_VERSION
from novelapi.records.request import LibraryRequest
from novelapi.records.stage import StageResult
from tasks._stage import JOBS_ARE_IRRELEVANT, SUBSETS_ARE_IRRELEVANT, run_layout, stage_task


@stage_task(
    "stage1_discovery",
    version=STAGE_VERSION,
    subject="{request.library}/{request.model}",
    irrelevant={
        **JOBS_ARE_IRRELEVANT,
        **SUBSETS_ARE_IRRELEVANT,
        "request.author": "a strong model writes nothing before stage 2",
    },
)
def discovery(request: LibraryRequest) -> StageResult:
    """Find the candidates of one library."""
    return discover(request, run_layout())
