"""The images of the containers, made on this machine from a tar; no registry is asked.

The one that is made unasked holds folders and links alone: the host's system libraries, the interpreter and the
environment are bound read-only at the places where they are on the host, so that an environment behaves in a container
as it does in bubblewrap. `novelapi env image NAME` makes one that holds the system libraries which environments need
and a few programs, for `--docker-image NAME`: then nothing else of the host's /usr is seen inside.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from novelapi.adapters import docker_daemon
from novelapi.errors import UsageError
from novelapi.execution import sandbox
from novelapi.records.environment import Environment

if TYPE_CHECKING:
    from docker import DockerClient

REPOSITORY = "novelapi-sandbox"
PROGRAMS = ("sh", "echo", "true", "false", "cat", "ls", "sleep", "env")
"""What completions and libraries may start."""
DATA = ("/etc/ld.so.cache", "/usr/lib/locale/C.utf8", "/usr/share/zoneinfo")
"""What the C library and Python look up."""
NAME = re.compile(r"[a-z0-9]+(?:[._/-]+[a-z0-9]+)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]*)?")
"""What we let an image be called: repository in lower case, and a tag."""
_LIBRARY = re.compile(r"(?:=> |^\s+)(/\S+) \(0x", re.MULTILINE)
FOLDERS = ("proc", "sys", "dev", "etc", "usr", "scratch", "server", "control")


def skeleton(*, temporary: bool) -> bytes:
    """Return the image as a tar; the same on every call.

    Args:
        temporary: whether /tmp leads to the scratch folder; not where something below /tmp is bound.
    """
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        _add_frame(archive, temporary=temporary)
    return target.getvalue()


def _add_frame(archive: tarfile.TarFile, *, temporary: bool) -> None:
    _, links = sandbox.system_paths()
    if temporary:
        links = {**links, "/tmp": sandbox.SCRATCH}
    for name in FOLDERS:
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(entry)
    for name, place in sorted(links.items()):
        entry = tarfile.TarInfo(name.lstrip("/"))
        entry.type, entry.linkname = tarfile.SYMTYPE, place
        archive.addfile(entry)


def ensure(client: DockerClient, *, temporary: bool) -> str:
    """Return the tag of the skeleton, imported unless it is there.

    Raises:
        docker.errors.DockerException: the daemon refuses it.
    """
    content = skeleton(temporary=temporary)
    tag = hashlib.sha256(content).hexdigest()[:12]
    name = f"{REPOSITORY}:{tag}"
    if not client.images.list(name=name):
        client.api.import_image_from_data(content, repository=REPOSITORY, tag=tag)
    return name


def whole(environments: Iterable[Environment]) -> bytes:
    """Return an image with the system libraries that environments need, as a tar.

    Args:
        environments: what will run in it; interpreters and packages are bound, not copied.
    """
    prefixes = sorted({path for env in environments for path in (env.base_prefix, env.prefix)})
    objects = [str(path) for prefix in prefixes for path in Path(prefix).rglob("*.so*") if path.is_file()]
    objects += [env.python for env in environments]
    programs = [str(path) for name in PROGRAMS if (path := Path("/bin", name)).exists()]
    files = {_place(name) for name in (*_libraries([*objects, *programs]), *programs)}
    own = tuple(f"{prefix}/" for prefix in prefixes)
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", dereference=True) as archive:
        _add_frame(archive, temporary=not any(prefix.startswith("/tmp/") for prefix in prefixes))
        for name in sorted(files):
            if not name.startswith(own):
                archive.add(name)
        for name in DATA:
            if Path(name).exists():
                archive.add(name)
    return target.getvalue()


def _libraries(objects: Sequence[str]) -> set[str]:
    """Return what the loader finds for programs and shared objects."""
    found: set[str] = set()
    for start in range(0, len(objects), 100):
        done = subprocess.run(["ldd", *objects[start : start + 100]], capture_output=True, text=True, check=False)
        found |= set(_LIBRARY.findall(done.stdout))
    return found


def _place(name: str) -> str:
    """Return a path without links in its folder: /lib is one to /usr/lib on most systems."""
    return os.path.join(os.path.realpath(os.path.dirname(name)), os.path.basename(name))  # noqa: PTH118, PTH119, PTH120


def make(name: str, environments: Iterable[Environment]) -> int:
    """Import such an image; return its size in bytes.

    Raises:
        UsageError: images cannot be called so.
        PrerequisiteError: SDK or daemon is missing, or the daemon refuses it.
        ZygoteError: the daemon stopped answering.
    """
    if NAME.fullmatch(name) is None:
        raise UsageError(f"'{name}' is no name of an image: write it in lower case, as novelapi:1")
    client = docker_daemon.connect()
    try:
        content = whole(list(environments))
        repository, _, tag = name.partition(":")
        with docker_daemon.asking("making the image"):
            client.api.import_image_from_data(content, repository=repository, tag=tag or "latest")
    finally:
        client.close()
    return len(content)
