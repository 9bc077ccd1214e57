"""Writes what a report consists of: tables as csv and Markdown, pages piece by piece."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from novelapi import jsonl
from novelapi.errors import NovelApiError
from novelapi.reporting.table import Table, to_csv, to_markdown


def write_tables(tables: Sequence[Table], folder: Path) -> Iterator[Path]:
    """Write every table as csv and as Markdown; yield the files."""
    for table in tables:
        for suffix, text in (("csv", to_csv(table)), ("md", to_markdown(table))):
            path = folder / f"{table.name}.{suffix}"
            jsonl.write_text(path, text)
            yield path


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write a large text by an atomic rename, without holding it in memory twice."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            for piece in pieces:
                file.write(piece)
        temporary.replace(path)
    except OSError as error:
        raise NovelApiError(f"cannot write {path}: {error.strerror}; free space or choose another folder") from error
    finally:
        temporary.unlink(missing_ok=True)
