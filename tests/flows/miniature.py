"""A core small enough to see through, with the call shapes of the real one: it makes the orchestration testable alone.

Every unit of work that really executes appends one line to `executed.log` below NOVELAPI_HOME, from whatever process. The
file `miniature.json` there can slow it down or make it fail.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace

from novelapi.errors import IndexUnavailableError, NovelApiError
from novelapi.fingerprint import digest, file_digest
from novelapi.jsonl import Appender, scan, seal, write
from novelapi.records.request import FileResult
from novelapi.records.stage import StageResult


def install() -> None:
    """Put the miniature in the place of the core's stage functions."""
    stages = [
        ("discovery", "stage1_discovery", "discover", "candidates"),
        ("knowledge", "stage2_knowledge", "extract", "bundles"),
        ("generation", "stage3_tasks", "generate", "tasks"),
        ("filters", "stage4_filtered", "filter_tasks", "accepted"),
    ]
    for package, stage, function, unit in stages:
        put(f"novelapi.{package}.stage", STAGE_VERSION=1, **{function: stage_function(stage, unit)})
    sys.modules["novelapi.discovery.stage"].find_versions = lambda request, layout: SimpleNamespace(
        old=request.old or "1.0", new=request.new or "2.0", cutoff=request.cutoff
    )
    put("novelapi.filters.instance", INSTANCE_VERSION=1, build_instance=build_instance)
    put("novelapi.grid.cells", CELL_VERSION=1, run_cell=run_cell)
    put(
        "novelapi.grid.expand",
        expand_grid=lambda conditions, deliveries: [(d, c) for d in deliveries for c in conditions],
    )
    put(
        "novelapi.adapters.open",
        open_model=lambda name, base_url=None: SimpleNamespace(name=name, revision=f"{name}-1"),
    )
    put("novelapi.catalog.load", groups=dict, find_library=lambda name: SimpleNamespace(name=name))
    import novelapi.reporting

    novelapi.reporting.REPORT_VERSION = 1
    novelapi.reporting.write_report = write_report


def put(name, **members):
    module = ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module


def executed(home: Path) -> list[str]:
    log = home / "executed.log"
    return log.read_text().splitlines() if log.exists() else []


def note(layout, line: str) -> None:
    layout.home.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(layout.home / "executed.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


def options(layout) -> dict:
    path = layout.home / "miniature.json"
    return json.loads(path.read_text()) if path.exists() else {}


def unit_of_work(layout, name: str) -> None:
    wish = options(layout)
    if name in wish.get("fail", {}):
        raise NovelApiError(wish["fail"][name])
    if name in wish.get("bug", []):
        raise KeyError(name)
    if name in wish.get("transient", []) and executed(layout.home).count(f"try {name}") < 2:
        note(layout, f"try {name}")
        raise IndexUnavailableError("the index did not answer: try again later")
    time.sleep(wish.get("delay_s", 0))


def stage_function(stage: str, unit: str):
    def run(request, layout, completer=None) -> StageResult:
        path = layout.stage(request.library, stage, request.model)
        done = {row["id"] for row in scan(path)}
        with Appender(path) as rows:
            for index in range(request.limit or 3):
                if f"{index}" in done:
                    continue
                unit_of_work(layout, f"{stage} {request.library}")
                rows.append({"id": f"{index}", "release": request.new, "stage": stage})
        number = seal(path, key=lambda row: row["id"])
        note(layout, f"{stage} {request.library}")
        return StageResult(
            stage=stage,
            path=str(path.relative_to(layout.home)),
            sha256=file_digest(path),
            counts={unit: number},
            reasons={"private": 1} if stage == "stage1_discovery" else {},
        )

    return run


def build_instance(group, model, libraries, kept, layout) -> FileResult:
    path = layout.instance(group, model) / "tasks.jsonl"
    write(path, [{"library": library, "sha": stage.sha256} for library, stage in zip(libraries, kept, strict=True)])
    note(layout, f"instance {group}")
    return pointer(layout, path, tasks=len(libraries))


def run_cell(cell, layout, completer, jobs) -> FileResult:
    unit_of_work(layout, f"cell {cell.name}")
    path = layout.cell(cell.experiment, cell.name) / "results.jsonl"
    passed = int(digest([cell.condition, cell.sampling.seed], 2), 16) % 4
    rows = [{"id": str(index), "model": completer.revision, "passed": index < passed} for index in range(4)]
    write(path, rows)
    note(layout, f"cell {cell.experiment} {cell.name}")
    return pointer(layout, path, **{"pass": passed, "fail": 4 - passed})


def write_report(cells, out) -> FileResult:
    home = next(parent for parent in out.parents if (parent / "results").exists())
    rows = [{"cell": path.parent.name, "sha": file_digest(path)} for path in cells]
    write(out / "table.jsonl", rows)
    page = out / "report.html"
    page.write_text("<table>" + "".join(f"<tr><td>{row['cell']}</td></tr>" for row in rows) + "</table>\n")
    return FileResult(path=str(page.relative_to(home)), sha256=file_digest(page), counts={"cells": len(rows)})


def pointer(layout, path: Path, **counts) -> FileResult:
    return FileResult(path=str(path.relative_to(layout.home)), sha256=file_digest(path), counts=counts)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    install()
    from novelapi.cli import main

    main()
