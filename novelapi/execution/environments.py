"""Environments of the libraries under test: one per release and lock file, resolved as of the day of the release."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from novelapi import jsonl
from novelapi.errors import IndexUnavailableError, NovelApiError, PrerequisiteError, UsageError
from novelapi.execution.bytecode import precompile
from novelapi.execution.interpreters import Interpreter, find_interpreter, running_interpreter
from novelapi.fingerprint import digest, file_digest, text_digest
from novelapi.layout import EnvironmentsLayout
from novelapi.records.environment import Environment, EnvironmentRequest

_PIN = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)", re.MULTILINE)
_NO_WHEEL = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*)\S* ha(?:s|ve) no usable wheels|`([^`]+)` was filtered by `exclude-newer`"
)
_LATER = [timedelta(days=90 * 2**step) for step in range(7)]
"""How much newer than the library a dependency without a wheel of the time may be, the least that resolves first."""
_NETWORK = re.compile(
    r"error sending request|failed to fetch|dns error|\b(?:connection|timed out|network)\b", re.IGNORECASE
)


def python_environment() -> Environment:
    """Return the environment of `library: "python"`: the running interpreter with its standard library alone."""
    found = running_interpreter()
    return Environment(
        key=f"python-{found.version}",
        library="python",
        release=found.version,
        python=str(found.path),
        prefix=str(found.prefix),
        base_prefix=str(found.prefix),
        python_version=found.version,
    )


class UnresolvedError(UsageError):
    """The resolver found no set of distributions."""

    def __init__(self, message: str, without_wheel: frozenset[str] = frozenset()) -> None:
        """Keep the normalised names of the distributions that it found no usable wheel of, or only newer ones."""
        super().__init__(message)
        self.without_wheel = without_wheel


@dataclass(frozen=True, kw_only=True)
class Environments:
    """All environments below one folder.

    Each is built aside and moved into place at once; a record inside says that it is complete. Builders of the same
    environment wait for each other.
    """

    root: Path
    """Folder of the environments, absolute."""
    index_url: str | None = None
    """Simple API of the package index; null for uv's own configuration."""
    offline: bool = False
    """Whether only what uv has in its cache may be used."""

    @cached_property
    def layout(self) -> EnvironmentsLayout:
        """Where the files lie."""
        return EnvironmentsLayout(self.root)

    def build(self, request: EnvironmentRequest) -> Environment:
        """Return the environment of a release; built unless it is there.

        A dependency that had no wheel of the time may be newer, by itself and by as little as resolves, where nothing
        else does: it stands in the record (`undated`).

        Raises:
            UsageError: the index has no such release, or not for this Python.
            IndexUnavailableError: the index did not answer.
            PrerequisiteError: uv or a Python that the release admits is missing.
            NovelApiError: the dependencies cannot be resolved or installed, or the disk is full.
        """
        python = find_interpreter(request.requires_python)
        request, lock, left_out = self._resolve(request, python)
        key = f"{canonicalize_name(request.distribution)}-{request.release}-{text_digest(python.version + lock, 12)}"
        with self._guard(key):
            ready = self.find(key)
            return ready or self._install(key, request, python, lock, left_out)

    def lock(self, request: EnvironmentRequest) -> str:
        """Return the lock file for a request without installing anything.

        Raises:
            UsageError: the index has no such release, or not for this Python.
            IndexUnavailableError: the index did not answer.
        """
        return self._resolve(request, find_interpreter(request.requires_python))[1]

    def find(self, key: str) -> Environment | None:
        """Return a complete environment by its key."""
        path = self.layout.record(key)
        return Environment.model_validate_json(path.read_bytes()) if path.exists() else None

    def list(self) -> list[Environment]:
        """Return all complete environments, sorted by key."""
        records = sorted(self.root.glob("*/environment.json")) if self.root.is_dir() else []
        return [Environment.model_validate_json(path.read_bytes()) for path in records]

    def check(self, env: Environment) -> list[str]:
        """Return what is wrong with an environment, in words; nothing when it is sound."""
        problems: list[str] = []
        if not Path(env.python).exists():
            problems.append(f"its interpreter {env.python} is gone")
        lock = self.layout.lock(env.key)
        if not lock.exists() or file_digest(lock) != env.lock_sha:
            problems.append("its lock file is missing or was changed")
        installed = installed_distributions(Path(env.prefix))
        for name in sorted(env.distributions.keys() | installed.keys()):
            wanted, found = env.distributions.get(name), installed.get(name)
            if wanted != found:
                problems.append(f"{name} is {found or 'missing'} instead of {wanted or 'absent'}")
        return problems

    def remove(self, key: str) -> int:
        """Delete an environment; return the bytes of disk that this frees."""
        folder = self.layout.environment(key)
        freed = disk_use(folder)
        with self._guard(key):
            self.layout.record(key).unlink(missing_ok=True)  # first, so that nobody takes the rest for complete
            shutil.rmtree(folder, ignore_errors=True)
            self.layout.lock(key).unlink(missing_ok=True)
        return freed

    def leftovers(self) -> list[Path]:
        """Return folders of builders that were killed."""
        found: list[Path] = []
        for path in sorted(self.root.glob(".*.tmp")) if self.root.is_dir() else []:
            owner = path.name.split(".")[-2]
            if not (owner.isdigit() and Path("/proc", owner).exists()):
                found.append(path)
        return found

    def _resolve(
        self, request: EnvironmentRequest, python: Interpreter
    ) -> tuple[EnvironmentRequest, str, tuple[str, ...]]:
        """Return the request as it could be met, its lock file, and the extras that found no place in it.

        Of a release that comes as a wheel only the dependencies are resolved; its own line names the wheel's digest.
        """
        name = f"{canonicalize_name(request.distribution)}-{request.release}"
        own = f"{request.distribution}=={request.release}"
        main = [*([] if request.wheel else [own]), *request.requirements]
        request, lock = self._dated(name, main, request, python) if main else (request, "")
        later = request.extras_before or request.before
        left_out: list[str] = []
        for extra in request.extras:
            # what the library itself resolved to is a constraint, so an extra can only come beside it
            try:
                lock = self._compile(name, [*pins(lock), extra], request, python, later)
            except UnresolvedError:
                left_out.append(extra)
        if request.wheel is not None:
            lock += f"{own} \\\n    --hash=sha256:{file_digest(Path(request.wheel))}\n"
        return request, lock, tuple(left_out)

    def _dated(
        self, name: str, requirements: Sequence[str], request: EnvironmentRequest, python: Interpreter
    ) -> tuple[EnvironmentRequest, str]:
        """Lock with dependencies of the time; those that the resolver names as without a wheel may be newer.

        Raises:
            UnresolvedError: the first refusal.
        """
        pinned = {canonicalize_name(Requirement(text).name) for text in requirements}
        first: UnresolvedError | None = None
        for later in _LATER:
            request = request.model_copy(update={"undated": (), "undated_before": request.before + later})
            while True:
                try:
                    return request, self._compile(name, requirements, request, python, request.before)
                except UnresolvedError as error:
                    first = first or error
                    more = error.without_wheel - pinned - set(request.undated)
                    if not more:
                        break
                    request = request.model_copy(update={"undated": tuple(sorted({*request.undated, *more}))})
            if not request.undated:
                break
        assert first is not None
        raise first

    def _compile(
        self, name: str, requirements: Sequence[str], request: EnvironmentRequest, python: Interpreter, moment: datetime
    ) -> str:
        before = moment.isoformat()
        spec: dict[str, object] = {"requirements": list(requirements), "before": before, "python": python.version}
        newer = [f"{name}={(request.undated_before or moment).isoformat()}" for name in request.undated]
        if newer:
            spec["newer"] = newer
        path = self.layout.resolution(f"{name}-{digest(spec, 12)}")
        if path.exists():
            return path.read_text("utf-8")
        arguments = ["pip", "compile", "-", "--python", str(python.path), "--exclude-newer", before]
        for item in newer:
            arguments += ["--exclude-newer-package", item]
        arguments += ["--generate-hashes", "--no-header", "--no-annotate", "--no-build", "--no-strip-extras"]
        arguments += ["--no-emit-index-url", "--no-emit-find-links"]
        done = self._uv([*arguments, *self._index()], "".join(f"{line}\n" for line in requirements))
        if done.returncode != 0:
            raise _resolution_error(requirements[0], done.stderr)
        jsonl.write_text(path, done.stdout)
        return done.stdout

    def _install(
        self, key: str, request: EnvironmentRequest, python: Interpreter, lock: str, left_out: tuple[str, ...]
    ) -> Environment:
        folder, aside = self.layout.environment(key), self.root / f".{key}.{os.getpid()}.tmp"
        lock_path = self.layout.lock(key)
        jsonl.write_text(lock_path, lock)
        try:
            self._must(["venv", "--python", str(python.path), "--relocatable", "--no-project", str(aside)])
            install = ["pip", "install", "--python", str(aside / "bin" / "python"), "--no-deps", "--no-build"]
            install += ["--link-mode", "hardlink"]
            locked = lock_path if request.wheel is None else self._without_own(aside, lock)
            self._must([*install, "--require-hashes", "-r", str(locked), *self._index()])
            if request.wheel is not None:
                self._must([*install, "--no-index", request.wheel])
            precompile(python, aside)
            env = Environment(
                key=key,
                library=request.library,
                release=request.release,
                python=str(folder / "bin" / "python"),
                prefix=str(folder),
                base_prefix=str(python.prefix),
                python_version=python.version,
                distributions=installed_distributions(aside),
                lock_sha=file_digest(lock_path),
                left_out=left_out,
                undated=request.undated,
                undated_before=request.undated_before if request.undated else None,
            )
            jsonl.write_text(aside / "environment.json", env.model_dump_json(indent=1))
            shutil.rmtree(folder, ignore_errors=True)  # an incomplete one, or it would have been found
            aside.rename(folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        return env

    @staticmethod
    def _without_own(aside: Path, lock: str) -> Path:
        """Write the dependencies of a lock file that ends with the line of the wheel itself."""
        path = aside / "dependencies.lock.txt"
        jsonl.write_text(path, "".join(f"{line}\n" for line in lock.splitlines()[:-2]))
        return path

    def build_archives(self, folder: Path, out: Path) -> None:
        """Build the source archive and the wheel of a project into a folder, with the project's own build backend.

        Raises:
            UsageError: the project cannot be built.
            IndexUnavailableError: the index did not answer.
            PrerequisiteError: uv is missing.
        """
        done = self._uv(["build", "--out-dir", str(out), str(folder), *self._index()], "")
        if done.returncode != 0:
            if _NETWORK.search(done.stderr):
                raise _failure(f"building {folder}", done.stderr)
            message = _tail(" ".join(done.stderr.split()))
            raise UsageError(f"{folder} cannot be built: {message}; build it yourself and give the wheel")

    def _index(self) -> list[str]:
        return [
            *(["--default-index", self.index_url] if self.index_url else []),
            *(["--offline"] if self.offline else []),
        ]

    def _must(self, arguments: Sequence[str]) -> None:
        done = self._uv(arguments, "")
        if done.returncode != 0:
            raise _failure("uv " + " ".join(arguments[:2]), done.stderr)

    def _uv(self, arguments: Sequence[str], text: str) -> subprocess.CompletedProcess[str]:
        from uv import find_uv_bin  # noqa: PLC0415 - finds a program

        try:
            program = find_uv_bin()
        except FileNotFoundError as error:
            raise PrerequisiteError("uv is not installed: run `pip install uv`") from error
        command = [program, *arguments, "--no-progress", "--color", "never"]
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NovelApiError(f"cannot write {self.root}: {error.strerror}; set NOVELAPI_ENVS") from error
        return subprocess.run(command, input=text, text=True, capture_output=True, check=False, cwd=self.root)

    @contextmanager
    def _guard(self, key: str) -> Generator[None]:
        """Hold the lock of one environment; the kernel gives it back if we are killed."""
        path = self.layout.guard(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("w")
        except OSError as error:
            raise NovelApiError(f"cannot write {path}: {error.strerror}; set NOVELAPI_ENVS") from error
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def pins(lock: str) -> list[str]:
    """Return the `name==version` lines of a lock file."""
    return [f"{name}=={version}" for name, version in _PIN.findall(lock)]


def locked_versions(lock: str) -> dict[str, str]:
    """Return the versions in a lock file by normalised distribution name."""
    return {canonicalize_name(name): version for name, version in _PIN.findall(lock)}


def installed_distributions(prefix: Path) -> dict[str, str]:
    """Return the distributions below an environment's folder by normalised name."""
    found: dict[str, str] = {}
    for path in sorted(prefix.glob("lib/python*/site-packages/*.dist-info")):
        name, _, version = path.name.removesuffix(".dist-info").rpartition("-")
        found[canonicalize_name(name)] = str(Version(version))
    return dict(sorted(found.items()))


def disk_use(folder: Path) -> int:
    """Return the bytes that only this folder holds: files with other hard links (uv's cache) are not counted."""
    total = 0
    for path in folder.rglob("*"):
        status = path.lstat()
        if status.st_nlink == 1 or path.is_dir():
            total += status.st_blocks * 512
    return total


def _resolution_error(requirement: str, stderr: str) -> NovelApiError:
    """Tell why a resolution failed: the request, the index, or an index without upload times."""
    message = " ".join(stderr.split())
    if "missing an upload date" in message:
        return NovelApiError(
            f"the package index does not say when the files for {requirement} were uploaded, so dependencies "
            "of that time cannot be chosen: use an index with upload times (PEP 700)"
        )
    if _NETWORK.search(message):
        return _failure(f"resolving {requirement}", stderr)
    cause = message.partition(" hint: ")[0]  # hints are about uv's own options
    without = frozenset(canonicalize_name(one or other) for one, other in _NO_WHEEL.findall(message))
    return UnresolvedError(f"{requirement} cannot be installed here: {_tail(cause)}", without)


def _failure(action: str, stderr: str) -> NovelApiError:
    message = " ".join(stderr.split())
    if "No space left" in message:
        return NovelApiError(f"{action} failed, the disk is full: free space or set NOVELAPI_ENVS")
    if _NETWORK.search(message):
        return IndexUnavailableError(
            f"{action} failed, the package index did not answer: check the network and run again"
        )
    return NovelApiError(f"{action} failed: {_tail(message)}; correct the cause and run again")


def _tail(message: str) -> str:
    """Return the part of a long message that names the cause, without addresses."""
    text = re.sub(r"https?://\S+", "the index", message)
    return text if len(text) <= 400 else f"{text[:200]} ... {text[-190:]}"
