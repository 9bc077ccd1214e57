"""Material: everything that stage 2 reads about one release of one library."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from novelapi.catalog import Library
from novelapi.discovery.workspace import Workspace
from novelapi.errors import NovelApiError
from novelapi.execution.isolated import Limits, run_isolated
from novelapi.records.environment import Environment


@dataclass(frozen=True, kw_only=True)
class Material:
    """The sources of knowledge about a new release."""

    library: str
    """Name in the catalogue, or of the distribution."""
    release: str
    """The new release."""
    old_release: str | None
    """The release before the cutoff; null when there was none."""
    env: Environment
    """Environment of the new release."""
    packages: Path
    """Folder that holds the import packages: site-packages of the environment, or an unpacked wheel."""
    roots: tuple[str, ...]
    """The import packages of the library in that folder."""
    sdist: Path | None = None
    """Folder of the unpacked source distribution, or null when there is none."""
    licence: str = "unknown"
    """SPDX identifier of what is quoted."""
    domain: str = ""
    """Domain in the catalogue."""
    setup: str = ""
    """Code that a framework needs before anything of it is used; it becomes part of the examples that need it."""

    @property
    def folders(self) -> list[Path]:
        """The folders of the library's own packages."""
        return [self.packages / root for root in self.roots if (self.packages / root).is_dir()]


def material_in(workspace: Workspace, library: Library, old: str | None, new: str, env: Environment) -> Material:
    """Return what there is to read about a release.

    Args:
        workspace: caches and index.
        library: the library.
        old: the last release that the model can know; null when there was none.
        new: the release under test.
        env: its environment.

    Raises:
        IndexUnavailableError: the source archive could not be fetched.
    """
    return Material(
        library=library.name,
        release=new,
        old_release=old,
        env=env,
        packages=site_packages(env),
        roots=tuple(sorted(library.imports or workspace.surface(library, new).roots)),
        sdist=workspace.sdist(library, new),
        licence=library.licence,
        domain=library.domain,
        setup=library.prelude or "",
    )


def site_packages(env: Environment) -> Path:
    """Return the folder of an environment that holds the installed packages."""
    short = ".".join(env.python_version.split(".")[:2])
    return Path(env.prefix, "lib", f"python{short}", "site-packages")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What the running library says about its APIs."""

    apis: Mapping[str, Mapping[str, Any]]
    """Per public path: docstring, file, line, signature; or the reason why it could not be reached in `error`."""
    modules: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Public names per module."""
    members: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Docstrings with examples per class and public member."""


def describe(material: Material, paths: Iterable[str], modules: Iterable[str], classes: Iterable[str]) -> Facts:
    """Ask the library itself, in one sandboxed process.

    Raises:
        NovelApiError: the library does not import, hangs or dies; the message holds the end of its output.
        PrerequisiteError: bubblewrap is missing.
    """
    request = {
        "setup": material.setup,
        "paths": sorted(set(paths)),
        "modules": sorted(set(modules)),
        "classes": sorted(set(classes)),
    }
    limits = Limits(wall_s=300, cpu_s=200, memory_mb=16384)
    answer = run_isolated(material.env, "describe_apis", request, limits)
    if answer.failure is not None:
        tail = " ".join(answer.output.split())[-300:]
        raise NovelApiError(
            f"{material.library} {material.release} could not be described ({answer.failure}): {tail}; "
            "check the environment with `novelapi env check`"
        )
    value = answer.value
    return Facts(
        apis=value["apis"],
        modules={name: frozenset(names) for name, names in value["modules"].items()},
        members=value["members"],
    )
