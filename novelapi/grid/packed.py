"""Prompts of the delivery `pack`: the whole pack before every task, as a file that a tool always reads would be.

A task is shown the pack that it had no part in choosing. Examples that give its calls away are left out, as with every
other delivery.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from novelapi import jsonl
from novelapi.errors import DataError, NovelApiError
from novelapi.filters.models import Shown, hidden_calls
from novelapi.inference.markdown import blocks
from novelapi.inference.prompts import build_prompt
from novelapi.knowledge.leakage import normalised_calls, overlap
from novelapi.layout import Layout
from novelapi.records.cell import Cell
from novelapi.records.pack import Pack, PackSection
from novelapi.records.task import Task
from novelapi.retrieval.delivery import retrieved_knowledge
from novelapi.retrieval.index import Ranking
from novelapi.retrieval.passages import Passage
from novelapi.retrieval.ranking import Hit


def read_pack(path: Path) -> Pack:
    """Read a pack: the file `pack.json`, or the folder that holds it.

    Raises:
        DataError: there is none, or it is broken.
    """
    file = path / "pack.json" if path.is_dir() else path
    try:
        text = file.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {file}: {error.strerror}; write a pack with `novelapi pack`") from error
    try:
        pack = Pack.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{file}: {f'{where}: ' if where else ''}{first['msg']}; write the pack again") from error
    names = [section.api for section in pack.sections]
    if not names or len(set(names)) < len(names):
        raise DataError(f"{file}: {'an API has two sections' if names else 'it has no section'}; write the pack again")
    return pack


def store_pack(pack: Pack, group: str, layout: Layout) -> str:
    """Keep a pack below the home under the digest of what is read, and return that."""
    jsonl.write_text(layout.pack(group, pack.digest), pack.model_dump_json(indent=1) + "\n")
    return pack.digest


def show_packed(
    cell: Cell, tasks: Sequence[Task], paths: Mapping[str, Sequence[str]], layout: Layout
) -> tuple[dict[str, Shown], dict[str, Any]]:
    """Return the prompt of every task with the pack before it, and what a manifest says of it.

    Raises:
        NovelApiError: the pack that the cell is about is gone.
    """
    name = cell.retrieval.documents if cell.retrieval else None
    path = layout.pack(cell.group, name or "")
    if name is None or not path.exists():
        raise NovelApiError(f"the pack of cell {cell.name} is not there: give it with --pack again")
    pack = read_pack(path)
    shown = {
        task.task_id: _show(task, pack.shown_for(task.task_id), paths.get(task.api, (task.api,))) for task in tasks
    }
    held = sum(any(item.api == task.api for item in pack.shown_for(task.task_id)) for task in tasks)
    return shown, {"pack": {"digest": pack.digest, "budget": pack.budget, "tokens": pack.tokens, "targets_held": held}}


def _show(task: Task, sections: Sequence[PackSection], paths: Sequence[str]) -> Shown:
    hide = hidden_calls(task, paths)
    examples = [code for section in sections for code in _examples(section.text)]
    telling = {code for code in examples if hide & normalised_calls(code, paths)}
    passages = {
        section.api: Passage(id=section.api, api=section.api, library=task.library, text=section.text)
        for section in sections
    }
    ranking = Ranking(query=task.task_id, mode="bm25", hits=tuple(Hit(passage=name, score=0.0) for name in passages))
    text = retrieved_knowledge(ranking, passages, len(passages), telling)
    kept = [code for code in examples if code not in telling]
    return Shown(
        prompt=build_prompt(task, text),
        knowledge=text,
        overlap=overlap(task.reference_solution, kept),
        retrieved=any(section.api == task.api for section in sections),
    )


def _examples(text: str) -> list[str]:
    """Return the code of the Python blocks of a section."""
    found = [block for block in blocks(text) if block.startswith(("```python", "````python"))]
    return ["\n".join(block.split("\n")[1:-1]) for block in found]
