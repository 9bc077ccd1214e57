"""Gate C0: the reference runs in the new release and fails in the old one, because of the target and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass

from novelapi.execution.answers import Answer, Run, verdict_on
from novelapi.execution.harness import comparison_of
from novelapi.execution.judge import run_code
from novelapi.execution.limits import SampleLimits
from novelapi.execution.pool import Slot
from novelapi.execution.zygote import Zygote, ZygoteError
from novelapi.records.environment import Environment
from novelapi.records.gate import GateVerdict
from novelapi.records.task import Task, TaskInput
from novelapi.records.verdict import ErrorEvidence

_LIMITS = SampleLimits(cpu_s=30.0)
_ANOTHER = "the old release fails for another reason"
_MISSING = ("AttributeError", "ImportError", "ModuleNotFoundError")
_LOOKUP = """
{signature}
    import importlib
    parts = {parts!r}
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return None  # not even the package can be imported: that says nothing of the target
"""


@dataclass(frozen=True, kw_only=True)
class ReleaseCheck:
    """One task to try in the old release."""

    task: Task
    env: Environment | None
    """Environment of the old release; null when there was none before the cutoff."""
    preload: tuple[str, ...] = ()


def check(slot: Slot, request: ReleaseCheck) -> GateVerdict:
    """Run the reference in the old release.

    Raises:
        ZygoteError: the warm parent died (the pool tries again).
    """
    if request.env is None:
        return GateVerdict(gate="C0", passed=True, reason="no prior release")
    zygote = slot.zygote(request.env, request.preload)
    task = request.task
    head = f"{task.signature}\n    return None\n"
    control = run_code(zygote, task, head, mode="plain", limits=_LIMITS)
    trouble = _trouble(control)
    if trouble is not None:
        return _looked_up(
            zygote,
            task,
            control,
            _refused("the context or the inputs do not run in the old release", trouble, request.env),
        )
    run = run_code(zygote, task, task.reference_solution, mode="plain", limits=_LIMITS)
    if run.infra is not None:
        raise ZygoteError(run.infra)
    verdict = _judge(task, run, request.env)
    return _looked_up(zygote, task, run, verdict) if verdict.reason == _ANOTHER else verdict


def _looked_up(zygote: Zygote, task: Task, run: Run, verdict: GateVerdict) -> GateVerdict:
    """Accept an added API where the old release stops for want of another name, if it does not have the API either."""
    if task.change != "added" or not _misses_a_name(run):
        return verdict
    if any(_resolves(zygote, task, call.api) for call in task.calls if call.novel):
        return verdict
    reason = "the old release has neither it nor what goes before it"
    return verdict.model_copy(update={"passed": True, "reason": reason})


def _misses_a_name(run: Run) -> bool:
    """Whether the old release lacks a name that the reference uses: it may stop there, before the target."""
    error = _first_error(run)
    return error is not None and error.type.rsplit(".", 1)[-1] in (
        "AttributeError",
        "ImportError",
        "ModuleNotFoundError",
    )


def _resolves(zygote: Zygote, task: Task, api: str) -> bool:
    """Look a target up in the old release, by itself; where that cannot be done it counts as there.

    Raises:
        ZygoteError: the sandbox failed.
    """
    head = f"def {task.entry_point}():"
    bare = {"context_code": "", "signature": head, "inputs": (TaskInput(),), "expected": None}
    code = _LOOKUP.format(signature=head, parts=api.split("."))
    run = run_code(zygote, task.model_copy(update=bare), code, mode="plain", limits=_LIMITS)
    if run.infra is not None:
        raise ZygoteError(run.infra)
    return not run.answers or any(answer.value is not False for answer in run.answers)


def _refused(reason: str, error: str, env: Environment) -> GateVerdict:
    return GateVerdict(gate="C0", passed=False, reason=reason, detail={"old_error": error, "old_release": env.release})


def _trouble(run: Run) -> str | None:
    """Say what went wrong in a run of a solution that does nothing: then the task cannot be judged in this release."""
    if run.infra is not None:
        return without_folders(run.infra)
    if run.error is not None:
        return describe(run.error)
    if run.ended is not None:
        return f"ended ({run.ended})"
    return next((describe(answer.error) for answer in run.answers if answer.error is not None), None)


def _first_error(run: Run) -> ErrorEvidence | None:
    return run.error or next((answer.error for answer in run.answers if answer.error is not None), None)


def _judge(task: Task, run: Run, env: Environment) -> GateVerdict:
    """Decide from the old release's answers: an error that names the target, or another answer."""
    detail = {"old_release": env.release}
    error = _first_error(run)
    if error is not None:
        detail["old_error"] = describe(error)
        if names_target(task, error):
            return GateVerdict(gate="C0", passed=True, reason="the old release does not have it", detail=detail)
        if task.change == "modified" and error.frames and error.frames[-1].where != "completion":
            return GateVerdict(gate="C0", passed=True, reason="the old release refuses the call", detail=detail)
        return GateVerdict(gate="C0", passed=False, reason=_ANOTHER, detail=detail)
    if run.ended is not None:
        detail["old_error"] = f"ended ({run.ended})"
        return GateVerdict(gate="C0", passed=False, reason="the old release ends without an answer", detail=detail)
    different = _different(task, run.answers)
    if different is None:
        return GateVerdict(gate="C0", passed=False, reason="the old release gives the same answers", detail=detail)
    detail["old_error"] = f"another answer: {different}"
    if task.change == "added":
        return GateVerdict(gate="C0", passed=False, reason="the old release has it, with other answers", detail=detail)
    return GateVerdict(gate="C0", passed=True, reason="the old release answers differently", detail=detail)


def _different(task: Task, answers: list[Answer]) -> str | None:
    assert task.expected is not None
    comparison = comparison_of(task)
    for answer, value in zip(answers, task.expected, strict=True):
        wrong = verdict_on(answer, value, comparison)
        if wrong is not None:
            return wrong
    return None


def names_target(task: Task, error: ErrorEvidence) -> bool:
    """Whether an error of the old release is about the target: its leaf, its path, or a parameter of the change."""
    for spec in (call for call in task.calls if call.novel):
        parts = spec.api.split(".")
        words = {parts[-1], *spec.required}
        if error.name is not None and (error.name == parts[-1] or spec.api.startswith(error.name)):
            return True
        if error.name in parts:
            return True
        if any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", error.message) for word in words):
            return True
    return False


def describe(error: ErrorEvidence) -> str:
    """Return an error as one line, without the folder of the environment: it must not differ between machines."""
    message = without_folders(error.message)
    return f"{error.type.rsplit('.', 1)[-1]}: {message}"[:400]


def without_folders(message: str) -> str:
    """Return a message on one line, its files named from the environment's own folder on."""
    return re.sub(r"/\S*?/site-packages/", "", " ".join(message.split()))
