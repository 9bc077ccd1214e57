"""Which release a model can have known, and which one is new to it.

The old release is the highest final version (post-releases count, pre-releases and development versions do not) whose
*first* file was uploaded before the cutoff day, 00:00 UTC; fully withdrawn releases are skipped unless nothing else is
left. The highest version, not the latest upload: maintenance releases of old lines appear after newer lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from novelapi.discovery.index import IndexFile, Project
from novelapi.errors import NothingNewError, UsageError
from novelapi.records.base import Record


class Release(Record):
    """One version of a distribution with its files."""

    version: str
    """Version as its files spell it."""

    first: datetime
    """Upload of its first file, UTC: the time of the release."""

    last: datetime
    """Upload of its last file, UTC."""

    yanked: bool
    """Whether every file was withdrawn."""

    files: tuple[IndexFile, ...]
    """Its files by upload time."""

    @property
    def parsed(self) -> Version:
        """The version, comparable."""
        return Version(self.version)


class VersionPair(Record):
    """The two releases between which a library is new to a model."""

    library: str
    """Name of the library."""

    cutoff: date | None
    """Day before which the old release was uploaded; null when both releases were named."""

    old: str | None
    """The last release before the cutoff; null when there was none."""

    new: str
    """The release under test."""

    reason: str
    """Why these two."""

    def require_window(self) -> None:
        """Refuse a pair between which nothing can be new.

        Raises:
            NothingNewError: the old release is not below the new one.
        """
        if self.old is not None and Version(self.old) >= Version(self.new):
            raise NothingNewError(
                f"nothing in {self.library} {self.new} is newer than the cutoff {self.cutoff} "
                f"({self.old} was out): give an earlier date or a newer release with --new"
            )


def list_releases(project: Project, *, pre: bool = False) -> list[Release]:
    """Return the final releases of a distribution, lowest version first; with `pre` all of them."""
    files: dict[Version, list[IndexFile]] = defaultdict(list)
    for file in project.files:
        version = file_version(file)
        if version is not None and (pre or not version.is_prerelease):
            files[version].append(file)
    return [_release(version, found) for version, found in sorted(files.items())]


def file_version(file: IndexFile) -> Version | None:
    """Return the version that a file belongs to; null for old installers whose names say it in no standard way."""
    try:
        if file.kind == "wheel":
            return parse_wheel_filename(file.filename)[1]
        if file.kind == "sdist":
            return parse_sdist_filename(file.filename)[1]
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    return None


def _release(version: Version, files: Sequence[IndexFile]) -> Release:
    return Release(
        version=str(version),
        first=min(file.uploaded for file in files),
        last=max(file.uploaded for file in files),
        yanked=all(file.yanked for file in files),
        files=tuple(files),
    )


def latest_before(releases: Iterable[Release], cutoff: date) -> Release | None:
    """Return the highest release whose first file was uploaded before the cutoff day, 00:00 UTC."""
    limit = datetime.combine(cutoff, time.min, UTC)
    known = [release for release in releases if release.first < limit]
    return _highest(known)


def _highest(releases: Sequence[Release]) -> Release | None:
    offered = [release for release in releases if not release.yanked] or releases
    return max(offered, key=lambda release: release.parsed, default=None)


def find_release(library: str, releases: Sequence[Release], version: str) -> Release:
    """Return a release by its version, however it is spelt.

    Raises:
        UsageError: there is no such release.
    """
    try:
        wanted = Version(version)
    except InvalidVersion as error:
        raise UsageError(
            f"'{version}' is not a version: give one such as {_newest(library, releases).version}"
        ) from error
    for release in releases:
        if release.parsed == wanted:
            return release
    shown = ", ".join(release.version for release in releases[-5:])
    raise UsageError(f"{library} has no final release {version}: the newest are {shown}")


def _newest(library: str, releases: Sequence[Release]) -> Release:
    newest = _highest(releases)
    if newest is None:
        raise UsageError(f"{library} has no final release on the package index: name another library")
    return newest


def resolve_new(library: str, releases: Sequence[Release], new: str | None, pinned: str | None) -> Release:
    """Return the release that was named, else the catalogue's, else the newest.

    Raises:
        UsageError: there is no such release, or none at all.
    """
    return find_release(library, releases, new or pinned or _newest(library, releases).version)


def resolve_pair(
    library: str,
    releases: Sequence[Release],
    *,
    cutoff: date | None = None,
    old: str | None = None,
    new: str | None = None,
    pinned: str | None = None,
) -> VersionPair:
    """Return the pair of releases for a cutoff, or the two that were named.

    Args:
        library: name for messages.
        releases: all final releases, lowest version first.
        cutoff: what the model can have seen lies before this day; not needed when `old` is given.
        old: the old release by name.
        new: the new release by name; else `pinned`, else the newest one.
        pinned: the catalogue's release.

    Raises:
        NothingNewError: the cutoff lies after the newest release.
        UsageError: no such release, no cutoff, or the old release is above the new one.
    """
    newest = _newest(library, releases)
    target = resolve_new(library, releases, new, pinned)
    if old is not None:
        before = find_release(library, releases, old)
        if before.parsed >= target.parsed:
            raise UsageError(f"{library} {before.version} is not below {target.version}: exchange --old and --new")
        return VersionPair(library=library, cutoff=None, old=before.version, new=target.version, reason="both named")
    if cutoff is None:
        raise UsageError("what the model can have seen is not known: give --cutoff DATE, or --old and --new")
    if cutoff > newest.first.date():
        raise NothingNewError(
            f"the cutoff {cutoff} lies after the newest release of {library} "
            f"({newest.version}, {newest.first:%Y-%m-%d}): give an earlier date"
        )
    before_cutoff = latest_before(releases, cutoff)
    known = before_cutoff.version if before_cutoff else None
    return VersionPair(
        library=library, cutoff=cutoff, old=known, new=target.version, reason=_reason(before_cutoff, target, cutoff)
    )


def _reason(old: Release | None, new: Release, cutoff: date) -> str:
    """Return in words why these two releases bound the window."""
    if old is None:
        return f"no final release before {cutoff}"
    text = f"{old.version} is the highest final release uploaded before {cutoff} ({old.first:%Y-%m-%d})"
    if old.yanked:
        text += ", withdrawn since"
    if old.parsed >= new.parsed:
        text += f"; {new.version} is not newer, so nothing of it is new"
    return text
