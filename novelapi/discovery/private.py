"""A user's own package, given as one or two wheels or project folders, takes the place of a library of the index.

Its name is that of the distribution with a digest of the content, so that nothing of another build is taken from a
cache. Its files lie where downloads do, and a list of them stands in for the answer of an index. Dependencies come from
the index as usual, as of the day on which the files were first given, since a file says nothing of its date.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Literal

from packaging.utils import canonicalize_name
from packaging.version import Version

from novelapi import jsonl
from novelapi.catalog import Library
from novelapi.catalog.load import PRIVATE_MARK
from novelapi.discovery.fetch import unpack
from novelapi.discovery.index import IndexFile, Project
from novelapi.discovery.metadata import WheelMetadata, wheel_metadata
from novelapi.discovery.workspace import Workspace
from novelapi.errors import UsageError
from novelapi.fingerprint import digest, file_digest

_PROJECT_FILES = ("pyproject.toml", "setup.py")


@dataclass(frozen=True, kw_only=True)
class Package:
    """One release of a private package."""

    metadata: WheelMetadata
    wheel: Path
    sdist: Path | None
    """Source archive, where a folder was given: it holds documentation, tests and changelog."""

    @property
    def content(self) -> str:
        """Digest of everything that is read of it."""
        if self.sdist is None:
            return self.metadata.content
        with tempfile.TemporaryDirectory() as place:
            unpack(self.sdist, Path(place))
            files = sorted(path for path in Path(place).rglob("*") if path.is_file())
            sums = [[path.relative_to(place).as_posix(), file_digest(path)] for path in files]
        return digest([self.metadata.content, sums])


def keep_private(workspace: Workspace, path: Path, old: Path | None, today: date) -> Library:
    """Keep a package below the home and return it as a library, whose name all verbs take from then on.

    Args:
        workspace: caches, index and environments.
        path: the new release: a wheel, or the folder of a project.
        old: the release that the model can know, likewise; null when there is none.
        today: what dependencies are dated by, unless the same files were given before.

    Raises:
        UsageError: a file is missing, a folder cannot be built, or the two are not two releases of one package.
        DataError: a wheel is broken.
        IndexUnavailableError: a project's build backend could not be fetched.
    """
    with tempfile.TemporaryDirectory() as place:
        new = _package(workspace, path, Path(place, "new"))
        before = _package(workspace, old, Path(place, "old")) if old is not None else None
        if before is not None:
            _check_order(before.metadata, new.metadata)
        content = digest([new.content, before.content if before else None], 10)
        library = Library(
            name=f"{canonicalize_name(new.metadata.name)}{PRIVATE_MARK}{content}",
            distribution=new.metadata.name,
            imports=(),
            licence=new.metadata.licence,
            release=new.metadata.version,
            previous=before.metadata.version if before else None,
            private=True,
        )
        folder = workspace.layout.private(library.name)
        if not (folder / "library.json").is_file():
            moment = datetime.combine(today, time.min, UTC)
            packages = [new, *([before] if before else [])]
            files = tuple(file for package in packages for file in _keep(workspace, package, moment))
            project = Project(name=library.name, fetched=today, files=files)
            jsonl.write_text(folder / "project.json", project.model_dump_json(indent=1))
            jsonl.write_text(folder / "library.json", library.model_dump_json(indent=1))  # last: it says all is there
    return library


def _package(workspace: Workspace, path: Path, place: Path) -> Package:
    """Return the release that a path names, a folder built first."""
    if path.is_file():
        return Package(metadata=wheel_metadata(path), wheel=path, sdist=None)
    if not path.is_dir():
        raise UsageError(f"there is no file or folder {path}: give a wheel (*.whl) or the folder of a project")
    if not any((path / name).is_file() for name in _PROJECT_FILES):
        raise UsageError(f"{path} holds no pyproject.toml: give the folder of a project, or a wheel (*.whl)")
    workspace.environments.build_archives(path.absolute(), place)
    (wheel,) = place.glob("*.whl")
    (sdist,) = place.glob("*.tar.gz")
    return Package(metadata=wheel_metadata(wheel), wheel=wheel, sdist=sdist)


def _check_order(old: WheelMetadata, new: WheelMetadata) -> None:
    """Check that two wheels are an older and a newer release of one distribution.

    Raises:
        UsageError: they are not.
    """
    if canonicalize_name(old.name) != canonicalize_name(new.name):
        raise UsageError(f"--old is {old.name} and --library-path is {new.name}: give two releases of one package")
    if Version(old.version) == Version(new.version):
        raise UsageError(f"both files are {new.name} {new.version}: raise the version of the new one")
    if Version(old.version) > Version(new.version):
        raise UsageError(f"--old is {old.version}, newer than {new.version}: exchange --old and --library-path")


def _keep(workspace: Workspace, package: Package, moment: datetime) -> list[IndexFile]:
    """Put the files of a release where downloads lie, and list them as an index would."""
    kept: list[IndexFile] = []
    kinds: list[tuple[Path | None, Literal["wheel", "sdist"]]] = [(package.wheel, "wheel"), (package.sdist, "sdist")]
    for path, kind in kinds:
        if path is None:
            continue
        sha256 = file_digest(path)
        target = workspace.layout.download(sha256, path.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        kept.append(
            IndexFile(
                filename=path.name,
                url=target.as_uri(),
                sha256=sha256,
                uploaded=moment,
                requires_python=package.metadata.requires_python,
                kind=kind,
            )
        )
    return kept
