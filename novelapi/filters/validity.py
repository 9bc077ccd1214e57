"""Gate C1: the reference passes its own harness, again, in another process than the one it was written in."""

from __future__ import annotations

from novelapi.execution.pool import Slot
from novelapi.generation import checks
from novelapi.records.gate import GateVerdict


def check(slot: Slot, request: checks.GoldCheck) -> dict[str, GateVerdict]:
    """Run the references of some tasks; the verdict by task.

    Raises:
        ZygoteError: the warm parent died (the pool tries again).
    """
    found = checks.check(slot, request)
    return {task_id: _verdict(why) for task_id, why in found.items()}


def _verdict(why: str | None) -> GateVerdict:
    if why is None:
        return GateVerdict(gate="C1", passed=True, reason="the reference passes")
    return GateVerdict(gate="C1", passed=False, reason="the reference does not pass", detail={"error": why})
