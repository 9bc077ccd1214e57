"""Runs a suite: one environment after the other, one fresh sandboxed process per answer, rows streamed and resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.evaluation.suites.base import PASSES, Case, Need, Suite
from novelapi.evaluation.suites.supply import Supplied
from novelapi.execution.isolated import run_isolated
from novelapi.fingerprint import canonical_json, text_digest
from novelapi.records.suite import SuiteRow

Progress = Callable[[SuiteRow], None]
_LIMIT_WORDS = {
    "timeout": "more elapsed time than {wall_s:.0f} s",
    "cpu": "more CPU time than {cpu_s} s",
    "signal": "ended by a signal, most likely for its memory",
}


@dataclass(frozen=True, kw_only=True)
class SuiteRun:
    """One run of a suite."""

    suite: Suite
    cases: Mapping[str, Case]
    """The tasks that take part."""
    answers: Mapping[str, Sequence[str]] | None
    """Answers of a model by task; null for the gold answers."""
    results: Path
    """File of the rows."""
    environment_of: Callable[[Need], Supplied]
    """What supplies environments."""


@dataclass(frozen=True, kw_only=True)
class _Job:
    """One answer to run."""

    case: Case
    sample: int
    request: Mapping[str, Any]
    text: str
    """Digest of suite, guest program and request."""


def run(request: SuiteRun, progress: Progress = lambda _: None) -> int:
    """Run what is missing in the results file, then seal it; return how many rows this call made.

    A row whose answer, tests and guest program are as they were is kept, unless it is unscored.

    Raises:
        PrerequisiteError: the sandbox or uv is not to be had.
        IndexUnavailableError: the package index did not answer; run again to go on.
        NovelApiError: the disk is full.
    """
    jobs, missing = _jobs(request)
    wanted = {(job.case.key, job.sample): job.text for job in jobs}
    done = _keep_valid(request.results, wanted, request.cases)
    made = 0
    with jsonl.Appender(request.results) as appender:

        def record(row: SuiteRow) -> None:
            nonlocal made
            appender.append(row.to_row())
            made += 1
            progress(row)

        for case in missing:
            record(_row(request, case, 0, "", outcome="unscored", cause="prediction", reason="no prediction for it"))
        for need, group in _groups(job for job in jobs if (job.case.key, job.sample) not in done):
            supplied = request.environment_of(need)
            for job in group:
                record(_run_one(request, job, supplied))
    jsonl.seal(request.results, key=lambda row: (row["task_id"], row["sample"]))
    return made


def _jobs(request: SuiteRun) -> tuple[list[_Job], list[Case]]:
    """Return what is to run, and the tasks without an answer."""
    jobs: list[_Job] = []
    missing: list[Case] = []
    for key, case in request.cases.items():
        if request.answers is None:
            codes = [case.gold]
        else:
            codes = [case.code(text) for text in request.answers.get(key, ())]
        if not codes:
            missing.append(case)
        for sample, code in enumerate(codes):
            asked = case.request(code)
            text = text_digest(canonical_json([request.suite.name, request.suite.version, asked]))
            jobs.append(_Job(case=case, sample=sample, request=asked, text=text))
    return jobs, missing


def _groups(jobs: Iterable[_Job]) -> list[tuple[Need, list[_Job]]]:
    """Return jobs by environment, in the order of their first task."""
    groups: dict[Need, list[_Job]] = {}
    for job in jobs:
        groups.setdefault(job.case.need, []).append(job)
    return list(groups.items())


def _run_one(request: SuiteRun, job: _Job, supplied: Supplied) -> SuiteRow:
    if supplied.env is None:
        return _row(
            request, job.case, job.sample, job.text,
            outcome="unscored", cause="environment", reason=supplied.reason, notes=supplied.notes,
        )  # fmt: skip
    suite = request.suite
    answer = run_isolated(
        supplied.env, suite.script, job.request, suite.limits, variables=_VARIABLES, scratch_mb=suite.scratch_mb
    )
    known = {
        "notes": supplied.notes,
        "env": supplied.env.key,
        "python": supplied.env.python_version,
        "wall_ms": round(answer.wall_s * 1000, 1),
    }
    if answer.failure in ("exit", "garbled"):  # the guest program itself ended: the answers run in its children
        reason = f"the guest program failed: {_last_line(answer.output)}"
        return _row(request, job.case, job.sample, job.text, outcome="unscored", cause="run", reason=reason, **known)
    if answer.failure is not None:
        reason = _LIMIT_WORDS[answer.failure].format(wall_s=suite.limits.wall_s, cpu_s=suite.limits.cpu_s)
        return _row(request, job.case, job.sample, job.text, outcome="fail", reason=reason, **known)
    verdict = job.case.judge(answer.value)
    return _row(
        request, job.case, job.sample, job.text,
        outcome="fail" if verdict.reason else "pass", reason=verdict.reason, passed=verdict.passed,
        failed=verdict.failed, skipped=verdict.skipped, plain=verdict.plain, **known,
    )  # fmt: skip


_VARIABLES = {"NUMBA_CACHE_DIR": "/scratch"}
"""Environment variables for libraries that write beside their own files otherwise."""


def _last_line(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no message"


def _row(request: SuiteRun, case: Case, sample: int, text: str, **found: Any) -> SuiteRow:
    return SuiteRow(
        suite=request.suite.name,
        task_id=case.key,
        sample=sample,
        library=case.need.library,
        release=case.need.release,
        declared_python=case.need.python,
        text=text,
        **found,
    )


def _keep_valid(path: Path, wanted: Mapping[tuple[str, int], str], cases: Mapping[str, Case]) -> set[tuple[str, int]]:
    """Drop rows that no longer fit or were not scored, keep those of tasks that take no part; return what is done."""
    rows = list(jsonl.scan(path))
    kept: dict[tuple[str, int], jsonl.Row] = {}
    for row in rows:
        key = (row["task_id"], row["sample"])
        if row["task_id"] not in cases or (row["outcome"] != "unscored" and wanted.get(key) == row["text"]):
            kept.setdefault(key, row)
    if len(kept) < len(rows):
        jsonl.write(path, kept.values())
    return kept.keys() & wanted.keys()


def read_results(path: Path) -> list[SuiteRow]:
    """Read a results file of a suite.

    Raises:
        DataError: a line is broken.
    """
    return [SuiteRow.model_validate(row) for row in jsonl.scan(path)]


def summarise(rows: Sequence[SuiteRow], *, suite: str, gold: bool, partial: bool) -> dict[str, Any]:
    """Count what ran, what passed and what did not run by reason, over first samples.

    `pass_at_1` is the share of passes among the rows that ran.
    """
    first = [row for row in rows if row.sample == 0]
    ran = [row for row in first if row.outcome != "unscored"]
    passed = [row for row in ran if row.outcome == "pass"]
    libraries = sorted({row.library for row in first})
    return {
        "schema": 1,
        "suite": suite,
        "gold": gold,
        "tasks": len(first),
        "rows": len(rows),
        "ran": len(ran),
        "pass": len(passed),
        "fail": len(ran) - len(passed),
        "unscored": len(first) - len(ran),
        "pass_at_1": len(passed) / len(ran) if ran else None,
        "noted": sum(bool(row.notes) for row in ran),
        "pass_without_update": sorted(row.task_id for row in ran if row.plain == PASSES),
        "pythons": dict(sorted(Counter(".".join((row.python or "").split(".")[:2]) for row in ran).items())),
        "libraries": {
            name: {
                "tasks": sum(row.library == name for row in first),
                "ran": sum(row.library == name for row in ran),
                "pass": sum(row.library == name for row in passed),
            }
            for name in libraries
        },
        "failed": {row.task_id: row.reason for row in ran if row.outcome == "fail"},
        "not_run": dict(Counter(str(row.reason) for row in first if row.outcome == "unscored").most_common()),
        "partial": partial,
    }
