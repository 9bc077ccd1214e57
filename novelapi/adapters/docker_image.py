"""The image of the containers: folders and links alone, made on this machine; what they hold is bound at the start.

No registry is asked. The host's system libraries, the interpreter and the environment are bound read-only at the places
where they are on the host, so that an environment behaves in a container as it does in bubblewrap.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from typing import TYPE_CHECKING

from novelapi.execution import sandbox

if TYPE_CHECKING:
    from docker import DockerClient

REPOSITORY = "novelapi-sandbox"
FOLDERS = ("proc", "sys", "dev", "etc", "usr", "scratch", "server", "control")


def skeleton(*, temporary: bool) -> bytes:
    """Return the image as a tar; the same on every call.

    Args:
        temporary: whether /tmp leads to the scratch folder; not where something below /tmp is bound.
    """
    _, links = sandbox.system_paths()
    if temporary:
        links = {**links, "/tmp": sandbox.SCRATCH}
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in FOLDERS:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(entry)
        for name, place in sorted(links.items()):
            entry = tarfile.TarInfo(name.lstrip("/"))
            entry.type, entry.linkname = tarfile.SYMTYPE, place
            archive.addfile(entry)
    return target.getvalue()


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
