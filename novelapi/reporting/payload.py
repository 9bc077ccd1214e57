"""Everything behind the numbers, one compressed package per API: rows, texts, prompts and tasks for the page to open.

Texts are stored once per API, prompts as lists of paragraphs that they share; lines of results.jsonl are taken over
byte by byte. Nothing in a package is trusted: the page shows it as text.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

from novelapi import jsonl
from novelapi.records.base import Record
from novelapi.reporting.lines import LineFile
from novelapi.reporting.rows import Rows
from novelapi.reporting.runs import PREDICTIONS, PROMPTS, RESULTS

MEGABYTE = 1_000_000
LEVEL = 6
AHEAD = 8


class Package(Record):
    """The details of one API."""

    api: str
    """The API."""

    data: str
    """gzip in base64."""

    samples: int
    """Rows in it."""


def collect_details(rows: Rows, megabytes: float) -> tuple[list[Package], str]:
    """Build the packages that fit into a page, and say what was left out.

    Args:
        rows: the rows of a report.
        megabytes: most that all packages may take together.
    """
    kept: list[Package] = []
    size = left_out = samples = 0
    for package in build_packages(rows):
        if size + len(package.data) > megabytes * MEGABYTE:
            left_out += 1
            samples += package.samples
        else:
            size += len(package.data)
            kept.append(package)
    if not left_out:
        return kept, ""
    return kept, (
        f"The details of {left_out:,} APIs ({samples:,} samples) are not in this page, which would be too large; the "
        "numbers cover them. They are in the run folders, and --details-mb raises the limit."
    )


def build_packages(rows: Rows) -> Iterator[Package]:
    """Yield one package per API that has rows, sorted by API; two are compressed at a time."""
    runs = [_RunFiles(run.folder) for run in rows.runs]
    groups = rows.frame.select("api", "run", "task_id", "sample", "prompt", "start", "end").sort(
        "api", "task_id", "run"
    )
    parts = (part for _, part in groups.group_by("api", maintain_order=True))
    with ThreadPoolExecutor(2) as pool:
        # Few at a time: a package is small, all packages together are not.
        while ahead := list(islice(parts, AHEAD)):
            documents = [_document(rows, runs, part) for part in ahead]
            for part, data in zip(ahead, pool.map(_compress, documents), strict=True):
                yield Package(api=part["api"][0], data=data, samples=len(part))


class _RunFiles:
    """The three files of a run, opened line by line."""

    def __init__(self, folder: Path) -> None:
        self.results = LineFile(folder / RESULTS)
        self.predictions = LineFile(folder / PREDICTIONS, key="task_id")
        self.prompts = LineFile(folder / PROMPTS, key="prompt")

    def samples(self, task_id: str) -> list[str]:
        """Raw texts of a task; none when predictions.jsonl does not have it."""
        line = self.predictions.find(task_id)
        row: jsonl.Row = json.loads(line) if line else {}
        single = [row[name] for name in ("completion", "solution") if isinstance(row.get(name), str)]
        return [text for text in row.get("samples") or single[:1] if isinstance(text, str)]

    def prompt(self, sha: str) -> str | None:
        """Text of a prompt; null when prompts.jsonl does not have it."""
        line = self.prompts.find(sha)
        text = json.loads(line).get("text") if line else None
        return text if isinstance(text, str) else None


class _Pool:
    """Values stored once, by their position."""

    def __init__(self) -> None:
        self.values: list[str] = []
        self._known: dict[str, int] = {}

    def add(self, value: str) -> int:
        position = self._known.setdefault(value, len(self.values))
        if position == len(self.values):
            self.values.append(value)
        return position


def _document(rows: Rows, runs: list[_RunFiles], part: pl.DataFrame) -> bytes:
    """Build the JSON document of one API; result lines are spliced in as they are."""
    texts, paragraphs = _Pool(), _Pool()
    prompts: dict[str, list[int]] = {}
    answers: dict[str, dict[int, list[int]]] = {}
    lines: list[bytes] = []
    for task_id, run, _sample, sha, start, end in (
        part.drop("api").select("task_id", "run", "sample", "prompt", "start", "end").iter_rows()
    ):
        lines.append(b'{"run":%d,"row":%s}' % (run, runs[run].results.slice(start, end)))
        by_run = answers.setdefault(task_id, {})
        if run not in by_run:
            by_run[run] = [texts.add(text) for text in runs[run].samples(task_id)]
        if sha is not None and sha not in prompts:
            text = runs[run].prompt(sha)
            if text is not None:
                prompts[sha] = [paragraphs.add(paragraph) for paragraph in text.split("\n\n")]
    rest: dict[str, Any] = {
        "tasks": {task_id: rows.tasks[task_id].to_row() for task_id in answers},
        "answers": answers,
        "texts": texts.values,
        "prompts": prompts,
        "paragraphs": paragraphs.values,
    }
    head = json.dumps(rest, ensure_ascii=True, separators=(",", ":")).encode()
    return b'%s,"samples":[%s]}' % (head[:-1], b",".join(lines))


def _compress(document: bytes) -> str:
    return base64.b64encode(gzip.compress(document, LEVEL, mtime=0)).decode()
