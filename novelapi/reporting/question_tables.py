"""Tables of the questions that span several runs: novelty, models, retrieval, cost, coverage over tries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from novelapi.reporting.columns import RUN_COLUMNS, run_cells
from novelapi.reporting.stats.curves import coverage_curve
from novelapi.reporting.summary import KS
from novelapi.reporting.table import Column, Table, make_table

if TYPE_CHECKING:
    from novelapi.reporting.analysis import Analysis


def novelty_table(analysis: Analysis) -> Table:
    """Return what components gain on new and on changed APIs."""
    rows: list[dict[str, Any]] = []
    for gain in analysis.novelty:
        found, first = gain.interaction, analysis.rows.runs[gain.first]
        rows.append(
            {
                **run_cells(analysis.rows.runs[gain.second]),
                "minus": f"{first.delivery}-{first.condition}",
                "new_apis": found.first.clusters,
                "on_new": found.first.value,
                "changed_apis": found.second.clusters,
                "on_changed": found.second.value,
                "difference": found.value,
                "low": found.low,
                "high": found.high,
                "p": found.p,
                "p_holm": gain.p_holm,
                "family": gain.family_size,
            }
        )
    columns = [
        *RUN_COLUMNS,
        Column(key="minus", title="minus"),
        Column(key="new_apis", title="New APIs", kind="count"),
        Column(key="on_new", title="Gain on new (points)", kind="difference"),
        Column(key="changed_apis", title="Changed APIs", kind="count"),
        Column(key="on_changed", title="Gain on changed", kind="difference"),
        Column(key="difference", title="Changed minus new", kind="difference"),
        Column(key="low", title="95 % from", kind="difference"),
        Column(key="high", title="to", kind="difference"),
        Column(key="p", title="p", kind="p"),
        Column(key="p_holm", title="p (Holm)", kind="p"),
        Column(key="family", title="Tests in family", kind="count"),
    ]
    note = (
        "Paired gains of pass@1. The interval joins those of both sets of APIs; p permutes which set an API belongs to "
        "(studentised)."
    )
    return make_table("novelty", "New against changed APIs", columns, rows, note)


def model_table(analysis: Analysis) -> Table:
    """Return each condition against the baseline over all models."""
    rows = [
        {
            "delivery": entry.delivery,
            "condition": entry.condition,
            "models": len(entry.models),
            "tasks": entry.tasks,
            "apis": entry.mixed.interval.clusters,
            "difference": entry.mixed.interval.value,
            "low": entry.mixed.interval.low,
            "high": entry.mixed.interval.high,
            "p": entry.mixed.p,
            "p_holm": entry.p_holm,
            "family": entry.family_size,
            "p_models": entry.mixed.p_models,
        }
        for entry in analysis.models
    ]
    columns = [
        Column(key="delivery", title="Delivery"),
        Column(key="condition", title="Condition"),
        Column(key="models", title="Models", kind="count"),
        Column(key="tasks", title="Shared tasks", kind="count"),
        Column(key="apis", title="APIs", kind="count"),
        Column(key="difference", title="Mean difference (points)", kind="difference"),
        Column(key="low", title="95 % from", kind="difference"),
        Column(key="high", title="to", kind="difference"),
        Column(key="p", title="p", kind="p"),
        Column(key="p_holm", title="p (Holm)", kind="p"),
        Column(key="family", title="Tests in family", kind="count"),
        Column(key="p_models", title="p of equal models", kind="p"),
    ]
    note = (
        "Against the baseline, on the tasks that every model has scored under both. Models are taken as they are, APIs "
        "are resampled. The last column tests whether all models gain the same (Hotelling)."
    )
    return make_table("models", "Over all models", columns, rows, note)


def retrieval_table(analysis: Analysis) -> Table:
    """Return what retrieval found and what was solved where it did."""
    rows = [
        {
            **run_cells(analysis.rows.runs[entry.run]),
            "shown": entry.shown,
            "tasks": entry.tasks,
            "hit": entry.hit,
            "mrr": entry.mrr,
            "on_hits": entry.on_hits.value,
            "low": entry.on_hits.low,
            "high": entry.on_hits.high,
            "on_misses": entry.on_misses.value,
            "oracle_on_hits": entry.oracle_on_hits.value if entry.oracle_on_hits else None,
        }
        for entry in analysis.retrieved
    ]
    columns = [
        *RUN_COLUMNS,
        Column(key="shown", title="Passages", kind="count"),
        Column(key="tasks", title="Tasks", kind="count"),
        Column(key="hit", title="Target shown (%)", kind="share"),
        Column(key="mrr", title="MRR (%)", kind="share"),
        Column(key="on_hits", title="pass@1 if shown (%)", kind="share"),
        Column(key="low", title="95 % from", kind="share"),
        Column(key="high", title="to", kind="share"),
        Column(key="on_misses", title="if not shown (%)", kind="share"),
        Column(key="oracle_on_hits", title="oracle on the same (%)", kind="share"),
    ]
    note = "Whether a passage of the target was in the prompt, and pass@1 of scored tasks with and without it."
    return make_table("retrieval", "What retrieval found", columns, rows, note)


def selection_table(analysis: Analysis) -> Table:
    """Return which APIs the samples of each run chose, with two trivial programs as the floor."""
    rows = [
        {
            **(run_cells(analysis.rows.runs[entry.run]) if entry.run is not None else {"condition": entry.program}),
            **entry.to_row(),
        }
        for entry in analysis.selected
    ]
    columns = [
        *RUN_COLUMNS,
        Column(key="samples", title="Samples", kind="count"),
        Column(key="precision", title="Precision (%)", kind="share"),
        Column(key="recall", title="Recall (%)", kind="share"),
        Column(key="f1", title="F1 (%)", kind="share"),
        Column(key="exact", title="Exact set (%)", kind="share"),
        Column(key="hallucinated", title="With invented names (%)", kind="share"),
        Column(key="stale", title="of the old release (%)", kind="share"),
        Column(key="agreement", title="Agrees with label (%)", kind="share"),
    ]
    note = (
        "APIs of the library that a sample calls, against those that the reference calls: resolved through imports, "
        "aliases and constructors, and by the spy; text never counts. The last rows are programs that read no task."
    )
    return make_table("selection", "Which APIs are chosen", columns, rows, note)


def cost_table(analysis: Analysis) -> Table:
    """Return tokens, seconds and money of every run beside its pass@1."""
    rows = [
        {
            **run_cells(analysis.rows.runs[cost.run]),
            "pass_at_1": estimate.pass_at_1.value,
            "prompt_tokens": cost.prompt_tokens,
            "completion_tokens": cost.completion_tokens,
            "turns": cost.turns,
            "seconds": cost.seconds,
            "usd": cost.usd,
        }
        for cost, estimate in zip(analysis.costs, analysis.estimates, strict=True)
        if cost.tasks
    ]
    columns = [
        *RUN_COLUMNS,
        Column(key="pass_at_1", title="pass@1 (%)", kind="share"),
        Column(key="prompt_tokens", title="Tokens of a prompt", kind="number"),
        Column(key="completion_tokens", title="Tokens of the answers", kind="number"),
        Column(key="turns", title="Requests per answer", kind="number"),
        Column(key="seconds", title="Seconds of the run", kind="number"),
        Column(key="usd", title="US dollars", kind="number"),
    ]
    note = (
        "Means over tasks; requests per answer where the model may be asked more than once; a dash where nothing was "
        "counted or no price is known."
    )
    return make_table("costs", "What it cost", columns, rows, note)


def coverage_table(analysis: Analysis) -> Table:
    """Return pass@k over k with the fitted law, for runs that drew at least three samples."""
    rows: list[dict[str, Any]] = []
    for index, run in enumerate(analysis.rows.runs):
        drawn = analysis.rows.of(index).filter((pl.col("sample") > 0) & (pl.col("outcome") != "unscored"))
        if not len(drawn):
            continue
        counted = (
            drawn.group_by("task_id", "api").agg(n=pl.len(), c=(pl.col("outcome") == "pass").sum()).sort("task_id")
        )
        most = int(counted["n"].quantile(0.5, "lower") or 0)
        ks = [k for k in KS if k <= most]
        if len(ks) < 3:
            continue
        curve = coverage_curve(
            counted["api"].to_list(), counted["n"].to_list(), counted["c"].to_list(), ks, seed=analysis.seed
        )
        for k, point in zip(curve.ks, curve.points, strict=True):
            law = curve.law
            rows.append(
                {
                    **run_cells(run),
                    "k": k,
                    "tasks": point.units,
                    "coverage": point.value,
                    "low": point.low,
                    "high": point.high,
                    "law": law.at(k) if law else None,
                    "exponent": f"{law.b:.3f}" if law else "",
                    "exponent_range": f"{law.b_low:.3f} to {law.b_high:.3f}" if law and law.b_low is not None else "",
                }
            )
    columns = [
        *RUN_COLUMNS,
        Column(key="k", title="k", kind="count"),
        Column(key="tasks", title="Tasks", kind="count"),
        Column(key="coverage", title="pass@k (%)", kind="share"),
        Column(key="low", title="95 % from", kind="share"),
        Column(key="high", title="to", kind="share"),
        Column(key="law", title="law (%)", kind="share"),
        Column(key="exponent", title="Exponent"),
        Column(key="exponent_range", title="95 %"),
    ]
    note = (
        "The same tasks at every k: those with enough scored samples for the largest. The law is exp(a k^b); the "
        "exponent's interval resamples APIs."
    )
    return make_table("coverage", "Coverage over tries", columns, rows, note)
