"""Flow `cell`: a slice of a grid on one model."""

from __future__ import annotations

from typing import Any

from prefect import flow, tags
from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.task_runners import ThreadPoolTaskRunner

from flows._artifacts import GridProgress
from flows._runs import CellsDone, Tally, progress
from novelapi.errors import EndpointError, NovelApiError, PartialError
from novelapi.records.cell import Cell
from novelapi.records.request import DIRECT, FileResult, ModelAccess
from tasks._results import read_finished
from tasks._stage import run_layout
from tasks.evaluation import cell as cell_task
from tasks.inference import check_model


@flow(name="cell", flow_run_name="{experiment}", task_runner=ThreadPoolTaskRunner(max_workers=1))
def run_cells(
    experiment: str, cells: list[Cell], access: ModelAccess = DIRECT, jobs: int = 2, strict: bool = True
) -> CellsDone:
    """Run the cells that are not finished; a cell that fails does not stop the others, an endpoint that is gone does.

    Args:
        experiment: name of the experiment.
        cells: what to run.
        access: how the model is reached.
        jobs: processes at work inside a cell.
        strict: end as failed when a cell failed, instead of telling the caller.

    Raises:
        NovelApiError: a cell failed, and `strict`.
    """
    # Extract: what is already there costs no task run.
    keys = keys_of(cells, access, jobs)
    finished = find_finished(keys)
    tally = Tally()
    tally.skip(len(finished))
    progress.info("%s: %d cells, %d finished before", experiment, len(cells), len(finished))

    # Transform: each missing cell is one task run.
    failures: dict[str, str] = {}
    ended: list[bool] = []
    gone = ""
    missing = [(key, item) for key, item in zip(keys, cells, strict=True) if key not in finished]
    with GridProgress(experiment, total=len(cells), finished=len(finished)) as bar:
        for key, item in missing:
            if gone:  # each would be tried for minutes, one after the other
                failures[item.name] = f"not tried, since the model is gone: {gone}"
                tally.fail()
                bar.advance(item, None, failures[item.name])
                continue
            future = submit(item, access, jobs)
            future.wait()  # without it the state is asked of the server, which learns of it later
            tally.count(future.state)
            if future.state.is_completed():
                finished[key] = future.state.result()
            else:
                error = future.state.result(raise_on_failure=False)
                failures[item.name] = why(future.state)
                ended.append(isinstance(error, PartialError))
                gone = failures[item.name] if isinstance(error, EndpointError) and is_gone(item, access) else ""
            bar.advance(item, finished.get(key), failures.get(item.name))

    # Load: pointers in the order of the request.
    if failures and strict:
        raise failed_cells(failures, len(cells), partial=all(ended))
    return CellsDone(
        cells=[finished[key] for key in keys if key in finished],
        work=tally.work,
        failures=failures,
        partial=bool(ended) and all(ended),
    )


def keys_of(cells: list[Cell], access: ModelAccess, jobs: int) -> list[str]:
    """Return the keys under which the results of cells are stored."""
    return [cell_task.key_of({"cell": item, "access": access, "jobs": jobs}) for item in cells]


def failed_cells(failures: dict[str, str], total: int, *, partial: bool = False) -> NovelApiError:
    """Return the error of a grid with failed cells: one reason, and what to do; `partial` if they only ended early."""
    first, reason = next(iter(failures.items()))
    kind = PartialError if partial else NovelApiError
    return kind(
        f"{len(failures)} of {total} cells failed, first {first}: {reason}; "
        "run the same command again to do the missing ones"
    )


def find_finished(keys: list[str]) -> dict[str, FileResult]:
    """Return the stored results of the cells whose files are intact, by key."""
    layout = run_layout()
    results = {key: read_finished(key, FileResult, layout) for key in keys}
    return {key: result for key, result in results.items() if result is not None}


def is_gone(item: Cell, access: ModelAccess) -> bool:
    """Tell whether the model of a cell that got no answer still gives none."""
    try:
        check_model(item.model, access)
    except NovelApiError as error:
        progress.error("%s", error)
        return True
    return False


def submit(item: Cell, access: ModelAccess, jobs: int) -> PrefectFuture[FileResult]:
    """Start a cell's task run with the tags that people filter by."""
    with tags(f"model:{item.model}", f"condition:{item.condition}", f"delivery:{item.delivery}"):
        return cell_task.submit(item, access, jobs)


def why(state: State[Any]) -> str:
    """Return the reason of a failed task run in one line."""
    error = state.result(raise_on_failure=False)
    text = str(error) if isinstance(error, BaseException) else state.message
    return " ".join((text or type(error).__name__).split())
