"""What `evaluate --suite` does for a selection suite: read tasks and answers, compare them, write rows and summary.

Nothing is run, so there is no sandbox and nothing to resume: all rows are scored anew, in seconds.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from novelapi import __version__, jsonl
from novelapi.commands._suite import Request, check_folder
from novelapi.commands.progress import Bar
from novelapi.evaluation.suites.artefacts import read_artefacts
from novelapi.evaluation.suites.choice import ChoiceSuite
from novelapi.evaluation.suites.registry import find_data
from novelapi.fingerprint import digest, file_digest
from novelapi.layout import Layout
from novelapi.records.manifest import Manifest
from novelapi.records.selection import SelectionRow
from novelapi.selection.baselines import BASELINES, write_gold
from novelapi.selection.extraction import EXTRACTION_VERSION
from novelapi.selection.score import SCORE_VERSION, score
from novelapi.selection.summary import RUNGS, summarise_rows
from novelapi.selection.tasks import Skipped, Task
from novelapi.settings import load_settings


def run(suite: ChoiceSuite, request: Request) -> dict[str, Any]:
    """Score all answers, write results, summary and manifest, and return the summary.

    Raises:
        PrerequisiteError: no folder of data is named.
        DataError: a file is broken or does not fit the suite.
    """
    started = time.monotonic()
    settings = load_settings()
    folder = find_data(suite, request.data, settings.suite_data)
    found = suite.read(folder)
    answers = read_artefacts(request.predictions, found.tasks, found.skipped) if request.predictions else None
    partial = request.limit is not None and request.limit < len(found.tasks) + len(found.skipped)
    tasks, skipped = _limited(found.tasks, found.skipped, request.limit if partial else None)
    whose: Literal["gold", "predictions"] = "gold" if answers is None else "predictions"
    out = request.out or Layout(settings.home_dir).suite(suite.name, whose)
    check_folder(out, suite.name, whose, fresh=request.fresh)
    with Bar(suite.name, len(tasks) * (len(BASELINES) + (answers is not None))) as bar:
        rows = [*_rows(suite.name, tasks, answers, bar), *(_unscored(suite.name, item) for item in skipped)]
        # Beside a score belongs what others reach on the very rows that it is made of.
        answered = [task for key, task in tasks.items() if answers is None or answers.get(key)]
        baselines = {
            name: summarise_rows(
                [row for row in rows if row.outcome != "unscored"]
                if write is write_gold and answers is None
                else [_scored(bar, task, suite.name, 0, write(task)) for task in answered]
            )
            for name, write in BASELINES.items()
        }
    rows.sort(key=lambda row: (row.task_id, row.sample))
    jsonl.write(out / "results.jsonl", [row.to_row() for row in rows])
    summary = {
        "schema": 1,
        "suite": suite.name,
        "gold": answers is None,
        **summarise_rows(rows),
        "rows": len(rows),
        "unscored": sum(row.outcome == "unscored" and row.sample == 0 for row in rows),
        "parts": {part: summarise_rows([row for row in rows if row.part == part]) for part in _parts(rows)},
        "baselines": baselines,
        "blind": sum(task.blind for task in tasks.values()),
        "not_run": _reasons(rows),
        "skipped": {item.key: item.reason for item in skipped},
        "notes": list(found.notes),
        "partial": partial,
    }
    manifest = Manifest(
        kind="evaluation",
        name=out.name,
        spec={"suite": suite.name, "answers": whose, "limit": request.limit},
        inputs=_inputs(suite, folder, request.predictions),
        versions={
            "novelapi": __version__, "suite": str(suite.version), "extraction": str(EXTRACTION_VERSION),
            "score": str(SCORE_VERSION), "python": sys.version.split()[0],
        },
        counts=summary,
        started=request.now.isoformat(timespec="seconds"),
        wall_s=round(time.monotonic() - started, 3),
        partial=partial,
    )  # fmt: skip
    jsonl.write_text(out / "summary.json", json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    jsonl.write_text(out / "manifest.json", manifest.model_dump_json(indent=2) + "\n")
    return {**json.loads(json.dumps(summary)), "results": str(out / "results.jsonl")}


def _limited(
    tasks: Mapping[str, Task], skipped: Sequence[Skipped], limit: int | None
) -> tuple[Mapping[str, Task], Sequence[Skipped]]:
    """Return what takes part: all, or as many rows as the limit says, by the hash of their ids."""
    if limit is None:
        return tasks, skipped
    chosen = set(sorted([*tasks, *(item.key for item in skipped)], key=digest)[:limit])
    return {key: task for key, task in tasks.items() if key in chosen}, [i for i in skipped if i.key in chosen]


def _rows(
    suite: str, tasks: Mapping[str, Task], answers: Mapping[str, Sequence[str]] | None, bar: Bar
) -> Iterable[SelectionRow]:
    for key, task in tasks.items():
        texts = [write_gold(task)] if answers is None else answers.get(key, ())
        if not texts:
            bar.add()
            yield SelectionRow(
                suite=suite, task_id=key, part=task.part, sample=0, outcome="unscored", cause="prediction",
                reason="no prediction for it",
            )  # fmt: skip
        for sample, text in enumerate(texts):
            yield _scored(bar, task, suite, sample, text)


def _scored(bar: Bar, task: Task, suite: str, sample: int, text: str) -> SelectionRow:
    row = score(task, suite, sample, text)
    if sample == 0:
        bar.add()
    return row


def _unscored(suite: str, item: Skipped) -> SelectionRow:
    return SelectionRow(
        suite=suite, task_id=item.key, part=item.part, sample=0, outcome="unscored", cause="data", reason=item.reason
    )


def _parts(rows: Sequence[SelectionRow]) -> list[str]:
    return sorted({row.part for row in rows})


def _reasons(rows: Sequence[SelectionRow]) -> dict[str, int]:
    """Count why rows are not scored; what a reason says after its colon differs from row to row."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.outcome == "unscored":
            reason = (row.reason or "").partition(":")[0]
            counts[reason] = counts.get(reason, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _inputs(suite: ChoiceSuite, folder: Path, predictions: Path | None) -> dict[str, str]:
    files = suite.files(folder) if folder.is_dir() else [folder]
    found = {path.name: file_digest(path) for path in files}
    if predictions is not None and predictions.is_file():
        found["predictions"] = file_digest(predictions)
    return found


def table(found: Mapping[str, Any]) -> Iterable[str]:
    """Return the lines of a summary for a terminal, trivial answers beside the score."""
    whose = "gold answers" if found["gold"] else "predictions"
    counts = f"{found['resolved']} of {found['scored']} scored, {found['unscored']} not scored"
    yield f"{found['suite']}: {whose} resolved {_percent(found['resolved_share'])}   ({counts})"
    columns = " ".join(f"{word:>6}" for word in ("prec", "recall", "F1", "exact", "params", "edges"))
    yield f"  {'artefact':20} {'resolved':>8} {columns}"
    yield _line(whose, found)
    for name, baseline in found["baselines"].items():
        yield _line(f"  {name}", baseline)
    if len(found["parts"]) > 1:
        for part, summary in found["parts"].items():
            yield _line(part, summary)
    selection = found["selection"]
    if selection:
        for name, words in (("ndcg", "NDCG"), ("recall_at", "recall"), ("complete_at", "all relevant")):
            values = "  ".join(f"@{k} {value:.3f}" for k, value in selection[name].items())
            yield f"  {words:14} {values}"
    rungs = [(rung, found["ladder"][rung]) for rung in RUNGS]
    yield "  ladder: " + " > ".join(f"{rung} {_percent(part['share'] if part else None)}" for rung, part in rungs)
    yield "  extraction: " + ", ".join(f"{name} {count}" for name, count in found["extraction"].items())
    for name, count in found["errors"].items():
        yield f"  error: {name}  ({count})"
    if found["text"]:
        text = found["text"]
        yield (
            f"  text only: {text['rows']} rows call nothing; what they mention has precision {text['precision']:.3f}, "
            f"recall {text['recall']:.3f}"
        )
    if found["blind"]:
        yield f"  {found['blind']} rows cannot tell a right answer from one that names every listed tool"
    for note in found["notes"]:
        yield f"  note: {note}"
    for reason, count in found["not_run"].items():
        yield f"  not scored: {reason}  ({count})"


def _line(name: str, found: Mapping[str, Any]) -> str:
    selection = found["selection"] or {}
    values = [selection.get(key) for key in ("precision", "recall", "f1", "exact")]
    values += [(found[key] or {}).get("f1") for key in ("parameters", "edges")]
    cells = " ".join(f"{'-' if value is None else f'{value:.3f}':>6}" for value in values)
    return f"  {name:20} {_percent(found['resolved_share']):>8} {cells}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
