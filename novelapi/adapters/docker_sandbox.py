"""The Docker backend: one hardened, long-lived container per environment and slot, never one per sample."""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from novelapi.adapters import docker_daemon, docker_image
from novelapi.adapters.docker_container import Container, ContainerParent, Plan, Users
from novelapi.errors import PrerequisiteError
from novelapi.execution import sandbox
from novelapi.execution.launcher import Parent
from novelapi.execution.zygote import ZygoteError

if TYPE_CHECKING:
    from docker import DockerClient


@dataclass(frozen=True, kw_only=True)
class DockerBackend:
    """How slots run code in containers; picklable."""

    image: str | None = None
    """An image with system libraries of its own; null binds the host's into an image without any."""

    @property
    def name(self) -> str:
        """Name on the command line."""
        return "docker"

    def check(self) -> None:
        """See that everything is there, make the image, remove what dead runs left.

        Raises:
            PrerequisiteError: SDK, daemon or image is missing.
            ZygoteError: the daemon stopped answering.
        """
        launcher = self.open()
        try:
            launcher.find_image(temporary=True)
            docker_daemon.sweep(launcher.client)
        finally:
            launcher.close()

    def open(self) -> DockerLauncher:
        """Return a launcher.

        Raises:
            PrerequisiteError: SDK or daemon is missing.
        """
        return DockerLauncher(docker_daemon.connect(), self.image)


class DockerLauncher:
    """Starts warm parents in containers, one container per environment."""

    def __init__(self, client: DockerClient, image: str | None = None) -> None:
        """Keep the client; nothing is started."""
        self.client = client
        self.image = image
        self._containers: dict[object, Container] = {}
        self._parents: list[ContainerParent] = []

    def find_image(self, *, temporary: bool) -> str:
        """Return the tag of the image; ours is made where it is missing.

        Raises:
            PrerequisiteError: the image that was asked for is not there.
            ZygoteError: the daemon does not answer.
        """
        if self.image is None:
            with docker_daemon.asking("making the image"):
                return docker_image.ensure(self.client, temporary=temporary)
        from docker.errors import ImageNotFound  # noqa: PLC0415 - an extra

        with docker_daemon.asking("looking for the image"):
            try:
                self.client.images.get(self.image)
            except ImageNotFound as error:
                raise PrerequisiteError(
                    f"the image '{self.image}' is not on this machine, and none is ever pulled: make it with "
                    "`docker import ROOT.tar NAME` or `docker load`, or leave --docker-image out"
                ) from error
        return self.image

    def start(self, parent: Parent, control: socket.socket) -> ContainerParent:
        """Start a parent in the container of its environment; the containers of others are ended first.

        Raises:
            PrerequisiteError: the daemon refuses the container, or the image is missing.
            ZygoteError: the infrastructure failed.
        """
        key = (parent.env.key, parent.extra_ro, parent.memory_mb)
        self._parents = [known for known in self._parents if known.alive]
        busy = [known.container for known in self._parents]
        for other, container in list(self._containers.items()):
            if (other != key and container not in busy) or not container.alive:
                self._containers.pop(other).close()
        if key not in self._containers:
            if not Path(parent.env.python).exists():
                raise ZygoteError(f"the environment {parent.env.key} is gone: run `novelapi env check`, then again")
            self._containers[key] = Container(self.client, self._plan(parent))
        self._parents.append(self._containers[key].start(parent, control))
        return self._parents[-1]

    def _plan(self, parent: Parent) -> Plan:
        places = [place for _, place in sandbox.own_paths(parent.env, parent.extra_ro)]
        image = self.find_image(temporary=not any(place.startswith("/tmp/") for place in places))
        with docker_daemon.asking("asking the daemon about itself"):
            options = self.client.info().get("SecurityOptions") or []
        mapped = any("name=userns" in option or "name=rootless" in option for option in options)
        return Plan(image=image, parent=parent, users=Users.of(os.getpid(), mapped=mapped), system=self.image is None)

    def close(self) -> None:
        """End all containers; where the daemon is silent they end by themselves: nobody holds their connection."""
        for container in self._containers.values():
            with contextlib.suppress(ZygoteError):
                container.close()
        self._containers.clear()
        self.client.close()
