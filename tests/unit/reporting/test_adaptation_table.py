"""The table of the adaptation matrix in the report: one row per fit, also where a method has several."""

from __future__ import annotations

from types import SimpleNamespace

from novelapi import jsonl
from novelapi.reporting.adaptation import adaptation_table

ROW = {
    "delivery": "sft", "served": "weights", "requests": 31, "skipped": 0, "efficacy": 0.9, "locality": 0.5,
    "divergence": 0.002, "pass_train": 0.8, "pass_full": None, "fit_peak_kb": 2048,
}  # fmt: skip


def test_every_fit_is_a_row(tmp_path):
    folder = tmp_path / "numpy-tiny-adapt"
    own = {**ROW, "delivery": "rag_sft", "condition": "s"}
    jsonl.write(folder / "adaptation.jsonl", [ROW, own, {**own, "condition": "full"}])
    runs = [SimpleNamespace(folder=folder / name) for name in ("sft-full", "rag_sft-s")]
    analysis = SimpleNamespace(rows=SimpleNamespace(runs=runs))
    table = adaptation_table(analysis)
    assert [(row["delivery"], row["condition"]) for row in table.rows] == [
        ("sft", None), ("rag_sft", "s"), ("rag_sft", "full"),
    ]  # fmt: skip
    assert table.rows[0]["divergence_mnat"] == 2.0
    assert table.rows[0]["fit_peak_mb"] == 2.0
    first = ["delivery", "condition", "requests", "efficacy", "locality", "pass_train", "pass_baseline", "pass_full"]
    assert [column.key for column in table.columns][:8] == first  # what can be read without scrolling
    jsonl.write(folder / "adaptation.jsonl", [ROW])
    assert "condition" not in [column.key for column in adaptation_table(analysis).columns]


def test_other_experiments_have_no_such_table(tmp_path):
    analysis = SimpleNamespace(
        rows=SimpleNamespace(runs=[SimpleNamespace(folder=tmp_path / "numpy-copy" / "oracle-s")])
    )
    assert not adaptation_table(analysis).rows
