"""The small table of contents that the page's script starts from: runs, APIs, tasks and one character per outcome."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from novelapi.reporting.analysis import Analysis
from novelapi.reporting.contrasts import baseline_of
from novelapi.reporting.outcomes import CODES, OUTCOMES
from novelapi.reporting.views import run_groups

LETTERS = "-?P123456X"
"""One letter per outcome, in their order."""

UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def build_index(analysis: Analysis) -> dict[str, Any]:
    """Return the table of contents as plain data."""
    rows = analysis.rows
    groups = run_groups(rows.runs)
    apis = {api: position for position, api in enumerate(sorted(set(analysis.outcomes.apis)))}
    return {
        "outcomes": [
            {"letter": letter, "name": name, "code": CODES[name]}
            for letter, name in zip(LETTERS, OUTCOMES, strict=True)
        ],
        "groups": [{"title": title, "runs": members} for title, members in groups],
        "runs": [
            {
                "name": run.name,
                "short": run.condition or run.name,
                "model": run.model,
                "delivery": run.delivery,
                "base": baseline_of(rows.runs, run),
            }
            for run in rows.runs
        ],
        "apis": list(apis),
        "tasks": [
            [task_id, apis[task.api], task.difficulty, "".join(LETTERS[code] for code in codes)]
            for (task_id, task), codes in zip(rows.tasks.items(), analysis.outcomes.codes, strict=True)
        ],
    }


def embed_json(value: Any) -> Markup:
    """Return JSON that can stand inside a script element: no text in it can end the element or open another."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return Markup("".join(UNSAFE.get(character, character) for character in text))  # noqa: S704  escaped above
