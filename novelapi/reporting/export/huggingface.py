"""A dataset folder for the Hugging Face hub: parquet files, one configuration per instance, card and Croissant file.

What quotes copyleft libraries lies in files and configurations of its own, so that it can be left out as a whole.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from novelapi import __version__, jsonl
from novelapi.fingerprint import file_digest
from novelapi.records.base import Record
from novelapi.reporting.export.croissant import DataFile, croissant
from novelapi.reporting.export.sources import Source, task_row

TEMPLATES = Path(__file__).parent.parent / "templates" / "export"
COPYLEFT = "copyleft"


class Exported(Record):
    """What was written."""

    folder: Path
    """The folder of the dataset."""

    configurations: dict[str, int]
    """Rows by configuration."""


def write_dataset(
    sources: Sequence[Source],
    folder: Path,
    *,
    name: str,
    prompts: Mapping[str, str],
    published: date,
    bundles: Sequence[dict[str, Any]] = (),
) -> Exported:
    """Write a dataset folder.

    Args:
        sources: one configuration each, two where some of its libraries are copyleft.
        folder: where to write.
        name: name of the dataset.
        prompts: prompt without knowledge by task.
        published: date of the dataset.
        bundles: knowledge bundles as flat rows, for the configuration `knowledge`.

    Raises:
        NovelApiError: the disk is full.
    """
    tables: dict[str, list[dict[str, Any]]] = {}
    for source in sources:
        for task in source.tasks:
            row = task_row(source, task, prompts)
            tables.setdefault(_name(source.name, copyleft=row["copyleft"]), []).append(row)
    for row in bundles:
        tables.setdefault(_name("knowledge", copyleft=row["copyleft"]), []).append(row)
    files = [_write(folder, configuration, rows) for configuration, rows in sorted(tables.items())]
    quoted = {entry.library: entry for source in sources for entry in source.quoted}
    context = {
        "name": name,
        "version": __version__,
        "files": files,
        "first": next(iter(tables)),
        "quoted": [entry for _, entry in sorted(quoted.items())],
        "copyleft": [entry.library for _, entry in sorted(quoted.items()) if entry.copyleft],
        "size": _size(sum(file.rows for file in files)),
    }
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, autoescape=False  # noqa: S701  Markdown
    )  # fmt: skip
    jsonl.write_text(folder / "README.md", environment.get_template("card.md.j2").render(context))
    described = croissant(name, files, [entry for _, entry in sorted(quoted.items())], published)
    jsonl.write_text(folder / "croissant.json", json.dumps(described, indent=2, ensure_ascii=False) + "\n")
    return Exported(folder=folder, configurations={file.configuration: file.rows for file in files})


def _name(name: str, *, copyleft: bool) -> str:
    return f"{name}-{COPYLEFT}" if copyleft else name


def _write(folder: Path, configuration: str, rows: list[dict[str, Any]]) -> DataFile:
    """Write one parquet file; equal rows give equal bytes."""
    frame = pl.DataFrame(rows)
    place = f"{COPYLEFT if rows[0]['copyleft'] else 'data'}/{configuration}.parquet"
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    jsonl.write_bytes(folder / place, buffer.getvalue())
    columns = {name: "boolean" if dtype == pl.Boolean else "text" for name, dtype in frame.schema.items()}
    return DataFile(
        configuration=configuration, path=place, sha256=file_digest(folder / place), rows=len(rows), columns=columns
    )


def _size(rows: int) -> str:
    """Return the hub's word for a number of rows."""
    for limit, word in ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K")):
        if rows < limit:
            return word
    return "100K<n<1M"
