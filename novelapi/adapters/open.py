"""Opens a model by the name a user gave: the one place that knows which adapter answers for which name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from novelapi.errors import PrerequisiteError
from novelapi.inference.profile import ModelProfile, load_profile
from novelapi.inference.resolve import parse_model
from novelapi.settings import load_settings

if TYPE_CHECKING:
    from novelapi.inference.requests import StreamingCompleter


def open_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    revision: str | None = None,
    profile: ModelProfile | None = None,
    window: int | None = None,
    backbones: dict[str, str | None] | None = None,
    concurrency: int = 32,
    artifact: str | None = None,
    batch: int | None = None,
) -> StreamingCompleter:
    """Return the completer that a name means; nothing is sent or loaded yet.

    Args:
        name: `copy`, `openai:NAME`, `transformers:FOLDER`, or a backbone of the catalogue (served by an endpoint).
        base_url: address of the endpoint; default: OPENAI_BASE_URL.
        api_key: its key; default: OPENAI_API_KEY.
        revision: what pins the outputs of an endpoint, such as a commit.
        profile: how the model is asked; default: the shipped profile of its name.
        window: context window that the endpoint states, where the profile has none.
        backbones: names of the catalogue with their name on the hub.
        concurrency: requests under way at a time.
        artifact: folder of trained or edited weights on top of a model in this process.
        batch: greedy prompts per pass of a model in this process.

    Raises:
        UnknownNameError: there is no such model.
        UsageError: a prefix without a name.
        PrerequisiteError: address, key or extra is missing.
    """
    backbones = backbones or {}
    reference = parse_model(name, backbones)
    if reference.kind == "copy":
        from novelapi.adapters.copy_model import CopyModel  # noqa: PLC0415  opens one adapter, imports one

        return CopyModel()
    if reference.kind == "transformers":
        folder = Path(reference.name).expanduser()
        profile = profile or load_profile(folder.name)
        if artifact is not None:
            from novelapi.adapters.adapted_model import AdaptedModel  # noqa: PLC0415

            return AdaptedModel(folder, Path(artifact), profile=profile, batch=batch or 8)
        from novelapi.adapters.transformers_model import TransformersModel  # noqa: PLC0415

        return TransformersModel(folder, profile=profile, batch=batch or 8)
    if artifact is not None:
        raise PrerequisiteError(
            f"{name} answers elsewhere and knows nothing of {artifact}: serve the adapter or the merged weights there "
            "(docs/adaptation.md), or adapt a model in this process (transformers:FOLDER)"
        )
    settings = load_settings()
    base_url = base_url or settings.openai_base_url
    served = (backbones.get(name) or name) if reference.kind == "catalogue" else reference.name
    if reference.kind == "catalogue" and base_url is None:
        raise PrerequisiteError(f"{name} needs a server: start one for {served} and give its address with --base-url")
    from novelapi.adapters.openai_model import OpenAIModel  # noqa: PLC0415

    secret = settings.openai_api_key
    return OpenAIModel(
        served,
        base_url=base_url,
        api_key=api_key or (secret.get_secret_value() if secret else None),
        profile=(profile or load_profile(served)).with_window(window),
        revision=revision,
        concurrency=concurrency,
    )
