"""Trials: many small programs, each run once in the new release, offline, in the sandbox; what came of each."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from novelapi.execution.isolated import Limits, run_isolated
from novelapi.records.environment import Environment

CPU_S = 6
"""CPU seconds of one program; an API whose programs use them up twice is not tried any further."""

WALL_S = 25
"""Elapsed seconds of one program: a backstop for one that sleeps or waits."""

MEMORY_MB = 6144
"""Address space of one program in MB."""

OUTPUT_CAP = 6000
"""Characters of output that are kept."""

BATCH = 250
"""Programs per sandboxed process: the library is imported once for all of them."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program to try."""

    id: str
    """Unique within a batch."""
    code: str
    """Its text."""
    targets: tuple[str, ...]
    """The APIs whose calls are observed."""


@dataclass(frozen=True, kw_only=True)
class ObservedCall:
    """A call of a target, as it was made from the program's own code."""

    api: str
    """The target."""
    positional: int
    """Number of positional arguments, the receiver not counted."""
    keywords: tuple[str, ...]
    """Names of the keyword arguments."""
    raised: str | None
    """Type of the exception that ended the call, or null."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What came of a program."""

    ok: bool
    """Whether it ran to its end."""
    error_type: str | None
    """Type of the exception that ended it."""
    error_message: str
    """Its message."""
    error_line: int | None = None
    """The program's line that it came from, from 1, or null."""
    output: str
    """What it printed and what its top-level expressions evaluated to."""
    calls: tuple[ObservedCall, ...]
    """The calls of its targets."""
    objects: Mapping[str, tuple[str, ...]]
    """Names of the classes of the variables, and of their attributes, that hold objects of the library."""
    cpu_ms: int
    """CPU time in milliseconds."""

    @property
    def good_calls(self) -> tuple[ObservedCall, ...]:
        """The calls that the target accepted."""
        return tuple(call for call in self.calls if call.raised is None)


def run_programs(
    env: Environment, programs: Sequence[Program], *, roots: Iterable[str] = (), hash_seed: int = 0
) -> dict[str, Trial]:
    """Run programs in fresh sandboxed processes of an environment; a program that kills its batch is found by halving.

    Args:
        env: environment of the new release.
        programs: what to run.
        roots: top-level packages whose modules are imported before the first fork.
        hash_seed: PYTHONHASHSEED and seed of the random sources. Memory that nobody has set holds the complement of
            its byte (glibc), zeros for 0: what shows it is the same with one seed, and not with another.

    Returns:
        One trial per program id.
    """
    trials: dict[str, Trial] = {}
    for start in range(0, len(programs), BATCH):
        batch = list(programs[start : start + BATCH])
        trials |= _run_batch(env, batch, tuple(roots), hash_seed)
    return trials


def _run_batch(env: Environment, programs: list[Program], roots: tuple[str, ...], hash_seed: int) -> dict[str, Trial]:
    request = {
        "preload": _imports(programs, roots),
        "targets": {api: {} for program in programs for api in program.targets},
        "limits": {
            "cpu_s": CPU_S,
            "wall_s": WALL_S,
            "memory_mb": MEMORY_MB,
            "output": OUTPUT_CAP,
            "roots": sorted(roots),
        },
        "seed": hash_seed,
        "jobs": min(4, os.cpu_count() or 1),
        "programs": [{"id": item.id, "code": item.code, "targets": list(item.targets)} for item in programs],
    }
    limits = Limits(wall_s=120 + 4 * len(programs), cpu_s=120 + 2 * len(programs), memory_mb=MEMORY_MB)
    variables = {"MALLOC_PERTURB_": str(hash_seed % 255 or 255)}
    answer = run_isolated(env, "run_examples", request, limits, hash_seed=hash_seed, variables=variables)
    if answer.failure is None:
        return {identity: _trial(row) for identity, row in answer.value["results"].items()}
    if len(programs) == 1:
        reason = {"type": "Batch", "message": f"{answer.failure}: {answer.output[-300:]}"}
        return {programs[0].id: _trial({"ok": False, "error": reason, "output": "", "calls": [], "cpu_ms": 0})}
    half = len(programs) // 2
    return _run_batch(env, programs[:half], roots, hash_seed) | _run_batch(env, programs[half:], roots, hash_seed)


def _trial(row: Mapping[str, Any]) -> Trial:
    error = row["error"] or {}
    calls = tuple(
        ObservedCall(
            api=call["api"],
            positional=call["positional"],
            keywords=tuple(call["keywords"]),
            raised=call["raised"],
        )
        for call in row["calls"]
    )
    return Trial(
        ok=row["ok"],
        error_type=error.get("type"),
        error_message=error.get("message", ""),
        error_line=error.get("line"),
        output=row["output"],
        calls=calls,
        objects={name: tuple(classes) for name, classes in row.get("objects", {}).items()},
        cpu_ms=row["cpu_ms"],
    )


def _imports(programs: Iterable[Program], roots: tuple[str, ...]) -> list[str]:
    """Return the modules of the roots that the programs import: imported once, before the forks."""
    names: set[str] = set(roots)
    for program in programs:
        for node in ast.walk(ast.parse(program.code)):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module)
    return sorted(name for name in names if name.split(".", 1)[0] in roots)
