"""Models as the tasks reach them, and what pins their answers."""

from __future__ import annotations

from functools import lru_cache

from prefect import task
from prefect.cache_policies import NO_CACHE

from blocks.model_endpoint import open_completer, open_strong
from novelapi.inference.cache import CompletionCache
from novelapi.inference.profile import profile_of
from novelapi.inference.stated import stated_window
from novelapi.ports import Completer
from novelapi.records.request import ModelAccess
from tasks._stage import RETRIES, RETRY_DELAYS_S, is_transient, run_layout

UNMETERED = {"budget_calls": None, "budget_tokens": None, "budget_usd": None}


def completer(model: str, access: ModelAccess) -> Completer:
    """Return the model, opened once per process."""
    return _opened(model, access.model_dump_json())


@lru_cache(maxsize=8)
def _opened(model: str, access: str) -> Completer:
    return open_completer(model, ModelAccess.model_validate_json(access))


def check_model(model: str, access: ModelAccess) -> None:
    """Ask an endpoint whether it answers and has the model; models in this process, and offline, are not asked.

    Raises:
        EndpointError: it did not answer.
        PrerequisiteError: the key was refused.
        UnknownNameError: it has no such model.
    """
    check = getattr(completer(model, access.model_copy(update=UNMETERED)), "check", None)
    if check is not None and not (access.offline or access.elsewhere):
        check()


def strong(access: ModelAccess) -> Completer | None:
    """Return the strong model, opened once per process, or None."""
    return _strong(access.model_dump_json())


def author_of(access: ModelAccess) -> str | None:
    """Return what pins the strong model's answers, or None without one."""
    model = strong(access)
    return model.revision if model else None


@lru_cache(maxsize=8)
def _strong(access: str) -> Completer | None:
    return open_strong(ModelAccess.model_validate_json(access))


@task(
    name="window",
    task_run_name="{model}",
    cache_policy=NO_CACHE,
    retries=RETRIES,
    retry_delay_seconds=RETRY_DELAYS_S,
    retry_condition_fn=is_transient,
)
def with_window(model: str, access: ModelAccess) -> ModelAccess:
    """Return the access with the window that the endpoint states; see `known_window`."""
    return known_window(model, access)


def windowed(revision: str, model: str, access: ModelAccess) -> str:
    """Return a model's revision with the window that its prompts are cut to, where one is known: it decides answers."""
    window = profile_of(completer(model, access)).window
    return revision if window is None else f"{revision} in {window} tokens"


def known_window(model: str, access: ModelAccess) -> ModelAccess:
    """Return the access with the window that the endpoint states, where the profile has none.

    What it said is recorded like an answer, so that a replay cuts prompts in the same way.

    Raises:
        EndpointError: the endpoint did not answer.
    """
    asked = completer(model, access.model_copy(update={**UNMETERED, "offline": False, "window": None}))
    with CompletionCache(run_layout().completions / "cache.sqlite") as cache:
        recorded = access.offline or access.elsewhere
        return access.model_copy(update={"window": stated_window(asked, cache, offline=recorded)})


@task(
    name="pin-model",
    task_run_name="{model}",
    cache_policy=NO_CACHE,
    retries=RETRIES,
    retry_delay_seconds=RETRY_DELAYS_S,
    retry_condition_fn=is_transient,
)
def pin_model(model: str, access: ModelAccess) -> str:
    """Return what pins the model's outputs; asked anew in every run, since an endpoint may serve something else now."""
    return access.revision or completer(model, access).revision
