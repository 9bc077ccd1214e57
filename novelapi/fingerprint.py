"""Canonical JSON and SHA-256: the identity of every input, stage and cell.

Two values have the same fingerprint exactly when their canonical JSON is the same: keys sorted, no white space,
non-ASCII kept, no NaN. Cache keys, folder names and row ids are all built from here.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel


def canonical_json(value: Any) -> str:
    """Serialise plain data or a record so that equal values give equal text.

    Raises:
        TypeError: the value holds something that is neither plain data nor a record.
        ValueError: the value holds NaN or an infinity.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    message = f"{type(value).__name__} has no canonical form"
    raise TypeError(message)


def digest(value: Any, length: int = 20) -> str:
    """Return the first `length` hexadecimal digits of the SHA-256 of the canonical JSON (80 bits by default)."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:length]


def text_digest(text: str, length: int = 20) -> str:
    """Return the first `length` hexadecimal digits of the SHA-256 of a text, surrogates kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def file_digest(path: Path) -> str:
    """Return the full SHA-256 of a file in hexadecimal.

    Raises:
        FileNotFoundError: there is no such file.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
