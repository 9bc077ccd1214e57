"""What the core asks of outside things; adapters/ has one file per answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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


@dataclass(frozen=True, kw_only=True)
class RememberedApi:
    """One API of an old release, as a model of that time may know it."""

    path: str
    """Public path."""
    signature: str = ""
    """Its parameters in parentheses, or an empty string."""
    doc: str = ""
    """The first paragraph of its documentation on one line."""


@runtime_checkable
class Rememberer(Protocol):
    """A completer that knows only what it is told of an old release (the embedded baseline)."""

    def with_memory(self, entries: Iterable[RememberedApi]) -> Completer:
        """Return the same model with a memory; its revision depends on it."""
        ...
