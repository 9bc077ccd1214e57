"""Artifacts on disk by content: found again by the digest of their description."""

from __future__ import annotations

from pathlib import Path

from novelapi.adaptation.artifact import DESCRIPTION
from novelapi.errors import NovelApiError
from novelapi.fingerprint import file_digest


def find_artifact(edits: Path, sha256: str) -> Path:
    """Return the folder of the artifact with this digest.

    Raises:
        NovelApiError: there is none any more.
    """
    for path in sorted(edits.glob(f"*/{DESCRIPTION}")):
        if file_digest(path) == sha256:
            return path.parent
    raise NovelApiError(f"no artifact {sha256[:12]} below {edits}: fit it again")
