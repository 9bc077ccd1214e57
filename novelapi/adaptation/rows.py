"""Training data as text: one row per task, the same answer for every method; the input is what differs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from pydantic import Field

from novelapi.adaptation.chat import end_of_turn, offset_of, written
from novelapi.adaptation.extras import Tokenizer
from novelapi.adaptation.requests import EditRequest, TokenRequest, encode, locate_subject
from novelapi.errors import UsageError
from novelapi.knowledge.render import fenced
from novelapi.records.base import Record
from novelapi.records.task import Task

RULE = "---"
"""Stands between two documents, as between retrieved passages."""

Form = Literal["task", "subject", "documents", "retrieved"]
"""What an input shows: the task alone (SFT, GRACE), the API's name too (MEMIT, AlphaEdit), documents that were drawn
(RAFT), or what retrieval found (RAG and SFT)."""


class Row(Record):
    """One training example or edit, before any tokenizer."""

    task_id: str
    """The task."""

    library: str
    """Its library."""

    api: str
    """Its target."""

    prompt: str
    """The user message."""

    answer: str
    """The answer to learn: the reference solution as a code block."""

    subject: str | None = None
    """Part of the prompt that an edit is about, or null."""

    documents: tuple[str, ...] = ()
    """APIs whose knowledge stands in the prompt, in order (RAFT; not noted where it was retrieved)."""

    dropped: bool = False
    """Whether the target's own document is missing: left out (RAFT), or not found (RAG and SFT)."""


class Encoded(Record):
    """What became of rows when they were tokenised."""

    kept: int = 0
    """Rows that are used."""

    left_out: dict[str, str] = Field(default_factory=dict)
    """Rows that are not, with the reason; nothing is ever cut."""

    longest: int = 0
    """Tokens of the longest row."""


def answer_of(task: Task) -> str:
    """Return the answer that every method is trained on."""
    return fenced(task.reference_solution.strip("\n"))


def plain_row(task: Task, prompt: str, subject: str | None = None) -> Row:
    """Return the row of a task under a prompt; a subject that is not in it is noticed when the row is encoded."""
    return Row(
        task_id=task.task_id,
        library=task.library,
        api=task.api,
        prompt=prompt,
        answer=answer_of(task),
        subject=subject,
    )


Api = tuple[str, str]
"""Library and API: names repeat across libraries."""


class RaftDraw(Record):
    """Which documents a RAFT row shows."""

    documents: tuple[Api, ...]
    """In the order in which they stand."""

    dropped: bool
    """Whether the target is not among them."""


def draw_documents(
    task_id: str, target: Api, pool: Sequence[Api], *, seed: int, distractors: int = 2, drop: float = 0.2
) -> RaftDraw:
    """Draw the documents of one row from the task's own stream, so that rows do not depend on each other.

    The order of the draws is that of the published data: distractors, then the drop, then the order.

    Args:
        task_id: names the stream, together with the seed.
        target: the task's API.
        pool: APIs that may be distractors; sorted here.
        seed: seed of the data.
        distractors: number of other APIs.
        drop: probability that the target is left out.

    Raises:
        UsageError: the pool holds too few other APIs.
    """
    others = sorted(set(pool) - {target})
    if len(others) < distractors:
        raise UsageError(f"RAFT needs {distractors} other APIs and there are {len(others)}: train on more APIs")
    stream = random.Random(f"{seed}::{task_id}")  # noqa: S311 - published data, not a secret
    drawn = stream.sample(others, distractors)
    if stream.random() < drop:
        return RaftDraw(documents=tuple(drawn), dropped=True)
    shown = [target, *drawn]
    stream.shuffle(shown)
    return RaftDraw(documents=tuple(shown), dropped=False)


def raft_rows(
    tasks: Sequence[Task],
    document: Callable[[Task, Api], str],
    prompt: Callable[[Task, str], str],
    *,
    seed: int = 0,
    distractors: int = 2,
    drop: float = 0.2,
) -> list[Row]:
    """Return the RAFT rows of training tasks.

    Args:
        tasks: training tasks; their APIs are the pool.
        document: text about an API as it may be shown for a task.
        prompt: the user message of a task with some text.
        seed: seed of the data.
        distractors: number of other APIs per row.
        drop: probability that the target is left out.
    """
    pool = sorted({(task.library, task.api) for task in tasks})
    rows: list[Row] = []
    for task in tasks:
        draw = draw_documents(
            task.task_id, (task.library, task.api), pool, seed=seed, distractors=distractors, drop=drop
        )
        texts = [document(task, api) for api in draw.documents]
        row = plain_row(task, prompt(task, f"\n\n{RULE}\n\n".join(text for text in texts if text)))
        names = tuple("/".join(api) for api in draw.documents)
        rows.append(row.model_copy(update={"documents": names, "dropped": draw.dropped}))
    return rows


def encode_rows(
    rows: Sequence[Row],
    tokenizer: Tokenizer,
    *,
    window: int,
    chat: bool = True,
    prefixes: Sequence[str] = (),
) -> tuple[list[TokenRequest], Encoded]:
    """Turn rows into requests; a row that does not fit whole is left out and counted.

    Args:
        rows: the rows.
        tokenizer: the model's tokenizer.
        window: longest sequence in tokens.
        chat: whether the prompt stands in the chat template, as at evaluation.
        prefixes: contexts in front of the prompt, for keys.

    Raises:
        UsageError: no row is left.
    """
    found: list[TokenRequest] = []
    left_out: dict[str, str] = {}
    end = end_of_turn(tokenizer)
    for row in rows:
        try:
            found.append(encode(_request(row, tokenizer, chat), tokenizer, prefixes=prefixes, window=window, end=end))
        except UsageError as error:
            left_out[row.task_id] = str(error)
    if not found:
        reason = next(iter(left_out.values()), "there are no rows")
        raise UsageError(f"no training row is left: {reason}")
    longest = max(len(variant.ids) for request in found for variant in request.variants)
    return found, Encoded(kept=len(found), left_out=left_out, longest=longest)


def _request(row: Row, tokenizer: Tokenizer, chat: bool) -> EditRequest:
    text = written(tokenizer, row.prompt) if chat else row.prompt
    subject = None
    if row.subject is not None:
        shift = offset_of(text, row.prompt) if chat else 0
        start, stop = locate_subject(row.prompt, row.subject)
        subject = (start + shift, stop + shift)
    return EditRequest(case_id=row.task_id, api=row.api, prompt=text, subject=subject, target=row.answer)


def conflicting(rows: Sequence[Row]) -> Mapping[str, int]:
    """Return the APIs with several rows, with their number: their edits share a subject."""
    counts = Counter(row.api for row in rows)
    return {api: count for api, count in sorted(counts.items()) if count > 1}
