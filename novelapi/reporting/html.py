"""The page: one file with everything in it, which loads nothing and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from markupsafe import Markup

from novelapi import __version__
from novelapi.reporting.analysis import Analysis
from novelapi.reporting.conditions import COMPONENTS
from novelapi.reporting.findings import findings, headline
from novelapi.reporting.graphs import picture_view
from novelapi.reporting.index import build_index, embed_json
from novelapi.reporting.manifests import common_facts, run_facts
from novelapi.reporting.notices import Notice
from novelapi.reporting.payload import Package
from novelapi.reporting.prose import facts, kicker, method_notes
from novelapi.reporting.rendering import TEMPLATES, page_style, page_template
from novelapi.reporting.scatter import draw_scatters, scatter_view
from novelapi.reporting.table import Table
from novelapi.reporting.tables import api_counts
from novelapi.reporting.text import plain
from novelapi.reporting.views import (
    difference_view,
    flow_views,
    funnel_view,
    label_view,
    pass_view,
    run_groups,
)


def render_page(
    analysis: Analysis,
    tables: Sequence[Table],
    packages: Iterable[Package],
    *,
    title: str,
    notices: Sequence[Notice] = (),
) -> Iterator[str]:
    """Yield the text of the page piece by piece.

    Args:
        analysis: the numbers.
        tables: the tables that are also written as files.
        packages: details of the APIs; those that are missing open with a word of explanation.
        title: title of the page.
        notices: statements beside those of the analysis.
    """
    apis = sorted(set(analysis.outcomes.apis))
    position = {api: index for index, api in enumerate(apis)}
    script = _script()
    context = {
        "title": plain(title),
        "version": __version__,
        "style": page_style(),
        "script": Markup(script),  # noqa: S704  our own files
        "script_hash": _content_hash(script),
        "index": embed_json(build_index(analysis)),
        "packages": ({"position": position[p.api], "data": p.data} for p in packages),
        "notices": (*analysis.notices, *notices),
        **_context(analysis, tables),
    }
    yield from page_template("page.html.j2").generate(context)


def _context(analysis: Analysis, tables: Sequence[Table]) -> dict[str, Any]:
    differences = difference_view(analysis)
    funnel = funnel_view(analysis)
    flows = flow_views(analysis)
    relations = [scatter_view(figure) for figure in draw_scatters(analysis)]
    columns, rows = _api_rows(analysis)
    by_name = {table.name: table for table in tables}
    sections = [
        ("conditions", "Findings", True),
        ("weights", "Weights", "adaptation" in by_name),
        ("labels", "Failures", True),
        ("flows", "Flows", bool(flows)),
        ("differences", "Differences", differences is not None),
        ("relations", "Relations", bool(relations)),
        ("funnel", "Funnel", bool(funnel)),
        ("graph", "Graph", bool(analysis.graphs)),
        ("apis", "APIs", True),
        ("method", "Method", True),
        ("runs", "Runs", True),
    ]
    return {
        "kicker": kicker(analysis),
        "headline": headline(analysis),
        "findings": findings(analysis),
        "facts": facts(analysis),
        "sections": [(anchor, name) for anchor, name, is_there in sections if is_there],
        "is_grid": any(run.is_cell for run in analysis.rows.runs),
        "has_base": bool(analysis.differences),
        "components": COMPONENTS,
        "passes": pass_view(analysis),
        "labels": label_view(analysis),
        "flows": flows,
        "differences": differences,
        "threshold": f"{analysis.threshold:g}",
        "relations": relations,
        "drawn": {view["figure"].name for view in relations},
        "relation_tables": RELATION_TABLES,
        "graphs": [picture_view(picture) for picture in analysis.graphs],
        "funnel": funnel,
        "tables": {name: by_name.get(name) for name in TABLES},
        "apis": rows,
        "api_columns": columns,
        "changes": sorted({row["change"] for row in rows}),
        "method": method_notes(analysis),
        "common": common_facts(analysis.rows.runs),
        **run_facts(analysis.rows.runs),
    }


TABLES = (
    "pass_at_1", "pass_at_k", "coverage", "labels", "differences", "flows", "strata", "novelty", "models", "retrieval",
    "selection", "costs", "funnel", "apis", "adaptation", "probes", "second_opinion", "graph",
)  # fmt: skip

RELATION_TABLES = (
    ("retrieval", "What retrieval found"),
    ("costs", "What it cost"),
    ("probes", "What the model knew beforehand"),
)
"""Tables that stand beside their figure, or below pass@1 where there are too few points for one."""


def _api_rows(analysis: Analysis) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the static rows of the API table with at most two runs: without knowledge, and with the most."""
    runs = analysis.rows.runs
    members = run_groups(runs)[0][1]
    named = {runs[index].condition: index for index in members}
    chosen = [named[name] for name in ("baseline", "full") if name in named] or members[:2]
    counts = api_counts(analysis)
    change = {task.api: task.change for task in analysis.rows.tasks.values()}
    rows: list[dict[str, Any]] = []
    for index, api in enumerate(sorted(change)):
        cells = [
            {
                "text": f"{counts['passed'][index, run]} of {counts['scored'][index, run]}",
                "value": round(counts["passed"][index, run] / max(counts["scored"][index, run], 1), 4),
            }
            for run in chosen
        ]
        tasks = int(counts["tasks"][index].max())
        rows.append({"api": api, "change": change[api], "tasks": tasks, "cells": cells})
    return [runs[run].condition or runs[run].name for run in chosen], rows


def _script() -> str:
    parts = [path.read_text("utf-8") for path in sorted((TEMPLATES / "script").glob("*.js"))]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def _content_hash(script: str) -> str:
    """Return the digest by which the page's security policy knows its own script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
