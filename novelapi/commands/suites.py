"""What `evaluate --suite` does: read a suite and the answers to it, run them, write rows, summary and manifest."""

from __future__ import annotations

import difflib
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from novelapi import __version__, jsonl
from novelapi.commands import choices
from novelapi.commands._suite import Request, check_folder
from novelapi.commands.progress import Bar
from novelapi.discovery.workspace import Workspace
from novelapi.errors import DataError, PartialError
from novelapi.evaluation.inputs import explain
from novelapi.evaluation.suites import run as suites
from novelapi.evaluation.suites.base import Case, Need
from novelapi.evaluation.suites.choice import ChoiceSuite
from novelapi.evaluation.suites.registry import find_data, find_suite
from novelapi.evaluation.suites.supply import Supplied, Supply
from novelapi.execution.sandbox import find_bwrap
from novelapi.fingerprint import digest, file_digest
from novelapi.layout import Layout
from novelapi.records.manifest import Manifest
from novelapi.records.prediction import Prediction
from novelapi.settings import load_settings


def run(request: Request) -> dict[str, Any]:
    """Run what is missing, write results, summary and manifest, and return the summary.

    Raises:
        UnknownNameError: there is no such suite.
        PrerequisiteError: data, sandbox or uv are not to be had.
        DataError: a file is broken or does not fit the suite.
        IndexUnavailableError: the package index did not answer.
    """
    started = time.monotonic()
    settings = load_settings()
    suite = find_suite(request.suite)
    if isinstance(suite, ChoiceSuite):
        return choices.run(suite, request)
    folder = find_data(suite, request.data, settings.suite_data)
    find_bwrap()
    cases = suite.read(folder)
    answers = read_answers(request.predictions, cases) if request.predictions else None
    partial = request.limit is not None and request.limit < len(cases)
    if partial:
        chosen = set(sorted(cases, key=digest)[: request.limit])
        cases = {key: case for key, case in cases.items() if key in chosen}
    whose: Literal["gold", "predictions"] = "gold" if answers is None else "predictions"
    out = request.out or Layout(settings.home_dir).suite(suite.name, whose)
    results = out / "results.jsonl"
    check_folder(out, suite.name, whose, fresh=request.fresh)
    if request.fresh:
        results.unlink(missing_ok=True)
    digests = {"data": file_digest(folder / suite.marker)}
    if request.predictions:
        digests["predictions"] = file_digest(request.predictions)
    supply = Supply(workspace=Workspace.open(settings), now=request.now)
    total = sum(len(answers.get(key, ())) or 1 for key in cases) if answers is not None else len(cases)

    def manifest(counts: dict[str, Any]) -> str:
        found = Manifest(
            kind="evaluation",
            name=out.name,
            spec={"suite": suite.name, "answers": whose, "limit": request.limit},
            inputs=digests,
            versions={
                "novelapi": __version__,
                "suite": str(suite.version),
                "python": sys.version.split()[0],
            },
            counts=counts,
            started=request.now.isoformat(timespec="seconds"),
            wall_s=round(time.monotonic() - started, 3),
        )
        return found.model_dump_json(indent=2) + "\n"

    jsonl.write_text(out / "manifest.json", manifest({}))
    with Bar(suite.name, total) as bar:

        def environment_of(need: Need) -> Supplied:
            bar.say(f"environment of {need.library} {need.release}".rstrip())
            return supply.environment(need)

        made = suites.run(
            suites.SuiteRun(suite=suite, cases=cases, answers=answers, results=results, environment_of=environment_of),
            bar.add_row,
        )
    keys = set(cases)
    rows = [row for row in suites.read_results(results) if row.task_id in keys]
    found = suites.summarise(rows, suite=suite.name, gold=answers is None, partial=partial)
    found["made"] = made
    jsonl.write_text(out / "summary.json", json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    jsonl.write_text(out / "manifest.json", manifest(found))
    return {**found, "results": str(results)}


def read_answers(path: Path, cases: Mapping[str, Case]) -> dict[str, Sequence[str]]:
    """Read a predictions file; rows `{"example_id", "answer"}`, as GitChameleon writes them, are taken too.

    Raises:
        DataError: missing file, broken row, duplicate or unknown id.
    """
    found: dict[str, Sequence[str]] = {}
    for number, row in enumerate(jsonl.read(path), 1):
        own = "example_id" in row
        try:
            prediction = Prediction.model_validate(
                {"task_id": str(row["example_id"]), "completion": row.get("answer")} if own else row
            )
        except ValidationError as error:
            raise DataError(f"{path}, row {number}: {explain(error)}; correct the row") from error
        if prediction.task_id in found:
            raise DataError(f"{path}, row {number}: duplicate task_id '{prediction.task_id}'; join its samples")
        if prediction.task_id not in cases:
            raise DataError(f"{path}, row {number}: unknown task_id '{prediction.task_id}': {_hint(prediction, cases)}")
        found[prediction.task_id] = prediction.samples
    if not found:
        raise DataError(f"{path} holds no prediction; give a file with one JSON object a line")
    return found


def _hint(prediction: Prediction, cases: Iterable[str]) -> str:
    near = difflib.get_close_matches(prediction.task_id, list(cases), n=1)
    return f"did you mean '{near[0]}'?" if near else "use the ids of the suite's own file"


def report(found: dict[str, Any], *, as_json: bool, echo: Callable[[str], None]) -> None:
    """Print the summary.

    Raises:
        PartialError: rows were left out or could not be run (exit 4), after everything was printed and written.
    """
    if as_json:
        echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        for line in choices.table(found) if "baselines" in found else _table(found):
            echo(line)
    left = found["unscored"]
    if left:
        done = "scored" if "baselines" in found else "run"
        raise PartialError(f"{left} of {found['tasks']} rows were not {done}; the reasons are in {found['results']}")
    if found["partial"]:
        raise PartialError("rows were left out by --limit: run without it for all")


def _table(found: dict[str, Any]) -> Iterable[str]:
    rate = "none ran" if found["pass_at_1"] is None else f"{found['pass_at_1']:.3f}"
    whose = "gold answers" if found["gold"] else "pass@1"
    counts = f"{found['pass']} of {found['ran']} that ran, {found['unscored']} not run"
    yield f"{found['suite']}: {whose} {rate}   ({counts})"
    yield f"  {'library':16} {'rows':>5} {'ran':>5} {'pass':>5}"
    for name, counts in found["libraries"].items():
        yield f"  {name:16} {counts['tasks']:5} {counts['ran']:5} {counts['pass']:5}"
    for key, reason in found["failed"].items() if found["gold"] else ():
        yield f"  failed: {key}: {reason}"
    for reason, count in found["not_run"].items():
        yield f"  not run: {reason}  ({count})"
