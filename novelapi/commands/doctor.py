"""The verb `doctor`: is everything here, and does the sandbox hold?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from novelapi.commands._shared import (
    BackendName,
    BackendOption,
    ImageOption,
    JsonOption,
    choose_backend,
    print_json,
)
from novelapi.errors import PrerequisiteError

if TYPE_CHECKING:
    from novelapi.execution.launcher import Backend, Launcher
    from novelapi.execution.zygote import Zygote
    from novelapi.records.checkup import Checkup


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(doctor)


def doctor(
    *,
    backend: BackendOption = BackendName.bubblewrap,
    docker_image: ImageOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look for prerequisites and run five attacks and two honest solutions in the real sandbox."""
    found = examine(choose_backend(backend, docker_image))
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        typer.echo(as_text(found))
    if not found.ok:
        missing = [item for item in found.prerequisites if item.needed and not item.found]
        broken = [item.name for item in found.trials if not item.holds]
        words = [f"{item.name}: {item.remedy or item.detail}" for item in missing]
        if broken:
            words.append(f"the sandbox does not hold here ({', '.join(broken)}): score on another host")
        raise PrerequisiteError("completions cannot be scored safely: " + "; ".join(words))


def examine(backend: Backend | None = None) -> Checkup:
    """Look for everything; run the trials if a sandbox can be started.

    Args:
        backend: what holds the completions; null for this host's own sandbox.
    """
    from novelapi.evaluation import selftest
    from novelapi.execution import prerequisites
    from novelapi.execution.environments import python_environment
    from novelapi.execution.zygote import Zygote, isolation_record
    from novelapi.records.checkup import Checkup

    started: list[Zygote] = []
    opened: list[Launcher] = []

    def start() -> str:
        if backend is not None:
            backend.check()
            opened.append(backend.open())
        started.append(Zygote(python_environment(), launcher=opened[0] if opened else None))
        return ", ".join(isolation_record(started[0])["namespaces"])

    try:
        needs = prerequisites.look(start, backend.name if backend else "bubblewrap")
        trials = selftest.trials(started[0]) if started else ()
        isolation = isolation_record(started[0]) if started else {}
    finally:
        for zygote in started:
            zygote.close()
        for launcher in opened:
            launcher.close()
    ok = all(item.found for item in needs if item.needed) and bool(trials) and all(item.holds for item in trials)
    return Checkup(ok=ok, prerequisites=needs, trials=trials, isolation=isolation)


def as_text(found: Checkup) -> str:
    """Return the report for a terminal."""
    lines: list[str] = []
    for item in found.prerequisites:
        mark = "ok" if item.found else "MISSING" if item.needed else "absent"
        remedy = f"   -> {item.remedy}" if item.remedy else ""
        lines.append(f"{mark:8} {item.name:14} {item.detail}{remedy}")
    for trial in found.trials:
        mark = "holds" if trial.holds else "BROKEN"
        lines.append(f"{mark:8} {trial.kind:14} {trial.name}: {trial.detail}")
    lines.append("completions can be scored safely" if found.ok else "completions cannot be scored safely")
    return "\n".join(lines)
