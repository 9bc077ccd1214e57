"""The verbs `evaluate` and `score`: predictions against tasks, in the sandbox, without Prefect."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from novelapi.commands._shared import BackendName, BackendOption, ImageOption, choose_backend


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command()(evaluate)
    app.command()(score)


def evaluate(
    predictions: Annotated[Path, typer.Argument(help="JSONL: task_id and samples (or completion, solution).")],
    tasks: Annotated[Path, typer.Option(help="JSONL of tasks.")],
    out: Annotated[Path, typer.Option(help="Folder of the results; a run that is there is resumed.")],
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    fresh: Annotated[bool, typer.Option(help="Start over.")] = False,
    unsafe: Annotated[bool, typer.Option(help="Run without any sandbox (recorded in the manifest).")] = False,
    backend: BackendOption = BackendName.bubblewrap,
    docker_image: ImageOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Score predictions against tasks."""
    from novelapi.commands import scoring

    summary = scoring.run(
        scoring.Request(
            predictions=predictions, tasks=tasks, out=out, slots=jobs, fresh=fresh, isolate=not unsafe,
            backend=choose_backend(backend, docker_image, unsafe=unsafe), now=datetime.now(UTC),
        )
    )  # fmt: skip
    scoring.report(summary, as_json=as_json, echo=typer.echo)


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
