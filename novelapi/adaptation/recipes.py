"""How each delivery is fitted: form of the input, window, hyperparameters; two shipped sets, or a user's own file."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from novelapi.adaptation.alphaedit import AlphaEdit, AlphaEditSettings
from novelapi.adaptation.editor import Editor
from novelapi.adaptation.extras import Tokenizer
from novelapi.adaptation.grace import Grace, GraceSettings
from novelapi.adaptation.lora import AlphaEditLora, AlphaEditLoraSettings, Lora, LoraSettings
from novelapi.adaptation.memit import Memit, MemitSettings
from novelapi.adaptation.rows import Form
from novelapi.adaptation.sft import FullSft
from novelapi.adaptation.training import TrainingSettings
from novelapi.errors import DataError, UnknownNameError, UsageError
from novelapi.records.base import Record
from novelapi.records.cell import Condition, Delivery

TRAINED: tuple[Delivery, ...] = ("sft", "rag_sft", "raft", "grace", "memit", "alphaedit", "alphaedit_lora")
"""Deliveries with weights of their own; `rag_sft` for each condition anew: its prompts differ."""


class Recipe(Record):
    """How one delivery is fitted."""

    form: Form = "task"
    """What the input shows."""

    chat: bool = True
    """Whether prompts stand in the chat template, as at evaluation; the published MEMIT uses raw text."""

    window: int = Field(default=2048, ge=16)
    """Longest example in tokens; longer ones are left out and counted."""

    documents: Condition = "full"
    """Knowledge in each document of a RAFT row."""

    prefixes: int = Field(default=0, ge=0, le=5)
    """Sampled contexts in front of the prompt (MEMIT, AlphaEdit)."""

    full: bool = False
    """Train all weights instead of adapters (`sft`, `rag_sft`, `raft`)."""

    corpus_tokens: int = Field(default=0, ge=0)
    """Tokens of the corpus behind the statistics; 0 where the method needs none."""

    settings: dict[str, Any] = Field(default_factory=dict)
    """Hyperparameters of the editor."""


def read_recipes(name: str) -> dict[str, Recipe]:
    """Return recipes by delivery: `paper` (7B on one 80 GB card), `tiny`, or a YAML file.

    Raises:
        UnknownNameError: neither a shipped set nor a file.
        DataError: the file is broken.
    """
    import yaml  # noqa: PLC0415  only where recipes are read

    folder = resources.files("novelapi.adaptation") / "recipe_files"
    shipped = sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))
    try:
        if name in shipped:
            text = (folder / f"{name}.yaml").read_text(encoding="utf-8")
        elif Path(name).is_file():
            text = Path(name).read_text(encoding="utf-8")
        else:
            raise UnknownNameError("recipe", name, shipped, hint=f"give one of {', '.join(shipped)}, or a YAML file")
        data = yaml.safe_load(text)
        return {delivery: Recipe.model_validate(row) for delivery, row in data.items()}
    except (yaml.YAMLError, UnicodeDecodeError, AttributeError, ValidationError) as error:
        words = " ".join(str(error).split())[:300]
        raise DataError(f"the recipes {name} are broken: {words}; correct the file") from error


def editor_of(delivery: Delivery, recipe: Recipe, tokenizer: Tokenizer) -> Editor:
    """Return the editor of a delivery.

    Raises:
        DataError: a hyperparameter is unknown or out of range.
        UsageError: the delivery has no weights of its own.
    """
    settings = recipe.settings
    try:
        if delivery in {"sft", "rag_sft", "raft"}:
            if recipe.full:
                return FullSft(TrainingSettings.model_validate(settings), tokenizer, delivery)
            return Lora(LoraSettings.model_validate(settings), tokenizer, delivery)
        if delivery == "grace":
            return Grace(GraceSettings.model_validate(settings))
        if delivery == "memit":
            return Memit(MemitSettings.model_validate(settings))
        if delivery == "alphaedit":
            return AlphaEdit(AlphaEditSettings.model_validate(settings))
        if delivery == "alphaedit_lora":
            return AlphaEditLora(AlphaEditLoraSettings.model_validate(settings), tokenizer)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DataError(f"recipe of {delivery}: {where}: {first['msg']}; correct the recipe") from error
    raise UsageError(f"delivery '{delivery}' has no weights of its own; those that have: {', '.join(TRAINED)}")


def statistics_layers(delivery: Delivery, recipe: Recipe, tokenizer: Tokenizer) -> tuple[tuple[int, ...], str] | None:
    """Return the layers and the module whose statistics a delivery needs, or null."""
    editor = editor_of(delivery, recipe, tokenizer)
    if isinstance(editor, Memit | AlphaEdit):
        return editor.settings.layers, editor.settings.module
    if isinstance(editor, AlphaEditLora) and editor.settings.layers is not None:
        return editor.settings.layers, editor.settings.module
    return None
