"""One run of a verb: bring up the server while Prefect is imported, run the flow, print what came out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from flows import server, summary
from flows.console import configure_logging
from novelapi.errors import NovelApiError, PartialError, PrerequisiteError
from novelapi.records.base import Record
from novelapi.records.request import ModelAccess

if TYPE_CHECKING:
    from flows._runs import GridDone, LibraryBuild

R = TypeVar("R")


def build_libraries(
    libraries: list[str] | None, options: dict[str, Any], *, base_url: str | None, dry_run: bool, as_json: bool
) -> None:
    """Run the flow `library` for each library; one that fails does not stop the others.

    Raises:
        NovelApiError: a library failed.
        PartialError: everything is done, but limited.
    """
    with prefect_session(dry_run):
        from flows._plan import all_libraries
        from flows.library import build_library
        from flows.preview import preview_library

        names = libraries or all_libraries()
        access = ModelAccess(base_url=base_url)
        if dry_run:
            emit([preview_library(name, options) for name in names], summary.preview_libraries, as_json)
            return
        built: list[LibraryBuild] = []
        failures: dict[str, NovelApiError] = {}
        for name in names:
            try:
                built.append(build_library(library=name, access=access, **options))
            except NovelApiError as error:
                failures[name] = error
                if len(names) == 1:
                    raise
                sys.stderr.write(f"{name} failed: {error}\n")
    emit(built, summary.libraries, as_json)
    if failures:
        raise NovelApiError(
            f"{len(failures)} of {len(names)} libraries failed ({', '.join(failures)}): see the reasons above and run "
            "the same command again; finished stages are kept"
        )
    check_limit(options["limit"])


def run_grid(
    options: dict[str, Any],
    *,
    base_url: str | None = None,
    show_tasks: int = 0,
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Run the flow `paper-grid` and print its result.

    Raises:
        NovelApiError: a library or a cell failed; what was finished is kept.
        PartialError: everything is done, but limited.
    """
    with prefect_session(dry_run):
        from flows.paper_grid import run_paper_grid
        from flows.preview import preview_grid

        if dry_run:
            emit(preview_grid(options), summary.preview_grid, as_json)
            return
        done: GridDone = run_paper_grid(access=ModelAccess(base_url=base_url), **options)
    emit(done, lambda grid: summary.grid(grid, show_tasks), as_json)
    check_limit(options["limit"])


@contextmanager
def prefect_session(dry: bool) -> Iterator[str | None]:
    """Import Prefect while its server starts; turn its own errors into ours. Yields the API's address.

    Raises:
        PrerequisiteError: the server does not run, or Prefect is not installed.
        NovelApiError: the server refused a request.
    """
    configure_logging()
    url = None if dry else server.start()
    try:
        from httpx import HTTPError
        from prefect.exceptions import PrefectException
    except ImportError as error:
        remedy = "run `pip install -e '.[flows]'` in the checkout"
        raise PrerequisiteError(f"{error.name} is not installed: {remedy}") from error
    if url is not None:
        import flows.paper_grid  # noqa: F401 - the imports take as long as the server's start

        server.wait(url)
    try:
        yield url
    except (HTTPError, PrefectException) as error:
        text = " ".join(str(error).split())[:300]
        raise NovelApiError(f"the Prefect server at {url} failed: {text}; run the same command again") from error


def emit(result: Any, render: Callable[[Any], str], as_json: bool) -> None:
    """Print a result on stdout: as one JSON document, or in words."""
    if as_json:
        sys.stdout.write(json.dumps(_plain(result), indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(render(result))


def check_limit(limit: int | None) -> None:
    """Mark a limited run.

    Raises:
        PartialError: the run was limited.
    """
    if limit is not None:
        raise PartialError(f"partial: --limit {limit} left units out; run without it for all of them")


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_row()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
