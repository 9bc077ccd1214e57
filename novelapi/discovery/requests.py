"""Stage 1 and the environments of a library, for a request: what the later stages and the flows call."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from novelapi.catalog import find_library, listed_model
from novelapi.discovery.releases import VersionPair
from novelapi.discovery.stage import run_discovery
from novelapi.discovery.surface.model import ApiObject
from novelapi.discovery.workspace import Workspace
from novelapi.errors import UsageError
from novelapi.layout import Layout
from novelapi.ports import RememberedApi
from novelapi.records.environment import Environment
from novelapi.records.request import LibraryRequest
from novelapi.records.stage import StageResult
from novelapi.settings import load_settings


@lru_cache(maxsize=4)
def _workspace(home: Path) -> Workspace:
    return Workspace.open(load_settings().model_copy(update={"home": home}))


def workspace_of(layout: Layout) -> Workspace:
    """Return the workspace of a home folder, opened once per process."""
    return _workspace(layout.home)


def find_versions(request: LibraryRequest, layout: Layout) -> VersionPair:
    """Return the two releases that a request is about.

    Raises:
        UsageError: no cutoff is known, or no release fits.
        UnknownNameError: the index does not have the library.
        IndexUnavailableError: the package index did not answer.
    """
    cutoff, library = request.cutoff, find_library(request.library)
    if cutoff is None and request.old is None and not library.private:
        model = listed_model(request.model)
        if model is None or model.cutoff is None:
            raise UsageError(f"the model '{request.model}' has no cutoff: give --cutoff DATE, or --old and --new")
        cutoff = model.cutoff
    return workspace_of(layout).resolve(library, cutoff=cutoff, old=request.old, new=request.new)


def discover(request: LibraryRequest, layout: Layout, progress: Callable[[str], None] = lambda _: None) -> StageResult:
    """Run stage 1 for a request whose releases are resolved.

    Raises:
        NovelApiError: see `novelapi.discovery.discover.discover`.
    """
    if request.new is None:
        raise UsageError("the new release is not resolved: call find_versions first")
    return run_discovery(
        workspace_of(layout),
        find_library(request.library),
        old=request.old,
        new=request.new,
        model=request.model,
        limit=request.limit,
        progress=progress,
    )


def release_environments(request: LibraryRequest, layout: Layout) -> tuple[Environment, Environment | None]:
    """Return the environments of the new and the old release, built if need be; no old one without a prior release.

    Raises:
        IndexUnavailableError: the index did not answer.
        NovelApiError: one of them cannot be installed.
    """
    if request.new is None:
        raise UsageError("the new release is not resolved: call find_versions first")
    workspace, library = workspace_of(layout), find_library(request.library)
    new = workspace.environment(library, request.new, documentation=True)
    old = workspace.environment(library, request.old) if request.old is not None else None
    return new, old


def environment_for(library: str, release: str, layout: Layout) -> Environment:
    """Return the environment that tasks of a library's release run in; `python` is the running interpreter.

    Raises:
        UnknownNameError: there is no such library.
        IndexUnavailableError: the index did not answer.
        NovelApiError: it cannot be installed.
    """
    return workspace_of(layout).environment(find_library(library), release, documentation=True)


def old_surface(request: LibraryRequest, layout: Layout) -> list[RememberedApi]:
    """Return the public functions and classes of the old release: what a model of that time can know.

    Raises:
        IndexUnavailableError: a download failed.
    """
    if request.old is None:
        return []
    surface = workspace_of(layout).surface(find_library(request.library), request.old)
    found: dict[str, RememberedApi] = {}
    for module, names in sorted(surface.names.items()):
        if any(part.startswith("_") for part in module.split(".")):
            continue
        for name, (canonical, _) in sorted(names.items()):
            known = surface.objects.get(canonical)
            if known is None or name.startswith("_") or known.kind not in ("function", "class", "unknown"):
                continue
            path = f"{module}.{name}"
            doc = (known.doc or "").strip().split("\n\n")[0]
            found[path] = RememberedApi(path=path, signature=_parameters(known), doc=" ".join(doc.split())[:200])
    return [found[path] for path in sorted(found)]


def _parameters(known: ApiObject) -> str:
    if known.params is None:
        return ""
    parts = [
        f"{item.name}={item.default}" if item.default is not None else item.name
        for item in known.params
        if item.name not in ("self", "cls")
    ]
    return f"({', '.join(parts)})"
