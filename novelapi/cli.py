"""The command line: `novelapi VERB`. Messages go to stderr; `--json` prints one document on stdout and nothing else."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import entry_points

import typer

from novelapi.errors import NovelApiError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def root() -> None:
    """Which APIs are new to a model, what it is missing, and which knowledge closes which failure."""


for _verb in ("listing", "versions", "discover", "env", "evaluate"):
    import_module(f"novelapi.commands.{_verb}").register(app)


def main() -> None:
    """Run the command line; the only place where an error becomes an exit code."""
    for entry in entry_points(group="novelapi.commands"):
        try:
            register = entry.load()
        except ModuleNotFoundError:
            continue  # the extra that a family needs is not installed; its verbs say so when they are called
        register(app)
    try:
        app()
    except NovelApiError as error:
        typer.echo(f"novelapi: {error}", err=True)
        sys.exit(error.exit_code)
