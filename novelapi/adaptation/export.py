"""Merged checkpoints: a base with an artifact in its weights, as `save_pretrained` writes it and vLLM serves it."""

from __future__ import annotations

from pathlib import Path

from novelapi.adaptation.artifact import Artifact
from novelapi.adaptation.editor import Editor
from novelapi.adaptation.extras import Network, Tokenizer
from novelapi.errors import UsageError


def export_merged(model: Network, tokenizer: Tokenizer, editor: Editor, artifact: Artifact, folder: Path) -> Path:
    """Write the merged checkpoint; the model is as before afterwards.

    Raises:
        UsageError: the artifact acts through hooks, or belongs to other weights.
    """
    if artifact.served == "hook":
        raise UsageError(f"{artifact.method} acts through hooks and has no merged weights: ask it in this process")
    handle = editor.apply(model, artifact)
    try:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    finally:
        handle.undo()
    return folder
