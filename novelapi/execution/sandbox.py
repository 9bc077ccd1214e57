"""Bubblewrap: how a process is shut in, for root and for an ordinary user.

Inside there is a read-only root with the interpreter, the environment and the guest code, an own /proc, a minimal
/dev, no network, no environment variables, and an unprivileged user. See docs/integrity.md.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from novelapi.errors import PrerequisiteError
from novelapi.records.environment import Environment

NOBODY = 65534
"""User and group inside the sandbox when the host user is root."""

GUEST = Path(__file__).parent / "guest"
"""Folder of the code that runs inside."""

SCRATCH = "/scratch"
"""The only writable folder inside; /tmp leads to it. Not /tmp itself, since an environment may lie below that."""

THREADS = dict.fromkeys(
    (
        "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "RAYON_NUM_THREADS",
        "ARROW_NUM_THREADS",
    ),
    "1",
)
"""One thread per library: steadier times, and forks are safe (facts on executors, 2026)."""

BASE_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": SCRATCH,
    "TMPDIR": SCRATCH,
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "MPLBACKEND": "Agg",
    "MPLCONFIGDIR": SCRATCH,
    **THREADS,
}
"""The only environment variables inside."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """What a sandboxed process may see."""

    env: Environment
    hash_seed: int = 0
    """PYTHONHASHSEED inside."""
    keep_caps: bool = False
    """Whether the process keeps the capabilities of its own user namespace (a zygote needs them to isolate samples)."""
    extra_ro: Sequence[Path] = ()
    """More paths to show, read-only, at the same place."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """More environment variables."""
    scratch_mb: int = 256
    """Size of the private scratch folder in MB."""


def find_bwrap() -> str:
    """Return the path of bubblewrap.

    Raises:
        PrerequisiteError: it is not installed.
    """
    path = shutil.which("bwrap")
    if path is None:
        raise PrerequisiteError(
            "bubblewrap is not installed, and completions are never run without it: "
            "run `apt install bubblewrap` (or pass --unsafe where nothing untrusted is run)"
        )
    return path


def command(box: Box, arguments: Sequence[str]) -> list[str]:
    """Return the whole command line; for root it starts with the launcher that gives root up."""
    binds = own_paths(box.env, box.extra_ro)
    staging = _staging([source for source, _ in binds]) if os.geteuid() == 0 else None
    line = [find_bwrap(), "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", *_system_mounts()]
    for number, (source, place) in enumerate(binds):
        line += ["--ro-bind", f"{staging}/{number}" if staging else source, place]
    if not any(place.startswith("/tmp/") for _, place in binds):
        line += ["--symlink", SCRATCH, "/tmp"]
    line += ["--proc", "/proc", "--dev", "/dev", "--size", str(box.scratch_mb << 20), "--tmpfs", SCRATCH]
    line += ["--remount-ro", "/", "--remount-ro", "/dev", "--chdir", SCRATCH]
    if box.keep_caps:
        line += ["--uid", "0", "--gid", "0", "--cap-add", "ALL"]
    variables = {**BASE_ENVIRONMENT, "PYTHONHASHSEED": str(box.hash_seed), **box.variables}
    for name, value in variables.items():
        line += ["--setenv", name, value]
    line += ["--", *arguments]
    if staging is None:
        return line
    request = {
        "uid": NOBODY,
        "staging": staging,
        "binds": [[source, str(number)] for number, (source, _) in enumerate(binds)],
        "command": line,
    }
    return [sys.executable, "-I", str(Path(__file__).with_name("launch.py")), json.dumps(request)]


def own_paths(env: Environment, extra_ro: Sequence[Path] = ()) -> list[tuple[str, str]]:
    """Return (source, place) of what an environment needs beside the system: interpreter, packages, guest code."""
    places = dict.fromkeys([env.base_prefix, env.prefix, str(GUEST), *map(str, extra_ro)])
    return [(os.path.realpath(place), place) for place in places if not place.startswith("/usr/")]


def _system_mounts() -> list[str]:
    """Return the options that show the system's libraries, read-only."""
    folders, links = system_paths()
    line: list[str] = []
    for path in folders:
        line += ["--ro-bind", path, path]
    for path, target in links.items():
        line += ["--symlink", target, path]
    return line


def system_paths() -> tuple[list[str], dict[str, str]]:
    """Return what the system's libraries and programs consist of: paths to show, and links with their targets."""
    shown, links = ["/usr"], dict[str, str]()
    for name in ("lib", "lib64", "lib32", "bin", "sbin"):
        path = Path("/", name)
        if path.is_symlink():
            links[str(path)] = os.readlink(path)
        elif path.is_dir():
            shown.append(str(path))
    shown += [f"/etc/{name}" for name in ("ld.so.cache", "localtime", "alternatives") if Path("/etc", name).exists()]
    return shown, links


def _staging(sources: Sequence[str]) -> str:
    """Return a folder that the launcher may cover in its own mount namespace: one that holds none of the sources."""
    for name in ("/mnt", "/media", "/srv", "/opt", "/tmp"):
        if Path(name).is_dir() and not any(source.startswith(f"{name}/") for source in sources):
            return name
    raise PrerequisiteError("no folder to stage the sandbox in: create an empty /mnt")


def start(box: Box, arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
    """Start a command inside; keyword arguments go to `subprocess.Popen`.

    Raises:
        PrerequisiteError: bubblewrap is missing.
    """
    return cast("subprocess.Popen[bytes]", subprocess.Popen(command(box, arguments), **popen))
