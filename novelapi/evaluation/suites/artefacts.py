"""Reads the answers to a selection suite: our predictions files, other harnesses' results, folders of recorded runs."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from novelapi.errors import DataError
from novelapi.evaluation.suites.choice import Row, read_rows
from novelapi.selection.tasks import Skipped, Task

IDS = ("task_id", "id", "query_id", "example_id", "sample_id")
"""Keys that may hold the id of the task, in this order."""
SAMPLES = ("samples", "completion", "solution", "result", "answer", "output", "generated_text", "artefact")
"""Keys that may hold the answer, in this order; one that is no text counts as its JSON."""
_RUN = re.compile(r"(?:^|_)(\d+)_[A-Za-z][^/]*\.json$")
"""File of a recorded run: id of the query, then the method (`588_CoT@1.json`)."""


def read_artefacts(path: Path, tasks: Mapping[str, Task], skipped: Iterable[Skipped] = ()) -> dict[str, Sequence[str]]:
    """Read the answers by task.

    A file holds JSON lines, an array, or an object by task; a folder holds one recorded run of ToolBench per file.

    Raises:
        DataError: missing file, broken row, duplicate or unknown id.
    """
    ids = _ids(tasks, skipped)
    found: dict[str, Sequence[str]] = {}
    for place, written, samples in _rows(path):
        keys = ids.get(written, [])
        if len(keys) > 1:
            raise DataError(f"{place}: the id '{written}' is not unique: write {' or '.join(keys)}")
        if not keys:
            raise DataError(f"{place}: unknown task_id '{written}': {_hint(written, ids)}")
        if keys[0] in found:
            raise DataError(f"{place}: duplicate task_id '{written}'; join its samples")
        found[keys[0]] = samples
    if not found:
        raise DataError(f"{path} holds no prediction; give a file with one JSON object a line")
    return found


def _ids(tasks: Mapping[str, Task], skipped: Iterable[Skipped]) -> dict[str, list[str]]:
    """Return tasks by each id that stands for them; rows with a defect are known too."""
    found: dict[str, list[str]] = {key: [key] for key in tasks}
    found |= {item.key: [item.key] for item in skipped}
    for key, task in tasks.items():
        for alias in task.aliases:
            if alias not in tasks:
                found.setdefault(alias, []).append(key)
    return found


def _rows(path: Path) -> Iterable[tuple[str, str, list[str]]]:
    """Yield place, id and samples of each answer."""
    if path.is_dir():
        files = sorted(path.rglob("*.json"))
        if not files:
            raise DataError(f"{path} holds no recorded run; give a folder of files like 588_CoT@1.json, or JSON lines")
        for file in files:
            yield _recorded(file)
        return
    if _RUN.search(path.name):
        yield _recorded(path)
        return
    for number, row in enumerate(read_rows(path), 1):
        place = f"{path}, row {number}"
        yield place, _id(row, place), _samples(row, place)


def _recorded(path: Path) -> tuple[str, str, list[str]]:
    name = _RUN.search(path.name)
    if name is None:
        raise DataError(f"{path}: the file's name has no id of a query (588_CoT@1.json); rename it or move it away")
    try:
        text = path.read_text("utf-8")
        json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"cannot read {path}: {error}; correct or remove the file") from error
    return str(path), name[1], [text]


def _id(row: Row, place: str) -> str:
    for key in IDS:
        if isinstance(row.get(key), str | int):
            return str(row[key])
    raise DataError(f"{place}: task_id: field missing; correct the row")


def _samples(row: Row, place: str) -> list[str]:
    key = next((key for key in SAMPLES if key in row), None)
    if key is None:
        raise DataError(f"{place}: samples: field missing; give 'samples', 'completion' or 'result'")
    value: Any = row[key]
    if key == "samples":
        if not isinstance(value, list):
            raise DataError(f"{place}: 'samples' is no list; correct the row")
        return [_text(item) for item in value]
    if key == "answer" and isinstance(value, dict) and "answer_details" in value:
        return [_text(row)]
    return [] if value is None else [_text(value)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _hint(written: str, ids: Mapping[str, list[str]]) -> str:
    near = difflib.get_close_matches(written, list(ids), n=1)
    return f"did you mean '{near[0]}'?" if near else "use the ids of the suite's own file"
