"""What a run is about, decided before any work: releases, members of a group, stages, cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from flows._runs import InstanceBuild
from novelapi.errors import UsageError
from novelapi.fingerprint import digest
from novelapi.grid.expand import expand_grid
from novelapi.records.cell import Cell, Condition, Delivery, Sampling
from novelapi.records.request import LibraryRequest
from tasks._stage import run_layout

STAGES = (1, 2, 3, 4)
CONDITIONS: tuple[Condition, ...] = get_args(Condition)


def check_stages(stages: Sequence[int] | None) -> int:
    """Return the last stage that was asked for; those before it come from the cache or run too.

    Raises:
        UsageError: a stage does not exist.
    """
    unknown = sorted(set(stages or STAGES) - set(STAGES))
    if unknown:
        raise UsageError(f"unknown stage {unknown[0]}: the stages are 1 discovery, 2 knowledge, 3 tasks, 4 gates")
    return max(stages or STAGES)


def members(group: str) -> list[str]:
    """Return the libraries of a group; any other name is a single library.

    Raises:
        UnknownNameError: the name can be neither.
    """
    from novelapi.catalog.load import find_library, groups

    entry = groups().get(group.replace("-", "_"))
    return list(entry.libraries) if entry else [find_library(group).name]


def resolve(request: LibraryRequest) -> LibraryRequest:
    """Return the request with its two releases filled in, so that equal keys mean equal releases.

    Raises:
        UsageError: no cutoff is known, or no release fits.
        IndexUnavailableError: the package index did not answer.
    """
    from novelapi.discovery.stage import find_versions

    pair = find_versions(request, run_layout())
    return request.model_copy(update={"old": pair.old, "new": pair.new, "cutoff": pair.cutoff})


def experiment_name(group: str, model: str) -> str:
    """Return the name of an experiment: `agent-tool-qwen2.5-coder-7b`."""
    return f"{group}-{model}".replace("_", "-")


def expand(
    experiment: str,
    built: InstanceBuild,
    revision: str,
    conditions: Sequence[Condition] | None,
    deliveries: Sequence[Delivery] | None,
    samples: int,
    seed: int,
    limit: int | None,
) -> list[Cell]:
    """Return the cells of a grid in the order of the conditions."""
    pairs = expand_grid(conditions or CONDITIONS, deliveries or ["oracle"])
    return [
        Cell(
            experiment=experiment,
            model=built.model,
            model_revision=revision,
            condition=condition,
            delivery=delivery,
            instance_sha=built.instance.sha256,
            bundles_sha=digest([build.stages[1].sha256 for build in built.libraries], 64),
            sampling=Sampling(n=samples, seed=seed),
            limit=limit,
        )
        for delivery, condition in pairs
    ]
