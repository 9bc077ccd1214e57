"""From the name a user gives to what is meant: the embedded baseline, an endpoint, or weights on disk."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from novelapi.errors import UnknownNameError, UsageError
from novelapi.records.base import Record


class ModelReference(Record):
    """What a model's name means."""

    kind: Literal["copy", "openai", "transformers", "catalogue"]
    """Who answers: the baseline, an endpoint, weights in this process, or a backbone of the catalogue (by endpoint)."""

    name: str
    """Name at the endpoint, folder of the weights, or name in the catalogue."""


def parse_model(text: str, catalogue: Iterable[str] = ()) -> ModelReference:
    """Read `copy`, `openai:NAME`, `transformers:FOLDER` or the name of a backbone.

    Args:
        text: the name as the user gave it.
        catalogue: names of the known backbones.

    Raises:
        UsageError: a prefix without a name.
        UnknownNameError: none of these; near matches are suggested.
    """
    if text == "copy":
        return ModelReference(kind="copy", name=text)
    for kind in ("openai", "transformers"):
        if text == kind or text.startswith(f"{kind}:"):
            name = text.partition(":")[2]
            if not name:
                raise UsageError(f"'{text}' names no model; write {kind}:NAME")
            return ModelReference(kind=kind, name=name)
    known = set(catalogue)
    if text in known:
        return ModelReference(kind="catalogue", name=text)
    raise UnknownNameError("model", text, known | {"copy"}, hint="use copy, openai:NAME or transformers:FOLDER")
