"""Cells on a model server: a flow run of `cell` on the pool `gpu`, whose worker starts the server and keeps it warm."""

from __future__ import annotations

from typing import Any

from prefect.client.schemas.objects import State
from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound

from blocks.vllm_server import VLLMServer
from flows._runs import CellsDone, Work, progress
from flows.cell import find_finished, keys_of
from novelapi.errors import NovelApiError, PrerequisiteError
from novelapi.records.cell import Cell
from novelapi.records.request import ModelAccess


def pinned(server: str, access: ModelAccess) -> ModelAccess:
    """Return the access to a model that is served, pinned by the server's description, so that no server is asked.

    Raises:
        PrerequisiteError: the block does not exist.
    """
    return access.model_copy(update={"revision": access.revision or load_server(server).revision()})


def load_server(server: str) -> VLLMServer:
    """Return a saved server description.

    Raises:
        PrerequisiteError: there is none of that name.
    """
    try:
        return VLLMServer.load(server)
    except ValueError as error:
        raise PrerequisiteError(f"no block vllm-server/{server} on the Prefect server: create it in the UI") from error


def build_instance_on_server(server: str, parameters: dict[str, Any]) -> None:
    """Run the deployment `instance` beside the model, whose answers the gates need; its results are in the run folder.

    Raises:
        PrerequisiteError: the block or the deployment does not exist.
        NovelApiError: the flow run failed.
    """
    state = run_beside(server, "instance", parameters)
    if state is None or not state.is_completed():
        raise NovelApiError(message_of(state))


def run_beside(server: str, name: str, parameters: dict[str, Any]) -> State[Any] | None:
    """Run a deployment on the pool `gpu` beside a server and return its last state.

    Raises:
        PrerequisiteError: the block or the deployment does not exist.
    """
    variables = load_server(server).job_variables()
    try:
        return run_deployment(f"{name}/{name}", parameters=parameters, job_variables=variables).state
    except ObjectNotFound as error:
        raise PrerequisiteError(f"the deployment {name}/{name} is missing: run `novelapi deploy`") from error


def message_of(state: State[Any] | None) -> str:
    """Return why a flow run did not do its work, in one line."""
    message = " ".join((state.message or "").split()) if state else ""
    return message or "the flow run on the pool gpu ended early: look at its page, then run the same command again"


def run_cells_on_server(server: str, experiment: str, cells: list[Cell], access: ModelAccess, jobs: int) -> CellsDone:
    """Run the missing cells as one flow run of the deployment `cell` and wait for its end.

    The results come from the shared run folder, not from the flow run, so a lost run costs nothing that was finished.

    Raises:
        PrerequisiteError: the block or the deployment does not exist.
    """
    keys = keys_of(cells, access, jobs)
    before = find_finished(keys)
    if len(before) == len(cells):
        return CellsDone(cells=[before[key] for key in keys], work=Work(cached=len(cells)))
    progress.info("%s: %d of %d cells go to the pool gpu", experiment, len(cells) - len(before), len(cells))
    rows = [cell.to_row() for cell in cells]
    there = access.model_copy(update={"elsewhere": False})
    parameters = {"experiment": experiment, "cells": rows, "access": there.to_row(), "jobs": jobs}
    reason = message_of(run_beside(server, "cell", parameters))
    after = find_finished(keys)
    return CellsDone(
        cells=[after[key] for key in keys if key in after],
        work=Work(executed=len(after) - len(before), cached=len(before), failed=len(cells) - len(after)),
        failures={cell.name: reason for key, cell in zip(keys, cells, strict=True) if key not in after},
    )
