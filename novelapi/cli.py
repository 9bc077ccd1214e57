"""The command line: `novelapi VERB`. Messages go to stderr; `--json` prints one document on stdout and nothing else."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import NoReturn

import typer

from novelapi.errors import NovelApiError, PrerequisiteError, explain_file_system

COMPOSED = {"flows": ("build", "run", "demo"), "deployments": ("deploy",)}
"""Verbs by the family that announces them: they come from the checkout, through entry points."""
ANY_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}

VERBS = (
    "doctor",
    "listing",
    "versions",
    "discover",
    "compare_pool",
    "env",
    "prompt",
    "evaluate",
    "status",
    "report",
    "compare",
    "leaderboard",
    "export",
    "graph",
    "pack",
)
"""Modules of the verbs of the core, in the order of the help."""

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def root() -> None:
    """Which APIs are new to a model, what it is missing, and which knowledge closes which failure."""


for _verb in VERBS:
    import_module(f"novelapi.commands.{_verb}").register(app)


def load_checkout() -> None:
    """Add the verbs that compose stages; a plain wheel has none, so there they say what they need."""
    known = {entry.name: entry for entry in entry_points(group="novelapi.commands")}
    for family, names in COMPOSED.items():
        try:
            known[family].load()(app)
        except (KeyError, ModuleNotFoundError):
            for name in names:
                app.command(name, context_settings=ANY_ARGUMENTS, hidden=True)(_refuse)


def _refuse() -> None:
    raise PrerequisiteError("this verb composes stages with Prefect: install from a checkout with the extra flows")


def main() -> None:
    """Run the command line; the only place where an error becomes an exit code."""
    load_checkout()
    try:
        app()
    except NovelApiError as error:
        _end(str(error), error.exit_code)
    except OSError as error:
        reason = explain_file_system(error)
        if reason is None:
            raise
        _end(reason, 1)


def _end(message: str, code: int) -> NoReturn:
    typer.echo(f"novelapi: {message}", err=True)
    sys.exit(code)
