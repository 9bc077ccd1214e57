"""What the verbs of discovery have in common: options, output, the window of a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from novelapi.errors import UsageError

if TYPE_CHECKING:
    from novelapi.discovery.discover import Progress
    from novelapi.execution.launcher import Backend


class BackendName(StrEnum):
    """What holds the code of completions."""

    bubblewrap = "bubblewrap"
    docker = "docker"


BackendOption = Annotated[
    BackendName,
    typer.Option(
        "--backend",
        help="What holds the completions: bubblewrap, or one hardened Docker container per environment (where "
        "namespaces are refused; what is weaker stands in docs/integrity.md and the manifest).",
    ),
]
ImageOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="With --backend docker: an image on this machine with system libraries of its own; without it the host's "
        "are bound read-only. No image is ever pulled.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]
OfflineOption = Annotated[
    bool, typer.Option("--offline", help="Use recorded answers of the package index, whatever their age.")
]
CutoffOption = Annotated[
    str | None, typer.Option("--cutoff", metavar="DATE", help="The model knows nothing from this day on (YYYY-MM-DD).")
]
OldOption = Annotated[str | None, typer.Option("--old", metavar="VERSION", help="The old release, by name.")]
NewOption = Annotated[str | None, typer.Option("--new", metavar="VERSION", help="The new release, by name.")]
ModelOption = Annotated[str | None, typer.Option("--model", help="A model of the catalogue; it brings its cutoff.")]


def print_json(document: Any) -> None:
    """Print one JSON document on stdout."""
    typer.echo(json.dumps(document, ensure_ascii=False, indent=2))


def parse_day(text: str | None) -> date | None:
    """Return a date.

    Raises:
        UsageError: it is not one.
    """
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"'{text}' is not a date: write it as YYYY-MM-DD") from error


def window_cutoff(cutoff: str | None, model: str | None, old: str | None) -> date | None:
    """Return the cutoff that was given, else the model's; null when the old release is named.

    Raises:
        UsageError: the date is broken, or the model has no cutoff and nothing else was given.
        UnknownNameError: there is no such model.
    """
    from novelapi.catalog import listed_model

    day = parse_day(cutoff)
    if day is not None or old is not None or model is None:
        return day
    found = listed_model(model)
    if found is None or found.cutoff is None:
        name = found.name if found else model
        raise UsageError(f"the model '{name}' has no cutoff: give --cutoff DATE, or --old and --new")
    return found.cutoff


@contextmanager
def telling() -> Generator[Progress]:
    """Show what is being done on stderr while it is done; nothing when stderr is not a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with console.status("") as status:
        yield status.update


def choose_backend(name: BackendName, image: str | None, *, unsafe: bool = False) -> Backend | None:
    """Return the backend that flags ask for; null for this host's own sandbox.

    Raises:
        UsageError: the flags exclude each other.
    """
    if name is not BackendName.docker:
        if image is not None:
            raise UsageError("--docker-image belongs to --backend docker: give both or neither")
        return None
    if unsafe:
        raise UsageError("--unsafe runs without any sandbox, --backend docker in one: give one of them")
    from novelapi.adapters.docker_sandbox import DockerBackend

    return DockerBackend(image=image)
