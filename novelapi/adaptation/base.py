"""A base model on disk: loading it, and its identity."""

from __future__ import annotations

import json
from pathlib import Path

from novelapi.adaptation.extras import Network, Tokenizer, need
from novelapi.adaptation.memory import require
from novelapi.errors import UsageError
from novelapi.fingerprint import digest, file_digest

PINNED = ("*.safetensors", "*.json", "*.jinja")
"""Files that decide what a base says."""


def load_base(folder: Path) -> tuple[Network, Tokenizer]:
    """Return model and tokenizer: bfloat16 on a GPU, float32 on the CPU, in evaluation mode.

    Raises:
        UsageError: the folder holds no model.
        PrerequisiteError: the extra `train` is missing.
    """
    torch, transformers = need("torch"), need("transformers")
    check_folder(folder)
    need("transformers.utils.logging").disable_progress_bar()
    cuda = torch.cuda.is_available()
    require(_loaded_bytes(folder, half=cuda), "cuda" if cuda else "cpu", f"the base {folder.name}")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16 if cuda else torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side="left")
    return model.to("cuda" if cuda else "cpu").eval(), tokenizer


def _loaded_bytes(folder: Path, *, half: bool) -> int:
    """Return the size of the weights in memory, which need not be loaded in the type that they are stored in."""
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    stored = 2 if "16" in str(config.get("dtype") or config.get("torch_dtype") or "") else 4
    return size * (2 if half else 4) // stored


def check_folder(folder: Path) -> None:
    """Check that a folder holds a model.

    Raises:
        UsageError: it does not.
    """
    if not (folder / "config.json").is_file():
        raise UsageError(f"{folder} holds no model (no config.json); give the folder that save_pretrained wrote")


def folder_digest(folder: Path) -> str:
    """Return the digest of a base's files.

    Raises:
        UsageError: the folder holds no model.
    """
    check_folder(folder)
    files = sorted({path for pattern in PINNED for path in folder.glob(pattern)})
    return digest([[path.name, file_digest(path)] for path in files], 64)
