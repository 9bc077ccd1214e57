"""What a method leaves behind: tensors in safetensors and a description with the hash of the base."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from novelapi import jsonl
from novelapi.adaptation.extras import Tensor, need
from novelapi.errors import DataError, NovelApiError
from novelapi.fingerprint import digest, file_digest

Served = Literal["adapter", "weights", "hook"]
"""How it reaches a server: a LoRA adapter, a merged checkpoint, or hooks in this process."""

DESCRIPTION = "edit.json"
TENSORS = "edit.safetensors"
ARTIFACT_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """The result of one fit."""

    method: str
    """Name of the editor."""

    served: Served
    """How it is served."""

    base_sha: str
    """Digest of the weights that it belongs to (`base_digest`)."""

    seed: int
    """Seed of everything that was drawn."""

    requests_sha: str
    """Digest of the requests or rows that it was fitted to."""

    settings: dict[str, Any]
    """Hyperparameters."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    """What it holds, by name."""

    facts: dict[str, Any] = field(default_factory=dict)
    """What happened: skipped requests, losses, ranks, radii; plain data."""


def save(artifact: Artifact, folder: Path) -> Path:
    """Write an artifact; the description comes last, so a folder that has one is complete.

    Returns:
        The description.

    Raises:
        NovelApiError: the disk is full or the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / TENSORS
    temporary = folder / f".{TENSORS}.tmp"
    tensors = {name: artifact.tensors[name].detach().cpu().contiguous() for name in sorted(artifact.tensors)}
    try:
        need("safetensors.torch").save_file(tensors, temporary)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise NovelApiError(f"cannot write {target}: {error.strerror}; free space") from error
    row = {
        "version": ARTIFACT_VERSION,
        **{name: getattr(artifact, name) for name in _PLAIN},
        "tensors_sha": file_digest(target),
        "versions": library_versions(),
    }
    jsonl.write_text(folder / DESCRIPTION, json.dumps(row, indent=1, ensure_ascii=False) + "\n")
    return folder / DESCRIPTION


_PLAIN = ("method", "served", "base_sha", "seed", "requests_sha", "settings", "facts")


def load(folder: Path) -> Artifact:
    """Read an artifact.

    Raises:
        DataError: there is none, it is broken, or its tensors are not those that were written.
    """
    row = describe(folder)
    path = folder / TENSORS
    if not path.is_file() or file_digest(path) != row["tensors_sha"]:
        raise DataError(f"{path} is not the file that {DESCRIPTION} describes: fit it again")
    tensors: Mapping[str, Tensor] = need("safetensors.torch").load_file(path)
    return Artifact(tensors=dict(tensors), **{name: row[name] for name in _PLAIN})


def describe(folder: Path) -> dict[str, Any]:
    """Return the description of an artifact without its tensors.

    Raises:
        DataError: there is none or it is broken.
    """
    path = folder / DESCRIPTION
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{folder} holds no artifact ({error}): fit it again") from error
    if not isinstance(row, dict) or row.get("version") != ARTIFACT_VERSION:
        raise DataError(f"{path} has another format than version {ARTIFACT_VERSION}: fit it again")
    return row


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that decide a fit's numbers; missing ones are left out."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    found: dict[str, str] = {}
    for name in ("torch", "transformers", "peft", "trl"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def digest_of(parts: Sequence[str]) -> str:
    """Return the digest of a list of digests, for `requests_sha`."""
    return digest(list(parts), 64)
