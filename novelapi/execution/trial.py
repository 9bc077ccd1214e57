"""One completion against its task: the plain run, the runs with a replaced result, and what was seen of them."""

from __future__ import annotations

from collections.abc import Iterator

from novelapi.execution import values
from novelapi.execution.answers import Answer, Run, verdict_on
from novelapi.execution.harness import (
    Harness,
    answers_digest,
    answers_right,
    calls_right,
    changes,
    comparison_of,
)
from novelapi.execution.judge import Conversation, Mode
from novelapi.execution.limits import SampleLimits
from novelapi.execution.linking import covers, replaced_links
from novelapi.execution.remote import RealCalls
from novelapi.execution.replacement import STUB_KINDS, Replacement
from novelapi.execution.zygote import Zygote, ZygoteError
from novelapi.records.task import Task
from novelapi.records.verdict import InputEvidence, Integrity, Observation, StubRun

CONFIRMATIONS = 4
"""Pairs of runs that confirm a changed answer; a program that answers by chance gets through all with 1 in 1,024."""


def observe(
    zygote: Zygote,
    task: Task,
    harness: Harness,
    code: str,
    executor: str,
    *,
    limits: SampleLimits | None = None,
    real: RealCalls | None = None,
) -> Observation:
    """Run a completion's code against its task; if all is right, repeat it with the target's result replaced.

    Args:
        zygote: the parent that forks the runs.
        task: the task.
        harness: its prepared harness.
        code: the completion, extracted.
        executor: `fork` or `fresh`, for the record.
        limits: what each run may use; null for the harness's own.
        real: server of real calls that stays after the trial; null for one that ends with it.
    """
    trial = Trial(zygote, task, harness, code, limits or harness.limits, real=real)
    stubs: tuple[StubRun, ...] = ()
    try:
        run = trial.plain(keep=True)
        if harness.stub is not None and trial.is_right(run):
            stubs = tuple(trial.replaced(run))
    finally:
        trial.close()
    return Observation(
        code=code,
        stage=run.stage,
        error=run.error,
        inputs=tuple(_evidence(run, harness, trial.comparison)),
        calls=tuple(run.calls),
        stubs=stubs,
        ended=run.ended,
        infra=run.infra or trial.infra,
        stdout=run.output,
        integrity=_integrity(harness, run, stubs),
        executor=executor,
        env=harness.env,
        cpu_ms=round(trial.cpu_ms, 2),
        wall_ms=round(trial.wall_ms, 2),
        peak_kb=trial.peak_kb,
    )


class Trial:
    """All runs of one completion: the plain one, those with a replaced result, and confirmations of these."""

    def __init__(
        self,
        zygote: Zygote,
        task: Task,
        harness: Harness,
        code: str,
        limits: SampleLimits,
        *,
        real: RealCalls | None = None,
    ) -> None:
        """Set what is run; nothing is started."""
        self.limits = limits
        self.zygote = zygote
        self.task = task.model_copy(update={"expected": harness.expected})
        self.harness = harness
        self.code = code
        self.comparison = comparison_of(task)
        self.cpu_ms = self.wall_ms = 0.0
        self.peak_kb = 0
        self.infra: str | None = None
        self.owns_server = real is None
        self.real = real or RealCalls(zygote)
        self.kept: Conversation | None = None
        """The candidate of the plain run, while it may be asked again."""

    def close(self) -> None:
        """End the kept candidate, and the server of real calls unless it stays."""
        try:
            try:
                self.let_go()
            finally:
                if self.owns_server:
                    self.real.close()
        except ZygoteError as error:
            self.infra = self.infra or str(error)

    def let_go(self) -> None:
        """End the kept candidate."""
        kept, self.kept = self.kept, None
        if kept is not None:
            kept.close()

    def plain(self, *, keep: bool = False) -> Run:
        """Run it as it is, until the first wrong answer; with `keep` the candidate stays for a second round."""
        conversation = self._conversation(self.harness.mode, None)
        run = conversation.go(self.code, self.comparison, keep=keep and self._asked_twice)
        self.kept = conversation if conversation.candidate is not None else None
        return self._counted(run)

    @property
    def _asked_twice(self) -> bool:
        """Whether the candidate of the plain run can be asked again with replaced results."""
        return self.harness.mode == "remote" or (self.harness.stub == "sentinel" and self.task.kind == "function")

    def sentinel(self) -> Run:
        """Run it with results that can do nothing; a kept candidate is asked first, as in `stubbed`."""
        if self.kept is not None:
            kept, self.kept = self.kept, None
            run = self._counted(kept.again(None, mode="sentinel"))
            if answers_digest(run) == self.harness.stub_answers.get("sentinel"):
                return run
        return self._counted(self._conversation("sentinel", None).go(self.code))

    def stubbed(self, replacement: Replacement) -> Run:
        """Run it with results replaced.

        The kept candidate is asked first. It can tell the second round from the first, so only the reference's own
        answers to the replacement count there: they cannot be had without the result. Anything else (a memory of the
        first round, a count of calls) is found out by a candidate that starts anew.
        """
        if self.kept is not None:
            kept, self.kept = self.kept, None
            run = self._counted(kept.again(replacement))
            if answers_digest(run) == self.harness.stub_answers.get(replacement.key):
                return run
        return self._counted(self._conversation("remote", replacement).go(self.code))

    def _conversation(self, mode: Mode, stub: Replacement | None) -> Conversation:
        return Conversation(self.zygote, self.task, mode, self.limits, stub, real=self.real)

    def _counted(self, run: Run) -> Run:
        self.cpu_ms, self.wall_ms = self.cpu_ms + run.cpu_ms, self.wall_ms + run.wall_ms
        self.peak_kb = max(self.peak_kb, run.peak_kb)
        self.infra = self.infra or run.infra
        return run

    def is_right(self, run: Run) -> bool:
        """Whether a run gave all answers and made all calls."""
        right = answers_right(run, self.harness, self.comparison)
        return right and calls_right(self.task, run, self.harness) is None

    def replaced(self, run: Run) -> Iterator[StubRun]:
        """Replace the result in one way after the other until the answer changes; of several calls, each result.

        Where the way that the reference responds to could be taken and the answer stayed, no other one is tried: a
        program that only looks at how long a result is does not use it.
        """
        if self.harness.members:
            for spy in [number for number, kind in enumerate(self.harness.members) if kind]:
                found = list(self._followed(run, spy))
                yield from found
                if not found[-1].changed:
                    return
            return
        replaced = False
        for kind in _order(self.harness.stub):
            stubbed = self.stubbed(Replacement(kind))
            replaced = replaced or stubbed.stubbed
            answered = self._changed(run, stubbed)
            different = answered and self._confirmed(Replacement(kind), stubbed)
            yield StubRun(stub=kind, changed=different, answer=_first_change(run, stubbed, self.comparison))
            if different or (kind == self.harness.stub and stubbed.stubbed and not answered):
                return
        if not replaced or self.harness.stub == "sentinel":
            stubbed = self.sentinel()
            different = self._changed(run, stubbed) and self._confirmed(None, stubbed)
            yield StubRun(stub="sentinel", changed=different, answer=_first_change(run, stubbed, self.comparison))

    def _followed(self, run: Run, spy: int) -> Iterator[StubRun]:
        """Replace the results of one target in one way after the other until they are seen where they have to go."""
        for kind in _order(self.harness.members[spy]):
            replacement = Replacement(kind, spy)
            stubbed = self.stubbed(replacement)
            links = replaced_links(self.task, stubbed, spy)
            shown = all(covers(found, self.harness.replaced[number]) for number, found in links.items())
            if not links:
                shown = self._changed(run, stubbed, spy)
            shown = shown and self._confirmed(replacement, stubbed)
            yield StubRun(stub=kind, spy=spy, changed=shown, answer=_first_change(run, stubbed, self.comparison))
            if shown:
                return

    def _changed(self, run: Run, stubbed: Run, spy: int | None = None) -> bool:
        """Whether the answer changes in more than half of the inputs in which the reference's does.

        A program that answers a trivial input by itself is fine; one that asks the target for show is not.
        """
        known = self.harness.stub if spy is None else Replacement(self.harness.members[spy], spy).key
        return covers(changes(run, stubbed, self.comparison), self.harness.shown[str(known)])

    def _confirmed(self, replacement: Replacement | None, stubbed: Run) -> bool:
        """Whether a changed answer is the replacement's doing, and not chance.

        The reference's own answers to the same replacement prove it. Another program may answer otherwise, but then
        always in the same way, and always right without the replacement.
        """
        found = answers_digest(stubbed)
        key = "sentinel" if replacement is None else replacement.key
        if self.harness.stub_answers.get(key) == found:
            return True
        for _ in range(CONFIRMATIONS):
            self.let_go()
            self.real.close()
            if not self.is_right(self.plain()):
                return False
            if answers_digest(self.sentinel() if replacement is None else self.stubbed(replacement)) != found:
                return False
        return True


def _order(first: str | None) -> tuple[str, ...]:
    """Return the kinds of replacement, the one to which the reference responds first.

    The sentinel comes after them, for results that no plausible change can alter (an empty container that is filled
    later).
    """
    if first == "sentinel":
        return ()
    return (str(first), *(kind for kind in STUB_KINDS if kind != first))


def _integrity(harness: Harness, run: Run, stubs: tuple[StubRun, ...]) -> Integrity:
    """A run is proved only if no call fell back to the candidate's own process and no weak stub decided."""
    if harness.integrity == "weak" or any(call.where == "local" for call in run.calls):
        return "weak"
    return "weak" if any(stub.stub == "sentinel" for stub in stubs) else "strong"


def _evidence(run: Run, harness: Harness, comparison: values.Comparison) -> list[InputEvidence]:
    found: list[InputEvidence] = []
    for index, answer in enumerate(run.answers):
        expected = harness.expected[index] if index < len(harness.expected) else None
        wrong = verdict_on(answer, expected, comparison)
        found.append(
            InputEvidence(
                index=index,
                equal=wrong is None,
                difference=wrong or "",
                answer=_excerpt(answer),
                expected=values.excerpt(expected),
                error=answer.error,
            )
        )
    return found


def _excerpt(answer: Answer) -> str:
    if answer.error is not None:
        return f"raised {answer.error.type}: {answer.error.message}"[:300]
    if answer.opaque is not None:
        return answer.opaque
    try:
        return values.excerpt(answer.value)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError):
        return "(malformed)"


def _first_change(run: Run, stubbed: Run, comparison: values.Comparison) -> str:
    if stubbed.ended is not None:
        return f"ended ({stubbed.ended})"
    for answer, other in zip(run.answers, stubbed.answers, strict=False):
        if not answer.same_as(other, comparison):
            return _excerpt(other)
    return ""
