"""Models as the tasks reach them, and what pins their answers."""

from __future__ import annotations

from functools import lru_cache

from prefect import task
from prefect.cache_policies import NO_CACHE

from blocks.model_endpoint import open_completer
from novelapi.ports import Completer
from novelapi.records.request import ModelAccess
from tasks._stage import RETRIES, RETRY_DELAYS_S, is_transient


def completer(model: str, access: ModelAccess) -> Completer:
    """Return the model, opened once per process."""
    return _opened(model, access.model_dump_json())


@lru_cache(maxsize=8)
def _opened(model: str, access: str) -> Completer:
    return open_completer(model, ModelAccess.model_validate_json(access))


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
