"""A base model on disk: loading it, and its identity."""

from __future__ import annotations

from pathlib import Path

from novelapi.adaptation.extras import Network, Tokenizer, need
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
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16 if cuda else torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side="left")
    return model.to("cuda" if cuda else "cpu").eval(), tokenizer


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
