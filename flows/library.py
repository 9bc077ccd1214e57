"""Flow `library`: one library through the stages, seen from one model."""

from __future__ import annotations

from datetime import date

from prefect import flow, tags
from prefect.client.schemas.objects import State

from flows._artifacts import publish_funnel
from flows._plan import resolve
from flows._runs import LibraryBuild, Tally, find_mistakes, progress
from flows.choices import check_stages
from novelapi.errors import NothingNewError
from novelapi.generation.linked_stage import read_graph
from novelapi.records.request import DIRECT, LibraryRequest, ModelAccess
from novelapi.records.stage import StageResult
from tasks._results import forget_stages
from tasks._stage import run_layout
from tasks.discovery import discovery
from tasks.filters import filters
from tasks.generation import generation, linked
from tasks.inference import author_of, pin_model, windowed, with_window
from tasks.knowledge import knowledge

MAKES = {
    "stage1_discovery": ("discovery", "candidates"),
    "stage2_knowledge": ("knowledge", "bundles"),
    "stage3_tasks": ("tasks", "tasks"),
    "stage3_linked": ("tasks of several APIs", "tasks"),
    "stage4_filtered": ("gates", "accepted"),
}
"""What each stage is called on the console, and what it makes."""


@flow(name="library", flow_run_name="{library} / {model}")
def build_library(
    library: str,
    model: str = "copy",
    cutoff: date | None = None,
    old: str | None = None,
    new: str | None = None,
    stages: list[int] | None = None,
    limit: int | None = None,
    subsets: int | None = None,
    seed: int = 0,
    jobs: int = 2,
    from_stage: int | None = None,
    access: ModelAccess = DIRECT,
) -> LibraryBuild:
    """Find what is new in a library, write down what there is to know, make tasks, keep those that need the knowledge.

    Args:
        library: library in the catalogue, or any distribution.
        model: model in the catalogue, `copy`, or `openai:NAME`.
        cutoff: training cutoff; default: the catalogue's.
        old: release that the model can know, instead of a cutoff.
        new: release under test.
        stages: stages to run, default all: 1 discovery, 2 knowledge, 3 tasks, 4 gates; a stage needs those before it.
        limit: number of units to keep.
        subsets: number of subsets of the parameter graph that tasks of several APIs are tried on; default none.
        seed: seed of everything that is drawn.
        jobs: processes at work.
        from_stage: do this stage and the later ones again.
        access: how the model is reached.

    Raises:
        NovelApiError: a stage failed; the message holds the remedy.
    """
    last = check_stages(stages)
    if last >= 4:
        find_mistakes(model, access)
    tally = Tally()
    with tags(f"library:{library}", f"model:{model}"):
        # Extract: which two releases are compared.
        request = resolve(
            LibraryRequest(
                library=library,
                model=model,
                cutoff=cutoff,
                old=old,
                new=new,
                limit=limit,
                subsets=subsets,
                seed=seed,
                jobs=jobs,
                author=author_of(access),
            )
        )
        progress.info("%s %s -> %s, model %s", library, request.old or "(no prior release)", request.new, model)

        if from_stage is not None:
            forget_stages(from_stage, library, model, run_layout())

        # Transform: each stage gets a pointer to the one before.
        done = run_stages(request, access, last, tally)

    # Load: the funnel for whoever looks at the run.
    publish_funnel(request, done)
    return LibraryBuild(library=library, model=model, old=request.old, new=request.new, stages=done, work=tally.work)


def run_stages(request: LibraryRequest, access: ModelAccess, last: int, tally: Tally) -> list[StageResult]:
    """Run the stages 1 to `last` in order and return their results.

    Raises:
        NothingNewError: stage 1 found no candidate, so the others have nothing to do.
        UsageError: tasks of several APIs were asked for, and there is no graph.
        NovelApiError: a stage failed.
    """
    done: list[StageResult] = []
    linking = request.subsets is not None and last >= 3
    graph = read_graph(request, run_layout()).digest if linking else ""  # before any work: it may be missing
    total = last + linking

    def take(state: State[StageResult]) -> None:
        done.append(tally.take(state))
        name, unit = MAKES[done[-1].stage]
        progress.info("[%d/%d] %s  %d %s", len(done), total, name, done[-1].counts[unit], unit)

    take(discovery(request, return_state=True))
    if not done[0].counts["candidates"]:
        raise NothingNewError(
            f"no public API of {request.library} is new or changed between {request.old} and {request.new}: give an "
            f"earlier cutoff or other releases; `novelapi discover {request.library}` says what was left out"
        )
    if last >= 2:
        take(knowledge(request, done[0], access, return_state=True))
    if last >= 3:
        take(generation(request, done[1], access, return_state=True))
    if linking:
        take(linked(request, done[2], graph, return_state=True))
    if last >= 4:
        access = with_window(request.model, access)
        revision = windowed(pin_model(request.model, access), request.model, access)
        take(filters(request, done[-1], revision, access, return_state=True))
    return done
