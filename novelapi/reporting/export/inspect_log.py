"""A run as an eval log of Inspect AI: every sample with its prompt, answer and verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from novelapi import __version__, jsonl
from novelapi.errors import DataError
from novelapi.layout import safe_name
from novelapi.records.task import Task
from novelapi.reporting.instances import read_tasks, tasks_file
from novelapi.reporting.lines import LineFile
from novelapi.reporting.runs import PREDICTIONS, PROMPTS, RESULTS, Run, find_runs

FORMAT = 2
"""Version of Inspect's log format."""


def write_log(folder: Path, out: Path, tasks: Path | None = None) -> tuple[Path, int]:
    """Write the log of one run; return its file and its number of samples.

    Args:
        folder: the run.
        out: folder of logs; the file is named as the viewer expects, by time, task and id.
        tasks: its task file; default: the manifest names it.

    Raises:
        UsageError: the folder holds no run.
        DataError: it holds several, or a file is broken.
    """
    runs = find_runs([folder]).runs
    if len(runs) != 1:
        raise DataError(f"{folder} holds {len(runs)} runs, and a log is about one; give the folder of one run")
    run = runs[0]
    samples = list(_samples(run, read_tasks(tasks_file(run, tasks))))
    started = _started(run)
    stamp = started[:19].replace(":", "-") + "+00-00"
    file = out / f"{stamp}_{safe_name(run.experiment)}_{safe_name(run.name.replace('/', '-'))}.json"
    jsonl.write_text(file, json.dumps(_log(run, samples), ensure_ascii=False, indent=1) + "\n")
    return file, len(samples)


def _started(run: Run) -> str:
    return (run.manifest.started if run.manifest else "") or "1970-01-01T00:00:00+00:00"


def _completed(run: Run) -> str:
    started = datetime.fromisoformat(_started(run))
    return (started + timedelta(seconds=run.manifest.wall_s if run.manifest else 0.0)).isoformat()


def _log(run: Run, samples: list[dict[str, Any]]) -> dict[str, Any]:
    greedy = [sample for sample in samples if sample["epoch"] == 1]
    scored = [sample["scores"]["novelapi"]["value"] for sample in greedy if sample["scores"]]
    passed = scored.count("C")
    started = _started(run)
    model = run.model or "unknown"
    accuracy = {"name": "accuracy", "value": passed / len(scored) if scored else 0.0, "params": {}}
    return {
        "version": FORMAT,
        "status": "success",
        "eval": {
            "run_id": run.name,
            "created": started,
            "task": f"novelapi/{run.condition or run.name}",
            "task_id": run.name,
            "task_version": 1,
            "dataset": {"name": run.experiment, "samples": len(greedy), "sample_ids": [s["id"] for s in greedy]},
            "model": f"novelapi/{model}",
            "config": {"epochs": max((sample["epoch"] for sample in samples), default=1)},
            "packages": {"novelapi": __version__},
            "metadata": {"delivery": run.delivery, "condition": run.condition, "experiment": run.experiment},
        },
        "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {}}]},
        "results": {
            "total_samples": len(greedy),
            "completed_samples": len(scored),
            "scores": [
                {
                    "name": "novelapi",
                    "scorer": "novelapi",
                    "params": {},
                    "scored_samples": len(scored),
                    "unscored_samples": len(greedy) - len(scored),
                    "metrics": {"accuracy": accuracy},
                }
            ],
        },
        "stats": {"started_at": started, "completed_at": _completed(run)},
        "samples": samples,
    }


def _samples(run: Run, tasks: dict[str, Task]) -> Iterator[dict[str, Any]]:
    """Yield samples; the samples of a task are Inspect's epochs, the greedy one first."""
    predictions = LineFile(run.folder / PREDICTIONS, key="task_id")
    prompts = LineFile(run.folder / PROMPTS, key="prompt")
    for row in sorted(jsonl.scan(run.folder / RESULTS), key=lambda row: (row["task_id"], row["sample"])):
        task = tasks.get(row["task_id"])
        if task is None:
            raise DataError(f"{run.folder}: task '{row['task_id']}' is not in its task file; give it with --tasks")
        line = prompts.find(row["prompt"]) if row.get("prompt") else None
        prompt = json.loads(line)["text"] if line else task.description
        answer = _answer(predictions, row["task_id"], row["sample"])
        message = {"role": "assistant", "content": answer, "source": "generate"}
        model = f"novelapi/{run.model or 'unknown'}"
        yield {
            "id": row["task_id"],
            "epoch": row["sample"] + 1,
            "input": prompt,
            "target": task.reference_solution,
            "messages": [{"role": "user", "content": prompt, "source": "input"}, message],
            "output": {"model": model, "choices": [{"message": message, "stop_reason": "stop"}]},
            "scores": {} if row["outcome"] == "unscored" else {"novelapi": _score(row)},
            "metadata": {
                "api": task.api,
                "library": task.library,
                "release": task.release,
                "label": row["label"],
                "integrity": row["integrity"],
                "unscored": row["reason"] if row["outcome"] == "unscored" else None,
            },
        }


def _score(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "value": "C" if row["outcome"] == "pass" else "I",
        "answer": str(row["evidence"].get("code", "")),
        "explanation": row["reason"] if row["label"] is None else f"{row['label']}: {row['reason']}",
    }


def _answer(predictions: LineFile, task_id: str, sample: int) -> str:
    line = predictions.find(task_id)
    row: jsonl.Row = json.loads(line) if line else {}
    single = [row[name] for name in ("completion", "solution") if isinstance(row.get(name), str)]
    texts = row.get("samples") or single[:1]
    return str(texts[sample]) if sample < len(texts) else ""
