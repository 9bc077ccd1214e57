"""Models as runs reach them: the embedded baseline, or an OpenAI-compatible endpoint whose key is kept in a block."""

from __future__ import annotations

from novelapi.ports import Completer
from novelapi.records.request import ModelAccess


def open_completer(model: str, access: ModelAccess) -> Completer:
    """Return a model by name.

    Raises:
        UnknownNameError: there is no such model.
        PrerequisiteError: key, address or extra is missing.
    """
    from novelapi.adapters.open import open_model

    return open_model(model, base_url=access.base_url, revision=access.revision)
