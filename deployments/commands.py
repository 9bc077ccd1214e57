"""The verb `deploy`."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("deploy")(deploy)


def deploy() -> None:
    """Create pools, limits, blocks and automations on the Prefect server, check every entry, deploy all flows."""
