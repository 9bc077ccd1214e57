"""`novelapi list`: what the catalogue holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from novelapi.commands._shared import JsonOption, print_json
from novelapi.errors import UnknownNameError

KINDS = ("libraries", "models", "groups", "conditions", "deliveries")


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command("list")
    def list_catalogue(
        kind: Annotated[str, typer.Argument(help=" | ".join(KINDS))],
        as_json: JsonOption = False,
    ) -> None:
        """Print the libraries, models, groups, conditions or deliveries of the catalogue."""
        rows = catalogue_rows(kind)
        if as_json:
            print_json(rows)
        else:
            _print_table(kind, rows)


def catalogue_rows(kind: str) -> list[dict[str, Any]]:
    """Return the entries of one sort as plain data.

    Raises:
        UnknownNameError: there is no such sort of entry.
    """
    from novelapi import catalog

    if kind not in KINDS:
        raise UnknownNameError("list", kind, KINDS)
    entries = getattr(catalog, kind)()
    return [entry.to_row() for entry in entries.values()]


_COLUMNS: dict[str, Sequence[str]] = {
    "libraries": ("name", "distribution", "domain", "release", "licence", "cap", "static"),
    "models": ("name", "cutoff", "hf_id", "provenance"),
    "groups": ("name", "libraries", "split"),
    "conditions": ("name", "components"),
    "deliveries": ("name", "grid", "description"),
}


def _print_table(kind: str, rows: Sequence[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in _COLUMNS[kind]:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[column]) for column in _COLUMNS[kind]))
    Console().print(table)


def _cell(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value)) or "-"
    if isinstance(value, bool):
        return "yes" if value else ""
    return "-" if value is None else str(value)
