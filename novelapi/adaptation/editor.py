"""The protocol that all editors share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from novelapi.adaptation.artifact import Artifact
from novelapi.adaptation.extras import Network
from novelapi.adaptation.handle import Handle
from novelapi.adaptation.requests import TokenRequest
from novelapi.adaptation.statistics import Statistics


class Editor(Protocol):
    """A method that writes facts into a model."""

    @property
    def name(self) -> str:
        """Name of the delivery."""
        ...

    def fit(
        self,
        model: Network,
        requests: Sequence[TokenRequest],
        seed: int = 0,
        stats: Statistics | None = None,
        *,
        work: Path | None = None,
    ) -> Artifact:
        """Compute an edit; the model is bit for bit the same afterwards.

        Args:
            model: the base.
            requests: the facts, encoded for this model.
            seed: seed of everything that is drawn.
            stats: second moments of the keys, where the method needs them.
            work: folder in which finished requests are kept, so that a fit that was killed goes on there.

        Raises:
            UsageError: layers, requests or statistics do not fit the model.
            NovelApiError: the numbers went wrong (NaN, singular system), or memory does not suffice.
        """
        ...

    def apply(self, model: Network, artifact: Artifact) -> Handle:
        """Put an edit into its base.

        Raises:
            UsageError: the artifact belongs to other weights or another method.
        """
        ...

    @staticmethod
    def save(artifact: Artifact, folder: Path) -> Path:
        """Write an artifact; see `artifact.save`."""
        ...

    @staticmethod
    def load(folder: Path) -> Artifact:
        """Read an artifact; see `artifact.load`."""
        ...
