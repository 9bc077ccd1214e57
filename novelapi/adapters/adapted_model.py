"""A model in this process with trained or edited weights, or hooks, on top of its base."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from novelapi.adaptation.artifact import DESCRIPTION, describe, load
from novelapi.adaptation.recipes import TRAINED, Recipe, editor_of
from novelapi.adapters.transformers_model import TransformersModel
from novelapi.errors import DataError
from novelapi.fingerprint import file_digest
from novelapi.inference.profile import DEFAULT_PROFILE, ModelProfile
from novelapi.records.cell import Delivery


class AdaptedModel(TransformersModel):
    """The base with an artifact applied; its identity is the digest of the artifact's description."""

    def __init__(
        self,
        folder: Path,
        artifact: Path,
        *,
        profile: ModelProfile = DEFAULT_PROFILE,
        device: str = "auto",
        batch: int = 8,
    ) -> None:
        """Remember where base and artifact lie.

        Raises:
            PrerequisiteError: the extra `train` is missing.
            UsageError: the folder holds no model.
            DataError: the other one holds no artifact.
        """
        super().__init__(folder, profile=profile, device=device, batch=batch)
        self._artifact = artifact
        self._method = str(describe(artifact)["method"])

    @property
    def adapter_sha(self) -> str | None:
        """Digest of the artifact."""
        return file_digest(self._artifact / DESCRIPTION)

    @cached_property
    def model(self) -> Any:
        """The base with the artifact applied.

        Raises:
            UsageError: the artifact belongs to other weights.
            DataError: the method is unknown here.
        """
        artifact = load(self._artifact)
        fields = {name: value for name, value in artifact.settings.items() if name != "kind"}
        recipe = Recipe(full=artifact.settings.get("kind") == "full", settings=fields)
        known: dict[str, Delivery] = {name: name for name in TRAINED}
        method = known.get(self._method)
        if method is None:
            raise DataError(f"{self._artifact} was made by '{self._method}', which is no method here: fit it again")
        model = super().model
        editor_of(method, recipe, self.tokenizer).apply(model, artifact)
        return model
