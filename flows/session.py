"""One run of a verb: bring up the server while Prefect is imported, run the flow, print what came out."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from flows import choices, server, summary
from flows.console import configure_logging
from novelapi.errors import NothingNewError, NovelApiError, PartialError, PrerequisiteError
from novelapi.records.base import Record
from novelapi.records.request import DIRECT, ModelAccess
from novelapi.settings import load_settings

if TYPE_CHECKING:
    from flows._runs import GridDone

R = TypeVar("R")

LITTLE_SPACE = 1 << 20
"""Bytes below which a server's database can no longer grow."""


def build_group(group: str, options: dict[str, Any], *, access: ModelAccess, dry_run: bool, as_json: bool) -> None:
    """Run the flow `instance`: every library of a group, then the pooled tasks.

    Raises:
        NovelApiError: a library failed.
        PartialError: everything is done, but limited.
    """
    choices.check_request(choices.members(group), options)
    with prefect_session(dry_run):
        from flows.instance import build_instance
        from flows.preview import preview_library

        if dry_run:
            plans, failures = _each(choices.members(group), lambda name: preview_library(name, options, access))
            emit(plans, summary.preview_libraries, as_json)
            _refuse(failures, choices.members(group))
            return
        check_models(options["model"], access)
        built = build_instance(group=group, access=access, **options)
    emit(built, summary.instance, as_json)
    check_limit(options["limit"])


def build_libraries(
    libraries: list[str] | None, options: dict[str, Any], *, access: ModelAccess, dry_run: bool, as_json: bool
) -> None:
    """Run the flow `library` for each library; one that fails does not stop the others.

    Raises:
        NovelApiError: a library failed.
        PartialError: everything is done, but limited.
    """
    names = libraries or choices.all_libraries()
    choices.check_request(names, options)
    with prefect_session(dry_run):
        from flows.library import build_library
        from flows.preview import preview_library

        if dry_run:
            plans, failures = _each(names, lambda name: preview_library(name, options, access))
            emit(plans, summary.preview_libraries, as_json)
            _refuse(failures, names)
            return
        if choices.check_stages(options.get("stages")) == choices.STAGES[-1] or access.strong_model:
            check_models(options["model"], access)
        built, failures = _each(names, lambda name: build_library(library=name, access=access, **options))
    emit(built, summary.libraries, as_json)
    _refuse(failures, names)
    check_limit(options["limit"])


def _each(names: Sequence[str], work: Callable[[str], R]) -> tuple[list[R], dict[str, NovelApiError]]:
    """Return what came of each library, and the errors of those that failed; one that has nothing new did not fail."""
    done: list[R] = []
    failures: dict[str, NovelApiError] = {}
    for name in names:
        try:
            done.append(work(name))
        except NovelApiError as error:
            if len(names) == 1:
                raise
            if not isinstance(error, NothingNewError):
                failures[name] = error
            sys.stderr.write(f"{name}: {error}\n")
    return done, failures


def _refuse(failures: Mapping[str, NovelApiError], names: Sequence[str]) -> None:
    if failures:
        raise NovelApiError(
            f"{len(failures)} of {len(names)} libraries failed ({', '.join(failures)}): see the reasons above and run "
            "the same command again; finished stages are kept"
        )


def run_grid(
    options: dict[str, Any],
    *,
    access: ModelAccess = DIRECT,
    show_tasks: int = 0,
    dry_run: bool = False,
    as_json: bool = False,
) -> None:
    """Run the flow `paper-grid` and print its result.

    Raises:
        NovelApiError: a library or a cell failed; what was finished is kept.
        PartialError: everything is done, but limited.
    """
    choices.check_request(choices.members(options["group"]), options)
    with prefect_session(dry_run):
        from flows.paper_grid import run_paper_grid
        from flows.preview import preview_grid

        check_deliveries(options["model"], access, options.get("deliveries"))
        if dry_run:
            emit(preview_grid(options, access), summary.preview_grid, as_json)
            return
        check_models(options["model"], access)
        done: GridDone = run_paper_grid(access=access, **options)
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
        raise NovelApiError(server_failed(url, error)) from error


def server_failed(url: str | None, error: Exception) -> str:
    """Return why the Prefect server refused a request, and what to do.

    The local one keeps its database in the run folder, and says of a full disk only that something went wrong.
    """
    home = load_settings().home_dir
    if shutil.disk_usage(home).free < LITTLE_SPACE:
        return f"the disk is full ({home}), and the Prefect server with it: free space, then run the same command again"
    text = " ".join(str(error).split())[:300]
    return f"the Prefect server at {url} failed: {text}; run the same command again"


def check_models(model: str, access: ModelAccess) -> None:
    """Ask the endpoints once whether they have the models, so that a mistake is seen before any work is done.

    Raises:
        EndpointError: an endpoint did not answer.
        PrerequisiteError: the key was refused, or address, key or extra is missing.
        UnknownNameError: it has no such model; near matches are suggested.
    """
    from tasks.inference import check_model, strong

    check_model(model, access)
    if access.strong_model is not None:
        strong(access)
        check_model(
            access.strong_model, access.model_copy(update={"base_url": access.strong_base_url, "profile": None})
        )


def check_deliveries(model: str, access: ModelAccess, deliveries: Sequence[str] | None) -> None:
    """Check that the model can be asked as the deliveries ask; nothing is sent.

    Raises:
        PrerequisiteError: it takes no tools, or single prompts only.
    """
    from novelapi.grid.agentic import NEEDS
    from novelapi.inference.abilities import require
    from tasks.inference import completer

    for delivery in deliveries or ():
        if delivery in NEEDS:
            require(completer(model, access), NEEDS[delivery], delivery)


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
