"""How far a grid is, read from its folders alone: while it runs, after a kill, or when it is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

from novelapi import jsonl
from novelapi.errors import UnknownNameError
from novelapi.grid.expand import expand_grid
from novelapi.layout import Layout
from novelapi.records.base import Record
from novelapi.records.cell import Condition, Delivery
from novelapi.records.manifest import Manifest

State = Literal["finished", "begun", "missing"]


class CellStatus(Record):
    """One cell of a grid."""

    cell: str
    """Folder name: delivery and condition."""

    state: State
    """Whether it is finished, has rows but no end, or has nothing yet."""

    asked: int = 0
    """Answers of the model that are stored."""

    passed: int = 0
    """Samples that passed."""

    failed: int = 0
    """Samples that failed."""

    unscored: int = 0
    """Samples without a verdict."""

    partial: bool = False
    """Whether it was limited on purpose."""


class GridStatus(Record):
    """One experiment."""

    experiment: str
    """Its name."""

    cells: tuple[CellStatus, ...]
    """The cells that have a folder, then those that the grid of their deliveries still lacks."""

    def count(self, state: State) -> int:
        """Return the number of cells in a state."""
        return sum(cell.state == state for cell in self.cells)


def grid_status(layout: Layout, experiment: str) -> GridStatus:
    """Return how far an experiment is.

    Raises:
        UnknownNameError: no cell of it was ever begun; near names are suggested.
    """
    folder = layout.experiment(experiment)
    if not folder.is_dir():
        known = sorted(path.name for path in folder.parent.glob("*") if path.is_dir())
        raise UnknownNameError("experiment", experiment, known, "no grid was run here yet: see `novelapi run`")
    found = {path.name: _status(path) for path in sorted(folder.iterdir()) if path.is_dir()}
    wanted = [f"{delivery}-{condition}" for delivery, condition in expand_grid(_conditions(), _deliveries(found))]
    ordered = [name for name in wanted if name in found] + sorted(found.keys() - set(wanted))
    missing = [CellStatus(cell=name, state="missing") for name in wanted if name not in found]
    return GridStatus(experiment=folder.name, cells=(*(found[name] for name in ordered), *missing))


def _conditions() -> tuple[Condition, ...]:
    return get_args(Condition)


def _deliveries(found: dict[str, CellStatus]) -> list[Delivery]:
    """Return the deliveries that at least one cell has."""
    return [name for name in get_args(Delivery) if any(cell.startswith(f"{name}-") for cell in found)]


def _status(folder: Path) -> CellStatus:
    rows = [row["outcome"] for row in _rows(folder / "results.jsonl")]
    path = folder / "manifest.json"
    manifest = Manifest.model_validate_json(path.read_bytes()) if path.exists() else None
    return CellStatus(
        cell=folder.name,
        state="finished" if manifest is not None and manifest.outputs else "begun",
        asked=len(_rows(folder / "predictions.jsonl")),
        passed=rows.count("pass"),
        failed=rows.count("fail"),
        unscored=rows.count("unscored"),
        partial=manifest is not None and manifest.partial,
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    return list(jsonl.scan(path)) if path.exists() else []
