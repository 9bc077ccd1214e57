"""Scores the samples of tasks on slots: extraction, execution, verdict, label."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from novelapi.evaluation import extraction, outcome
from novelapi.execution.harness import Harness, HarnessError, prepare
from novelapi.execution.pool import Slot
from novelapi.execution.remote import MAX_TRIALS, RealCalls
from novelapi.execution.trial import observe
from novelapi.execution.zygote import Zygote, ZygoteError
from novelapi.fingerprint import text_digest
from novelapi.records.environment import Environment
from novelapi.records.task import Task
from novelapi.records.verdict import Observation, ResultRow

_REPEATED = frozenset({"cpu", "wall", "signal", "memory"})
"""Ends that are confirmed once, alone, in a fresh process, before they count."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One answer to score."""

    index: int
    """Position in the list of samples."""
    text: str
    """The raw answer."""
    prompt: str | None = None
    """Digest of the prompt."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One task with samples, for a slot."""

    task: Task
    env: Environment
    samples: tuple[Sample, ...]
    preload: tuple[str, ...] = ()
    harness: Harness | None = None


@dataclass(frozen=True, kw_only=True)
class Scored:
    """What a job gives back."""

    task_id: str
    rows: tuple[ResultRow, ...] = field(default=())
    harness: Harness | None = None
    broken: str | None = None
    """Why the task itself cannot be scored."""
    compared: int = 0
    """Samples that ran both forked and fresh."""
    differing: tuple[str, ...] = ()
    """Where the two did not agree."""
    demoted: str | None = None
    """Why the environment's samples run fresh; null where they are forked."""


def score(slot: Slot, job: Job) -> Scored:
    """Score all samples of one task.

    Raises:
        ZygoteError: the warm parent died (the pool tries again).
    """
    zygote = slot.zygote(job.env, job.preload)
    try:
        harness = job.harness or prepare(zygote, job.task)
    except HarnessError as error:
        rows = [
            outcome.unscored(job.task.task_id, sample.index, str(error), text=sample.text, env=job.env.key)
            for sample in job.samples
        ]
        return Scored(task_id=job.task.task_id, rows=tuple(rows), broken=str(error))
    bench = _Bench(slot, zygote, job, harness)
    try:
        bench.gate()
        slot.learn(job.env, harness.modules)
        codes = [
            extraction.extract(sample.text, job.task.entry_point, job.task.signature).code for sample in job.samples
        ]
        seen_by_code = {code: bench.observe(code) for code in dict.fromkeys(codes)}
        bench.settle()
        seen_by_code |= bench.settled
    finally:
        bench.close()
    rows = [bench.row(seen_by_code[code], sample) for code, sample in zip(codes, job.samples, strict=True)]
    return Scored(
        task_id=job.task.task_id, rows=tuple(rows), harness=harness, compared=bench.compared,
        differing=tuple(bench.differing), demoted=slot.demoted.get(job.env.key),
    )  # fmt: skip


class _Bench:
    """One task on one slot: forked runs, fresh ones, and what comparing them told."""

    def __init__(self, slot: Slot, zygote: Zygote, job: Job, harness: Harness) -> None:
        self.slot = slot
        self.zygote = zygote
        self.job = job
        self.harness = harness
        self.compared = 0
        self.differing: list[str] = []
        self.real = RealCalls(zygote)
        self.unproved: list[str] = []
        """Passes on a server that had served others, until the reference has shown that nothing was left behind."""
        self.settled: dict[str, Observation] = {}
        """What was seen anew of the passes that could not be proved, by code."""

    def close(self) -> None:
        """End the server, if a fault left it behind; a parent that is dead already has none."""
        with contextlib.suppress(ZygoteError):
            self.real.close()

    def row(self, seen: Observation, sample: Sample) -> ResultRow:
        """Make the row of a sample."""
        return outcome.row(
            self.job.task, self.harness, seen, sample=sample.index, text=sample.text, prompt=sample.prompt
        )  # fmt: skip

    def verdict(self, seen: Observation) -> tuple[str, str | None]:
        """Return outcome and label."""
        row = self.row(seen, Sample(index=0, text=""))
        return row.outcome, row.label

    def observe(self, code: str) -> Observation:
        """Run one piece of code; an end by limit or signal, and one sample in a hundred, is repeated fresh.

        The fresh run's verdict counts; where the two differ, the environment is forked no more.
        """
        if not code.strip():
            return Observation(
                code=code, stage="extract", executor="none", env=self.harness.env, integrity=self.harness.integrity
            )  # fmt: skip
        seen = self._forked(code)
        if seen.ended not in _REPEATED and not (self.zygote.preload and _drawn(self.job.task.task_id, code)):
            return seen
        return self._compared(code, seen)

    def gate(self) -> None:
        """Compare forked and fresh runs of the reference and two mutants where forking may be unsafe: threads run."""
        env = self.job.env
        if not self.zygote.preload or self.zygote.info["threads"] == 1 or env.key in _GATED:
            return
        _GATED.add(env.key)
        for code in (self.job.task.reference_solution, *mutants(self.job.task)):
            self._compared(code, self._forked(code))

    def _forked(self, code: str) -> Observation:
        """Run one piece of code; its real calls are made by the server that earlier ones have used.

        What fails on a used server is run again on a new one; what passes there counts once `settle` has proved it.
        """
        if self.zygote.preload and not self.slot.is_warm(self.job.env):  # demoted meanwhile
            self.settle()
            self.zygote = self.slot.zygote(self.job.env, self.job.preload)
            self.real = RealCalls(self.zygote)
        if self.real.served >= MAX_TRIALS:
            self.settle()
        seen = self._once(code)
        if self.real.doubtful:
            if self.verdict(seen)[0] == "pass":
                self.unproved.append(code)
            else:
                self.real.close()
                seen = self._once(code)
        self.real.rest()
        return seen

    def _once(self, code: str, *, recall: bool = True) -> Observation:
        self.real.begin(recall=recall)
        executor = "fork" if self.zygote.preload else "fresh"
        return observe(
            self.zygote, self.job.task, self.harness, code, executor, real=self.real if self._shares else None
        )

    @property
    def _shares(self) -> bool:
        """Whether completions share a server: every target has to work through its result.

        One that only sets something up (its result is not asked for) would do so for the next completion, too.
        """
        works = self.harness.stub is not None and all(call.result_flows for call in self.job.task.calls)
        return self.harness.mode == "remote" and works and self.zygote.group.kind != "none"

    def settle(self) -> None:
        """End the server; see the code anew that passed on it and cannot be proved.

        All is proved if the reference is still right there, as its last caller: then what the calls of others left
        behind in the library changes no answer. Otherwise each gets a server of its own.
        """
        unproved, self.unproved = self.unproved, []
        try:
            server = self.real.session
            if unproved and server is not None:
                reference = self._once(self.job.task.reference_solution, recall=False)
                if self.verdict(reference)[0] == "pass" and self.real.session is server:
                    unproved = []
            for code in unproved:
                self.real.close()
                self.settled[code] = self._once(code)
        finally:
            self.real.close()

    def _compared(self, code: str, seen: Observation) -> Observation:
        try:
            with self.slot.fresh(self.job.env) as alone:
                fresh = observe(alone, self.job.task, self.harness, code, "fresh")
        except ZygoteError as error:
            return seen.model_copy(update={"infra": f"the confirmation in a fresh process failed: {error}"})
        self.compared += 1
        forked, again = self.verdict(seen), self.verdict(fresh)
        if self.zygote.preload and forked != again:
            what = f"{self.job.task.task_id}: {forked[1] or forked[0]} forked, {again[1] or again[0]} fresh"
            self.differing.append(what)
            self.slot.demote(self.job.env, what)
        return fresh


_GATED: set[str] = set()
"""Environments that this process has put through the gate."""


def mutants(task: Task) -> tuple[str, ...]:
    """Return two wrong versions of a task's reference: one answers nothing, one wraps the right answer."""
    if task.kind != "function":
        return ()
    name = task.entry_point
    nothing = f"def {name}(*args, **kwargs):\n    return None\n"
    wrapper = f"_inner = {name}\ndef {name}(*args, **kwargs):\n    return [_inner(*args, **kwargs)]\n"
    return nothing, f"{task.reference_solution}\n{wrapper}"


def _drawn(task_id: str, code: str) -> bool:
    """Whether a sample belongs to the one in a hundred that also runs fresh; by its content, so always the same."""
    return int(text_digest(f"{task_id}\n{code}")[:8], 16) % 100 == 0


def preload_of(tasks: Iterable[Task]) -> tuple[str, ...]:
    """Return the modules that the contexts and references of tasks import: what a warm parent imports once."""
    found: set[str] = set()
    for task in tasks:
        for text in (task.context_code, task.reference_solution):
            tree = extraction.parse(text)
            if tree is None:
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.Import):
                    found |= {alias.name for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    found.add(node.module)
        found.add(task.api.split(".")[0])
    if "numpy" in {name.split(".")[0] for name in found}:
        found.add("numpy.random")
    return tuple(sorted(found))


def order(jobs: Sequence[Job]) -> list[Job]:
    """Order jobs by environment, so that each warm parent serves all its jobs in a row."""
    return sorted(jobs, key=lambda job: (job.env.key, job.task.task_id))
