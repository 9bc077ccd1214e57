"""A core small enough to see through, with the call shapes of the real one: it makes the orchestration testable alone.

Every unit of work that really executes appends one line to `executed.log` below NOVELAPI_HOME, from whatever process. The
file `miniature.json` there can slow it down or make it fail.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from novelapi.errors import EndpointError, IndexUnavailableError, NovelApiError, PrerequisiteError
from novelapi.fingerprint import digest, file_digest
from novelapi.jsonl import Appender, scan, seal, write
from novelapi.layout import Layout
from novelapi.records.request import FileResult
from novelapi.records.stage import StageResult
from novelapi.settings import load_settings


def install(set_attribute: Callable[[object, str, object], None] = setattr) -> None:
    """Put the miniature in the place of the core's functions, where the wrappers call them."""
    replaced = {
        "tasks.discovery": {"discover": stage_function("stage1_discovery", "candidates")},
        "tasks.knowledge": {"extract": stage_function("stage2_knowledge", "bundles")},
        "tasks.generation": {"generate": stage_function("stage3_tasks", "tasks")},
        "tasks.filters": {
            "filter_tasks": stage_function("stage4_filtered", "accepted"),
            "build_instance": build_instance,
        },
        "tasks.evaluation": {"run_cell": run_cell},
        "tasks.reporting": {"write_report": write_report},
        "tasks.inference": {"open_completer": open_completer},
        "flows._plan": {"find_versions": find_versions, "members": lambda group: group.split("+")},
        "flows.choices": {"check_request": lambda _libraries, _options: None},
    }
    for module, members in replaced.items():
        for name, member in members.items():
            set_attribute(importlib.import_module(module), name, member)


def open_completer(name, access):
    """A model that answers from the server which the worker started, if there is one."""
    url = access.base_url or load_settings().openai_base_url
    if access.revision is not None and url is None and not access.elsewhere:  # pinned: it is served beside another run
        raise PrerequisiteError("no key: set OPENAI_API_KEY, or name a local server with --base-url")

    def text(prompt: str) -> str:
        if url is None:
            return name
        body = json.dumps({"model": name, "prompt": prompt, "max_tokens": 8}).encode()
        request = urllib.request.Request(f"{url}/completions", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["choices"][0]["text"]
        except urllib.error.URLError as error:
            raise EndpointError(f"{name} at {url} does not answer: check that it runs") from error

    def check() -> None:
        if name in options(Layout(load_settings().home_dir)).get("unknown", []):
            raise PrerequisiteError(f"no model {name}: correct the parameter `model`")
        if options(Layout(load_settings().home_dir)).get("gone"):
            raise EndpointError(f"{name} does not answer: check that it runs")
        if url is not None:
            text("x")

    return SimpleNamespace(name=name, revision=access.revision or f"{name}-1", text=text, check=check)


def find_versions(request, layout):
    old, new = request.old or "1.0", request.new or "2.0"
    return SimpleNamespace(old=old, new=new, cutoff=request.cutoff, require_window=lambda: None)


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
    if name in wish.get("unanswered", []):
        note(layout, f"unanswered {name}")
        raise EndpointError("the model does not answer: check that it runs")
    if name in wish.get("bug", []):
        raise KeyError(name)
    if name in wish.get("transient", []) and executed(layout.home).count(f"try {name}") < 2:
        note(layout, f"try {name}")
        raise IndexUnavailableError("the index did not answer: try again later")
    time.sleep(wish.get("delay_s", 0))


def stage_function(stage: str, unit: str):
    def run(request, layout, completer=None, **_) -> StageResult:
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


def run_cell(cell, layout, completer, jobs, **_) -> FileResult:
    unit_of_work(layout, f"cell {cell.name}")
    path = layout.cell(cell.experiment, cell.name) / "results.jsonl"
    passed = int(digest([cell.condition, cell.sampling.seed], 2), 16) % 4
    rows = [{"id": str(index), "text": completer.text(cell.name), "passed": index < passed} for index in range(4)]
    write(path, rows)
    note(layout, f"cell {cell.experiment} {cell.name}")
    return pointer(layout, path, **{"pass": passed, "fail": 4 - passed})


def write_report(cells, out):
    rows = [{"cell": path.name, "sha": file_digest(path / "results.jsonl")} for path in cells]
    write(out / "table.jsonl", rows)
    page = out / "report.html"
    page.write_text("<table>" + "".join(f"<tr><td>{row['cell']}</td></tr>" for row in rows) + "</table>\n")
    return SimpleNamespace(page=page, sha256=file_digest(page), counts={"cells": len(rows)})


def pointer(layout, path: Path, **counts) -> FileResult:
    return FileResult(path=str(path.relative_to(layout.home)), sha256=file_digest(path), counts=counts)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from flows import server
    from flows.console import configure_logging
    from novelapi.cli import main

    configure_logging()
    server.start()
    install()

    main()
