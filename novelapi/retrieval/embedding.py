"""Embedders: texts to unit vectors. The default needs no weights and no network."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from novelapi.errors import PrerequisiteError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Role = Literal["passage", "query"]


class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    @property
    def identity(self) -> str:
        """What pins its vectors: model, revision, prefixes; part of the index's digest."""
        ...

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """Return an array of shape (texts, dimensions), float32, rows of length 1 (or 0 for an empty text)."""
        ...


class HashedNgrams:
    """Character n-grams hashed into a fixed number of dimensions: lexical, deterministic, a second for 2 MB of text.

    Each n-gram adds a sign to one dimension; counts are damped by a logarithm, as usual for term frequencies.
    """

    def __init__(self, dimensions: int = 1024, sizes: tuple[int, ...] = (3, 4, 5)) -> None:
        """Choose the number of dimensions and the lengths of n-grams in characters."""
        self._dimensions = dimensions
        self._sizes = sizes

    @property
    def identity(self) -> str:
        """Name, version and sizes."""
        return f"hashed-ngrams-1/{self._dimensions}/{'-'.join(map(str, self._sizes))}"

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:  # noqa: ARG002  passages and queries are alike here
        """Return one row per text."""
        np = import_numpy()
        rows = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            grams = np.concatenate([self._hashes(text, size) for size in self._sizes])
            unique, counts = np.unique(grams, return_counts=True)
            signs = np.where(unique >> np.uint64(63), 1.0, -1.0)
            np.add.at(row, (unique % np.uint64(self._dimensions)).astype(np.int64), signs * (1 + np.log(counts)))
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, norms, out=rows, where=norms > 0)

    def _hashes(self, text: str, size: int) -> Any:
        """Return a 64-bit hash of every n-gram of one size; words are parted by single blanks, case is ignored."""
        np = import_numpy()
        data = np.frombuffer(f" {' '.join(text.lower().split())} ".encode(), dtype=np.uint8).astype(np.uint64)
        count = max(0, len(data) - size + 1)
        mixed = np.full(count, size, dtype=np.uint64)
        for offset in range(size):
            mixed = (mixed ^ data[offset : offset + count]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        return mixed


def import_numpy() -> Any:
    """Import numpy, which the extra `rag` brings.

    Raises:
        PrerequisiteError: it is missing.
    """
    try:
        return importlib.import_module("numpy")
    except ImportError as error:
        raise PrerequisiteError("retrieval needs the extra rag: run pip install 'novelapi[rag]'") from error
