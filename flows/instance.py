"""Flow `instance`: the tasks that a model is asked, pooled over the libraries of a group."""

from __future__ import annotations

from datetime import date

from prefect import flow, tags

from flows import _plan
from flows._runs import InstanceBuild, Tally
from flows.group import build_all
from novelapi.records.request import DIRECT, ModelAccess
from tasks.filters import instance


@flow(name="instance", flow_run_name="{group} / {model}")
def build_instance(
    group: str,
    model: str = "copy",
    cutoff: date | None = None,
    limit: int | None = None,
    subsets: int | None = None,
    seed: int = 0,
    jobs: int = 2,
    from_stage: int | None = None,
    access: ModelAccess = DIRECT,
) -> InstanceBuild:
    """Build what is missing of a group's libraries, then pool and split their accepted tasks.

    Args:
        group: group in the catalogue, or one library.
        model: model in the catalogue, `copy`, or `openai:NAME`.
        cutoff: training cutoff; default: the catalogue's.
        limit: number of units to keep per stage.
        subsets: subsets of the parameter graph that tasks of several APIs are tried on; default none.
        seed: seed of everything that is drawn.
        jobs: processes at work.
        from_stage: do this stage and the later ones again.
        access: how the model is reached.

    Raises:
        NovelApiError: a library failed; the others were built all the same.
    """
    # Extract: every library through the four stages.
    built = build_all(
        _plan.members(group),
        model=model,
        cutoff=cutoff,
        limit=limit,
        subsets=subsets,
        seed=seed,
        jobs=jobs,
        from_stage=from_stage,
        access=access,
    )

    # Transform: pool and split.
    tally = Tally()
    with tags(f"group:{group}", f"model:{model}"):
        libraries = [build.library for build in built]
        kept = [build.stages[-1] for build in built]
        pooled = tally.take(instance(group, model, libraries, kept, return_state=True))

    # Load: a pointer.
    return InstanceBuild(
        group=group,
        model=model,
        instance=pooled,
        libraries=built,
        work=sum((build.work for build in built), tally.work),
    )
