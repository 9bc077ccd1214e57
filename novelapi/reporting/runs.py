"""Run folders: cells of a grid and outputs of `evaluate`, found, ordered and named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from novelapi.errors import DataError, UsageError
from novelapi.records.base import Record
from novelapi.records.cell import Condition, Delivery
from novelapi.records.manifest import Manifest

RESULTS = "results.jsonl"
PREDICTIONS = "predictions.jsonl"
PROMPTS = "prompts.jsonl"
TASKS = "tasks.jsonl"
MANIFEST = "manifest.json"
SUMMARY = "summary.json"

CONDITIONS: tuple[str, ...] = get_args(Condition)
DELIVERIES: tuple[str, ...] = get_args(Delivery)
PROMPTED = ("oracle", "rag")
"""Deliveries that leave the model's weights alone: their baselines are the same thing."""


class Run(Record):
    """One run folder and what its manifest says of it."""

    folder: Path
    """Where it lies."""

    name: str
    """Unique name among the runs of a report."""

    experiment: str
    """Experiment of the cell; for an evaluation its folder's name."""

    model: str = ""
    """Model as the user named it; empty when predictions came from elsewhere."""

    delivery: str = ""
    """How knowledge was given; empty for an evaluation."""

    condition: str = ""
    """Which knowledge was given; empty for an evaluation."""

    manifest: Manifest | None = None
    """The manifest; null when the run was ended before it was written."""

    @property
    def limit(self) -> int | None:
        """Number of tasks that the run was limited to."""
        value = self.spec.get("limit")
        return value if isinstance(value, int) else None

    @property
    def spec(self) -> dict[str, Any]:
        """What was asked for, as the manifest says."""
        return self.manifest.spec if self.manifest else {}

    @property
    def partial(self) -> bool:
        """Whether the run says that it left something out."""
        return self.manifest is None or self.manifest.partial

    @property
    def is_cell(self) -> bool:
        """Whether it belongs to a grid."""
        return bool(self.condition)


class FoundRuns(Record):
    """The runs that were asked for, and the folders that hold no results yet."""

    runs: tuple[Run, ...]
    """Runs with results, in the order of reports: experiment, delivery, condition."""

    empty: tuple[Path, ...] = ()
    """Folders of cells that were started and have no results."""


def find_runs(paths: Iterable[Path], *, repeats: bool = False) -> FoundRuns:
    """Find the runs in folders: each is a run itself or a folder of runs, such as an experiment.

    Args:
        paths: the folders.
        repeats: whether one cell may be there more than once, as when two attempts at it are compared.

    Raises:
        UsageError: a folder does not exist or holds no run.
        DataError: a manifest is broken or of another schema.
    """
    folders: list[Path] = []
    empty: list[Path] = []
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"no folder {path}; give a run or an experiment below results/")
        inside = [path] if _is_run(path) else sorted(child for child in path.iterdir() if child.is_dir())
        started = [folder for folder in inside if _is_run(folder)]
        if not started:
            raise UsageError(f"{path} holds no run; give a folder with {RESULTS}, or the folder of an experiment")
        folders += [folder for folder in started if (folder / RESULTS).exists()]
        empty += [folder for folder in started if not (folder / RESULTS).exists()]
    if not folders:
        names = ", ".join(str(folder) for folder in empty)
        raise UsageError(f"no results yet in {names}; wait for the run, or finish it with `novelapi run`")
    unique = dict.fromkeys(folder.resolve() for folder in folders)
    runs = sorted(_with_models([_read_run(folder) for folder in unique]), key=run_order)
    if not repeats:
        _require_distinct(runs)
    return FoundRuns(runs=_with_unique_names(runs), empty=tuple(dict.fromkeys(empty)))


def run_order(run: Run) -> tuple[Any, ...]:
    """Sort key: experiment, then delivery and condition as the grid lists them."""
    return (
        run.experiment,
        run.model,
        _position(DELIVERIES, run.delivery),
        _position(CONDITIONS, run.condition),
        str(run.folder),
    )


def delivery_position(delivery: str) -> tuple[int, str]:
    """Sort key: deliveries as the grid lists them, others behind by name."""
    return (_position(DELIVERIES, delivery), delivery)


def read_manifest(path: Path) -> Manifest:
    """Read one manifest.

    Raises:
        DataError: it is not JSON, or not a manifest that this release knows.
    """
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path} ({error}); run the cell again") from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != 1:
        raise DataError(f"{path} has schema {schema}, this release reads schema 1; install the release that wrote it")
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DataError(f"{path}: {where}: {first['msg']}; run the cell again") from error


def _is_run(folder: Path) -> bool:
    return any((folder / name).exists() for name in (MANIFEST, RESULTS, PREDICTIONS))


def _read_run(folder: Path) -> Run:
    """Describe a run by its manifest; without one by the names of its folders, `experiment/delivery-condition`."""
    if not (folder / MANIFEST).exists():
        delivery, _, condition = folder.name.partition("-")
        known = delivery in DELIVERIES and condition in CONDITIONS
        if not known:
            return Run(folder=folder, name=folder.name, experiment=folder.name)
        experiment = folder.parent.name
        return Run(folder=folder, name=folder.name, experiment=experiment, delivery=delivery, condition=condition)
    manifest = read_manifest(folder / MANIFEST)
    if manifest.kind == "stage":
        raise UsageError(f"{folder} belongs to a stage, not to a run; give a run or an experiment below results/")
    spec = {name: str(manifest.spec.get(name) or "") for name in ("experiment", "model", "delivery", "condition")}
    if manifest.kind == "evaluation":
        spec |= {"experiment": folder.name, "delivery": "", "condition": ""}
    return Run(folder=folder, name=manifest.name or folder.name, manifest=manifest, **spec)


def _position(known: Sequence[str], name: str) -> int:
    return known.index(name) if name in known else len(known)


def _require_distinct(runs: Sequence[Run]) -> None:
    seen: dict[tuple[str, str, str], Run] = {}
    for run in runs:
        cell = (run.experiment, run.delivery, run.condition)
        other = seen.setdefault(cell, run)
        if run.is_cell and other is not run:
            name = f"{run.experiment}/{run.delivery}-{run.condition}"
            raise UsageError(f"the cell {name} was given twice ({other.folder}, {run.folder}); leave one out")


def _with_models(runs: Sequence[Run]) -> list[Run]:
    """A run without a manifest takes the model of its experiment."""
    models = {run.experiment: run.model for run in runs if run.model}
    return [run.model_copy(update={"model": run.model or models.get(run.experiment, "")}) for run in runs]


def _with_unique_names(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Name runs by cell; with several experiments, by experiment and cell; else by their folders."""
    names = [run.name for run in runs]
    for longer in (lambda run: f"{run.experiment}/{run.name}", lambda run: str(run.folder)):
        if len(set(names)) < len(names):
            names = [longer(run) for run in runs]
    return tuple(run.model_copy(update={"name": name}) for run, name in zip(runs, names, strict=True))
