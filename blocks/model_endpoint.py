"""An OpenAI-compatible endpoint with its key, and how any model is opened by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from novelapi.errors import PrerequisiteError
from novelapi.records.request import ModelAccess

if TYPE_CHECKING:
    from novelapi.ports import Completer


class ModelEndpoint(Block):
    """Where a model answers, and the key that opens it; the server keeps the key encrypted."""

    _block_type_name = "Model endpoint"
    _block_type_slug = "model-endpoint"
    _description = "An OpenAI-compatible endpoint: address, key and what pins its outputs."

    base_url: str = Field(default="", description="Address with /v1; empty is the vendor's own.")
    api_key: SecretStr = Field(default=SecretStr(""), description="Key; local servers need none.")
    revision: str = Field(default="", description="What pins the outputs, such as a commit; part of every key.")

    def open(self, model: str) -> Completer:
        """Return a model behind this endpoint.

        Raises:
            UnknownNameError: there is no such model.
            PrerequisiteError: key, address or extra is missing.
        """
        from novelapi.adapters.open import open_model

        return open_model(
            model,
            base_url=self.base_url or None,
            api_key=self.api_key.get_secret_value() or None,
            revision=self.revision or None,
            backbones=backbones(),
        )


def open_completer(model: str, access: ModelAccess) -> Completer:
    """Return a model by name, through a saved block if one is named.

    Raises:
        UnknownNameError: there is no such model.
        PrerequisiteError: key, address, extra or block is missing.
    """
    from novelapi.adapters.open import open_model

    if access.block is None:
        return open_model(model, base_url=access.base_url, revision=access.revision, backbones=backbones())
    return load_endpoint(access.block).open(model)


def backbones() -> dict[str, str | None]:
    """Return the catalogue's models with their names on the hub, under which they are served."""
    from novelapi.catalog import models

    return {name: entry.hf_id for name, entry in models().items()}


def load_endpoint(name: str) -> ModelEndpoint:
    """Return a saved endpoint.

    Raises:
        PrerequisiteError: there is none of that name.
    """
    try:
        return ModelEndpoint.load(name)
    except ValueError as error:
        raise PrerequisiteError(
            f"no block model-endpoint/{name} on the Prefect server: create it in the UI under Blocks"
        ) from error
