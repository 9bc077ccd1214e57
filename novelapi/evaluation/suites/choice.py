"""What a selection suite is: tasks whose answers are compared, not run, and the files that they are read from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.errors import DataError
from novelapi.selection.names import changed
from novelapi.selection.tasks import TaskSet, Tool

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ChoiceSuite:
    """One suite of tool calls."""

    name: str
    """Name on the command line."""
    folders: tuple[str, ...]
    """Names that its folder may have among the data of all suites, the nearest first."""
    markers: tuple[str, ...]
    """Patterns of the files that hold its rows, relative to its folder."""
    source: str
    """Where its data are had from, in words."""
    version: int
    """Of how its files are read."""
    read: Callable[[Path], TaskSet]
    """Reads a folder, or one file of it; raises DataError."""

    def find(self, root: Path) -> Path | None:
        """Return the folder (or file) below a root that holds the suite's rows, or null."""
        if root.is_file():
            return root
        places = (root, *(root / folder for folder in self.folders))
        return next((place for place in places if self.files(place)), None)

    def files(self, folder: Path) -> list[Path]:
        """Return the files that hold rows, by name."""
        return sorted({path for marker in self.markers for path in folder.glob(marker) if path.is_file()})


def read_rows(path: Path) -> list[Row]:
    """Read the objects of a JSON array, of a JSON object of objects (its keys become `id`), or of JSON lines.

    Raises:
        DataError: the file is missing or broken; the message names it and the place.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {error}; fetch it anew") from error
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise DataError(f"{path}: nested too deeply; fetch it anew") from error
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or not lines[0].rstrip().endswith("}"):
            raise DataError(f"{path}: not valid JSON ({error}); fetch it anew") from error
        return [
            jsonl.parse_line(line, path, number) for number, line in enumerate(text.splitlines(), 1) if line.strip()
        ]
    if isinstance(value, list):
        if wrong := next((number for number, row in enumerate(value, 1) if not isinstance(row, dict)), None):
            raise DataError(f"{path}, row {wrong}: expected a JSON object; correct or remove the row")
        return value
    if isinstance(value, dict):
        if value and all(isinstance(row, dict) for row in value.values()):
            return [{"id": key, **row} for key, row in value.items()]
        return [value]
    raise DataError(f"{path}: expected rows as JSON objects; fetch it anew")


def need(row: Row, names: Iterable[str], place: str) -> Any:
    """Return the first of several fields that a row has.

    Raises:
        DataError: it has none of them.
    """
    several = list(names)
    for name in several:
        if name in row:
            return row[name]
    raise DataError(f"{place}: field missing: {' or '.join(several)}; is this the suite's own file?")


def clean(tools: Sequence[Tool]) -> tuple[tuple[Tool, ...], dict[str, str]]:
    """Return the tools of a list that many rows share, each once, and why some of its names cannot be scored.

    Equal entries are one; of different entries under one name, or under names of one normal form, no row is scored
    that needs them.
    """
    kept: dict[str, Tool] = {}
    bad: dict[str, str] = {}
    forms: dict[str, str] = {}
    for tool in tools:
        if tool.name in kept:
            if kept[tool.name] != tool:
                bad[tool.name] = f"two listed tools have one name: '{tool.name}'"
            continue
        other = forms.setdefault(changed(tool, "plain")[0], tool.name)
        if other != tool.name:
            reason = f"two listed names have one normal form: '{other}' and '{tool.name}'"
            bad[other] = bad[tool.name] = reason
        kept[tool.name] = tool
    return tuple(kept.values()), bad


def finish(found: TaskSet, folder: Path) -> TaskSet:
    """Return what was read.

    Raises:
        DataError: no row can be scored.
    """
    if found.tasks:
        return found
    if found.skipped:
        raise DataError(f"{folder}: every row is defective, the first: {found.skipped[0].reason}; correct the rows")
    raise DataError(f"{folder} holds no row; fetch it anew")
