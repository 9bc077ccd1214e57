"""What a run is about, decided before any work: releases, members of a group, stages, cells."""

from __future__ import annotations

from collections.abc import Sequence

from flows._runs import InstanceBuild
from flows.choices import CONDITIONS
from novelapi.catalog import find_library, groups, libraries
from novelapi.discovery.requests import find_versions
from novelapi.fingerprint import digest
from novelapi.grid.expand import expand_grid
from novelapi.records.cell import Cell, Condition, Delivery, Sampling
from novelapi.records.request import LibraryRequest
from tasks._stage import run_layout


def members(group: str) -> list[str]:
    """Return the libraries of a group; any other name is a single library.

    Raises:
        UnknownNameError: the name can be neither.
    """
    entry = groups().get(group.replace("-", "_"))
    return list(entry.libraries) if entry else [find_library(group).name]


def all_libraries() -> list[str]:
    """Return every library of the catalogue."""
    return list(libraries())


def resolve(request: LibraryRequest) -> LibraryRequest:
    """Return the request with its two releases filled in, so that equal keys mean equal releases.

    Raises:
        UsageError: no cutoff is known, or no release fits.
        IndexUnavailableError: the package index did not answer.
    """
    pair = find_versions(request, run_layout())
    entry = digest(find_library(request.library))
    return request.model_copy(update={"old": pair.old, "new": pair.new, "cutoff": pair.cutoff, "entry": entry})


def experiment_name(group: str, model: str) -> str:
    """Return the name of an experiment: `agent-tool-qwen2.5-coder-7b`."""
    return f"{group}-{model}".replace("_", "-")


def expand(
    *,
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
            group=built.group,
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
