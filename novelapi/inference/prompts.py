"""The prompt of a task: knowledge first, then context, task and one instruction."""

from __future__ import annotations

from pydantic import Field

from novelapi.fingerprint import text_digest
from novelapi.inference.templates import render_template
from novelapi.records.base import Record
from novelapi.records.task import Task, TaskInput

PROMPT_VERSION = 1
"""Version of `prompts/completion.md.j2` and of the rules below; part of every cell's identity."""


class Prompt(Record):
    """One prompt as it is sent, or the reason why it cannot be sent."""

    text: str
    """The user message."""

    trimmed: int = Field(default=0, ge=0)
    """Characters of knowledge that were cut to fit the context window."""

    refused: str | None = None
    """Why it cannot be sent (`context`: too long even without knowledge), or null."""

    @property
    def sha(self) -> str:
        """Digest of the text: the pointer from rows to prompts.jsonl."""
        return text_digest(self.text)


def build_prompt(task: Task, knowledge: str) -> str:
    """Write the one user message that asks a model to solve a task.

    Knowledge stands first so that prompts with the same knowledge share a prefix, which servers cache. Hidden inputs
    are never shown; visible ones appear as calls without their expected values.

    Args:
        task: the task.
        knowledge: Markdown about the API, or an empty string; its headings are pushed below those of the prompt.
    """
    visible = [_call(task.entry_point, item) for item in task.inputs if not item.hidden]
    text = render_template(
        "completion",
        knowledge=knowledge.strip("\n"),
        context=task.context_code.strip("\n"),
        description=task.description.strip(),
        kind=task.kind,
        signature=task.signature.strip("\n"),
        entry_point=task.entry_point,
        calls="\n".join(visible),
    )
    return text.strip("\n") + "\n"


def _call(entry_point: str, item: TaskInput) -> str:
    arguments = [*item.args, *(f"{name}={value}" for name, value in item.kwargs.items())]
    return f"{entry_point}({', '.join(arguments)})"
