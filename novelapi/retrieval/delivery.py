"""From rankings to what a prompt shows, and the query that is asked for a task."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from novelapi.inference.markdown import blocks
from novelapi.records.task import Task
from novelapi.retrieval.index import Ranking
from novelapi.retrieval.passages import Passage

RULE = "---"
"""Stands between two passages."""


def task_query(task: Task) -> str:
    """Return the query of a task, as in the published method: description, line end, context."""
    return f"{task.description}\n{task.context_code}".strip()


def retrieved_knowledge(
    ranking: Ranking,
    passages: Mapping[str, Passage],
    k: int,
    hidden: AbstractSet[str] = frozenset(),
    whole: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Join the first passages of a ranking, in the order of their rank, for a prompt.

    Args:
        ranking: the ranking of the task's query.
        passages: the corpus by id.
        k: number of passages.
        hidden: code of examples that must not be shown for this task (they hold its solution's call); a fenced block
            with exactly this code, or with a part of it, is left out together with its output, everything else stays
            byte for byte.
        whole: texts by API that stand in the place of its passages, at the rank of the first of them.
    """
    shown: list[str] = []
    written: set[str] = set()
    for hit in ranking.hits[:k]:
        passage = passages[hit.passage]
        if passage.api not in whole:
            shown.append(_without(passage.text, hidden))
        elif passage.api not in written:
            written.add(passage.api)
            shown.append(whole[passage.api])
    return f"\n\n{RULE}\n\n".join(text for text in shown if text)


def _without(text: str, hidden: AbstractSet[str]) -> str:
    bare = {code.strip("\n") for code in hidden}
    found = blocks(text)
    kept: list[str] = []
    tail = 0  # blocks after a hidden example that show what it printed
    for number, block in enumerate(found):
        if _is_part(_code_of(block), bare):
            tail = 2 if found[number + 1 : number + 2] == ["Output:"] else 0
        elif tail:
            tail -= 1
        else:
            kept.append(block)
    return text if len(kept) == len(found) else "\n\n".join(kept)


def _is_part(code: str | None, hidden: AbstractSet[str]) -> bool:
    """Tell whether code is a hidden example, or whole lines of one (examples longer than a passage are cut)."""
    return bool(code) and any(f"\n{code}\n" in f"\n{whole}\n" for whole in hidden)


def _code_of(block: str) -> str | None:
    lines = block.split("\n")
    return "\n".join(lines[1:-1]).strip("\n") if lines[0].startswith(("```", "~~~")) else None
