"""An OpenAI-compatible endpoint with its key, and how any model is opened by its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from novelapi.errors import PrerequisiteError
from novelapi.fingerprint import file_digest
from novelapi.records.request import ModelAccess

if TYPE_CHECKING:
    from novelapi.ports import Completer

ELSEWHERE = "http://a-server-on-the-pool-gpu.invalid/v1"
"""Address of a model that is served beside another run: it is opened to be described, and asked by mistake only."""


class ModelEndpoint(Block):
    """Where a model answers, and the key that opens it; the server keeps the key encrypted."""

    _block_type_name = "Model endpoint"
    _block_type_slug = "model-endpoint"
    _description = "An OpenAI-compatible endpoint: address, key and what pins its outputs."

    base_url: str = Field(default="", description="Address with /v1; empty is the vendor's own.")
    api_key: SecretStr = Field(default=SecretStr(""), description="Key; local servers need none.")
    revision: str = Field(default="", description="What pins the outputs, such as a commit; part of every key.")

    def open(self, model: str, window: int | None = None) -> Completer:
        """Return a model behind this endpoint, with the window that the endpoint stated where its profile has none.

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
            window=window,
            backbones=backbones(),
        )


def open_completer(model: str, access: ModelAccess) -> Completer:
    """Return a model by name, through a saved block if one is named.

    Raises:
        UnknownNameError: there is no such model.
        PrerequisiteError: key, address, extra or block is missing.
    """
    from novelapi.adapters.open import open_model

    if access.artifact is not None and access.base_url is not None:
        return within(access, open_served_adapter(access.base_url, Path(access.artifact), access.revision))
    if access.block is not None:
        return within(access, load_endpoint(access.block).open(model, access.window))
    from novelapi.inference.profile import read_profile

    completer = open_model(
        model,
        base_url=ELSEWHERE if access.elsewhere else access.base_url,
        revision=access.revision,
        profile=read_profile(Path(access.profile)) if access.profile else None,
        window=access.window,
        backbones=backbones(),
        artifact=access.artifact,
        batch=access.batch,
    )
    return within(access, completer)


def open_strong(access: ModelAccess) -> Completer | None:
    """Return the strong model, with a budget of its own of the same size; None if there is none.

    Raises:
        UnknownNameError: there is no such model.
        PrerequisiteError: key, address or extra is missing.
    """
    if access.strong_model is None:
        return None
    others = {"profile": None, "block": None, "revision": None, "window": None, "elsewhere": False}
    own = access.model_copy(update={"base_url": access.strong_base_url, **others})
    return open_completer(access.strong_model, own)


def within(access: ModelAccess, completer: Completer) -> Completer:
    """Return a completer that keeps to the budget, and offline to what is recorded."""
    from novelapi.inference.budget import Budget, Meter
    from novelapi.inference.metered import MeteredCompleter
    from novelapi.inference.profile import profile_of
    from novelapi.inference.replay import Replay

    if completer.name == "copy":
        return completer
    if access.offline:
        return Replay(completer)
    budget = Budget(calls=access.budget_calls, tokens=access.budget_tokens, usd=access.budget_usd)
    return completer if budget == Budget() else MeteredCompleter(completer, Meter(budget, profile_of(completer)))


def open_served_adapter(base_url: str, folder: Path, revision: str | None) -> Completer:
    """Return the model of a vLLM server with an adapter on top, loaded there under the name of its content.

    Adapters of several cells live beside each other on one server; equal weights are loaded once.

    Raises:
        PrerequisiteError: the artifact is no adapter.
        NovelApiError: the server refused it.
    """
    from novelapi.adaptation.artifact import DESCRIPTION
    from novelapi.adapters.openai_model import OpenAIModel
    from workers.serving import Adapters

    if not (folder / "adapter_config.json").is_file():
        raise PrerequisiteError(
            f"{folder.name} is no LoRA adapter: serve its merged weights, or ask it in this process without --base-url"
        )
    name = Adapters(base_url).load(folder)
    served = OpenAIModel(name, base_url=base_url, api_key=None, revision=revision)
    served.adapter_sha = file_digest(folder / DESCRIPTION)
    return served


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
