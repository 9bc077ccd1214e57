"""What the core asks of outside things; adapters/ has one file per answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from novelapi.records.cell import Sampling


class Completer(Protocol):
    """A model that continues prompts."""

    @property
    def name(self) -> str:
        """Name of the model as the user gave it."""
        ...

    @property
    def revision(self) -> str:
        """What pins its outputs: part of every cache key."""
        ...

    def complete(self, prompts: Sequence[str], sampling: Sampling) -> list[list[str]]:
        """Return `sampling.n` raw texts per prompt, the first of them greedy.

        Raises:
            EndpointError: it did not answer; may be tried again.
            PrerequisiteError: something has to be installed, started or configured.
        """
        ...
