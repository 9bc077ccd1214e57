"""What a run is about, decided before any work: releases, members of a group, stages, cells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flows._runs import InstanceBuild
from flows.choices import CONDITIONS, members
from novelapi.catalog import find_library
from novelapi.discovery.requests import find_versions
from novelapi.fingerprint import digest
from novelapi.grid.cells import RETRIEVES
from novelapi.grid.expand import expand_grid
from novelapi.grid.packed import read_pack, store_pack
from novelapi.grid.prerequisites import store_prerequisites
from novelapi.inference.profile import DEFAULT_PROFILE, ModelProfile
from novelapi.records.base import Record
from novelapi.records.cell import Cell, Condition, Delivery, FurtherCondition, Retrieval, Sampling
from novelapi.records.request import LibraryRequest
from tasks._stage import run_layout


def resolve(request: LibraryRequest) -> LibraryRequest:
    """Return the request with its two releases filled in, so that equal keys mean equal releases.

    Raises:
        UsageError: no cutoff is known, no release fits, or nothing can be new between the two.
        IndexUnavailableError: the package index did not answer.
    """
    pair = find_versions(request, run_layout())
    pair.require_window()
    entry = digest(find_library(request.library))
    return request.model_copy(update={"old": pair.old, "new": pair.new, "cutoff": pair.cutoff, "entry": entry})


def experiment_name(group: str, model: str) -> str:
    """Return the name of an experiment: `agent-tool-qwen2.5-coder-7b`."""
    return f"{group}-{model}".replace("_", "-")


class Asked(Record):
    """What all cells of a grid share."""

    experiment: str
    """Name of the experiment."""

    group: str
    """Group, or library."""

    model: str
    """Model."""

    instance_sha: str
    """Digest of the instance."""

    bundles_sha: str
    """Digest of the knowledge."""


def expand(*, experiment: str, built: InstanceBuild, revision: str, **choice: Any) -> list[Cell]:
    """Return the cells of a grid over a built instance; the choice is that of `cells_of`."""
    asked = Asked(
        experiment=experiment,
        group=built.group,
        model=built.model,
        instance_sha=built.instance.sha256,
        bundles_sha=digest([build.stages[1].sha256 for build in built.libraries], 64),
    )
    return cells_of(asked, revision=revision, **choice)


def cells_of(
    asked: Asked,
    *,
    revision: str,
    conditions: Sequence[Condition | FurtherCondition] | None,
    deliveries: Sequence[Delivery] | None,
    samples: int,
    seed: int,
    limit: int | None,
    retrieval: Retrieval | None = None,
    profile: ModelProfile = DEFAULT_PROFILE,
    opinion: str | None = None,
    pack: str | None = None,
    before: str | None = None,
) -> list[Cell]:
    """Return the cells of a grid in the order of the conditions."""
    pairs = expand_grid(conditions or CONDITIONS, deliveries or ["oracle"])
    return [
        Cell(
            **asked.to_row(),
            model_revision=revision,
            condition=condition,
            delivery=delivery,
            sampling=Sampling(n=samples, seed=seed, max_tokens=profile.max_tokens),
            opinion=opinion,
            window=profile.window,
            retrieval=_texts(delivery, condition, retrieval, pack=pack, before=before),
            limit=limit,
        )
        for delivery, condition in pairs
    ]


def prerequisites_of(
    group: str,
    model: str,
    conditions: Sequence[Condition | FurtherCondition] | None,
    deliveries: Sequence[Delivery] | None,
) -> str | None:
    """Return the digest of what comes before each API, where a cell shows it.

    Raises:
        UsageError: a library has no graph yet.
    """
    if "rag_graph" not in (deliveries or ()) and "s_prereq" not in (conditions or ()):
        return None
    return store_prerequisites(group, members(group), model, run_layout())


def keep_pack(path: str | None, group: str) -> str | None:
    """Keep a context pack below the home, where one is given, and return its digest."""
    return store_pack(read_pack(Path(path)), group, run_layout()) if path else None


def _texts(
    delivery: Delivery,
    condition: Condition | FurtherCondition,
    retrieval: Retrieval | None,
    *,
    pack: str | None,
    before: str | None,
) -> Retrieval | None:
    """Return what texts a cell shows, where they are not the target's own bundle."""
    if delivery == "pack":
        return Retrieval(documents=pack)
    if condition == "s_prereq":
        return Retrieval(documents=before)
    if delivery == "rag_graph" and retrieval is not None:
        return retrieval.model_copy(update={"documents": before})
    return retrieval if delivery == "search" or delivery in RETRIEVES else None


__all__ = [
    "Asked",
    "cells_of",
    "expand",
    "experiment_name",
    "keep_pack",
    "members",
    "prerequisites_of",
    "resolve",
]
