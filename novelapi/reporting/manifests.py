"""What the manifests say, for readers: what all runs share, and what differs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from novelapi.reporting.runs import Run
from novelapi.reporting.text import count

NO_MANIFEST = "The run was ended before its manifest was written."


def common_facts(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return the facts that are the same in all runs, by name."""
    described = [_facts(run) for run in runs if run.manifest is not None]
    if not described:
        return []
    return [
        (name, value) for name, value in described[0].items() if all(other.get(name) == value for other in described)
    ]


COSTS = ("Started", "Elapsed", "CPU", "Peak")
"""Columns of what a run cost; one that no manifest fills is left out."""


def run_facts(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the columns and rows of the table of runs."""
    common = dict(common_facts(runs))
    described = [_facts(run) for run in runs]
    differing = list(dict.fromkeys(name for facts in described for name in facts if name not in common))
    costs = [_costs(run) for run in runs]
    measured = [name for place, name in enumerate(COSTS) if any(cost[place] for cost in costs)]
    rows = [
        {
            "name": run.name,
            "cells": [
                *(facts.get(name, "") for name in differing),
                *(value for name, value in zip(COSTS, cost, strict=True) if name in measured),
            ],
            "manifest": _json(run),
        }
        for run, facts, cost in zip(runs, described, costs, strict=True)
    ]
    return {"run_columns": [*differing, *measured], "runs": rows}


def _facts(run: Run) -> dict[str, str]:
    if run.manifest is None:
        return {}
    manifest = run.manifest
    sampling = run.spec.get("sampling")
    facts = {
        "model revision": run.spec.get("model_revision"),
        "limit": run.spec.get("limit"),
        "sampling": _pairs(sampling) if isinstance(sampling, dict) else None,
        "versions": _pairs(manifest.versions),
        "isolation": _pairs(manifest.isolation),
        "partial": "yes" if manifest.partial else None,
    }
    return {name: str(value) for name, value in facts.items() if value}


def _costs(run: Run) -> list[str]:
    if run.manifest is None:
        return ["", "", "", ""]
    manifest = run.manifest
    peak = f"{count(round(manifest.peak_kb / 1024))} MB" if manifest.peak_kb else ""
    return [manifest.started, f"{manifest.wall_s:,.1f} s", f"{manifest.cpu_s:,.1f} s", peak]


def _json(run: Run) -> str:
    if run.manifest is None:
        return NO_MANIFEST
    return json.dumps(run.manifest.to_row(), indent=2, ensure_ascii=False)


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
