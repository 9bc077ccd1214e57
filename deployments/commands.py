"""The verb `deploy`: check, apply, deploy, automate."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, cast, get_args

import typer

from novelapi.errors import NovelApiError, UsageError


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("deploy")(deploy)


def deploy(
    gpu: Annotated[
        str, typer.Option("--gpu", help="Workers of the pool gpu: vllm (processes), docker or kubernetes.")
    ] = "vllm",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")
    ] = False,
) -> None:
    """Check every deployment, create what the Prefect server needs for them, deploy all flows."""
    from deployments.pools import GpuKind
    from flows.session import emit, prefect_session

    if gpu not in get_args(GpuKind):
        raise UsageError(f"unknown kind of workers '{gpu}': give one of {', '.join(get_args(GpuKind))}")

    with prefect_session(dry=False) as url:
        from deployments.apply import apply, apply_automations
        from deployments.verify import verify

        names = verify()
        kind = cast("GpuKind", gpu)
        done = {"server": [str(url)], **apply(kind)}
        deploy_all()
        done |= {"deployments": [f"{name}/{name}" for name in names], "automations": apply_automations(kind)}
    emit(done, describe, as_json)


def deploy_all() -> None:
    """Deploy what prefect.yaml names, with Prefect's own command.

    Raises:
        NovelApiError: it failed.
    """
    from deployments.entries import CHECKOUT

    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = " ".join((done.stderr or done.stdout).split())[-300:]
        raise NovelApiError(f"`prefect deploy --all` failed: {reason}; correct it and run `novelapi deploy` again")


def describe(done: dict[str, list[str]]) -> str:
    """Return what was done, and how to go on."""
    lines = [f"{kind:12} {', '.join(names)}" for kind, names in done.items()]
    start = [
        f"  export PREFECT_API_URL={done['server'][0]}",
        "  prefect worker start --pool cpu",
        "  prefect deployment run paper-grid/paper-grid --param limit=5",
    ]
    return "\n".join([*lines, "", "start a worker, then a run:", *start]) + "\n"
