"""The passage index in LanceDB: embedded, on disk, versioned, searched exhaustively and so exactly."""

from __future__ import annotations

import importlib
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from novelapi.errors import NovelApiError, PrerequisiteError, UsageError
from novelapi.retrieval.embedding import import_numpy
from novelapi.retrieval.passages import Passage
from novelapi.retrieval.ranking import Hit, cosines, order
from novelapi.retrieval.terms import terms

if TYPE_CHECKING:
    from novelapi.retrieval.embedding import Vectors

_SHA = b"novelapi.corpus_sha"
_PATH = re.compile(r"\w+(\.\w+)*")
_SPARE = 50
"""Further rows that are fetched, so that ties at the limit fall to the id and not to the row."""


class LanceIndex:
    """One table: id, api, library, text, terms, vector; without a vector index, which would be inexact."""

    def __init__(self, folder: Path, name: str) -> None:
        """Open the table `name` below a folder, if it is there.

        Raises:
            PrerequisiteError: the extra `rag` is missing.
        """
        self._db = _import("lancedb").connect(folder)
        self._name = name
        self._table: Any = self._db.open_table(name) if name in _table_names(self._db) else None

    @property
    def corpus_sha(self) -> str | None:
        """Digest of the corpus in the table; null if there is none."""
        metadata = (self._table.schema.metadata or {}) if self._table is not None else {}
        found = metadata.get(_SHA)
        return found.decode() if found else None

    @property
    def version(self) -> int:
        """Version of the table; 0 before it is built."""
        return int(self._table.version) if self._table is not None else 0

    def build(self, passages: Sequence[Passage], vectors: Vectors | None, corpus_sha: str) -> None:
        """Replace the table, index its terms, and tag the version with the corpus.

        Raises:
            NovelApiError: the disk is full or the folder cannot be written.
            UsageError: there are no vectors.
        """
        if vectors is None:
            raise UsageError("LanceDB holds vectors: name an embedder, or take the index lexical")
        pa = _import("pyarrow")
        rows = sorted(zip(passages, vectors, strict=True), key=lambda row: row[0].id)
        flat = import_numpy().concatenate([vector for _, vector in rows])
        columns = {
            "id": pa.array([passage.id for passage, _ in rows]),
            "api": pa.array([passage.api for passage, _ in rows]),
            "library": pa.array([passage.library for passage, _ in rows]),
            "text": pa.array([passage.text for passage, _ in rows]),
            "terms": pa.array([" ".join(terms(passage.text)) for passage, _ in rows]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(flat, type=pa.float32()), vectors.shape[1]),
        }
        data = pa.table(columns).replace_schema_metadata({_SHA: corpus_sha.encode()})
        try:
            self._table = self._db.create_table(self._name, data, mode="overwrite")
            # Terms are split already: no stemming, no stop words, nothing dropped for its length.
            self._table.create_index(
                "terms",
                config=_import("lancedb.index").FTS(
                    base_tokenizer="whitespace",
                    lower_case=False,
                    stem=False,
                    remove_stop_words=False,
                    ascii_folding=False,
                    max_token_length=None,
                    with_position=False,
                ),
            )
            tag = f"corpus-{corpus_sha}-{self.version}"
            self._table.tags.create(tag, self.version)
        except (OSError, RuntimeError) as error:
            raise NovelApiError(f"cannot write the index {self._name}: {error}; free space and run again") from error

    def read(self) -> tuple[list[Passage], Vectors]:
        """Return passages and vectors, sorted by id."""
        data = self._table.to_arrow().sort_by("id")
        rows = data.select(["id", "api", "library", "text"]).to_pylist()
        return [Passage(**row) for row in rows], _matrix(data)

    def find_api(self, name: str) -> list[str]:
        """Return the ids of the passages of the API of this path, or whose path ends so."""
        if not _PATH.fullmatch(name):
            return []
        where = f"api = '{name}' OR ends_with(api, '.{name}')"
        return sorted(self._table.search().where(where).select(["id"]).to_arrow()["id"].to_pylist())

    def search_vector(self, vector: Vectors, limit: int) -> list[Hit]:
        """Return the nearest passages by cosine."""
        if not vector.any():
            return []  # an empty query is near to nothing
        query = self._table.search(vector, query_type="vector").distance_type("cosine").bypass_vector_index()
        found = query.select(["id", "vector", "_distance"]).limit(limit + _SPARE).to_arrow()
        scores = cosines(vector[None, :], _matrix(found))[0]  # single precision orders near ties by chance
        ids = found["id"].to_pylist()
        return order([Hit(passage=ids[i], score=float(score)) for i, score in enumerate(scores)], limit)

    def search_terms(self, query: str, limit: int) -> list[Hit]:
        """Return the best passages by BM25."""
        words = " ".join(terms(query))
        if not words:
            return []
        found = self._table.search(_import("lancedb.query").MatchQuery(words, "terms"), query_type="fts")
        rows = found.select(["id", "_score"]).limit(limit + _SPARE).to_arrow().to_pylist()
        return order([Hit(passage=row["id"], score=round(row["_score"], 5)) for row in rows], limit)


def _matrix(data: Any) -> Vectors:
    """Return the vectors of an Arrow table, shape (rows, dimensions)."""
    np = import_numpy()
    return np.asarray(data["vector"].combine_chunks().flatten(), dtype=np.float32).reshape(len(data), -1)


def _table_names(db: Any) -> list[str]:
    names: list[str] = []
    token = None
    while True:
        page = db.list_tables(page_token=token)
        names += page.tables
        token = page.page_token
        if not token:
            return names


def _import(module: str) -> Any:
    """Import a module of the extra; by name, so that type checking does not need it."""
    # Lance logs the creation of every table as a warning; it reads this once, on import.
    os.environ.setdefault("LANCEDB_LOG", "error")
    # It warns at every fork; our children run other programs or judge samples and never touch an index.
    warnings.filterwarnings("ignore", message="lancedb fork support is experimental", category=RuntimeWarning)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise PrerequisiteError("retrieval needs the extra rag: run pip install 'novelapi[rag]'") from error
