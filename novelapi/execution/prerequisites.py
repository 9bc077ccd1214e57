"""Looks for what the executor needs on this host; each check says what to run where something is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable

from novelapi.errors import NovelApiError
from novelapi.execution import cgroups, sandbox, seccomp
from novelapi.records.checkup import Prerequisite

EXTRAS = {
    "flows": "prefect",
    "llm": "openai",
    "report": "matplotlib",
    "rag": "lancedb",
    "train": "torch",
    "docker": "docker",
}
"""One module of each extra: it is there if the module is."""


def look(start: Callable[[], str], backend: str = "bubblewrap") -> tuple[Prerequisite, ...]:
    """Look for everything.

    Args:
        start: starts a sandbox and says what holds it; raises NovelApiError where the host refuses.
        backend: what holds the completions: `bubblewrap`, or `docker`, which needs no bubblewrap and no namespaces.
    """
    found = [_bubblewrap(), _libseccomp()]
    if backend == "docker":
        found[0] = found[0].model_copy(update={"needed": False})
        found += [_uv(), _cgroups(), *_extras(), _container(start)]
        return tuple(found)
    found.append(_namespaces(start, ready=all(item.found for item in found)))
    found += [_uv(), _cgroups(), *_extras(), _docker()]
    return tuple(found)


def _bubblewrap() -> Prerequisite:
    try:
        path = sandbox.find_bwrap()
    except NovelApiError:
        return Prerequisite(
            name="bubblewrap", needed=True, found=False, detail="not installed", remedy="apt install bubblewrap"
        )
    return Prerequisite(name="bubblewrap", needed=True, found=True, detail=f"{_version(path)} at {path}")


def _libseccomp() -> Prerequisite:
    try:
        size = len(seccomp.program())
    except NovelApiError as error:
        return Prerequisite(
            name="libseccomp", needed=True, found=False, detail=str(error), remedy="apt install libseccomp2"
        )
    return Prerequisite(name="libseccomp", needed=True, found=True, detail=f"filter of {size // 8} instructions")


def _namespaces(start: Callable[[], str], *, ready: bool) -> Prerequisite:
    remedy = (
        "allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000 "
        "kernel.apparmor_restrict_unprivileged_userns=0 (those that exist); in a container, run it with CAP_SYS_ADMIN"
    )
    if not ready:
        return Prerequisite(
            name="namespaces", needed=True, found=False, detail="not tried: the above is missing", remedy=remedy
        )
    try:
        detail = start()
    except NovelApiError as error:
        return Prerequisite(name="namespaces", needed=True, found=False, detail=str(error), remedy=remedy)
    return Prerequisite(name="namespaces", needed=True, found=True, detail=detail)


def _uv() -> Prerequisite:
    from uv import find_uv_bin  # noqa: PLC0415 - finds a program

    try:
        path = find_uv_bin()
    except FileNotFoundError:
        return Prerequisite(name="uv", needed=True, found=False, detail="not installed", remedy="pip install uv")
    return Prerequisite(name="uv", needed=True, found=True, detail=_version(path))


def _cgroups() -> Prerequisite:
    group = cgroups.make_group(f"novelapi-doctor-{os.getpid()}-0", 64 << 20, 16)
    kind = group.kind
    group.close()
    if kind == "none":
        return Prerequisite(
            name="cgroups", needed=False, found=False, detail="not writable: limits hold per process, not per sample",
            remedy="run as root, or below a delegated group: systemd-run --user --scope -p Delegate=yes novelapi ...",
        )  # fmt: skip
    return Prerequisite(name="cgroups", needed=False, found=True, detail=kind)


def _extras() -> list[Prerequisite]:
    found: list[Prerequisite] = []
    for extra, module in EXTRAS.items():
        there = importlib.util.find_spec(module) is not None
        found.append(
            Prerequisite(
                name=f"extra {extra}", needed=False, found=there, detail=module if there else f"{module} is missing",
                remedy="" if there else f"pip install 'novelapi[{extra}]'",
            )
        )  # fmt: skip
    return found


def _container(start: Callable[[], str]) -> Prerequisite:
    """Start a container; the error of a missing SDK, daemon or image holds the remedy itself."""
    try:
        detail = start()
    except NovelApiError as error:
        words, _, remedy = str(error).partition(": ")
        return Prerequisite(name="Docker", needed=True, found=False, detail=words, remedy=remedy)
    return Prerequisite(
        name="Docker", needed=True, found=True, detail=f"a container with namespaces of its own: {detail}"
    )


def _docker() -> Prerequisite:
    path = shutil.which("docker")
    if path is None:
        return Prerequisite(
            name="Docker", needed=False, found=False, detail="not installed", remedy="apt install docker.io"
        )
    done = subprocess.run(
        [path, "version", "--format", "{{.Server.Version}}"], capture_output=True, text=True, check=False, timeout=20
    )
    if done.returncode != 0:
        return Prerequisite(
            name="Docker", needed=False, found=False, detail="no daemon answers", remedy="start dockerd"
        )
    return Prerequisite(name="Docker", needed=False, found=True, detail=done.stdout.strip())


def _version(path: str) -> str:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown version"
