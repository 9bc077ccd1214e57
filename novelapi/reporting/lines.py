"""A file of JSON lines, read line by line at random without holding it in memory."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from novelapi.errors import DataError


class LineFile:
    """Finds lines by byte positions, or by the value of one field.

    A file that does not exist has no lines; a torn last line is not one.
    """

    def __init__(self, path: Path, key: str | None = None) -> None:
        """Read the positions of all lines.

        Args:
            path: the file.
            key: a field with a text, by which lines are found; of equal ones the first counts.

        Raises:
            DataError: the file is not made of JSON objects.
        """
        self._path = path
        self._spans: dict[str, tuple[int, int]] = {}
        if key is not None and path.exists():
            data = path.read_bytes()
            spans = line_spans(data)
            try:
                keys = pl.read_ndjson(data[: spans[-1][1] + 1], schema={key: pl.String})[key] if spans else []
            except pl.exceptions.PolarsError as error:
                raise DataError(f"{path} is not a file of JSON lines ({error}); correct or remove it") from error
            for value, span in zip(keys, spans, strict=True):
                self._spans.setdefault(value, span)

    def find(self, value: str) -> bytes | None:
        """Return the line whose key has this value, or null."""
        span = self._spans.get(value)
        return None if span is None else self.slice(*span)

    def slice(self, start: int, end: int) -> bytes:
        """Return the bytes of one line, by the positions of its first byte and of its line end."""
        # Hundreds of thousands of lines of hundreds of files: neither buffers nor open files are kept.
        handle = os.open(self._path, os.O_RDONLY)
        try:
            return os.pread(handle, end - start, start)
        finally:
            os.close(handle)


def line_spans(data: bytes) -> list[tuple[int, int]]:
    """Return first byte and line end of every line that is complete and not blank."""
    spans: list[tuple[int, int]] = []
    start = 0
    while (stop := data.find(b"\n", start)) >= 0:
        if data[start:stop].strip():
            spans.append((start, stop))
        start = stop + 1
    return spans
