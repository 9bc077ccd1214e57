"""Environments for the tasks of outside suites: what they declare, as near as it can be had, and where it is not.

Tried in this order, the first that resolves is taken: the declared Python, then the other installed ones, nearest
first; on each, dependencies as of the day on which the last declared pin came out, then as of the day on which its last
file was uploaded, then of any age. A dependency that had no wheel on that day may be newer by itself. Whatever is not
exactly as declared stands in the notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from novelapi.discovery.releases import Release, find_release
from novelapi.discovery.workspace import GRACE, Workspace
from novelapi.errors import UsageError
from novelapi.evaluation.suites.base import Need
from novelapi.execution.environments import python_environment
from novelapi.execution.interpreters import Interpreter, installed_interpreters, running_interpreter
from novelapi.records.environment import Environment, EnvironmentRequest

_PATH = re.compile(r"(?:file://)?/[^\s:,'\"`)]+")
_OLDEST = Version("3.7")


@dataclass(frozen=True, kw_only=True)
class Supplied:
    """An environment, or why there is none."""

    env: Environment | None
    reason: str | None = None
    """The resolver's words; null when there is an environment."""
    notes: tuple[str, ...] = ()
    """Where it differs from what was declared."""


@dataclass(frozen=True, kw_only=True)
class Supply:
    """Builds environments one at a time, in one workspace."""

    workspace: Workspace
    now: datetime
    """No file that was uploaded later is considered, UTC."""

    @cached_property
    def _interpreters(self) -> list[Interpreter]:
        """The running interpreter and the installed ones that the guest programs run on, one of each minor version."""
        newest: dict[tuple[int, ...], Interpreter] = {}
        for item in [*installed_interpreters(), running_interpreter()]:
            version = Version(item.version)
            if version >= _OLDEST and not version.is_prerelease:
                newest[version.release[:2]] = item
        return list(newest.values())

    def environment(self, need: Need) -> Supplied:
        """Return the environment of a task, built unless it is there.

        Raises:
            IndexUnavailableError: the package index did not answer.
            PrerequisiteError: uv is missing.
        """
        if need.library == "python":
            return Supplied(env=python_environment())
        try:
            moments = self._moments(need)
        except UsageError as error:
            return Supplied(env=None, reason=_plain(str(error)))
        first: str | None = None
        for python, python_note in self._pythons(need):
            for before, date_note in moments:
                try:
                    env = self.workspace.environments.build(_request(need, python, before))
                except UsageError as error:
                    first = first or _plain(str(error))
                    continue
                notes = tuple(note for note in (python_note, date_note, _newer(env)) if note)
                if need.runner and need.runner not in env.distributions:
                    return Supplied(env=None, reason=f"{need.runner} cannot be had beside it", notes=notes)
                return Supplied(env=env, notes=notes)
        return Supplied(env=None, reason=first or "no Python is installed")

    def _pythons(self, need: Need) -> Iterator[tuple[Interpreter, str]]:
        """Yield interpreters in the order in which they are tried, with what to note."""
        running = running_interpreter()
        if need.python is None:
            yield running, ""
            return
        declared = Version(need.python).release[:2]
        exact = [item for item in self._interpreters if Version(item.version).release[:2] == declared]
        others = [item for item in self._interpreters if item not in exact]
        others.sort(key=lambda item: (abs(Version(item.version).minor - declared[1]), Version(item.version).minor))
        for item in exact:
            yield item, ""
        if not exact:
            others.sort(key=lambda item: item.version != running.version)  # stable: the running one first
        for item in others:
            why = "has no environment for it" if exact else "is not installed"
            yield item, f"Python {item.version}, as the declared {need.python} {why}"

    def _moments(self, need: Need) -> list[tuple[datetime, str]]:
        """Return the days as of which dependencies are chosen, with what to note.

        Raises:
            UsageError: the index has no such release.
        """
        pins = [self._release(f"{need.library}=={need.release}"), *map(self._release, need.requirements)]
        found = [item for item in pins if item is not None]
        first, last = max(item.first for item in found) + GRACE, max(item.last for item in found) + GRACE
        moments = [(first, "")]
        if last > first:
            moments.append((last, f"dependencies as of {last:%Y-%m-%d}, the day of its last file"))
        moments.append((self.now, "dependencies of any age, as none of its time can be installed"))
        return moments

    def _release(self, requirement: str) -> Release | None:
        parsed = Requirement(requirement)
        exact = [item.version for item in parsed.specifier if item.operator == "=="]
        if not exact:
            return None
        return find_release(parsed.name, self.workspace.releases(parsed.name), exact[0])


def _newer(env: Environment) -> str:
    """Tell which dependencies are newer than the rest."""
    if not env.undated:
        return ""
    return f"{', '.join(env.undated)} as of {env.undated_before:%Y-%m-%d}, without a wheel of the time"


def _request(need: Need, python: Interpreter, before: datetime) -> EnvironmentRequest:
    wanted = [Requirement(text) for text in need.extras]
    own = {canonicalize_name(Requirement(text).name) for text in (need.library, *need.requirements)}
    marked = {"python_version": ".".join(python.version.split(".")[:2]), "python_full_version": python.version}
    extras = tuple(
        f"{item.name}{item.specifier}"
        for item in wanted
        if (item.marker is None or item.marker.evaluate(marked)) and canonicalize_name(item.name) not in own
    )
    return EnvironmentRequest(
        library=need.library,
        distribution=need.library,
        release=need.release,
        before=before,
        requires_python=f"=={python.version}",
        requirements=need.requirements,
        extras=extras,
        extras_before=max(before, need.extras_before) if need.extras_before else None,
    )


def _plain(message: str) -> str:
    """Return a message without paths of this machine and without what only advises."""
    return _PATH.sub("...", " ".join(message.partition(" hint: ")[0].split()))
