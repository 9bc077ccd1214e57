"""What is known of a task before any sample runs: expected values, required calls, how well a pass can be proved.

All of it is found by running the reference, never taken from the task file, so a file cannot claim more than holds.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from novelapi.errors import DataError
from novelapi.execution import values
from novelapi.execution.answers import Run, verdict_on
from novelapi.execution.judge import run_code
from novelapi.execution.limits import SampleLimits, budget
from novelapi.execution.linking import Inputs, covers, prove_members, taken_in
from novelapi.execution.replacement import STUB_KINDS, Replacement
from novelapi.execution.zygote import Zygote
from novelapi.fingerprint import text_digest
from novelapi.records.base import Record
from novelapi.records.task import Task
from novelapi.records.verdict import CallRecord, Integrity, Observation, StubRun

HARNESS_VERSION = 5
GOLD_LIMITS = SampleLimits(cpu_s=60.0)


class HarnessError(DataError):
    """The task itself is broken: its reference does not do what the task says."""


class Harness(Record):
    """The prepared harness of one task in one environment."""

    task_id: str
    """The task."""

    env: str
    """Key of the environment it was prepared in."""

    expected: tuple[Any, ...]
    """One tagged value per input."""

    mode: Literal["record", "remote"]
    """Where the real calls are made."""

    stub: str | None
    """Kind of replacement that changes the reference's answer; null if none is asked for."""

    integrity: Integrity
    """Whether a pass is proved."""

    integrity_reason: str
    """Why, in words."""

    called: tuple[tuple[int, ...], ...]
    """Per call specification: the inputs during which the reference calls the target (-1: while it is loaded)."""

    required: tuple[dict[str, tuple[int, ...]], ...]
    """Per call specification and required argument: the inputs in which the reference binds the required value."""

    gold_calls: tuple[CallRecord, ...] = ()
    """The reference's calls of the targets, for the diagnosis of refused calls."""

    kinds: tuple[str, ...] = ()
    """Per target what it is: function, class, method, classmethod, staticmethod, property or object."""

    namesakes: tuple[tuple[str, ...], ...] = ()
    """Per call specification: paths of the target's package that end like the target and are something else."""

    gold_cpu_ms: float = Field(ge=0)
    """CPU milliseconds of the reference."""

    import_cpu_ms: float = 0.0
    """CPU milliseconds of the imports in the environment's warm parent."""

    modules: tuple[str, ...] = ()
    """Modules that the reference imported beyond the warm parent's: worth preloading."""

    stub_answers: dict[str, str] = Field(default_factory=dict)
    """Per kind of replacement the digest of the reference's answers to it."""

    linked: tuple[Inputs, ...] = ()
    """Per link of the task: the inputs in which the reference's calls take its value."""

    members: tuple[str, ...] = ()
    """In a task with links, per call the kind of replacement that is followed to where its result goes."""

    replaced: tuple[Inputs, ...] = ()
    """Per link: the inputs in which the reference's calls take the value that replaces it."""

    @property
    def limits(self) -> SampleLimits:
        """The limits of a sample."""
        return budget(self.gold_cpu_ms, self.import_cpu_ms)


def comparison_of(task: Task) -> values.Comparison:
    """Return how answers of the task are compared."""
    return values.Comparison(task.tolerance, unordered=task.unordered)


def prepare(zygote: Zygote, task: Task) -> Harness:
    """Run the reference and find out what can be proved.

    Raises:
        HarnessError: the reference fails, is not plain, does not call the target, or ignores its result.
        ZygoteError: the infrastructure failed.
    """
    comparison = comparison_of(task)
    plain = _gold(zygote, task, "plain")
    expected = _expected(task, plain, comparison)
    known = task.model_copy(update={"expected": expected})
    recorded = _gold(zygote, known, "record")
    _check_answers(recorded, expected, comparison, "with spies")
    called, required = _call_pattern(known, recorded)
    base = Harness(
        task_id=task.task_id,
        env=zygote.env.key,
        expected=expected,
        mode="record",
        stub=None,
        integrity="weak",
        integrity_reason="",
        called=called,
        required=required,
        linked=_link_pattern(known, recorded),
        gold_calls=tuple(recorded.calls),
        kinds=tuple(survey["kind"] for survey in recorded.surveys),
        namesakes=tuple(tuple(survey["namesakes"]) for survey in recorded.surveys),
        gold_cpu_ms=plain.cpu_ms,
        import_cpu_ms=zygote.import_cpu_ms,
        modules=tuple(sorted(recorded.modules - zygote.modules)),
    )
    return base.model_copy(update=_proof(zygote, known, base, recorded))


def _proof(zygote: Zygote, task: Task, base: Harness, recorded: Run) -> dict[str, Any]:
    """Find the strongest proof that the reference allows: mode, stub, integrity and the reason."""
    comparison = comparison_of(task)
    flows = all(call.result_flows for call in task.calls)
    remote, why = None, "a script shares its process with the test"
    if task.kind == "function":
        remote, why = _try_remote(zygote, task, base.expected, comparison)
    if remote is not None and task.links:
        found = prove_members(
            zygote, task, remote, comparison, limits=GOLD_LIMITS, changed=changed, digest=answers_digest
        )
        if not isinstance(found, str):
            reason = "every call is remote, and what each returns is followed to where it goes"
            return {"mode": "remote", "stub": "members", "integrity": "strong", "integrity_reason": reason, **found}
        remote, why = None, found
    if remote is not None and not flows:
        return {"mode": "remote", "integrity": "strong", "integrity_reason": "every call is remote"}
    if remote is not None:
        for kind in STUB_KINDS:
            replacement = Replacement(kind)
            stubbed = run_code(
                zygote, task, task.reference_solution, mode="remote", limits=GOLD_LIMITS, stub=replacement
            )
            if stubbed.infra is None and changed(remote, stubbed, comparison):
                reason = f"every call is remote, the answer follows the result ({kind})"
                return {
                    "mode": "remote",
                    "stub": kind,
                    "stub_answers": {kind: answers_digest(stubbed)},
                    "integrity": "strong",
                    "integrity_reason": reason,
                }
        why = "no plausible change of the result changes the answer"
    if not flows:
        return {"integrity_reason": why}
    sentinel = run_code(zygote, task, task.reference_solution, mode="sentinel", limits=GOLD_LIMITS)
    if changed(recorded, sentinel, comparison):
        answers = {"sentinel": answers_digest(sentinel)}
        return {"stub": "sentinel", "stub_answers": answers, "integrity_reason": why}
    if all(call.subclass for call in recorded.calls):
        return {"integrity_reason": "the target is a class that is only made a base of"}
    raise HarnessError(f"task {task.task_id}: the reference's answer does not depend on {task.api}; correct the task")


def _gold(zygote: Zygote, task: Task, mode: Literal["plain", "record"]) -> Run:
    run = run_code(zygote, task, task.reference_solution, mode=mode, limits=GOLD_LIMITS, survey=mode == "record")
    if run.infra is not None:
        raise HarnessError(f"task {task.task_id}: {run.infra}; correct context_code, api or inputs")
    if run.stage != "done":
        what = f"{run.error.type}: {run.error.message}" if run.error else f"ended ({run.ended})"
        raise HarnessError(f"task {task.task_id}: the reference does not run: {what}; correct reference_solution")
    return run


def _expected(task: Task, run: Run, comparison: values.Comparison) -> tuple[Any, ...]:
    """Return the expected values: recorded, or the given ones after a check."""
    if task.expected is not None:
        _check_answers(run, task.expected, comparison, "given as expected")
        return task.expected
    found: list[Any] = []
    for index, answer in enumerate(run.answers):
        if not answer.is_value:
            what = answer.opaque or (f"{answer.error.type}: {answer.error.message}" if answer.error else "")
            raise HarnessError(
                f"task {task.task_id}: the reference has no plain answer to input {index} ({what}); use observe"
            )
        found.append(answer.value)
    return tuple(found)


def _check_answers(run: Run, expected: tuple[Any, ...], comparison: values.Comparison, what: str) -> None:
    for index, (answer, value) in enumerate(zip(run.answers, expected, strict=True)):
        wrong = verdict_on(answer, value, comparison)
        if wrong is not None:
            raise HarnessError(
                f"the reference's answer to input {index} is not the one {what}: {wrong}; correct the task"
            )


def _call_pattern(task: Task, run: Run) -> tuple[tuple[tuple[int, ...], ...], tuple[dict[str, tuple[int, ...]], ...]]:
    """Return in which inputs the reference calls each target, and binds each required value."""
    called, required = [], []
    for spec in task.calls:
        calls = [call for call in run.calls if call.api == spec.api]
        if not calls:
            raise HarnessError(f"task {task.task_id}: the reference never calls {spec.api}; correct the task")
        called.append(tuple(sorted({index_of(call.input) for call in calls})))
        names = {}
        for name in spec.required:
            where = tuple(sorted({index_of(call.input) for call in calls if call.required.get(name)}))
            if not where:
                missing = f"{spec.api} with {name}={spec.required[name]}"
                raise HarnessError(f"task {task.task_id}: the reference never calls {missing}; correct the task")
            names[name] = where
        required.append(names)
    return tuple(called), tuple(required)


def _link_pattern(task: Task, run: Run) -> tuple[Inputs, ...]:
    """Return in which inputs the reference's calls take the value of each link."""
    found = tuple(taken_in(run.calls, number) for number in range(len(task.links)))
    for link, where in zip(task.links, found, strict=True):
        if not where:
            source, target = task.calls[link.source].api, task.calls[link.target].api
            raise HarnessError(
                f"task {task.task_id}: the reference never gives {target} what {source} returned; correct the task"
            )
    return found


def index_of(number: int | None) -> int:
    """Return the input of a call as a number: -1 while the completion was being loaded."""
    return -1 if number is None else number


def _try_remote(
    zygote: Zygote, task: Task, expected: tuple[Any, ...], comparison: values.Comparison
) -> tuple[Run | None, str]:
    """Run the reference with remote calls; return the run if all is equal, else why not."""
    run = run_code(zygote, task, task.reference_solution, mode="remote", limits=GOLD_LIMITS)
    if run.infra is not None or run.stage != "done":
        return None, f"not remote: {run.infra or run.ended or run.stage}"
    if any(call.where == "local" for call in run.calls):
        return None, "arguments or results are not plain data"
    for answer, value in zip(run.answers, expected, strict=True):
        wrong = verdict_on(answer, value, comparison)
        if wrong is not None:
            return None, f"the remote call gives another answer: {wrong}"
    return run, ""


def changed(run: Run, stubbed: Run, comparison: values.Comparison) -> bool:
    """Whether the answers differ when the target's result is replaced."""
    if stubbed.ended is not None or stubbed.stage != "done":
        return True
    if len(stubbed.answers) != len(run.answers):
        return True
    return any(
        not answer.same_as(other, comparison) for answer, other in zip(run.answers, stubbed.answers, strict=False)
    )


def answers_digest(run: Run) -> str:
    """Return a digest of everything that a run answered."""
    answers = [
        answer.value if answer.is_value else [answer.opaque, answer.error.type if answer.error else None]
        for answer in run.answers
    ]
    return text_digest(json.dumps([run.stage, run.ended, answers], sort_keys=True))


def answers_right(run: Run, harness: Harness, comparison: values.Comparison) -> bool:
    """Whether every input was answered as expected."""
    if run.stage != "done" or run.ended is not None or len(run.answers) != len(harness.expected):
        return False
    pairs = zip(run.answers, harness.expected, strict=True)
    return all(verdict_on(answer, value, comparison) is None for answer, value in pairs)


def calls_right(task: Task, run: Run | Observation, harness: Harness) -> str | None:
    """Return what is missing of the calls, in words; null when they are as required.

    The target must be called in more than half of the inputs in which the reference calls it (an early return for a
    trivial input is fine), and where it is called, with the required values in the inputs where the reference has them.
    """
    for spec, called, required in zip(task.calls, harness.called, harness.required, strict=True):
        calls = [call for call in run.calls if call.api == spec.api]
        made = {index_of(call.input) for call in calls}
        if not calls:
            return f"{spec.api} is never called"
        covered = len(called) if -1 in made else len(made & set(called))
        if 2 * covered <= len(called):
            return f"{spec.api} is called in {covered} of {len(called)} inputs only"
        for name, where in required.items():
            for index in where:
                here = [call for call in calls if index_of(call.input) in (index, -1)]
                if here and not any(call.required.get(name) for call in here):
                    return f"{spec.api} is not called with {name}={spec.required[name]} (input {index})"
    for number, (link, where) in enumerate(zip(task.links, harness.linked, strict=True)):
        if not covers(taken_in(run.calls, number), where):
            return f"{task.calls[link.target].api} is not given what {task.calls[link.source].api} returned"
    return None


def result_used(harness: Harness, stubs: Sequence[StubRun]) -> bool:
    """Whether the runs with a replaced result show that every result that has to is used."""
    if harness.members:
        return all(any(run.changed for run in stubs if run.spy == spy) for spy in range(len(harness.members)))
    return harness.stub is None or any(run.changed for run in stubs)
