"""What is exported: tasks and bundles with the licence of the library that they quote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.catalog import find_library
from novelapi.errors import UnknownNameError, UsageError
from novelapi.records.base import Record
from novelapi.records.task import Task
from novelapi.reporting.instances import read_tasks

INSTANCE = "instance.jsonl"


class Quoted(Record):
    """A library whose texts are quoted, and under which terms."""

    library: str
    """Name of the library."""

    release: str
    """Release that is quoted."""

    licence: str
    """SPDX expression; NOASSERTION where the catalogue does not know the library."""

    copyleft: bool
    """Whether copies of its texts stand under copyleft terms."""

    domain: str
    """Field of use."""

    tasks: int
    """Number of tasks about it."""


class Source(Record):
    """One file of tasks, ready to be exported."""

    name: str
    """Name of the configuration: group and model, or the file's stem."""

    tasks: tuple[Task, ...]
    """Tasks, sorted by id."""

    quoted: tuple[Quoted, ...]
    """Libraries that they quote, sorted."""

    def terms(self, library: str) -> Quoted:
        """Return the terms of one of the libraries."""
        return next(entry for entry in self.quoted if entry.library == library)


def read_sources(paths: Sequence[Path]) -> list[Source]:
    """Read task files, or folders that hold an instance.

    Raises:
        UsageError: a path holds no tasks, or two give the same name.
        DataError: a file is broken.
    """
    sources: dict[str, Source] = {}
    for path in paths:
        file = path / INSTANCE if path.is_dir() else path
        if not file.is_file():
            raise UsageError(f"no tasks at {file}; give a file of tasks, or the folder of an instance")
        tasks = tuple(task for _, task in sorted(read_tasks(file).items()))
        if not tasks:
            raise UsageError(f"{file} holds no task; build the instance first")
        name = f"{file.parent.parent.name}-{file.parent.name}" if file.name == INSTANCE else file.stem
        if name in sources:
            raise UsageError(f"two sources are called '{name}'; rename one of the files")
        sources[name] = Source(name=name, tasks=tasks, quoted=_quoted(tasks))
    return list(sources.values())


def task_row(source: Source, task: Task, prompts: Mapping[str, str]) -> dict[str, Any]:
    """Return a task as flat columns; `task_json` is the task itself, without loss."""
    terms = source.terms(task.library)
    row = task.to_row()
    plain = ("task_id", "library", "release", "api", "change", "difficulty", "kind", "description", "context_code")
    nested = ("inputs", "expected", "calls")
    return {
        **{name: str(row[name] or "") for name in plain},
        "domain": terms.domain,
        "licence": terms.licence,
        "copyleft": terms.copyleft,
        "integrity": task.integrity or "",
        "entry_point": task.entry_point,
        "signature": task.signature,
        "prompt": prompts.get(task.task_id, ""),
        "reference_solution": task.reference_solution,
        **{name: json.dumps(row[name], ensure_ascii=False) for name in nested},
        "task_json": json.dumps(row, ensure_ascii=False),
    }


def read_bundles(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return bundles as flat columns, sorted by library and API, under the names of the published method.

    Raises:
        UsageError: a file does not exist or is no file of bundles.
        DataError: a file is broken.
    """
    rows: list[dict[str, Any]] = []
    for path in paths:
        if not path.is_file():
            raise UsageError(f"no file {path}; give stage2_knowledge files")
        for row in jsonl.read(path):
            if "S_name" not in row:
                raise UsageError(f"{path} is not a file of knowledge bundles; give stage2_knowledge files")
            terms = _terms(str(row["library"]))
            rows.append(
                {
                    "api": row["api"],
                    "library": row["library"],
                    "release": str(row.get("release") or ""),
                    "licence": str(row.get("licence") or terms[0]),
                    "copyleft": terms[1],
                    "S_name": str(row["S_name"] or ""),
                    **{name: json.dumps(row.get(name), ensure_ascii=False) for name in ("S_param", "E")},
                    "M_prose": str(row.get("M_prose") or ""),
                    "M_code": str(row.get("M_code") or ""),
                }
            )
    return sorted(rows, key=lambda row: (row["library"], row["api"]))


def _quoted(tasks: Sequence[Task]) -> tuple[Quoted, ...]:
    found: dict[str, list[Task]] = {}
    for task in tasks:
        found.setdefault(task.library, []).append(task)
    result: list[Quoted] = []
    for library, own in sorted(found.items()):
        licence, copyleft, domain = _terms(library)
        releases = ", ".join(sorted({task.release for task in own}))
        result.append(
            Quoted(library=library, release=releases, licence=licence, copyleft=copyleft, domain=domain, tasks=len(own))
        )
    return tuple(result)


def _terms(library: str) -> tuple[str, bool, str]:
    try:
        entry = find_library(library)
    except UnknownNameError:
        return "NOASSERTION", False, "other"
    return entry.licence, entry.copyleft, entry.domain
