"""The observed tier: programs are run in the sandbox, and arguments that *are* earlier results are noted.

Identity counts, equality does not: two equal arrays need not have anything to do with each other. Numbers, texts and
other constants never count. See `execution/guest/trace_flows.py`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from novelapi.execution.isolated import Limits, run_isolated
from novelapi.graph.flow import Flow, Text
from novelapi.graph.library import LibraryNodes
from novelapi.graph.model import Port, PortKind
from novelapi.knowledge.snippets import parse_or_none
from novelapi.records.environment import Environment

OBSERVERS = ("trace_flows.py", "novelapi_confine.py")
"""What runs the programs, in `execution/guest`."""
CPU_S = 2
"""CPU seconds of one program; what it showed until then counts."""
WALL_S = 12
MEMORY_MB = 6144
BATCH = 2000
"""Programs per sandboxed process: the library is imported once for all of them."""
SEED = 0


@dataclass(kw_only=True)
class Observed:
    """What running some programs showed."""

    flows: list[Flow] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Programs, calls of the library, statements that failed, programs that gave no answer."""
    cpu_s: float = 0.0
    """CPU seconds in the sandbox; those of a batch that died are not known."""


def observe(env: Environment, programs: Sequence[Text], library: LibraryNodes, roots: Sequence[str]) -> Observed:
    """Run programs and return the flows between APIs of a library.

    Args:
        env: environment of the release.
        programs: what to run, each in a fork of its own; what fails is counted.
        library: whose APIs the calls are resolved to.
        roots: top-level packages of the library.

    Raises:
        PrerequisiteError: bubblewrap is missing.
    """
    found = Observed()
    programs = [program for program in programs if _may_flow(program.code)]
    found.counts["programs that ran"] = len(programs)
    for start in range(0, len(programs), BATCH):
        batch = programs[start : start + BATCH]
        for program, row in zip(batch, _run(env, batch, roots, found), strict=True):
            found.counts["calls of the library"] += row["calls"]
            found.counts["statements that failed"] += row["errors"]
            if row["failure"]:
                found.counts[f"programs that gave nothing: {row['failure']}"] += 1
            found.flows += _flows(program, row["flows"], library, found.counts)
    return found


def _run(env: Environment, batch: Sequence[Text], roots: Sequence[str], found: Observed) -> list[dict[str, Any]]:
    """Return one row per program; a batch that dies is halved until the program that kills it is found."""
    request = {
        "preload": sorted({*roots, *_imported(batch, roots)}),
        "roots": list(roots),
        "limits": {"cpu_s": CPU_S, "wall_s": WALL_S, "memory_mb": MEMORY_MB},
        "seed": SEED,
        "programs": [{"id": str(place), "code": item.code} for place, item in enumerate(batch)],
    }
    limits = Limits(wall_s=120 + WALL_S * len(batch), cpu_s=120 + CPU_S * len(batch), memory_mb=MEMORY_MB)
    answer = run_isolated(env, "trace_flows", request, limits, hash_seed=SEED)
    if answer.failure is None:
        found.cpu_s += answer.value["cpu_s"]
        return [answer.value["results"][str(place)] for place in range(len(batch))]
    if len(batch) == 1:
        return [{"calls": 0, "flows": [], "errors": 0, "failure": answer.failure}]
    half = len(batch) // 2
    return [*_run(env, batch[:half], roots, found), *_run(env, batch[half:], roots, found)]


def _imported(batch: Sequence[Text], roots: Sequence[str]) -> set[str]:
    """Return what programs import of a library: done once for all of them, since it costs more than most do."""
    found: set[str] = set()
    for program in batch:
        for node in ast.walk(parse_or_none(program.code) or ast.Module([], [])):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {path for path in found if path.split(".")[0] in roots}


def _flows(
    program: Text, rows: Sequence[dict[str, Any]], library: LibraryNodes, counts: Counter[str]
) -> Iterator[Flow]:
    lines = program.code.split("\n")
    for row in rows:
        source, target = (library.resolve(_path(row[name])) for name in ("source", "target"))
        if source is None or target is None:
            counts["flows with an API that is not public"] += 1
            continue
        kind, name = row["port"]
        statement = " ".join(lines[row["line"] - 1].split()) if row["line"] <= len(lines) else ""
        yield Flow(
            source=source,
            port=Port(kind=cast("PortKind", kind), name=name),
            target=target,
            parameter=_parameter(library, target, row["parameter"]),
            where=f"{program.where}, line {row['line']}",
            statement=statement if len(statement) <= 160 else statement[:157] + "...",
        )


def _may_flow(code: str) -> bool:
    """Tell whether a program makes two calls: with fewer nothing can go from one to the other."""
    tree = parse_or_none(code)
    return tree is not None and sum(isinstance(node, ast.Call) for node in ast.walk(tree)) > 1


def _path(canonical: str) -> str:
    return canonical.replace(":", ".")


def _parameter(library: LibraryNodes, api: str, name: str) -> str:
    """Return the name of a parameter; a bare position is looked up in the signature."""
    return (library.parameter(api, int(name)) or f"argument_{name}") if name.isdigit() else name
