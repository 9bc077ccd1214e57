"""The only module that builds run paths."""

from __future__ import annotations

import re
from pathlib import Path


def safe_name(text: str) -> str:
    """Return a text as one path segment: everything but letters, digits and `._+-` becomes `_`."""
    name = re.sub(r"[^A-Za-z0-9._+-]+", "_", text).strip(".") or "_"
    return name[:150]


class Layout:
    """Where everything lies below one home folder (NOVELAPI_HOME)."""

    def __init__(self, home: Path) -> None:
        """Remember the home folder; nothing is created."""
        self.home = home

    # What is fetched and built once, for all models.

    @property
    def index_cache(self) -> Path:
        """Recorded answers of the package index."""
        return self.home / "index"

    @property
    def downloads(self) -> Path:
        """Wheels and sdists by SHA-256."""
        return self.home / "downloads"

    def release(self, dist: str, version: str) -> Path:
        """Folder of what was read from one release."""
        return self.home / "releases" / safe_name(f"{dist}-{version}")

    # The stages of one library.

    def stage(self, library: str, stage: str, model: str | None = None) -> Path:
        """File of a stage's rows: `raw/{library}/{stage}.{model}.jsonl`; without a model the part is left out."""
        name = f"{stage}.{safe_name(model)}.jsonl" if model else f"{stage}.jsonl"
        return self.home / "raw" / safe_name(library) / name

    def stage_manifest(self, library: str, stage: str, model: str | None = None) -> Path:
        """Manifest beside a stage's file."""
        return self.stage(library, stage, model).with_suffix(".manifest.json")

    # Groups and experiments.

    def instance(self, group: str, model: str) -> Path:
        """Folder of a group's instance and split for one model."""
        return self.home / "processed" / "groups" / safe_name(group) / safe_name(model)

    def rag(self, group: str) -> Path:
        """Folder of the retrieval index of a group."""
        return self.home / "rag" / safe_name(group)

    def sft(self, group: str) -> Path:
        """Folder of the training rows of a group."""
        return self.home / "sft" / safe_name(group)

    @property
    def edits(self) -> Path:
        """Folder of trained adapters and editor artefacts."""
        return self.home / "edits"

    def experiment(self, experiment: str) -> Path:
        """Folder of all cells of an experiment."""
        return self.home / "results" / safe_name(experiment)

    def cell(self, experiment: str, cell: str) -> Path:
        """Folder of one cell: manifest.json, predictions.jsonl, results.jsonl, summary.json."""
        return self.experiment(experiment) / safe_name(cell)

    @staticmethod
    def home_of(cell: Path) -> Path | None:
        """Return the home that a cell lies in (`home/results/experiment/cell`), null if it lies elsewhere."""
        parents = cell.absolute().parents
        return parents[2] if len(parents) > 2 and parents[1].name == "results" else None

    def analysis(self, experiment: str) -> Path:
        """Folder of tables, figures and report of an experiment."""
        return self.home / "analysis" / safe_name(experiment)

    # Caches and services.

    @property
    def completions(self) -> Path:
        """Folder of the completion cache."""
        return self.home / "completions"

    @property
    def prefect(self) -> Path:
        """Folder of the local Prefect server and of cached task results."""
        return self.home / "prefect"
