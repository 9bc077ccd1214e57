"""How passages are found: with LanceDB where the extra `rag` is installed, else by terms in memory."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from novelapi.records.cell import Retrieval
from novelapi.retrieval.rag import RETRIEVAL_VERSION

if TYPE_CHECKING:
    from novelapi.retrieval.embedding import Embedder
    from novelapi.retrieval.index import PassageIndex

Mode = Literal["vector", "bm25", "hybrid"]


def default_retrieval(mode: Mode | None = None, k: int = 5) -> Retrieval:
    """Return how passages are found on this machine; it is part of a cell, so another machine does the same.

    Args:
        mode: what passages are ranked by; default: terms and vectors with the extra `rag`, terms without it.
        k: number of passages in a prompt.
    """
    from novelapi.retrieval.embedding import HashedNgrams

    lance = find_spec("lancedb") is not None
    mode = mode or ("hybrid" if lance else "bm25")
    return Retrieval(
        index="lancedb" if lance else "lexical",
        mode=mode,
        k=k,
        embedder=HashedNgrams().identity if lance or mode != "bm25" else None,
        version=RETRIEVAL_VERSION,
    )


def open_index(retrieval: Retrieval, folder: Path, name: str) -> tuple[PassageIndex, Embedder | None]:
    """Open the index that a cell names.

    Raises:
        PrerequisiteError: the extra `rag` is missing.
    """
    from novelapi.retrieval.embedding import HashedNgrams

    embedder = HashedNgrams() if retrieval.embedder else None
    if retrieval.index == "lexical":
        from novelapi.retrieval.lexical import LexicalIndex

        return LexicalIndex(), embedder
    from novelapi.adapters.lancedb_index import LanceIndex

    return LanceIndex(folder / "lance", name), embedder
