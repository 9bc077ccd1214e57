"""The table of the adaptation matrix: was an edit made, did anything else move, did it transfer."""

from __future__ import annotations

from typing import Any

from novelapi import jsonl
from novelapi.reporting.analysis import Analysis
from novelapi.reporting.table import Column, Table, make_table

FILE = "adaptation.jsonl"
COLUMNS = [
    Column(key="delivery", title="Method"),
    Column(key="condition", title="Trained with"),
    Column(key="requests", title="Edits", kind="count"),
    Column(key="efficacy", title="Efficacy", kind="share"),
    Column(key="locality", title="Locality", kind="share"),
    Column(key="pass_train", title="pass@1 train", kind="share"),
    Column(key="pass_baseline", title="held out", kind="share"),
    Column(key="pass_full", title="held out, full", kind="share"),
    Column(key="served", title="Served as"),
    Column(key="skipped", title="Conflicts", kind="count"),
    Column(key="left_out", title="Too long", kind="count"),
    Column(key="efficacy_before", title="Efficacy before", kind="share"),
    Column(key="bound", title="Bound", kind="share"),
    Column(key="generality", title="Generality", kind="share"),
    Column(key="others", title="Other tasks", kind="share"),
    Column(key="others_gain", title="gain, nat", kind="ratio"),
    Column(key="retention_first", title="First quarter", kind="share"),
    Column(key="retention_last", title="Last quarter", kind="share"),
    Column(key="divergence_mnat", title="KL, mnat", kind="number"),
    Column(key="perplexity_before", title="Perplexity before", kind="number"),
    Column(key="perplexity", title="after", kind="number"),
    Column(key="fluency", title="n-gram entropy", kind="number"),
    Column(key="hit_rate_train", title="Hits, train", kind="share"),
    Column(key="hit_rate_held_out", title="Hits, held out", kind="share"),
    Column(key="smallest_radius", title="Smallest radius", kind="ratio"),
    Column(key="projector_rank", title="Projector rank", kind="count"),
    Column(key="projector_energy", title="Energy", kind="share"),
    Column(key="fit_cpu_s", title="Fit, CPU s", kind="number"),
    Column(key="fit_peak_mb", title="Peak, MB", kind="number"),
]
NOTE = (
    "Efficacy is the share of edits whose target is reproduced token for token from its own prompt. The bound is the "
    "same with the wanted states themselves injected: what MEMIT and AlphaEdit fit the weights to. Generality is "
    "efficacy under another form of the prompt; other tasks are those of trained APIs that were kept out of training: "
    "the share reproduced, and how much likelier a token of their answers became. Locality is the share of positions "
    "of unrelated text with an unchanged most likely token. pass@1 is scored by execution, on the training tasks and "
    "on held-out APIs; so a failed edit and a failed transfer are different columns. What was trained with retrieved "
    "knowledge of one condition is asked with the same, not with the condition full."
)


def adaptation_rows(analysis: Analysis) -> list[dict[str, Any]]:
    """Read what is recorded of each fit of the experiments."""
    folders = sorted({run.folder.parent for run in analysis.rows.runs})
    return [row for folder in folders for row in jsonl.scan(folder / FILE)]


def adaptation_table(analysis: Analysis) -> Table:
    """Return one row per method of each experiment that has adapted weights; without rows where none has."""
    rows = [
        {
            "condition": None,
            **row,
            "divergence_mnat": float(row["divergence"]) * 1000,
            "fit_peak_mb": float(row["fit_peak_kb"]) / 1024,
        }
        for row in adaptation_rows(analysis)
    ]
    named = any(row["condition"] for row in rows)
    columns = [column for column in COLUMNS if named or column.key != "condition"]
    return make_table("adaptation", "Knowledge in the weights", columns, rows, NOTE)
