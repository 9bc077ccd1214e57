"""Tasks of several APIs: the proof that what one target returned is what another one was given.

Only the results of one target are replaced, by others of the same structure. A call that takes the replaced value (and
what it was told cannot be known otherwise) was given the result. A target that no link leaves has to be seen in the
answer, as in a task of one API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from novelapi.execution import values
from novelapi.execution.answers import Run
from novelapi.execution.judge import run_code
from novelapi.execution.limits import SampleLimits
from novelapi.execution.replacement import STUB_KINDS, Replacement
from novelapi.execution.zygote import Zygote
from novelapi.records.task import Task
from novelapi.records.verdict import CallRecord

Inputs = tuple[int, ...]
Changes = Callable[[Run, Run, values.Comparison], Inputs]
Digest = Callable[[Run], str]


def taken_in(calls: Iterable[CallRecord], link: int) -> Inputs:
    """Return the inputs in which a call took the value of a link; -1 while the completion was being loaded."""
    return tuple(sorted({-1 if call.input is None else call.input for call in calls if link in call.links}))


def covers(found: Inputs, wanted: Inputs) -> bool:
    """Whether something was seen in more than half of the inputs in which the reference shows it."""
    return 2 * len(set(found) & set(wanted)) > len(wanted)


def outgoing(task: Task, spy: int) -> list[int]:
    """Return the links that leave a target."""
    return [number for number, link in enumerate(task.links) if link.source == spy]


def replaced_links(task: Task, run: Run, spy: int) -> dict[int, Inputs]:
    """Return, per link that leaves a target, the inputs in which a call took the replaced value.

    Only calls that ran out of the completion's reach say so.
    """
    calls = [call for call in run.calls if call.where == "remote"]
    return {number: taken_in(calls, number) for number in outgoing(task, spy)}


def prove_members(
    zygote: Zygote,
    task: Task,
    plain: Run,
    comparison: values.Comparison,
    *,
    limits: SampleLimits,
    changes: Changes,
    digest: Digest,
) -> dict[str, Any] | str:
    """Find a replacement for every target by which the reference shows where its result goes, if that is asked for.

    Args:
        zygote: where the reference runs.
        task: a task of several calls, with expected values.
        plain: the reference's run with remote calls.
        comparison: how answers are compared.
        limits: what a run may use.
        changes: the inputs in which two runs answer differently.
        digest: identity of a run's answers.

    Returns:
        Fields of the harness, or in words which target shows nothing.
    """
    kinds: list[str] = []
    answers: dict[str, str] = {}
    inputs: dict[int, Inputs] = {}
    seen: dict[str, Inputs] = {}
    for spy, call in enumerate(task.calls):
        if not call.result_flows and not outgoing(task, spy):
            kinds.append("")
            continue
        for kind in STUB_KINDS:
            replacement = Replacement(kind, spy)
            run = run_code(zygote, task, task.reference_solution, mode="remote", limits=limits, stub=replacement)
            found = replaced_links(task, run, spy)
            answered = changes(plain, run, comparison)
            if run.infra is None and run.stubbed and all(found.values()) and (found or answered):
                kinds.append(kind)
                answers[replacement.key] = digest(run)
                seen[replacement.key] = answered
                inputs |= found
                break
        else:
            return f"no plausible change of what {call.api} returns can be followed"
    return {
        "members": tuple(kinds),
        "stub_answers": answers,
        "shown": seen,
        "replaced": tuple(inputs[number] for number in range(len(task.links))),
    }
