"""The fits of an adaptation run: which weights its cells need, and one task run per rows, fit and assessment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from flows._runs import Tally, progress
from novelapi.adaptation.artifact import library_versions
from novelapi.adaptation.fitting import COSTS, FitRequest
from novelapi.adaptation.probing import AssessRequest
from novelapi.adaptation.recipes import TRAINED, Recipe
from novelapi.adaptation.rows import Form
from novelapi.adaptation.summary import summary_row
from novelapi.errors import UsageError
from novelapi.fingerprint import digest
from novelapi.grid.adaptation import RowsRequest
from novelapi.records.cell import Condition, Delivery, Retrieval
from novelapi.records.request import FileResult
from tasks._stage import run_layout
from tasks.adaptation import adaptation_rows, assess, fit

Fitted = tuple[Delivery, Condition | None]
"""A method, and the condition of its training prompts where it is fitted to each condition anew."""


def points(deliveries: Sequence[Delivery], conditions: Sequence[Condition]) -> list[tuple[Delivery, Condition]]:
    """Return the cells that are asked, in their order; at the baseline there is nothing that `rag_sft` could retrieve.

    Raises:
        UsageError: nothing is left.
    """
    found = [
        (delivery, condition)
        for delivery in deliveries
        for condition in conditions
        if (delivery, condition) != ("rag_sft", "baseline")
    ]
    if not found:
        raise UsageError("rag_sft retrieves knowledge and the condition baseline has none: give another condition")
    return found


def weights_of(delivery: Delivery, condition: Condition) -> Fitted | None:
    """Return which weights a cell has: a method's, or for `rag_sft` those of its condition; null for the base."""
    if delivery not in TRAINED:
        return None
    return delivery, condition if delivery == "rag_sft" else None


class RowBook:
    """Rows of the run by form, side and knowledge, each written by one task run."""

    def __init__(self, first: RowsRequest, retrieval: Retrieval, tally: Tally) -> None:
        """Remember what all rows share."""
        self._first, self._retrieval, self._tally = first, retrieval, tally
        self._known: dict[str, FileResult] = {}

    def rows(self, form: Form, *, split: str = "train", documents: Condition = "full") -> FileResult:
        """Return the file of some rows."""
        found = self._retrieval if form == "retrieved" else None
        request = self._first.model_copy(
            update={"form": form, "split": split, "documents": documents, "retrieval": found}
        )
        key = digest(request)
        if key not in self._known:
            self._known[key] = self._tally.take(adaptation_rows(request, return_state=True))
        return self._known[key]


class Fits:
    """The fits of a run, all on one base."""

    def __init__(
        self, shared: dict[str, Any], book: RowBook, recipes: dict[str, Recipe], corpus: FileResult, tally: Tally
    ) -> None:
        """Remember what all fits share: `base`, `base_sha`, `seed`."""
        self._shared, self._book, self._recipes, self._corpus, self._tally = shared, book, recipes, corpus, tally
        self.results: dict[Fitted, FileResult] = {}
        """Artifacts by method, in the order in which they were made."""
        self.rows: list[dict[str, Any]] = []
        """What each of them did, for the table."""

    def run(self, fitted: Fitted, unrelated: FileResult) -> None:
        """Fit and assess, once.

        Args:
            fitted: what.
            unrelated: texts on which the model should be as before.

        Raises:
            UsageError: there is no recipe for it, or rows do not fit the base.
            NovelApiError: the numbers went wrong, memory or disk do not suffice.
        """
        if fitted in self.results:
            return
        delivery, condition = fitted
        recipe = self._recipes.get(delivery)
        if recipe is None:
            known = ", ".join(self._recipes)
            raise UsageError(f"there is no recipe for '{delivery}', only for {known}: add one to the file of recipes")
        shown = condition or recipe.documents
        rows = self._book.rows(recipe.form, documents=shown)
        request = FitRequest(
            delivery=delivery, rows=rows, recipe=recipe, corpus=self._corpus if recipe.corpus_tokens else None,
            versions=library_versions(), **self._shared,
        )  # fmt: skip
        artifact = self._tally.take(fit(request, return_state=True))
        title = delivery if condition is None else f"{delivery}-{condition}"
        progress.info("%s: %s", title, " ".join(f"{name} {number}" for name, number in artifact.counts.items()))
        other: Form = "subject" if recipe.form != "subject" else "task"
        asked: Form = "retrieved" if recipe.form == "retrieved" else "task"
        held_out = self._book.rows(asked, split="test", documents=shown)
        others = self._book.rows(asked, split="others", documents=shown)
        told = assess(
            AssessRequest(
                fitted=request, artifact=artifact, generality=self._book.rows(other), others=others,
                held_out=held_out, locality=unrelated,
            ),
            return_state=True,
        )  # fmt: skip
        home = run_layout().home
        found = json.loads((home / self._tally.take(told).path).read_text(encoding="utf-8"))
        costs = json.loads(((home / artifact.path).parent / COSTS).read_text(encoding="utf-8"))
        self.results[fitted] = artifact
        self.rows.append(summary_row(found, costs, condition))

    def with_adapters(self) -> set[str]:
        """Return the digests of the artifacts that a server can load as adapters."""
        home = run_layout().home
        return {
            result.sha256
            for result in self.results.values()
            if ((home / result.path).parent / "adapter_config.json").is_file()
        }
