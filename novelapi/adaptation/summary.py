"""One row per method for tables: was the edit made, was anything else touched, did it transfer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from novelapi.records.cell import Condition
from novelapi.records.request import FileResult


def summary_row(
    assessed: Mapping[str, Any], costs: Mapping[str, float], condition: Condition | None = None
) -> dict[str, Any]:
    """Return the row of one fit, without its scores.

    Args:
        assessed: its assessment.
        costs: seconds and memory of the fit.
        condition: knowledge in its training prompts, where the method is fitted to each condition anew.
    """
    before, after = assessed["before"], assessed["after"]
    grace, bound = assessed["grace"], assessed["bound"]
    spaces = list((assessed["projector"] or {}).values())
    return {
        "delivery": assessed["delivery"],
        "condition": condition,
        "served": assessed["served"],
        "requests": assessed["requests"],
        "skipped": len(assessed["skipped"]),
        "left_out": len(assessed["left_out"]),
        "efficacy_before": before["efficacy"]["exact"],
        "efficacy": after["efficacy"]["exact"],
        "log_probability_before": before["efficacy"]["log_probability"],
        "log_probability": after["efficacy"]["log_probability"],
        "generality": after["generality"]["exact"],
        "others": after["others"]["exact"],
        "others_gain": _gain(before["others"], after["others"]),
        "held_out": after["held_out"]["exact"],
        "locality": assessed["locality"]["agreement"],
        "divergence": assessed["locality"]["divergence"],
        "perplexity_before": assessed["locality"]["perplexity_before"],
        "perplexity": assessed["locality"]["perplexity_after"],
        "fluency": assessed["fluency"],
        "retention_first": assessed["retention"]["first_quarter"],
        "retention_last": assessed["retention"]["last_quarter"],
        "bound": bound["exact"] if bound else None,
        "hit_rate_train": grace["hit_rate"]["train"] if grace else None,
        "hit_rate_held_out": grace["hit_rate"]["held_out"] if grace else None,
        "smallest_radius": grace["smallest_radius"] if grace else None,
        "projector_rank": min(int(space["rank"]) for space in spaces) if spaces else None,
        "projector_energy": max(float(space["energy"]) for space in spaces) if spaces else None,
        **{f"fit_{key}": value for key, value in costs.items()},
    }


def _gain(before: Mapping[str, Any], after: Mapping[str, Any]) -> float | None:
    """Return how much likelier a token of the answers became, in nats; null where nothing was asked."""
    if after["log_probability"] is None:
        return None
    return after["log_probability"] - before["log_probability"]


def with_scores(row: Mapping[str, Any], cells: Mapping[str, FileResult], experiment: str) -> dict[str, Any]:
    """Return a row with pass@1 of its cells.

    Args:
        row: a row of `summary_row`.
        cells: finished cells by path, those of `{experiment}-train` too.
        experiment: name of the experiment.
    """
    name, own = row["delivery"], row["condition"]

    def share(side: str, condition: str) -> float | None:
        return _share(cells, f"results/{experiment}{side}/{name}-{condition}/results.jsonl")

    return {
        **row,
        "pass_train": share("-train", own or "baseline"),
        "pass_baseline": None if own else share("", "baseline"),
        "pass_full": share("", own or "full"),
    }


def _share(cells: Mapping[str, FileResult], path: str) -> float | None:
    """Return the share of scored samples that pass, null where the cell is missing."""
    cell = cells.get(path)
    if cell is None:
        return None
    scored = cell.counts["pass"] + cell.counts["fail"]
    return cell.counts["pass"] / scored if scored else None
