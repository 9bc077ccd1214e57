"""Cells on a model server: a flow run of `cell` on the pool `gpu`, whose worker starts the server and keeps it warm."""

from __future__ import annotations

from prefect.deployments import run_deployment
from prefect.exceptions import ObjectNotFound

from blocks.vllm_server import VLLMServer
from flows._runs import CellsDone, Work, progress
from flows.cell import find_finished, keys_of
from novelapi.errors import PrerequisiteError
from novelapi.records.cell import Cell
from novelapi.records.request import ModelAccess


def run_cells_on_server(server: str, experiment: str, cells: list[Cell], access: ModelAccess, jobs: int) -> CellsDone:
    """Run the missing cells as one flow run of the deployment `cell` and wait for its end.

    The results come from the shared run folder, not from the flow run, so a lost run costs nothing that was finished.

    Raises:
        PrerequisiteError: the block or the deployment does not exist.
    """
    try:
        variables = VLLMServer.load(server).job_variables()
    except ValueError as error:
        raise PrerequisiteError(f"no block vllm-server/{server} on the Prefect server: create it in the UI") from error
    keys = keys_of(cells, access, jobs)
    before = find_finished(keys)
    if len(before) == len(cells):
        return CellsDone(cells=[before[key] for key in keys], work=Work(cached=len(cells)))
    progress.info("%s: %d of %d cells go to the pool gpu", experiment, len(cells) - len(before), len(cells))
    rows = [cell.to_row() for cell in cells]
    parameters = {"experiment": experiment, "cells": rows, "access": access.to_row(), "jobs": jobs}
    try:
        run = run_deployment("cell/cell", parameters=parameters, job_variables=variables)
    except ObjectNotFound as error:
        raise PrerequisiteError("the deployment cell/cell is missing: run `novelapi deploy`") from error
    after = find_finished(keys)
    message = " ".join((run.state.message or "").split()) if run.state else ""
    reason = message or "the flow run on the pool gpu ended before it; look at its page"
    return CellsDone(
        cells=[after[key] for key in keys if key in after],
        work=Work(executed=len(after) - len(before), cached=len(before), failed=len(cells) - len(after)),
        failures={cell.name: reason for key, cell in zip(keys, cells, strict=True) if key not in after},
    )
