"""Finds a Python that a release admits: the running one, else an older or newer one that is installed."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from novelapi.errors import PrerequisiteError


@dataclass(frozen=True)
class Interpreter:
    """One installed Python."""

    path: Path
    """Executable, links resolved."""
    version: str
    """Full version."""

    @property
    def prefix(self) -> Path:
        """Folder of the installation."""
        return self.path.parent.parent


def running_interpreter() -> Interpreter:
    """Return the interpreter below any virtual environment that this process runs in."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder = Path(sys.base_prefix).resolve() / "bin"
    path = folder / name if (folder / name).exists() else Path(sys.executable).resolve()
    return Interpreter(path, platform.python_version())


def find_interpreter(requires: str | None) -> Interpreter:
    """Return a Python that a release admits: the running one, else the nearest installed one, older ones first.

    Raises:
        PrerequisiteError: none is installed; the message says how to get one.
    """
    running = running_interpreter()
    admitted = SpecifierSet(requires or "")
    if admitted.contains(running.version):
        return running
    here = Version(running.version)
    found = [item for item in installed_interpreters() if admitted.contains(item.version)]
    if not found:
        raise PrerequisiteError(
            f"this release needs Python {requires} and none is installed: run `uv python install '{requires}'`"
        )
    older = [item for item in found if Version(item.version) < here]
    if older:
        return max(older, key=lambda item: Version(item.version))
    return min(found, key=lambda item: Version(item.version))


def installed_interpreters() -> Iterator[Interpreter]:
    """Yield the Pythons that uv knows and those beside the running one or in pyenv; some may be yielded twice."""
    yield from _from_uv()
    for folder in dict.fromkeys((Path(sys.base_prefix).resolve().parent, Path.home() / ".pyenv" / "versions")):
        for path in sorted(folder.glob("*/bin/python3")):
            version = path.parent.parent.name.removeprefix("cpython-").partition("-")[0]
            try:
                Version(version)
            except InvalidVersion:
                continue
            yield Interpreter(path.resolve(), version)


def _from_uv() -> Iterator[Interpreter]:
    from uv import find_uv_bin  # noqa: PLC0415 - finds a program

    listed = subprocess.run(
        [find_uv_bin(), "python", "list", "--only-installed", "--output-format", "json"],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    for item in json.loads(listed.stdout) if listed.returncode == 0 else ():
        if item.get("path") and item.get("implementation", "cpython") == "cpython":
            path = Path(item["path"])
            if "shims" not in path.parts:  # a shim starts whatever the working folder says
                yield Interpreter(path.resolve(), item["version"])
