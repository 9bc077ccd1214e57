"""Checks every deployment before it is deployed; needs no server: `python -m deployments.verify`.

Prefect deploys a flow whose import fails as "successfully created", with a placeholder in its place, and says nothing
about a misspelled key. Here every entry is imported for real, its parameters are bound to the flow's signature and
validated, and pool, queue and schedule must exist and make sense.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

from prefect import Flow
from prefect.client.schemas.schedules import construct_schedule
from prefect.exceptions import MissingFlowError, ParameterBindError, ParameterTypeError, ScriptError
from prefect.flows import load_flow_from_entrypoint

from deployments.entries import PREFECT_YAML, Entry, read_entries
from deployments.pools import POOLS
from novelapi.errors import DataError, NovelApiError

SCHEDULE_KINDS = ("cron", "interval", "rrule")
SCHEDULE_KEYS = {*SCHEDULE_KINDS, "timezone", "anchor_date", "day_or", "active", "parameters", "slug"}


def verify(path: Path = PREFECT_YAML) -> list[str]:
    """Check all deployments; return their names.

    Raises:
        DataError: something is wrong; the message names the deployment and what to correct.
    """
    entries = read_entries(path)
    for entry in entries:
        flow = load_entry(entry)
        if flow.name != entry.name:
            raise DataError(f"deployment {entry.name}: its flow is called '{flow.name}'; give both the same name")
        check_parameters(entry, flow, entry.parameters)
        check_place(entry)
        for schedule in entry.schedules:
            check_schedule(entry, flow, schedule)
    names = [entry.name for entry in entries]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"deployment {twice[0]} is there twice: remove one")
    return names


def load_entry(entry: Entry) -> Flow[..., Any]:
    """Import the flow of a deployment, without a placeholder.

    Raises:
        DataError: it cannot be imported.
    """
    try:
        return load_flow_from_entrypoint(entry.entrypoint, use_placeholder_flow=False)
    except (MissingFlowError, ScriptError, ImportError, AttributeError, ValueError) as error:
        cause = error.user_exc if isinstance(error, ScriptError) else error
        raise DataError(f"deployment {entry.name}: cannot import {entry.entrypoint}: {cause}; correct it") from error


def check_parameters(entry: Entry, flow: Flow[..., Any], parameters: Mapping[str, Any]) -> None:
    """Bind parameters to the flow's signature and validate them.

    Raises:
        DataError: a name or a value is wrong.
    """
    try:
        flow.validate_parameters(dict(parameters))
    except (ParameterTypeError, ParameterBindError, TypeError) as error:
        raise DataError(f"deployment {entry.name}: {' '.join(str(error).split())}; correct its parameters") from error


def check_place(entry: Entry) -> None:
    """Check pool and queue.

    Raises:
        DataError: the pool or the queue does not exist.
    """
    pools = {pool.name: {"default", *(queue.name for queue in pool.queues)} for pool in POOLS}
    place = entry.work_pool
    if place.name not in pools:
        raise DataError(f"deployment {entry.name}: no pool '{place.name}'; pools: {', '.join(sorted(pools))}")
    if place.work_queue_name not in pools[place.name]:
        known = ", ".join(sorted(pools[place.name]))
        raise DataError(f"deployment {entry.name}: no queue '{place.work_queue_name}' in {place.name}; queues: {known}")


def check_schedule(entry: Entry, flow: Flow[..., Any], schedule: Mapping[str, Any]) -> None:
    """Check one schedule.

    Raises:
        DataError: a key is unknown, the kind is not one, or a value is wrong.
    """
    unknown = sorted(set(schedule) - SCHEDULE_KEYS)
    if unknown:
        raise DataError(f"deployment {entry.name}: unknown schedule key '{unknown[0]}'; correct or remove it")
    kinds = [kind for kind in SCHEDULE_KINDS if kind in schedule]
    if len(kinds) != 1:
        raise DataError(f"deployment {entry.name}: a schedule needs exactly one of {', '.join(SCHEDULE_KINDS)}")
    if schedule.get("timezone") not in available_timezones():
        raise DataError(f"deployment {entry.name}: the schedule needs a timezone such as Europe/Berlin")
    try:
        construct_schedule(**{kinds[0]: schedule[kinds[0]], "timezone": schedule["timezone"]})
    except (ValueError, TypeError) as error:
        raise DataError(f"deployment {entry.name}: {' '.join(str(error).split())}; correct the schedule") from error
    check_parameters(entry, flow, {**entry.parameters, **schedule.get("parameters", {})})


def main() -> int:
    """Check from a shell; return the exit code."""
    try:
        names = verify()
    except NovelApiError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(f"{len(names)} deployments are in order: {', '.join(names)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
