"""What `evaluate` and `score` have in common: read, check, run, write."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from novelapi import __version__, jsonl
from novelapi.commands.progress import Bar
from novelapi.errors import DataError, PartialError
from novelapi.evaluation import inputs, outcome, summary
from novelapi.evaluation import run as evaluation
from novelapi.execution.environments import python_environment
from novelapi.execution.launcher import Backend
from novelapi.execution.pool import SlotOptions
from novelapi.fingerprint import file_digest
from novelapi.layout import Layout
from novelapi.records.environment import Environment
from novelapi.records.manifest import Manifest
from novelapi.settings import load_settings


@dataclass(frozen=True, kw_only=True)
class Request:
    """One call of the verb."""

    predictions: Path
    tasks: Path
    out: Path
    slots: int
    fresh: bool
    isolate: bool
    now: datetime
    backend: Backend | None = None
    """What holds the completions; null for this host's own sandbox."""

    @property
    def backend_name(self) -> str:
        """Its name on the command line."""
        return self.backend.name if self.backend else "bubblewrap"


def run(request: Request) -> dict[str, Any]:
    """Score what is missing and write results, summary and manifest.

    Raises:
        DataError: a file is broken, or the folder holds results of other tasks.
        PrerequisiteError: the sandbox is not to be had.
    """
    started = time.monotonic()
    tasks = inputs.read_tasks(request.tasks)
    predictions = inputs.read_predictions(request.predictions, tasks)
    digests = {"tasks": file_digest(request.tasks), "predictions": file_digest(request.predictions)}
    results = request.out / "results.jsonl"
    _check_folder(request, digests)
    if request.backend is not None:
        request.backend.check()
    if request.fresh:
        results.unlink(missing_ok=True)
    jsonl.write_bytes(
        request.out / "manifest.json", _manifest(request, digests, {}, 0.0, {}).model_dump_json(indent=2).encode()
    )
    for name, source in (("tasks.jsonl", request.tasks), ("predictions.jsonl", request.predictions)):
        target = request.out / name
        if not (target.exists() and target.samefile(source)):
            jsonl.write_bytes(target, source.read_bytes())
    samples = sum(len(prediction.samples) or 1 for prediction in predictions.values())
    total = samples + len(tasks) - len(predictions)
    with Bar("evaluate", total) as bar:
        finished = evaluation.evaluate(
            evaluation.Evaluation(
                tasks=tasks,
                predictions=predictions,
                results=results,
                environment_of=environment_of,
                slots=request.slots,
                options=SlotOptions(isolate=request.isolate, backend=request.backend),
                prompts={key: item.prompt_sha for key, item in predictions.items() if item.prompt_sha},
            ),
            bar.add_row,
        )
    found = summary.summarise(evaluation.read_results(results))
    found["judged"] = finished.judged
    found["broken_tasks"] = finished.broken
    isolation = {
        **finished.isolation,
        "fresh_compared": finished.compared,
        "fresh_differing": finished.differing,
        "demoted": finished.demoted,
    }
    manifest = _manifest(request, digests, found, time.monotonic() - started, isolation)
    jsonl.write_text(request.out / "summary.json", json.dumps(found, indent=2) + "\n")
    jsonl.write_text(request.out / "manifest.json", manifest.model_dump_json(indent=2) + "\n")
    return found


def environment_of(library: str, release: str) -> Environment:
    """Return the environment of a library's release; built when it is not there."""
    if library == "python":
        return python_environment()
    from novelapi.discovery.requests import environment_for

    return environment_for(library, release, Layout(load_settings().home_dir))


def _check_folder(request: Request, digests: dict[str, str]) -> None:
    """Refuse to mix the results of two task files, or of two backends, in one folder."""
    path = request.out / "manifest.json"
    if request.fresh or not path.exists():
        return
    manifest = json.loads(path.read_text())
    known = manifest.get("inputs", {}).get("tasks")
    if known not in (None, digests["tasks"]):
        raise DataError(f"{request.out} holds results of another task file; choose another --out or give --fresh")
    backend = manifest.get("spec", {}).get("backend", "bubblewrap")
    if backend != request.backend_name:
        raise DataError(
            f"{request.out} holds results of --backend {backend}; give that one, choose another --out or give --fresh"
        )


def _manifest(
    request: Request, digests: dict[str, str], counts: dict[str, Any], wall_s: float, isolation: dict[str, Any]
) -> Manifest:
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Manifest(
        kind="evaluation",
        name=request.out.name,
        spec={
            "predictions": request.predictions.name,
            "tasks": request.tasks.name,
            "jobs": request.slots,
            "backend": request.backend_name,
        },
        inputs=digests,
        versions={
            "novelapi": __version__,
            "evaluator": str(outcome.EVALUATOR_VERSION),
            "python": sys.version.split()[0],
        },
        counts=counts,
        started=request.now.isoformat(timespec="seconds"),
        wall_s=round(wall_s, 3),
        cpu_s=round(sum(item.ru_utime + item.ru_stime for item in usage), 3),
        peak_kb=max(item.ru_maxrss for item in usage),
        isolation=isolation,
    )


def report(found: dict[str, Any], *, as_json: bool, echo: Callable[[str], None]) -> None:
    """Print the summary.

    Raises:
        PartialError: some samples are unscored (exit 4), after everything was printed and written.
    """
    if as_json:
        echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        rate = "none scored" if found["pass_at_1"] is None else f"{found['pass_at_1']:.3f}"
        echo(f"pass@1 {rate}   ({found['pass']} of {found['scored']} scored, {found['unscored']} unscored)")
        for label, count in found["labels"].items():
            if count:
                echo(f"  {label:18} {count}")
        for reason, count in found["unscored_reasons"].items():
            echo(f"  unscored: {reason}  ({count})")
    if found["unscored_reasons"]:
        raise PartialError(
            f"{sum(found['unscored_reasons'].values())} samples are unscored; the reasons are in the rows"
        )
