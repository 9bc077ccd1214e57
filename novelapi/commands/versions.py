"""`novelapi versions LIB`: which two releases bound what is new to a model."""

from __future__ import annotations

from typing import Annotated

import typer

from novelapi.commands._shared import (
    CutoffOption,
    JsonOption,
    ModelOption,
    NewOption,
    OfflineOption,
    OldOption,
    print_json,
    window_cutoff,
)


def register(app: typer.Typer) -> None:
    """Add the verb."""

    @app.command()
    def versions(
        library: Annotated[str, typer.Argument(help="A library of the catalogue, or any distribution on the index.")],
        *,
        cutoff: CutoffOption = None,
        old: OldOption = None,
        new: NewOption = None,
        model: ModelOption = None,
        as_json: JsonOption = False,
        offline: OfflineOption = False,
    ) -> None:
        """Print the old and the new release of a library for a cutoff."""
        from novelapi.catalog import find_library
        from novelapi.discovery.workspace import Workspace
        from novelapi.settings import load_settings

        workspace = Workspace.open(load_settings(), offline=offline)
        pair = workspace.resolve(find_library(library), cutoff=window_cutoff(cutoff, model, old), old=old, new=new)
        if as_json:
            print_json(pair.to_row())
        else:
            typer.echo(f"{pair.library}: {pair.old or '(none)'} -> {pair.new}\n{pair.reason}")
