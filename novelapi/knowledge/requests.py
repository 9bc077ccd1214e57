"""Stage 2 for a request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from novelapi import jsonl
from novelapi.bookkeeping import StageRun, input_digest
from novelapi.catalog import find_library
from novelapi.discovery.requests import release_environments, workspace_of
from novelapi.discovery.stage import STAGE as DISCOVERY
from novelapi.discovery.stage import read_candidates
from novelapi.errors import UsageError
from novelapi.knowledge.material import Material, material_in
from novelapi.knowledge.stage import STAGE, STAGE_VERSION, count_bundles, write_knowledge
from novelapi.layout import Layout
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.environment import Environment
from novelapi.records.request import LibraryRequest
from novelapi.records.stage import StageResult

Improve = Callable[[Sequence[KnowledgeBundle], Environment], tuple[list[KnowledgeBundle], Mapping[str, float]]]
"""What a strong model makes of finished bundles, and what it cost."""


def extract(
    request: LibraryRequest,
    layout: Layout,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
    improve: Improve | None = None,
) -> StageResult:
    """Write the knowledge bundles of one library, from the candidates of stage 1.

    Args:
        request: library and releases.
        layout: where everything lies.
        progress: called with the numbers of finished and of all bundles.
        improve: a strong model as author (`request.author` says which); null leaves the deterministic bundles.

    Raises:
        UsageError: the releases are not resolved.
        NovelApiError: see `write_knowledge`.
    """
    source = layout.stage(request.library, DISCOVERY, request.model)
    run = StageRun(
        layout=layout,
        library=request.library,
        model=request.model,
        stage=STAGE,
        version=STAGE_VERSION,
        spec={"library": request.library, "old": request.old, "new": request.new, **_author(request)},
        inputs=input_digest(source),
    )
    known = run.finished()
    if known is not None:
        return known
    env, _ = release_environments(request, layout)
    run.begin()
    found = write_knowledge(
        read_candidates(source), material_of(request, layout, env), layout, model=request.model, on_progress=progress
    )
    if improve is None:
        return run.finish(found.counts, found.reasons)
    bundles, usage = improve([KnowledgeBundle.from_row(row) for row in jsonl.scan(run.path)], env)
    jsonl.write(run.path, (bundle.to_row() for bundle in bundles))
    return run.finish(*count_bundles(bundles), usage=usage)


def _author(request: LibraryRequest) -> dict[str, str]:
    return {"author": request.author} if request.author else {}


def material_of(request: LibraryRequest, layout: Layout, env: Environment) -> Material:
    """Return the sources of knowledge of a library's new release.

    Raises:
        IndexUnavailableError: the source archive could not be fetched.
    """
    if request.new is None:
        raise UsageError("the new release is not resolved: call find_versions first")
    workspace, library = workspace_of(layout), find_library(request.library)
    return material_in(workspace, library, request.old, request.new, env)
