"""One table: the same rounded numbers as csv, Markdown and HTML."""

from __future__ import annotations

import csv
import io
from typing import Any, Literal

from novelapi.records.base import Record
from novelapi.reporting.text import DASH, MINUS, count, p_value, percent, plain, points

Kind = Literal["text", "count", "share", "difference", "p", "number", "ratio"]
DECIMALS: dict[Kind, int] = {"share": 6, "difference": 6, "p": 6, "number": 1, "ratio": 6}
ESCAPED = str.maketrans({character: f"\\{character}" for character in "\\|`*_[]<>"})
NUMBERS = ("count", "share", "difference", "p", "number", "ratio")


class Column(Record):
    """One column of a table."""

    key: str
    """Name in csv files."""

    title: str
    """Name for readers; shares are shown in percent, differences in percentage points."""

    kind: Kind = "text"
    """What it holds."""


class Table(Record):
    """A named table of plain values."""

    name: str
    """Stem of its files."""

    title: str
    """What it shows, in words."""

    note: str = ""
    """How to read it: denominators, methods."""

    columns: tuple[Column, ...]
    """Its columns."""

    rows: tuple[dict[str, Any], ...]
    """Values by column key; numbers are rounded once, here, so that all outputs show the same."""


def make_table(name: str, title: str, columns: list[Column], rows: list[dict[str, Any]], note: str = "") -> Table:
    """Return a table with its numbers rounded to what the files show."""
    rounded = [{column.key: _rounded(column.kind, row.get(column.key)) for column in columns} for row in rows]
    return Table(name=name, title=title, note=note, columns=tuple(columns), rows=tuple(rounded))


def shown(kind: Kind, value: Any) -> str:
    """Return a value as readers see it, the same in Markdown and HTML."""
    if kind == "text":
        return "" if value is None else plain(str(value))
    if kind == "number":
        return DASH if value is None else f"{value:,.1f}"
    if kind == "ratio":
        return DASH if value is None else f"{value:.2f}".replace("-", MINUS)
    return {"count": count, "share": percent, "difference": points, "p": p_value}[kind](value)


def to_csv(table: Table) -> str:
    """Return the table as comma-separated values: shares as fractions, empty cells for missing numbers."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.key for column in table.columns])
    for row in table.rows:
        writer.writerow([_raw(column.kind, row[column.key]) for column in table.columns])
    return out.getvalue()


def to_markdown(table: Table) -> str:
    """Return the table as GitHub-flavoured Markdown with title and note."""
    head = "| " + " | ".join(_cell(column.title) for column in table.columns) + " |"
    rule = "|" + "|".join(" ---: " if column.kind in NUMBERS else " --- " for column in table.columns) + "|"
    lines = [
        "| " + " | ".join(_cell(shown(column.kind, row[column.key])) for column in table.columns) + " |"
        for row in table.rows
    ]
    note = f"\n{table.note}\n" if table.note else ""
    return f"# {table.title}\n{note}\n" + "\n".join([head, rule, *lines]) + "\n"


def _rounded(kind: Kind, value: Any) -> Any:
    if value is None or kind not in DECIMALS:
        return value
    return round(float(value), DECIMALS[kind]) + 0.0


def _raw(kind: Kind, value: Any) -> str:
    if value is None:
        return ""
    return plain(str(value)) if kind == "text" else str(value)


def _cell(text: str) -> str:
    return text.translate(ESCAPED)
