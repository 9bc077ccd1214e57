"""Everything that can be had about a release: its files, its surface, its documentation, its environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Self

from packaging.utils import canonicalize_name

from novelapi.catalog import Library
from novelapi.discovery.fetch import Downloads, choose_sdist, choose_wheel
from novelapi.discovery.index import IndexFile, PackageIndex, Project
from novelapi.discovery.metadata import wheel_metadata
from novelapi.discovery.releases import Release, VersionPair, find_release, list_releases, resolve_new, resolve_pair
from novelapi.discovery.sources import Archive, FolderArchive, Sources, ZipArchive
from novelapi.discovery.surface.extract import Extractor
from novelapi.discovery.surface.model import Surface, load_surface
from novelapi.errors import NovelApiError
from novelapi.execution.environments import Environments, locked_versions, python_environment
from novelapi.execution.installers import configured_index
from novelapi.layout import Layout
from novelapi.records.environment import Environment, EnvironmentRequest
from novelapi.settings import Settings

GRACE = timedelta(days=1)
"""A release may need distributions that its makers upload just after it."""


def _today() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """One home folder with its caches, and the package index behind it."""

    layout: Layout
    index: PackageIndex
    environments: Environments

    @classmethod
    def open(cls, settings: Settings, *, offline: bool = False, today: Callable[[], date] = _today) -> Self:
        """Open the workspace that the settings name; nothing is read or written yet."""
        layout = Layout(settings.home_dir)
        address = configured_index(settings)
        return cls(
            layout=layout,
            index=PackageIndex(layout=layout, address=address, offline=offline, today=today),
            environments=Environments(root=settings.envs_dir, index_url=address, offline=offline),
        )

    @cached_property
    def downloads(self) -> Downloads:
        """The files of releases."""
        return Downloads(index=self.index)

    @cached_property
    def _releases(self) -> dict[str, list[Release]]:
        return {}

    def releases(self, distribution: str, *, fresh: bool = False) -> list[Release]:
        """Return the final releases of a distribution, lowest version first; `fresh` asks the index anew.

        Raises:
            UnknownNameError: the index does not have it.
            IndexUnavailableError: the index did not answer.
        """
        name = canonicalize_name(distribution)
        if fresh or name not in self._releases:
            self._releases[name] = list_releases(self.index.project(name, fresh=fresh))
        return self._releases[name]

    def releases_of(self, library: Library) -> list[Release]:
        """Return the releases of a library: those that the index lists, or the files of a private package.

        Raises:
            UnknownNameError: the index does not have it.
            IndexUnavailableError: the index did not answer.
        """
        if not library.private:
            return self.releases(library.distribution)
        project = (self.layout.private(library.name) / "project.json").read_bytes()
        return list_releases(Project.model_validate_json(project), pre=True)

    def release(self, library: Library, version: str) -> Release:
        """Return one release.

        Raises:
            UsageError: there is no such release.
        """
        return find_release(library.name, self.releases_of(library), version)

    def newest(self, library: Library) -> str:
        """Return the catalogue's release of a library, else the newest final one."""
        return resolve_new(library.name, self.releases_of(library), None, library.release).version

    def resolve(
        self, library: Library, *, cutoff: date | None = None, old: str | None = None, new: str | None = None
    ) -> VersionPair:
        """Return the two releases between which a library is new.

        Raises:
            UsageError: no such release, no cutoff, or a cutoff in the future.
        """
        if library.private:
            return VersionPair(
                library=library.name,
                cutoff=cutoff,
                old=library.previous,
                new=library.release or "",
                reason="both given as files",
            )
        return resolve_pair(
            library.name,
            self.releases_of(library),
            cutoff=cutoff,
            old=old,
            new=new,
            pinned=library.release,
        )

    def surface(self, library: Library, version: str) -> Surface:
        """Return the static surface of a release, from its file unless another wheel or extractor made that.

        Raises:
            IndexUnavailableError: a download failed.
            NovelApiError: the release has neither a wheel nor a source archive.
        """
        parts = self._parts(library, version)
        digests = {file.filename: file.sha256 for _, _, file in parts}
        path = self.layout.surface(library.store, version)
        recorded = load_surface(path)
        if recorded is not None and recorded.sources == dict(sorted(digests.items())):
            return recorded
        sources = Sources([self._archive(release) for _, release, _ in parts], library.imports)
        surface = Extractor(sources).extract(library.distribution, version, digests)
        surface.save(path)
        return surface

    def sources(self, library: Library, version: str) -> Sources:
        """Return the Python files of a release."""
        parts = self._parts(library, version)
        return Sources([self._archive(release) for _, release, _ in parts], library.imports)

    def _parts(self, library: Library, version: str) -> list[tuple[str, Release, IndexFile]]:
        """Return the distributions that fill the library's packages, with the file of each that is read."""
        release = self.release(library, version)
        parts = [(library.distribution, release, self._file(library, release))]
        if library.namespace:
            locked = self.locked(library, version)
            for name in library.namespace:
                found = locked.get(canonicalize_name(name))
                if found is not None:
                    part = find_release(name, self.releases(name), found)
                    parts.append((name, part, self._file(library, part)))
        return parts

    def _file(self, library: Library, release: Release) -> IndexFile:
        file = choose_wheel(release) or choose_sdist(release)
        if file is None:
            raise NovelApiError(
                f"{library.name} {release.version} has neither wheel nor source archive: name another release"
            )
        announced = library.wheels.get(file.filename)
        if announced is not None and announced != file.sha256:
            raise NovelApiError(
                f"{file.filename} is not the file that the catalogue knows (hash mismatch): do not trust this index"
            )
        return file

    def _archive(self, release: Release) -> Archive:
        wheel = self.downloads.fetch_wheel(release)
        if wheel is not None:
            return ZipArchive(wheel)
        tree = self.downloads.fetch_sdist(release)
        assert tree is not None
        return FolderArchive(tree)

    def sdist(self, library: Library, version: str) -> Path | None:
        """Return the unpacked source archive of a release (documentation, tests, changelog), or null."""
        return self.downloads.fetch_sdist(self.release(library, version))

    def locked(self, library: Library, version: str) -> dict[str, str]:
        """Return the versions that a release resolves to as of its own time, by normalised name."""
        return locked_versions(self.environments.lock(self.request(library, version)))

    def request(self, library: Library, version: str, *, documentation: bool = False) -> EnvironmentRequest:
        """Return what to install for a release.

        Args:
            library: the library.
            version: its release.
            documentation: whether the distributions that its examples need come along (for the new release only).
        """
        release = self.release(library, version)
        file = choose_wheel(release) or choose_sdist(release)
        uploaded = max(release.first, file.uploaded if file else release.first)
        wheel = self.downloads.fetch_wheel(release) if library.private else None
        own = wheel_metadata(wheel).requirements if wheel else ()
        return EnvironmentRequest(
            library=library.name,
            distribution=library.distribution,
            release=release.version,
            before=uploaded + GRACE,
            requires_python=file.requires_python if file else None,
            requirements=(*own, *library.requirements),
            wheel=str(wheel) if wheel else None,
            extras=library.doc_dependencies if documentation else (),
        )

    def environment(self, library: Library, version: str, *, documentation: bool = False) -> Environment:
        """Return the environment of a release, built unless it is there; `python` needs none.

        Raises:
            IndexUnavailableError: the index did not answer.
            PrerequisiteError: uv or a Python that the release admits is missing.
            NovelApiError: it cannot be installed.
        """
        if library.name == "python":
            return python_environment()
        return self.environments.build(self.request(library, version, documentation=documentation))
