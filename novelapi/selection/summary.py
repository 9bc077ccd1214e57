"""Means and counts over the rows of a selection run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from novelapi.records.selection import SelectionRow, Tally
from novelapi.selection.measures import rates

RUNGS = ("selected", "filled", "sequenced", "executed")
"""Rungs of the ladder, lowest first."""


def summarise_rows(rows: Sequence[SelectionRow]) -> dict[str, Any]:
    """Summarise first samples.

    `resolved` is the share of scored rows that pass. Means of sets and rankings are over the scored rows that expect a
    tool; an answer of which only text could be read called nothing there, and what it mentions is scored in `text`.
    Rates of parameters, values and edges are pooled over rows.
    """
    first = [row for row in rows if row.sample == 0]
    scored = [row for row in first if row.outcome != "unscored"]
    expecting = [row for row in scored if row.precision is not None]
    textual = [row for row in expecting if row.extraction == "text"]
    passed = sum(row.outcome == "pass" for row in scored)
    return {
        "tasks": len(first),
        "scored": len(scored),
        "resolved": passed,
        "resolved_share": passed / len(scored) if scored else None,
        "selection": _selection(expecting, lambda row: row.extraction != "text"),
        "text": _selection(textual, lambda _: True),
        "parameters": _pooled(row.parameters for row in scored),
        "values": _pooled(row.values for row in scored),
        "edges": _pooled(row.edges for row in scored),
        "ladder": {rung: _rung(scored, rung) for rung in RUNGS},
        "extraction": dict(sorted(Counter(str(row.extraction) for row in scored).items())),
        "errors": dict(Counter(str(row.error) for row in scored if row.error).most_common()),
        "malformed": sum(bool(row.malformed) for row in scored),
        "unknown": sum(bool(row.unknown) for row in scored),
        "ambiguous": sum(bool(row.ambiguous) for row in scored),
    }


def _selection(rows: Sequence[SelectionRow], counts: Callable[[SelectionRow], bool]) -> dict[str, Any] | None:
    """Return means over rows, a row that does not count as a call being 0."""
    if not rows:
        return None

    def mean(value: Callable[[SelectionRow], float]) -> float:
        return sum(value(row) if counts(row) else 0.0 for row in rows) / len(rows)

    cutoffs = sorted(rows[0].ndcg)
    return {
        "rows": len(rows),
        "precision": mean(lambda row: row.precision or 0.0),
        "recall": mean(lambda row: row.recall or 0.0),
        "f1": mean(lambda row: row.f1 or 0.0),
        "exact": mean(lambda row: float(bool(row.exact))),
        "ndcg": {k: mean(lambda row, k=k: row.ndcg[k]) for k in cutoffs},
        "recall_at": {k: mean(lambda row, k=k: row.recall_at[k]) for k in cutoffs},
        "complete_at": {k: mean(lambda row, k=k: row.complete_at[k]) for k in cutoffs},
    }


def _pooled(tallies: Iterable[Tally | None]) -> dict[str, Any] | None:
    found = [tally for tally in tallies if tally is not None]
    if not found:
        return None
    hits, given, wanted = (sum(getattr(tally, name) for tally in found) for name in ("hits", "given", "wanted"))
    pooled = rates(hits, given, wanted)
    return {
        "rows": len(found), "hits": hits, "given": given, "wanted": wanted,
        "precision": pooled.precision, "recall": pooled.recall, "f1": pooled.f1,
    }  # fmt: skip


def _rung(rows: Sequence[SelectionRow], rung: str) -> dict[str, Any] | None:
    """Return how many of the rows that label a rung reach it, or null when none does."""
    reached = [value for row in rows if (value := getattr(row.ladder, rung)) is not None]
    if not reached:
        return None
    return {"rows": len(reached), "reached": sum(reached), "share": sum(reached) / len(reached)}
