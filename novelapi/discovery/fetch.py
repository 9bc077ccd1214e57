"""Downloads wheels and sdists, each checked by SHA-256 and kept under its digest.

Of a wheel above 50 MB only the sources are fetched, by ranged reads; they are checked against the digests in the
wheel's own RECORD.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from packaging.tags import Tag, sys_tags
from packaging.utils import parse_wheel_filename

from novelapi.discovery.index import IndexFile, PackageIndex
from novelapi.discovery.ranged import fetch_sources
from novelapi.discovery.releases import Release
from novelapi.errors import IndexUnavailableError, NovelApiError

LARGE = 50_000_000
"""Size in bytes above which only the sources of a wheel are fetched (torch: 12 of 800 MB)."""

_TIMEOUT = (10, 120)
_UNPACKED_CAP = 4 << 30


def choose_wheel(release: Release) -> IndexFile | None:
    """Return the wheel that an installer would take here, else any pure one, else any for Linux, else none."""
    order = {tag: position for position, tag in enumerate(sys_tags())}
    wheels = [file for file in release.files if file.kind == "wheel"]
    return min(wheels, key=lambda file: (_preference(file, order), file.filename), default=None)


def _preference(file: IndexFile, order: dict[Tag, int]) -> int:
    tags = parse_wheel_filename(file.filename)[3]
    worst = len(order)
    if any(tag in order for tag in tags):
        return min(order.get(tag, worst) for tag in tags)
    if any(tag.platform == "any" for tag in tags):
        return worst + 1
    return worst + (2 if any("linux" in tag.platform for tag in tags) else 3)


def choose_sdist(release: Release) -> IndexFile | None:
    """Return the source archive of a release, if it has one."""
    archives = [file for file in release.files if file.kind == "sdist"]
    return min(archives, key=lambda file: (not file.filename.endswith(".tar.gz"), file.filename), default=None)


@dataclass(frozen=True, kw_only=True)
class Downloads:
    """What was downloaded, by digest."""

    index: PackageIndex

    def fetch_wheel(self, release: Release) -> Path | None:
        """Return a wheel of the release as a zip file, complete or with its sources only; null when it has none.

        Raises:
            IndexUnavailableError: the download failed.
            NovelApiError: the content has another digest, or the disk is full.
        """
        file = choose_wheel(release)
        if file is None:
            return None
        if file.size is None or file.size <= LARGE:
            return self._fetch(file)
        path = self._path(file, "sources.zip")
        if not path.exists():
            with _answering(file), _aside(path) as temporary:
                fetch_sources(self.index.session, file, temporary)
        return path

    def fetch_sdist(self, release: Release) -> Path | None:
        """Return the unpacked source archive of a release; null when it has none.

        Raises:
            IndexUnavailableError: the download failed.
            NovelApiError: the content has another digest, is unsafe to unpack, or the disk is full.
        """
        file = choose_sdist(release)
        if file is None:
            return None
        tree = self._path(file, "tree")
        if not tree.exists():
            archive = self._fetch(file)
            with _aside(tree) as temporary:
                unpack(archive, temporary)
        return _single_folder(tree)

    def _fetch(self, file: IndexFile) -> Path:
        path = self._path(file, file.filename)
        if path.exists():
            return path
        if self.index.offline:
            raise IndexUnavailableError(f"{file.filename} was never downloaded: run once without --offline")
        hasher = hashlib.sha256()
        with _answering(file), _aside(path) as temporary:
            with self.index.session.get(file.url, timeout=_TIMEOUT, stream=True) as response:
                response.raise_for_status()
                with temporary.open("wb") as sink:
                    for chunk in response.iter_content(1 << 20):
                        hasher.update(chunk)
                        sink.write(chunk)
            if hasher.hexdigest() != file.sha256:
                raise NovelApiError(
                    f"{file.filename} does not have the digest that the index announced (hash mismatch): "
                    "remove the recorded index answer and run again; if it stays, do not trust the file"
                )
        return path

    def _path(self, file: IndexFile, name: str) -> Path:
        return self.index.layout.download(file.sha256, name)


@contextmanager
def _answering(file: IndexFile) -> Generator[None]:
    """Turn a failed transfer into the error of an index that does not answer."""
    import requests  # noqa: PLC0415 - a package folder may be read without it

    try:
        yield
    except requests.RequestException as error:
        raise IndexUnavailableError(
            f"the download of {file.filename} failed ({type(error).__name__}): check the network and run again"
        ) from error


@contextmanager
def _aside(path: Path) -> Generator[Path]:
    """Yield a temporary place beside `path`; what lies there afterwards is moved to `path` at once, or removed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        if temporary.is_dir() and path.exists():
            return  # another process was faster, and content under a digest is always the same
        temporary.replace(path)
    except OSError as error:
        if _is_transfer(error):
            raise
        raise NovelApiError(
            f"cannot write {path}: {error.strerror or error}; free space or set NOVELAPI_HOME"
        ) from error
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def _is_transfer(error: OSError) -> bool:
    import requests  # noqa: PLC0415 - its errors are operating system errors too

    return isinstance(error, requests.RequestException)


def unpack(archive: Path, target: Path) -> None:
    """Unpack a zip or tar archive below `target`; nothing can land outside, and its size is bounded.

    Raises:
        NovelApiError: the archive is broken, unsafe or too large.
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as bundle:
                _check_size(archive, sum(item.file_size for item in bundle.infolist()))
                bundle.extractall(target)  # noqa: S202 - zipfile strips roots and parent references itself
            return
        with tarfile.open(archive) as bundle:
            members = bundle.getmembers()
            _check_size(archive, sum(item.size for item in members))
            for item in filter(tarfile.TarInfo.isfile, members):
                _copy_out(bundle, item, target)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise NovelApiError(f"{archive.name} cannot be unpacked ({error}): delete {archive} and run again") from error


def _copy_out(bundle: tarfile.TarFile, item: tarfile.TarInfo, target: Path) -> None:
    """Write a regular file's content; links are never made, so that no name leads through one.

    `extractall(filter="data")` does it too, from Python 3.11.4 on.
    """
    parts = [part for part in PurePosixPath(item.name).parts if part != "/"]
    if ".." in parts or not parts:
        raise tarfile.TarError(f"'{item.name}' leads outside")
    path = target.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    source = bundle.extractfile(item)
    assert source is not None, "a regular file has content"
    with source, path.open("wb") as sink:
        shutil.copyfileobj(source, sink)


def _check_size(archive: Path, size: int) -> None:
    if size > _UNPACKED_CAP:
        raise NovelApiError(f"{archive.name} would unpack to {size >> 20} MB: it is left alone")


def _single_folder(tree: Path) -> Path:
    """Return the one folder that an sdist holds, or the tree itself."""
    entries = sorted(tree.iterdir())
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else tree
