"""The completion cache: every answer of a model is kept, exported and replayed byte for byte."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from novelapi import jsonl
from novelapi.errors import DataError, NovelApiError
from novelapi.fingerprint import canonical_json, digest, text_digest
from novelapi.inference.requests import StreamingCompleter
from novelapi.records.completion import Completion, Request

_TABLE = "CREATE TABLE IF NOT EXISTS completions (key TEXT PRIMARY KEY, spec TEXT NOT NULL, completion TEXT NOT NULL)"


def request_spec(completer: StreamingCompleter, request: Request) -> dict[str, Any]:
    """Return everything that decides the answer: model revision, adapter, engine, prompt digest and sampling."""
    asked = {name: value for name, value in request.normalised().to_row().items() if value not in (None, [], False)}
    return {
        "revision": completer.revision,
        "adapter": completer.adapter_sha,
        "engine": completer.engine,
        "prompt": text_digest(asked.pop("prompt"), 64),
        **asked,
    }


class CompletionCache:
    """Answers by request, in one SQLite file; several processes may use it at a time."""

    def __init__(self, path: Path) -> None:
        """Open or create the file.

        Raises:
            NovelApiError: the folder cannot be written, or the file is no cache.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Used from one thread at a time; a second process waits for its turn.
            self._db = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            broken = getattr(error, "sqlite_errorcode", None) in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}
            remedy = "move it away" if broken else "free space or set the permissions"
            raise NovelApiError(
                f"cannot open the completion cache {path}: {error}; {remedy}, or choose another NOVELAPI_HOME"
            ) from error

    def get(self, spec: dict[str, Any]) -> Completion | None:
        """Return the recorded answer, or null."""
        found = self._db.execute("SELECT completion FROM completions WHERE key = ?", (digest(spec, 64),)).fetchone()
        # json, not pydantic's own parser: a model may emit half of a surrogate pair.
        return Completion.model_validate(json.loads(found[0])) if found else None

    def put(self, spec: dict[str, Any], completion: Completion, *, replace: bool = False) -> Completion:
        """Record an answer and return the one that is kept: the first wins, so that all processes agree.

        Args:
            spec: everything that decides the answer.
            completion: the answer.
            replace: keep the last instead, for what an endpoint says of itself.

        Raises:
            NovelApiError: the disk is full.
        """
        row = (digest(spec, 64), canonical_json(spec), jsonl.dumps(completion.to_row()))
        try:
            verb = "REPLACE" if replace else "IGNORE"
            self._db.execute(f"INSERT OR {verb} INTO completions VALUES (?, ?, ?)", row)
        except sqlite3.Error as error:
            raise NovelApiError(f"cannot write {self.path}: {error}; free space and run again") from error
        kept = self.get(spec)
        assert kept is not None
        return kept

    def __len__(self) -> int:
        """Return the number of recorded answers."""
        return int(self._db.execute("SELECT count(*) FROM completions").fetchone()[0])

    def rows(self) -> Iterator[jsonl.Row]:
        """Yield `{"key", "spec", "completion"}` sorted by key."""
        for key, spec, completion in self._db.execute("SELECT key, spec, completion FROM completions ORDER BY key"):
            yield {"key": key, "spec": json.loads(spec), "completion": json.loads(completion)}

    def export(self, path: Path) -> int:
        """Write all recordings to a JSONL file; return their number. Equal caches give equal bytes."""
        rows = list(self.rows())
        jsonl.write(path, rows)
        return len(rows)

    def load(self, path: Path) -> int:
        """Add the recordings of an exported file; return their number.

        Raises:
            DataError: a line is broken or does not match its key.
        """
        rows = jsonl.read(path)
        for number, row in enumerate(rows, 1):
            if set(row) != {"key", "spec", "completion"} or digest(row["spec"], 64) != row["key"]:
                raise DataError(f"{path}, line {number}: not a recording of this cache; export it again")
            self.put(row["spec"], Completion.model_validate(row["completion"]))
        return len(rows)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        """Return the cache itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Close the file."""
        self.close()
