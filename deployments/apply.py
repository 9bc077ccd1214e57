"""Brings the Prefect server to the state that the deployments need; running it again changes nothing.

`python -m deployments.apply`: pools with their job templates, queues, blocks, and (once the deployments are there) the
automations. What a person set by hand in a block is kept; pools and automations follow this file.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.objects import StateType
from prefect.events.actions import ChangeFlowRunState, RunDeployment
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.exceptions import ObjectNotFound

from blocks.register import register_blocks
from deployments.pools import GpuKind, Pool, job_template, pools
from flows.rediscover import RELEASED
from novelapi.errors import PrerequisiteError

HEARTBEAT_S = 180
"""Prefect's default interval between two heartbeats of a flow run."""

PENDING_S = {"vllm": 600, "docker": 2400, "kubernetes": 2400}
"""Seconds from the moment a worker took a run to its first heartbeat; a container's image may have to be fetched."""

HEARTBEAT = "prefect.flow-run.heartbeat"
TERMINAL = ("Completed", "Failed", "TimedOut", "Crashed", "Cancelled")
GIVEN_BACK = ("Scheduled", "Late", "AwaitingRetry", "AwaitingConcurrencySlot", "Paused", "Suspended", "Resuming")


def apply(gpu: GpuKind = "vllm") -> dict[str, list[str]]:
    """Create or update pools, queues and blocks; return their names by kind.

    Raises:
        PrerequisiteError: the pool `gpu` exists with workers of another kind.
    """
    wanted = pools(gpu)
    with get_client(sync_client=True) as client:
        for pool in wanted:
            _apply_pool(client, pool)
    queues = [f"{pool.name}/{queue.name}" for pool in wanted for queue in pool.queues]
    return {"pools": [pool.name for pool in wanted], "queues": queues, "blocks": register_blocks()}


def apply_automations(gpu: GpuKind = "vllm") -> list[str]:
    """Create or update the automations; return their names.

    Args:
        gpu: kind of workers of the pool `gpu`.

    Raises:
        PrerequisiteError: the deployment `library` does not exist yet.
    """
    with get_client(sync_client=True) as client:
        try:
            library = client.read_deployment_by_name("library/library")
        except ObjectNotFound as error:
            raise PrerequisiteError("the deployment library/library is missing: run `novelapi deploy`") from error
        automations = [build_on_release(library.id), zombie_runs(), stuck_runs(gpu)]
        for automation in automations:
            found = client.read_automations_by_name(automation.name)
            for old in found[1:]:
                client.delete_automation(old.id)
            if found:
                client.update_automation(found[0].id, automation)
            else:
                client.create_automation(automation)
    return [automation.name for automation in automations]


def build_on_release(deployment_id: Any) -> AutomationCore:
    """Return the automation that builds a library when it has a new release."""
    parameters = {name: f"{{{{ event.payload.{name} }}}}" for name in ("library", "old", "new", "model")}
    return AutomationCore(
        name="build-on-release",
        description="A release that `rediscover` found starts the flow `library`.",
        trigger=EventTrigger(
            match={"prefect.resource.id": "library.*"},
            expect={RELEASED},
            for_each={"prefect.resource.id"},
            posture=Posture.Reactive,
            threshold=1,
            within=timedelta(0),
        ),
        actions=[RunDeployment(source="selected", deployment_id=deployment_id, parameters=parameters)],
    )


def zombie_runs() -> AutomationCore:
    """Return the automation that marks a run as crashed when its heartbeats end."""
    return AutomationCore(
        name="zombie-runs",
        description="A flow run without heartbeats is dead: kill -9, power loss, lost machine.",
        trigger=_silence(after={HEARTBEAT}, states=TERMINAL, seconds=3 * HEARTBEAT_S),
        actions=[_crashed("No heartbeat: the process died. Start the run again.")],
    )


def stuck_runs(gpu: GpuKind) -> AutomationCore:
    """Return the automation that marks a run as crashed when a worker took it and nothing came after that."""
    return AutomationCore(
        name="stuck-runs",
        description="A flow run that stays Pending has lost its worker before its first heartbeat.",
        trigger=_silence(
            after={"prefect.flow-run.Pending"},
            states=("Running", "Cancelling", *GIVEN_BACK, *TERMINAL),
            seconds=PENDING_S[gpu],
        ),
        actions=[_crashed("Never begun: the worker that took it died. Start worker and run again.")],
    )


def _silence(*, after: set[str], states: tuple[str, ...], seconds: float) -> EventTrigger:
    """Return a trigger for a flow run of which, after an event, neither heartbeat nor one of the states is heard."""
    return EventTrigger(
        match={"prefect.resource.id": "prefect.flow-run.*"},
        after=after,
        expect={HEARTBEAT, *(f"prefect.flow-run.{state}" for state in states)},
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=seconds),
    )


def _crashed(message: str) -> ChangeFlowRunState:
    return ChangeFlowRunState(state=StateType.CRASHED, name="Crashed", message=message)


def _apply_pool(client: SyncPrefectClient, pool: Pool) -> None:
    template = job_template(pool)
    try:
        found = client.read_work_pool(pool.name)
    except ObjectNotFound:
        client.create_work_pool(
            WorkPoolCreate(
                name=pool.name,
                type=pool.type,
                description=pool.description,
                base_job_template=template,
                concurrency_limit=pool.limit,
            )
        )
    else:
        if found.type != pool.type:
            raise PrerequisiteError(
                f"the pool {pool.name} is of type {found.type}, not {pool.type}: run "
                f"`prefect work-pool delete {pool.name}` first, then deploy again"
            )
        client.update_work_pool(
            pool.name,
            WorkPoolUpdate(description=pool.description, base_job_template=template, concurrency_limit=pool.limit),
        )
    for queue in pool.queues:
        try:
            client.read_work_queue_by_name(queue.name, work_pool_name=pool.name)
        except ObjectNotFound:
            client.create_work_queue(queue.name, priority=queue.priority, work_pool_name=pool.name)


if __name__ == "__main__":
    for kind, names in apply().items():
        sys.stdout.write(f"{kind}: {', '.join(names)}\n")
