"""The verbs `evaluate` and `score`: predictions against tasks, in the sandbox, without Prefect."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from novelapi.commands._shared import BackendName, BackendOption, ImageOption, choose_backend
from novelapi.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command()(evaluate)
    app.command()(score)


def evaluate(
    predictions: Annotated[
        Path | None, typer.Argument(help="JSONL: task_id and samples (or completion, solution).")
    ] = None,
    tasks: Annotated[Path | None, typer.Option(help="JSONL of tasks.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the results; a run that is there is resumed.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    fresh: Annotated[bool, typer.Option(help="Start over.")] = False,
    unsafe: Annotated[bool, typer.Option(help="Run without any sandbox (recorded in the manifest).")] = False,
    backend: BackendOption = BackendName.bubblewrap,
    docker_image: ImageOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    suite: Annotated[
        str | None,
        typer.Option(
            help="An outside suite in place of --tasks: gitchameleon, codeupdatearena (answers are run); "
            "bfcl, nestful, taskbench, toolbench (tool calls are compared)."
        ),
    ] = None,
    gold: Annotated[bool, typer.Option("--gold", help="Run the suite's own answers in place of predictions.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the suite's data (default: NOVELAPI_SUITE_DATA).")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Run this many rows of the suite, by hash of id.")] = None,
) -> None:
    """Score predictions against tasks, or run an outside suite."""
    if suite is not None:
        if backend is not BackendName.bubblewrap or docker_image is not None:
            raise UsageError("outside suites run in bubblewrap only: leave --backend and --docker-image out")
        _evaluate_suite(
            suite, predictions, tasks=tasks, out=out, jobs=jobs, fresh=fresh, unsafe=unsafe, as_json=as_json,
            gold=gold, data=data, limit=limit,
        )  # fmt: skip
        return
    if gold or data is not None or limit is not None:
        raise UsageError("--gold, --data and --limit belong to an outside suite: name one with --suite")
    if predictions is None or tasks is None or out is None:
        raise UsageError("give PREDICTIONS, --tasks and --out, or name an outside suite with --suite")
    from novelapi.commands import scoring

    summary = scoring.run(
        scoring.Request(
            predictions=predictions, tasks=tasks, out=out, slots=jobs, fresh=fresh, isolate=not unsafe,
            backend=choose_backend(backend, docker_image, unsafe=unsafe), now=datetime.now(UTC),
        )
    )  # fmt: skip
    scoring.report(summary, as_json=as_json, echo=typer.echo)


def _evaluate_suite(
    suite: str, predictions: Path | None, *, tasks: Path | None, out: Path | None, jobs: int, fresh: bool,
    unsafe: bool, as_json: bool, gold: bool, data: Path | None, limit: int | None,
) -> None:  # fmt: skip
    from novelapi.commands import suites

    if (predictions is None) != gold:
        raise UsageError("give either PREDICTIONS or --gold: a suite scores a model's answers, or its own")
    if tasks is not None:
        raise UsageError("give either --tasks or --suite: a suite brings its tasks")
    if unsafe:
        raise UsageError("--unsafe is not for suites: the tests of others run in the sandbox only")
    if jobs > 1:
        raise UsageError("a suite runs one row at a time: leave --jobs out")
    found = suites.run(
        suites.Request(
            suite=suite, predictions=predictions, data=data, out=out, limit=limit, fresh=fresh, now=datetime.now(UTC)
        )
    )
    suites.report(found, as_json=as_json, echo=typer.echo)


def score(
    run: Annotated[Path, typer.Argument(help="Folder of an earlier evaluation or cell.")],
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    backend: BackendOption = BackendName.bubblewrap,
    docker_image: ImageOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Extract and score the stored outputs of a run again."""
    from novelapi.commands import scoring

    summary = scoring.run(
        scoring.Request(
            predictions=run / "predictions.jsonl", tasks=run / "tasks.jsonl", out=run, slots=jobs, fresh=True,
            isolate=True, backend=choose_backend(backend, docker_image), now=datetime.now(UTC),
        )
    )  # fmt: skip
    scoring.report(summary, as_json=as_json, echo=typer.echo)


def dump(document: object) -> str:
    """Return one JSON document for standard output."""
    return json.dumps(document, indent=2, ensure_ascii=False)
