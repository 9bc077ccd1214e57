"""Tasks as a folder that another harness runs: Inspect AI, or lm-evaluation-harness."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from novelapi import jsonl
from novelapi.reporting.export.sources import Source

TEMPLATES = Path(__file__).parent.parent / "templates" / "export"
Harness = Literal["inspect", "lm-eval"]
FILES: dict[Harness, tuple[tuple[str, str], ...]] = {
    "inspect": (("inspect_task.py.txt", "novelapi_task.py"), ("scoring.py.txt", "novelapi_scoring.py")),
    "lm-eval": (
        ("lm_eval_task.yaml.txt", "novelapi.yaml"),
        ("lm_eval_utils.py.txt", "utils.py"),
        ("scoring.py.txt", "novelapi_scoring.py"),
    ),
}
"""Template and name of each file of a harness."""


def write_harness(harness: Harness, source: Source, folder: Path, prompts: Mapping[str, str]) -> list[Path]:
    """Write a folder that a harness loads as it is; scoring goes through `novelapi evaluate`, in its sandbox.

    Args:
        harness: whose format.
        source: the tasks.
        folder: where to write.
        prompts: prompt by task.

    Raises:
        NovelApiError: the disk is full.
    """
    rows = (
        {
            "id": task.task_id,
            "prompt": prompts[task.task_id],
            "target": task.reference_solution,
            "task": json.dumps(task.to_row(), ensure_ascii=False),
        }
        for task in source.tasks
    )
    jsonl.write(folder / "questions.jsonl", rows)
    written = [folder / "questions.jsonl"]
    for template, name in FILES[harness]:
        jsonl.write_text(folder / name, (TEMPLATES / template).read_text("utf-8"))
        written.append(folder / name)
    return written
