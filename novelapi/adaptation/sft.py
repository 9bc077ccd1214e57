"""Supervised fine-tuning of all weights."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from pathlib import Path

from novelapi.adaptation.artifact import Artifact, digest_of, load, save
from novelapi.adaptation.extras import Network, Tokenizer
from novelapi.adaptation.handle import WeightHandle
from novelapi.adaptation.memory import require
from novelapi.adaptation.network import base_digest, check_base
from novelapi.adaptation.randomness import seeded
from novelapi.adaptation.requests import TokenRequest, check_window
from novelapi.adaptation.statistics import Statistics
from novelapi.adaptation.training import TrainingSettings, train
from novelapi.errors import UsageError


class FullSft:
    """The editor: it trains a copy, and its artifact holds the new weights."""

    save = staticmethod(save)
    load = staticmethod(load)

    def __init__(self, settings: TrainingSettings, tokenizer: Tokenizer, name: str = "sft") -> None:
        """Remember the hyperparameters."""
        self.settings = settings
        self.name = name
        self._tokenizer = tokenizer

    def fit(
        self,
        model: Network,
        requests: Sequence[TokenRequest],
        seed: int = 0,
        stats: Statistics | None = None,  # noqa: ARG002 - it needs none
        *,
        work: Path | None = None,
    ) -> Artifact:
        """Train; see `Editor.fit`."""
        check_window(requests, model.config.max_position_embeddings)
        size = sum(parameter.numel() for parameter in model.parameters())
        require(size * 16, next(model.parameters()).device, f"training {size / 1e6:.0f} million weights")
        base_sha = base_digest(model)
        trained = copy.deepcopy(model).float()
        with seeded(seed), tempfile.TemporaryDirectory() as scratch:
            folder = (work / "checkpoints") if work else Path(scratch)
            facts = train(trained, self._tokenizer, requests, self.settings, seed=seed, folder=folder)
        return Artifact(
            method=self.name,
            served="weights",
            base_sha=base_sha,
            seed=seed,
            requests_sha=digest_of([request.sha for request in requests]),
            settings={"kind": "full", **self.settings.to_row()},
            tensors={f"weight.{name}": value.detach().clone() for name, value in trained.named_parameters()},
            facts={**facts, "trainable": size},
        )

    def apply(self, model: Network, artifact: Artifact) -> WeightHandle:
        """Replace the weights; see `Editor.apply`."""
        if artifact.settings.get("kind") != "full":
            raise UsageError("this artifact holds no full weights: apply it with the editor that made it")
        check_base(model, artifact.base_sha, f"the {artifact.method} artifact")
        head = "weight."
        return WeightHandle(model).put({name[len(head) :]: value for name, value in artifact.tensors.items()})
