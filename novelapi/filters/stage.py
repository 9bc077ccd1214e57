"""Stage 4: the gates C0 to C3 on every task of a library, for one model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from novelapi import jsonl
from novelapi.bookkeeping import StageRun, input_digest
from novelapi.discovery.requests import old_surface, release_environments
from novelapi.evaluation.outcome import EVALUATOR_VERSION
from novelapi.execution.pool import Died, Pool
from novelapi.filters import models, release, validity
from novelapi.generation.checks import GoldCheck
from novelapi.generation.linked_stage import STAGE as LINKED
from novelapi.generation.stage import STAGE as GENERATION
from novelapi.generation.stage import modules_of
from novelapi.inference.probe import probe_apis
from novelapi.inference.profile import profile_of
from novelapi.inference.prompts import PROMPT_VERSION
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.layout import Layout
from novelapi.ports import Completer, Rememberer
from novelapi.records.api import Candidate
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.cell import Sampling
from novelapi.records.completion import Usage
from novelapi.records.environment import Environment
from novelapi.records.gate import FilteredTask, GateName, GateVerdict
from novelapi.records.request import LibraryRequest
from novelapi.records.stage import StageResult
from novelapi.records.task import Task
from novelapi.records.verdict import ResultRow

STAGE = "stage4_filtered"
STAGE_VERSION = 5
NOVELTY = Sampling(n=3, temperature=0.8)
"""C2: the greedy answer and two drawn ones must all fail."""
SOLVER = Sampling(n=3, temperature=0.8)
"""C3: one of three answers with all knowledge must pass."""
_CHUNK = 25

Progress = Callable[[str], None]


def filter_tasks(
    request: LibraryRequest,
    layout: Layout,
    completer: Completer,
    *,
    solver: Completer | None = None,
    progress: Progress = lambda _: None,
) -> StageResult:
    """Ask the gates about every task of stage 3.

    Args:
        request: library, releases, model.
        layout: where everything lies.
        completer: the model itself, for C2.
        solver: a strong model for C3; without one the model with all knowledge is asked, and its failure only marks.
        progress: is told which gate is at work.

    Raises:
        EndpointError: the model does not answer.
        NovelApiError: an environment cannot be built, or the disk is full.
    """
    completer = with_memory(completer, [request], layout)
    names = [GENERATION, *([LINKED] if request.subsets else [])]
    sources = [layout.stage(request.library, name, request.model) for name in names]
    knowledge = layout.stage(request.library, "stage2_knowledge", request.model)
    run = StageRun(
        layout=layout,
        library=request.library,
        model=request.model,
        stage=STAGE,
        version=STAGE_VERSION,
        spec={
            "old": request.old,
            "new": request.new,
            "revision": completer.revision,
            "solver": solver.revision if solver is not None else None,
            "prompt": PROMPT_VERSION,
            "evaluator": EVALUATOR_VERSION,
            "seed": request.seed,
            **({"window": window} if (window := profile_of(completer).window) is not None else {}),
        },
        inputs={name: value for path in (*sources, knowledge) for name, value in input_digest(path).items()},
    )
    known = run.finished()
    if known is not None:
        return known
    gates = Gates(request, layout, completer, solver, progress)
    run.begin()
    rows = gates.run([Task.model_validate(row) for path in sources for row in jsonl.scan(path)])
    jsonl.write(run.path, (row.to_row() for row in rows))
    return run.finish(*_counts(rows), usage=gates.usage.to_row())


def with_memory(completer: Completer, requests: Sequence[LibraryRequest], layout: Layout) -> Completer:
    """Tell the embedded baseline what a model of the old releases could know; other models stay as they are."""
    if not isinstance(completer, Rememberer):
        return completer
    return completer.with_memory(item for request in requests for item in old_surface(request, layout))


class Gates:
    """The gates of one library, asked in order; a task that one refuses is not asked again."""

    def __init__(
        self,
        request: LibraryRequest,
        layout: Layout,
        completer: Completer,
        solver: Completer | None,
        progress: Progress,
    ) -> None:
        """Open the environments of both releases."""
        self.request = request
        self.layout = layout
        self.completer = completer
        self.solver = solver
        self.progress = progress
        self.new, self.old = release_environments(request, layout)
        self.bundles = read_bundles(layout, request.library, request.model)
        self.paths = {candidate.api: candidate.paths for candidate in read_candidates(layout, request)}
        self.verdicts: dict[str, list[GateVerdict]] = {}
        self.tags: dict[str, set[str]] = {}
        self.usage = Usage()

    def run(self, tasks: Sequence[Task]) -> list[FilteredTask]:
        """Return every task with its verdicts, sorted by id."""
        self.verdicts = {task.task_id: [] for task in tasks}
        self.tags = {task.task_id: set() for task in tasks}
        if self.old is None:
            for found in self.tags.values():
                found.add("no_prior_release")
        left = list(tasks)
        for gate in (self._release, self._validity, self._novelty, self._informativeness):
            self.progress(gate.__name__.strip("_"))
            if left:
                gate(left)
            left = [task for task in left if self.verdicts[task.task_id][-1].passed]
        accepted = {task.task_id for task in left}
        return [
            FilteredTask(
                task=task,
                gates=tuple(self.verdicts[task.task_id]),
                accepted=task.task_id in accepted,
                tags=tuple(sorted(self.tags[task.task_id])),
            )
            for task in sorted(tasks, key=lambda task: task.task_id)
        ]

    def _release(self, tasks: Sequence[Task]) -> None:
        """C0: the reference fails in the old release because of the target."""
        preload = _preload(self.old, tasks)
        checks = [release.ReleaseCheck(task=task, env=self.old, preload=preload) for task in tasks]
        with Pool(release.check, self.request.jobs) as pool:
            for index, result in pool.map(checks):
                found = _died("C0", result) if isinstance(result, Died) else result
                self.verdicts[tasks[index].task_id].append(found)

    def _validity(self, tasks: Sequence[Task]) -> None:
        """C1: the reference passes its own harness."""
        preload = _preload(self.new, tasks)
        checks = [
            GoldCheck(tasks=tuple(tasks[start : start + _CHUNK]), env=self.new, preload=preload, hash_seed=0)
            for start in range(0, len(tasks), _CHUNK)
        ]
        with Pool(validity.check, self.request.jobs) as pool:
            for index, result in pool.map(checks):
                for task in checks[index].tasks:
                    found = _died("C1", result) if isinstance(result, Died) else result[task.task_id]
                    self.verdicts[task.task_id].append(found)

    def _novelty(self, tasks: Sequence[Task]) -> None:
        """C2: the model fails all samples without knowledge."""
        rows = self._ask("c2", tasks, KnowledgeCondition.BASELINE, self.completer, NOVELTY)
        known = self._probe(tasks)
        for task in tasks:
            own = rows.get(task.task_id, [])
            unscored = [row.reason for row in own if row.outcome == "unscored"]
            passes = sum(row.outcome == "pass" for row in own)
            detail: dict[str, Any] = {"probe": known.get(task.api)}
            detail |= {"samples": len(own), "passes": passes, "labels": [row.label or row.outcome for row in own]}
            if unscored:
                found = GateVerdict(
                    gate="C2", passed=False, reason="not scored", detail={**detail, "error": unscored[0]}
                )
            elif passes:
                found = GateVerdict(
                    gate="C2", passed=False, reason="the model solves it without knowledge", detail=detail
                )
            else:
                found = GateVerdict(gate="C2", passed=True, reason="the model fails without knowledge", detail=detail)
            self.verdicts[task.task_id].append(found)

    def _probe(self, tasks: Sequence[Task]) -> dict[str, dict[str, Any]]:
        """Ask the model for import path and call name of each API; recorded beside C2, it refuses nothing."""
        apis = sorted({task.api for task in tasks} & set(self.bundles))
        found, usage = probe_apis(
            {api: self.bundles[api] for api in apis},
            self.completer,
            self.paths,
            self.layout.completions / "cache.sqlite",
        )
        self.usage += usage
        return {row.api: row.model_dump(exclude={"api"}) for row in found}

    def _informativeness(self, tasks: Sequence[Task]) -> None:
        """C3: with all knowledge a solver passes at least once; the model itself as solver only marks the task."""
        solver = self.solver or self.completer
        rows = self._ask("c3", tasks, KnowledgeCondition.FULL, solver, SOLVER)
        for task in tasks:
            passes = sum(row.outcome == "pass" for row in rows.get(task.task_id, []))
            solved = passes > 0
            if not solved:
                self.tags[task.task_id].add("unsolved_with_full")
            reason = "solved with all knowledge" if solved else "not solved with all knowledge"
            passed = solved or self.solver is None
            self.verdicts[task.task_id].append(
                GateVerdict(gate="C3", passed=passed, reason=reason, detail={"passes": passes, "solver": solver.name})
            )

    def _ask(
        self, gate: str, tasks: Sequence[Task], condition: KnowledgeCondition, completer: Completer, sampling: Sampling
    ) -> Mapping[str, list[ResultRow]]:
        shown = {
            task.task_id: models.show(
                task, models.own(task, self.bundles), condition, models.own_paths(task, self.paths)
            )
            for task in tasks
        }
        asked = models.ask(
            models.Asking(
                tasks={task.task_id: task for task in tasks},
                shown=shown,
                completer=completer,
                sampling=sampling.model_copy(update={"seed": self.request.seed}),
                folder=self.layout.gate(self.request.library, gate, self.request.model),
                layout=self.layout,
                environment_of=lambda _library, _release: self.new,
                jobs=self.request.jobs,
            )
        )
        self.usage += asked.batch.usage
        return asked.rows


def _died(gate: GateName, died: Died) -> GateVerdict:
    return GateVerdict(gate=gate, passed=False, reason="the sandbox died", detail={"error": died.reason})


def _preload(env: Environment | None, tasks: Sequence[Task]) -> tuple[str, ...]:
    """Return the modules that a warm parent imports once: the libraries themselves."""
    if env is None:
        return ()
    found = modules_of(task.api for task in tasks)
    if "numpy" in found or "numpy" in env.distributions:
        found |= {"numpy", "numpy.random"}
    return tuple(sorted(found))


def read_bundles(layout: Layout, library: str, model: str) -> Mapping[str, KnowledgeBundle]:
    """Return the knowledge of a library by API."""
    path = layout.stage(library, "stage2_knowledge", model)
    return {row["api"]: KnowledgeBundle.from_row(row) for row in jsonl.scan(path)}


def read_candidates(layout: Layout, request: LibraryRequest) -> list[Candidate]:
    """Return the candidates of a library."""
    path = layout.stage(request.library, "stage1_discovery", request.model)
    return [Candidate.model_validate(row) for row in jsonl.scan(path)]


def _counts(rows: Sequence[FilteredTask]) -> tuple[dict[str, int], dict[str, int]]:
    """Count what every gate let pass, and why tasks were refused."""
    counts = {"tasks": len(rows)}
    for gate in ("C0", "C1", "C2", "C3"):
        counts[gate] = sum(any(found.gate == gate and found.passed for found in row.gates) for row in rows)
    accepted = [row for row in rows if row.accepted]
    counts["accepted"] = len(accepted)
    counts["apis"] = len({row.task.api for row in accepted})
    for name in ("easy", "medium", "hard"):
        counts[name] = sum(row.task.difficulty == name for row in accepted)
    counts["modified"] = sum(row.task.change == "modified" for row in accepted)
    if any(row.task.motif for row in rows):
        counts["of several APIs"] = sum(row.task.motif is not None for row in accepted)
    counts["strong"] = sum(row.task.integrity == "strong" for row in accepted)
    counts["unsolved_with_full"] = sum("unsolved_with_full" in row.tags for row in accepted)
    reasons = Counter(f"{row.gates[-1].gate}: {row.gates[-1].reason}" for row in rows if not row.accepted)
    return counts, dict(sorted(reasons.items()))
