"""Names that a user chooses from, checked before anything is imported or started."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from novelapi.errors import UnknownNameError, UsageError
from novelapi.records.cell import Condition, Delivery, FurtherCondition
from novelapi.records.request import LibraryRequest

STAGES = (1, 2, 3, 4)
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
FURTHER: tuple[FurtherCondition, ...] = get_args(FurtherCondition)
"""Conditions that run only where they are named."""
DELIVERIES: tuple[Delivery, ...] = get_args(Delivery)
RANKINGS = ("vector", "bm25", "hybrid")
"""What passages may be ranked by."""


def check_stages(stages: Sequence[int] | None) -> int:
    """Return the last stage that was asked for; those before it come from the cache or run too.

    Raises:
        UsageError: a stage does not exist.
    """
    unknown = sorted(set(stages or STAGES) - set(STAGES))
    if unknown:
        raise UsageError(f"unknown stage {unknown[0]}: the stages are 1 discovery, 2 knowledge, 3 tasks, 4 gates")
    return max(stages or STAGES)


def check_names(kind: str, names: Sequence[str] | None, known: Sequence[str]) -> None:
    """Check names against those that exist.

    Raises:
        UnknownNameError: one does not exist; near matches are suggested.
    """
    for name in names or ():
        if name not in known:
            raise UnknownNameError(kind, name, known)


def check_docs(folder: Path | None, deliveries: list[str] | None) -> list[str] | None:
    """Return the deliveries, with `docs` where a folder of documentation is given.

    Raises:
        UsageError: the folder is missing, or `docs` is asked for without one.
    """
    if folder is None:
        if "docs" in (deliveries or ()):
            raise UsageError("the delivery docs needs a folder: give the maintainer's documentation with --docs")
        return deliveries
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}: give the folder of the documentation with --docs")
    return [*dict.fromkeys([*(deliveries or ["oracle"]), "docs"])]


def private_library(path: Path | None, old: str | None, others: Sequence[str]) -> str | None:
    """Keep a user's own package below the home and return its name; null where none is given.

    Args:
        path: wheel or project folder of the new release.
        old: wheel or project folder of the release that the model can know.
        others: further names of libraries or groups, which must not be given beside it.

    Raises:
        UsageError: something else was named too, a file is missing, or the two are not two releases of one package.
        DataError: a wheel is broken.
        IndexUnavailableError: a project's build backend could not be fetched.
    """
    if path is None:
        return None
    if others:
        raise UsageError(f"--library-path names the library: leave {others[0]} out")
    from datetime import UTC, datetime

    from novelapi.discovery.private import keep_private
    from novelapi.discovery.workspace import Workspace
    from novelapi.settings import load_settings

    workspace = Workspace.open(load_settings())
    before = Path(old) if old is not None else None
    return keep_private(workspace, path, before, datetime.now(UTC).date()).name


def check_pack(path: Path | None, deliveries: list[str] | None) -> list[str] | None:
    """Return the deliveries, with `pack` where a pack is given.

    Raises:
        UsageError: the delivery is asked for without a pack.
        DataError: the pack is missing or broken.
    """
    if path is None:
        if "pack" in (deliveries or ()):
            raise UsageError("the delivery pack needs one: write it with `novelapi pack` and give it with --pack")
        return deliveries
    from novelapi.grid.packed import read_pack

    read_pack(path)
    return [*dict.fromkeys([*(deliveries or ["oracle"]), "pack"])]


def check_group(name: str | None) -> None:
    """Check that a group exists, where one is named.

    Raises:
        UnknownNameError: it does not; near matches are suggested.
    """
    from novelapi.catalog import find_group

    if name is not None:
        find_group(name)


def members(group: str) -> list[str]:
    """Return the libraries of a group, `lolo_LIBRARY` included; any other name is a single library.

    Raises:
        UnknownNameError: the name can be neither.
    """
    from novelapi.catalog import find_library, named_group

    entry = named_group(group)
    return list(entry.libraries) if entry else [find_library(group).name]


def all_libraries() -> list[str]:
    """Return every library of the catalogue."""
    from novelapi.catalog import libraries

    return list(libraries())


def check_request(libraries: Sequence[str], options: Mapping[str, Any]) -> None:
    """Check names, and the window of a single library, before a server is started.

    Args:
        libraries: what will be built.
        options: the verb's options: `model`, `cutoff`, `old`, `new`.

    Raises:
        UsageError: a name is unknown, no cutoff is known, or nothing can be new between the two releases.
        IndexUnavailableError: the package index did not answer.
    """
    from novelapi.catalog import find_library, listed_model
    from novelapi.discovery.requests import find_versions
    from novelapi.layout import Layout
    from novelapi.settings import load_settings

    known = [find_library(name).name for name in libraries]
    listed_model(options["model"])
    if len(known) == 1:
        fields = {name: options[name] for name in ("model", "cutoff", "old", "new") if name in options}
        layout = Layout(load_settings().home_dir)
        find_versions(LibraryRequest(library=known[0], **fields), layout).require_window()
