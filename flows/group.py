"""Flow `group`: all libraries of a group through the stages, seen from one model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from prefect import flow

from flows import _plan
from flows._runs import LibraryBuild, find_mistakes, progress
from flows.choices import check_stages
from flows.library import build_library
from novelapi.errors import NothingNewError, NovelApiError
from novelapi.records.request import DIRECT, ModelAccess


@flow(name="group", flow_run_name="{group} / {model}")
def build_group(
    group: str,
    model: str = "copy",
    cutoff: date | None = None,
    stages: list[int] | None = None,
    limit: int | None = None,
    subsets: int | None = None,
    seed: int = 0,
    jobs: int = 2,
    from_stage: int | None = None,
    access: ModelAccess = DIRECT,
) -> list[LibraryBuild]:
    """Build every library of a group; one that fails does not stop the others.

    Args:
        group: group in the catalogue, or one library.
        model: model in the catalogue, `copy`, or `openai:NAME`.
        cutoff: training cutoff; default: the catalogue's.
        stages: stages to run, default all four.
        limit: number of units to keep per stage.
        subsets: subsets of the parameter graph that tasks of several APIs are tried on; default none.
        seed: seed of everything that is drawn.
        jobs: processes at work.
        from_stage: do this stage and the later ones again.
        access: how the model is reached.

    Raises:
        NovelApiError: a library failed; the others were built all the same.
    """
    # Extract, transform and load are those of each library: what one run of this flow adds is the loop.
    return build_all(
        _plan.members(group),
        model=model,
        cutoff=cutoff,
        stages=stages,
        limit=limit,
        subsets=subsets,
        seed=seed,
        jobs=jobs,
        from_stage=from_stage,
        access=access,
    )


def build_all(libraries: Sequence[str], **options: Any) -> list[LibraryBuild]:
    """Run the flow `library` for each library; one that fails, or has nothing new, does not stop the others.

    Raises:
        NothingNewError: no library has anything new.
        NovelApiError: the model cannot be asked, or a library failed; the others were built all the same.
    """
    if check_stages(options.get("stages")) >= 4:
        find_mistakes(options["model"], options["access"])  # else each library would fail for the same reason
    built: list[LibraryBuild] = []
    failures: list[str] = []
    for library in libraries:
        try:
            built.append(build_library(library=library, **options))
        except NovelApiError as error:
            if len(libraries) == 1:
                raise
            if isinstance(error, NothingNewError):
                progress.warning("%s is left out: %s", library, error)
                continue
            failures.append(library)
            progress.error("%s failed: %s", library, error)
    if failures:
        raise NovelApiError(
            f"{len(failures)} of {len(libraries)} libraries failed ({', '.join(failures)}): see the reasons "
            "above and run the same command again; finished stages are kept"
        )
    if not built:
        raise NothingNewError(f"none of {', '.join(libraries)} has anything new: give an earlier cutoff")
    return built
