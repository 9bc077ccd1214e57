"""Append-only JSON lines that survive a kill: one fsync'd line per finished unit, a torn last line is repaired.

While a stage runs, rows are appended in the order in which they finish. Resume = `scan`. At the end `seal` rewrites the
file once, sorted by id, by an atomic rename, so that two runs give identical bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from novelapi.errors import DataError, NovelApiError

Row = dict[str, Any]


def dumps(row: Row) -> str:
    """Serialise one row: keys in the given order, one line, non-ASCII kept, lone surrogates escaped."""
    text = json.dumps(row, ensure_ascii=False, separators=(", ", ": "), allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(row, ensure_ascii=True, separators=(", ", ": "), allow_nan=False)
    return text


class Appender:
    """Appends rows to a file; each row is on disk when `append` returns.

    Raises:
        NovelApiError: the disk is full or the folder cannot be written (on open or append).
    """

    def __init__(self, path: Path) -> None:
        """Open `path` for appending and cut off a torn last line, if there is one."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _repair(path)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise _unwritable(path, error) from error

    def append(self, row: Row) -> None:
        """Write one row and wait until it is on disk."""
        data = (dumps(row) + "\n").encode()
        start = self._file.tell()
        try:
            written = self._file.write(data)
            while written < len(data):
                written += self._file.write(data[written:])
            os.fsync(self._file.fileno())
        except OSError as error:
            os.ftruncate(self._file.fileno(), start)
            raise _unwritable(self.path, error) from error

    def close(self) -> None:
        """Close the file; idempotent."""
        self._file.close()

    def __enter__(self) -> Self:
        """Return the appender itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Close the file."""
        self.close()


def _unwritable(path: Path, error: OSError) -> NovelApiError:
    return NovelApiError(
        f"cannot write {path}: {error.strerror}; free space or choose another folder with NOVELAPI_HOME"
    )


def _repair(path: Path) -> None:
    """Cut a last line that has no line end (the process was killed while it wrote)."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb+") as file:
        file.seek(-1, os.SEEK_END)
        if file.read(1) == b"\n":
            return
        end = file.tell()
        while end > 0:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                file.truncate(start + newline + 1)
                return
            end = start
        file.truncate(0)


def scan(path: Path) -> Iterator[Row]:
    """Yield the complete rows of a file that a stage wrote; a torn last line is skipped, no file gives no rows.

    Raises:
        DataError: a line other than the last is not a JSON object.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            yield parse_line(line, path, number)


def parse_line(line: bytes | str, path: Path, number: int) -> Row:
    """Parse one line.

    Raises:
        DataError: the line is not a JSON object; the message names file and line.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}, line {number}: not valid JSON ({error}); correct or remove the line") from error
    if not isinstance(row, dict):
        raise DataError(f"{path}, line {number}: expected a JSON object; correct or remove the line")
    return row


def read(path: Path) -> list[Row]:
    """Read a file that a user may have written: blank lines are allowed, a missing last line end too.

    Raises:
        DataError: the file is missing, not UTF-8, or a line is not a JSON object.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}; check the path") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from error
    lines = text.split("\n")
    return [parse_line(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]


def seal(path: Path, key: Callable[[Row], Any]) -> int:
    """Rewrite a file atomically, sorted by `key`, the first row of equal keys kept; return the number of rows."""
    rows: dict[Any, Row] = {}
    for row in scan(path):
        rows.setdefault(key(row), row)
    write(path, (rows[item] for item in sorted(rows)))
    return len(rows)


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write a whole file by an atomic rename: afterwards either all rows are there or the old file is.

    Raises:
        NovelApiError: the disk is full or the folder cannot be written.
    """
    write_text(path, "".join(dumps(row) + "\n" for row in rows))


def write_text(path: Path, text: str) -> None:
    """Write a text file by an atomic rename.

    Raises:
        NovelApiError: the disk is full or the folder cannot be written.
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file by an atomic rename.

    Raises:
        NovelApiError: the disk is full or the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _unwritable(path, error) from error
