"""Knowledge coverage: how many candidates of each library have which component, and whether nothing leaks.

    python benchmarks/knowledge.py numpy scipy pandas          measure these libraries (default: ten)
    python benchmarks/knowledge.py --model NAME numpy          another name in the stage files

Stage 1 and 2 run if their files are not there (NOVELAPI_HOME). One line per library and a pooled one are printed; the
exit code is 1 when a goal is missed. "uses change" counts modified APIs: with an example that passes what is new / with
a parameter that is new / all; the share beside it is that of all APIs with an example of what is new.
"""

from __future__ import annotations

import argparse
import ast
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from packaging.version import Version

from novelapi import jsonl
from novelapi.catalog import find_library
from novelapi.discovery.stage import run_discovery
from novelapi.discovery.workspace import Workspace
from novelapi.knowledge.material import describe, material_in
from novelapi.knowledge.mechanism import is_masked
from novelapi.knowledge.stage import write_knowledge
from novelapi.knowledge.targets import target_of
from novelapi.records.api import Candidate
from novelapi.records.bundle import KnowledgeBundle
from novelapi.settings import load_settings

WINDOWS = {"numpy": "1.26.2", "scipy": "1.14.1", "pandas": "2.2.2"}
"""Old releases that differ from the one before `CUTOFF`."""

CUTOFF = date(2023, 12, 1)
LIBRARIES = "numpy scipy pandas pydantic sqlalchemy django flask httpx fastapi astropy".split()
USES_CHANGE = {"numpy": 0.55, "scipy": 0.75, "pandas": 0.25}
"""Goals for the share of APIs with an executed example of what is new: an added API, or a modified one's change."""


@dataclass
class Coverage:
    """Counts of one library."""

    total: int = 0
    surface: int = 0
    prose: int = 0
    python: int = 0
    code: int = 0
    executed: int = 0
    modified: int = 0
    usable: int = 0
    uses_change: int = 0
    shows_news: int = 0
    doc_lines: list[str] = field(default_factory=list)
    foreign_entries: list[str] = field(default_factory=list)
    unmasked: list[str] = field(default_factory=list)
    parser_errors: int = 0


def main() -> int:
    """Measure, print, compare with the goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", default=LIBRARIES)
    parser.add_argument("--model", default="copy")
    arguments = parser.parse_args()
    workspace = Workspace.open(load_settings())
    found: dict[str, Coverage] = {}
    header = (
        f"{'library':12} {'APIs':>5} {'S':>5} {'prose':>6} {'code':>9} {'E':>10} {'uses change':>14}  CPU s  wall s"
    )
    print(header)
    for name in arguments.libraries:
        started, cpu = time.monotonic(), _cpu()
        coverage, reasons = measure(workspace, name, arguments.model)
        found[name] = coverage
        print(f"{_line(name, coverage)} {_cpu() - cpu:6.0f} {time.monotonic() - started:7.0f}", flush=True)
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
            print(f"             {count:4} {reason}")
    misses = [miss for name, coverage in found.items() for miss in _misses(name, coverage)]
    total, executed = (sum(getattr(item, key) for item in found.values()) for key in ("total", "executed"))
    print(f"pooled: E executed for {executed} of {total} ({executed / max(total, 1):.0%})")
    if executed < 0.75 * total:
        misses.append("pooled: E below 75 %")
    for miss in misses:
        print(f"MISSED {miss}")
    return 1 if misses else 0


def measure(workspace: Workspace, name: str, model: str) -> tuple[Coverage, dict[str, int]]:
    """Run stage 1 and 2 of a library and count."""
    library = find_library(name)
    pair = workspace.resolve(library, old=WINDOWS.get(name), cutoff=None if name in WINDOWS else CUTOFF)
    first = run_discovery(workspace, library, old=pair.old, new=pair.new, model=model)
    rows = jsonl.scan(workspace.layout.home / first.path)
    candidates = [Candidate.model_validate(row) for row in rows]
    env = workspace.environment(library, pair.new, documentation=True)
    material = material_in(workspace, library, pair.old, pair.new, env)
    result = write_knowledge(candidates, material, workspace.layout, model=model)
    facts = describe(material, [candidate.api for candidate in candidates], [], [])
    coverage = Coverage()
    by_api = {candidate.api: candidate for candidate in candidates}
    for row in jsonl.scan(workspace.layout.home / result.path):
        bundle = KnowledgeBundle.from_row(row)
        _count(coverage, bundle, by_api[bundle.api], facts.apis[bundle.api])
    return coverage, result.reasons


def _count(coverage: Coverage, bundle: KnowledgeBundle, candidate: Candidate, facts: dict) -> None:
    coverage.total += 1
    known = {item.name.lstrip("*") for item in bundle.surface.parameters}
    asked = [item for item in candidate.parameters if not item.kind.startswith("var_")]  # a written signature has none
    complete = bool(known or not candidate.parameters) and known >= {item.name for item in asked}
    coverage.surface += bool(bundle.surface.s_name) and complete
    coverage.prose += bundle.m_prose is not None
    coverage.python += bundle.m_code is not None or bool(facts.get("python"))
    coverage.code += bundle.m_code is not None
    coverage.executed += any(item.status == "executed" for item in bundle.exemplars)
    coverage.parser_errors += len(bundle.provenance["s"].get("docstring_errors", []))
    used = any(item.uses_change and item.status == "executed" for item in bundle.exemplars)
    if bundle.change == "modified":
        coverage.modified += 1
        coverage.usable += bool(target_of(candidate).new)
        coverage.uses_change += used
    coverage.shows_news += used
    lines = {" ".join(line.split()) for line in (facts.get("doc") or "").splitlines()}
    code = set(texts_in(bundle.m_code or ""))
    coverage.doc_lines += [f"{bundle.api}: {line}" for line in lines & code if len(line) >= 30 and " " in line]
    old = Version(candidate.old_release) if candidate.old_release else Version("0")
    for entry in bundle.changelog:
        version = Version(entry.split(":", 1)[0])
        if not old < version <= Version(candidate.release):
            coverage.foreign_entries.append(f"{bundle.api}: {entry}")
    if bundle.m_prose and not is_masked(bundle.m_prose, target_of(candidate)):
        coverage.unmasked.append(bundle.api)


def texts_in(code: str) -> Iterator[str]:
    """Yield the lines of a code that may be documentation: all but those of statements without long strings.

    A docstring's example may hold a line that the function itself executes, such as an import.
    """
    executed: set[int] = set()
    for node in ast.walk(ast.parse(code)):
        strings = any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and not strings:
            executed.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for number, line in enumerate(code.splitlines(), 1):
        if number not in executed or "#" in line:
            yield " ".join(line.split())


def _line(name: str, coverage: Coverage) -> str:
    return (
        f"{name:12} {coverage.total:5} {coverage.surface:5} {coverage.prose:6} {coverage.code:4}/{coverage.python:<4} "
        f"{coverage.executed:5} {_share(coverage.executed, coverage.total):4.0%} "
        f"{coverage.uses_change:4}/{coverage.usable}/{coverage.modified:<4} "
        f"{_share(coverage.shows_news, coverage.total):4.0%}"
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _misses(name: str, coverage: Coverage) -> list[str]:
    changed = _share(coverage.shows_news, coverage.total)
    checks = {
        "S below 100 %": coverage.surface == coverage.total,
        "M_prose below 95 %": coverage.prose >= 0.95 * coverage.total,
        "M_code below 100 % of Python-level APIs": coverage.code == coverage.python,
        "E below 50 %": coverage.executed >= 0.5 * coverage.total,
        "too few examples that use the change": changed >= USES_CHANGE.get(name, 0),
        f"documentation in M_code: {coverage.doc_lines[:3]}": not coverage.doc_lines,
        f"entries from outside the window: {coverage.foreign_entries[:3]}": not coverage.foreign_entries,
        f"own name in M_prose: {Counter(coverage.unmasked).most_common(3)}": not coverage.unmasked,
    }
    return [f"{name}: {text}" for text, holds in checks.items() if not holds]


def _cpu() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


if __name__ == "__main__":
    sys.exit(main())
