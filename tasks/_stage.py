"""The one policy of all tasks: cache key, locks, storage of results, retries, names and tags.

Results are small records (path, sha256, counts) kept as JSON below the run folder under readable keys, so the cache
needs no server and outlives it. Prefect's defaults are wrong for us three times: its default key holds the run,
`INPUTS` lets two tasks collide, and `TASK_SOURCE` sees a comment but not a helper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from prefect import Task
from prefect.cache_policies import CachePolicy
from prefect.client.schemas.objects import State, TaskRun

from novelapi.errors import NovelApiError, TransientError, explain_file_system
from tasks._keys import task_key
from tasks._locks import KeyLocks
from tasks._results import drop_stale, run_layout

P = ParamSpec("P")
R = TypeVar("R")

RETRIES = 3
RETRY_DELAYS_S = [5.0, 20.0, 60.0]

JOBS_ARE_IRRELEVANT = {"request.jobs": "how many processes work does not change a row"}
SUBSETS_ARE_IRRELEVANT = {"request.subsets": "tasks of several APIs are made after the others, from their own results"}
ACCESS_IS_IRRELEVANT = {"access": "where a model is served does not change what it says; its revision is in the key"}

LOCKS = KeyLocks(lambda: run_layout().locks, on_acquire=lambda key: drop_stale(key, run_layout()))
"""One lock manager per process: it must own the only descriptor of the lock file."""


class StageTask(Task[P, R]):
    """A Prefect task that knows the key of a call without running it."""

    stage: str
    key_of: Callable[[Mapping[str, Any]], str]
    irrelevant: Mapping[str, str]


def stage_task(
    stage: str, *, version: int, subject: str, irrelevant: Mapping[str, str] | None = None
) -> Callable[[Callable[P, R]], StageTask[P, R]]:
    """Make a cached Prefect task of a function that calls one function of the core.

    Args:
        stage: name of the stage: first part of the key, and a tag.
        version: the stage's version, bumped by hand when its results change.
        subject: what a run is about, a format string over the parameters, parts separated by slashes: run name and key.
        irrelevant: parameters (dotted for fields) that do not decide the result, with the reason.
    """
    reasons = dict(irrelevant or {})

    def key_of(parameters: Mapping[str, Any]) -> str:
        return task_key(stage, version, subject.format(**parameters), parameters, reasons)

    def decorate(function: Callable[P, R]) -> StageTask[P, R]:
        @wraps(function)
        def body(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except OSError as error:
                if (reason := explain_file_system(error)) is None:
                    raise
                raise NovelApiError(reason) from error

        policy = CachePolicy.from_cache_key_fn(lambda _context, parameters: key_of(parameters))
        task: StageTask[P, R] = StageTask(
            body,
            name=stage,
            tags=[f"stage:{stage}"],
            version=str(version),
            task_run_name=subject.replace("/", " / "),
            cache_policy=policy.configure(isolation_level="SERIALIZABLE", lock_manager=LOCKS),
            cache_result_in_memory=False,
            persist_result=True,
            result_storage=run_layout().results,
            result_serializer="json",
            retries=RETRIES,
            retry_delay_seconds=RETRY_DELAYS_S,
            retry_condition_fn=is_transient,
        )
        task.stage, task.key_of, task.irrelevant = stage, key_of, reasons
        return task

    return decorate


def is_transient(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Tell whether a failed attempt may succeed when tried again."""
    try:
        state.result()
    except TransientError:
        return True
    except Exception:  # noqa: BLE001 - every other failure is final; the state keeps it
        return False
    return False


def was_cached(state: State[Any]) -> bool:
    """Tell whether a finished task run took its result from the cache instead of executing."""
    return state.name == "Cached"


__all__ = [
    "ACCESS_IS_IRRELEVANT",
    "JOBS_ARE_IRRELEVANT",
    "RETRIES",
    "RETRY_DELAYS_S",
    "SUBSETS_ARE_IRRELEVANT",
    "StageTask",
    "is_transient",
    "run_layout",
    "stage_task",
    "was_cached",
]
