"""Greedy outcomes as one small matrix, tasks by runs: what statistics, figures and the page all start from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from novelapi.records.verdict import LABELS
from novelapi.reporting.rows import Rows
from novelapi.reporting.stats.clusters import Clusters, sum_by_position
from novelapi.reporting.summary import UNLABELLED

OUTCOMES: tuple[str, ...] = ("missing", "unscored", "pass", *LABELS, UNLABELLED)
"""Names of the codes, by position."""

MISSING, UNSCORED, PASS = 0, 1, 2
FAILURES = OUTCOMES[PASS + 1 :]

CODES = {
    "missing": "–",
    "unscored": "?",
    "pass": "✓",
    "WrongSyntax": "Sy",
    "WrongImport": "Im",
    "WrongAPISelection": "Se",
    "WrongParam": "Pa",
    "WrongShapeDtype": "Sh",
    "WrongLogic": "Lo",
    "unlabelled": "✗",
}
"""How outcomes are written where there is no room for their names."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """Sample 0 of every task in every run."""

    task_ids: tuple[str, ...]
    """Tasks, sorted; T of them."""

    apis: tuple[str, ...]
    """Target of each task, length T."""

    codes: NDArray[np.int8]
    """Position in `OUTCOMES`, shape (T, runs)."""

    overlap: NDArray[np.float64]
    """Greatest overlap of the reference with a shown example, NaN without examples, shape (T, runs)."""

    strong: Mask
    """Whether the verdict is proved, shape (T, runs)."""

    asked: Mask
    """Whether the task belongs to what the run was asked, shape (T, runs)."""

    @property
    def scored(self) -> Mask:
        """Whether there is a verdict, shape (T, runs)."""
        return self.codes >= PASS

    def clusters(self, values: NDArray[np.float64], mask: Mask) -> Clusters:
        """Sum values, shape (T,) or (T, quantities), of the tasks in `mask`, shape (T,), within APIs."""
        names, position = self._numbered
        kept = values[mask]
        return sum_by_position(names, position[mask], kept if kept.ndim == 2 else kept[:, None])

    @cached_property
    def _numbered(self) -> tuple[list[str], NDArray[np.intp]]:
        """The APIs, sorted, and the position of each task's among them; thousands of sums start from it."""
        names, position = np.unique(np.array(self.apis, dtype=np.str_), return_inverse=True)
        return [str(name) for name in names], position


def greedy_outcomes(rows: Rows) -> Outcomes:
    """Build the matrix from loaded rows."""
    position = pl.DataFrame({"task_id": list(rows.tasks), "task": np.arange(len(rows.tasks))})
    code = pl.when(pl.col("outcome") == "fail").then(pl.col("label").fill_null(UNLABELLED)).otherwise(pl.col("outcome"))
    greedy = (
        rows.frame.filter(pl.col("sample") == 0)
        .join(position, on="task_id", how="left")
        .with_columns(code=code.replace_strict(list(OUTCOMES), list(range(len(OUTCOMES))), return_dtype=pl.Int8))
    )
    shape = (len(rows.tasks), len(rows.runs))
    codes = np.zeros(shape, dtype=np.int8)
    overlap = np.full(shape, np.nan)
    strong = np.zeros(shape, dtype=np.bool_)
    where = (greedy["task"].to_numpy(), greedy["run"].to_numpy())
    codes[where] = greedy["code"].to_numpy()
    overlap[where] = greedy["overlap"].fill_null(float("nan")).to_numpy()
    strong[where] = (greedy["integrity"] == "strong").to_numpy()
    asked = np.array([[task_id in ids for ids in rows.asked_ids] for task_id in rows.tasks]).reshape(shape)
    return Outcomes(
        task_ids=tuple(rows.tasks),
        apis=tuple(task.api for task in rows.tasks.values()),
        codes=codes,
        overlap=overlap,
        strong=strong,
        asked=asked,
    )
