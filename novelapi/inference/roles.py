"""What a strong model answers in each role, and what of it is rejected before anything is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from novelapi.records.task import TaskInput
from novelapi.records.verdict import Label


class _Reply(BaseModel):
    """Replies may hold more than was asked for; the rest is dropped."""

    model_config = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True)


class WrittenExample(_Reply):
    """One example of an author."""

    code: str
    """Self-contained Python."""


class WrittenExamples(_Reply):
    """The reply of `author_examples`."""

    examples: tuple[WrittenExample, ...]
    """The examples."""


class WrittenMechanism(_Reply):
    """The reply of `author_mechanism`."""

    text: str = Field(min_length=1)
    """Prose."""


class WrittenInputs(_Reply):
    """The reply of `author_inputs`."""

    inputs: tuple[TaskInput, ...]
    """Arguments as Python expressions."""


class WrittenTask(_Reply):
    """One task of an author."""

    difficulty: Literal["easy", "medium", "hard"]
    """As the author sees it."""

    description: str
    """What to return from which parameters."""

    context_code: str = ""
    """Imports."""

    signature: str
    """First line of the function."""

    reference_solution: str
    """A solution."""

    inputs: tuple[TaskInput, ...] = Field(min_length=1)
    """Arguments as Python expressions."""


class WrittenTasks(_Reply):
    """The reply of `author_tasks`."""

    tasks: tuple[WrittenTask, ...]
    """The tasks."""


class Opinion(_Reply):
    """The reply of `second_opinion`: a column beside the verdict, never the verdict."""

    label: Label
    """Cause of the failure."""

    reason: str = ""
    """One sentence."""


def reject_example(code: str, api: str) -> str | None:
    """Return why an example cannot be knowledge about an API, or null; whether it runs is for the sandbox to say."""
    tree = _parse(code)
    if tree is None:
        return "the example does not compile"
    leaf = api.rsplit(".", 1)[-1]
    called = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in _calls(tree)
    }
    read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return None if leaf in called | read else f"the example does not use {leaf}"


def reject_mechanism(text: str, api: str, sources: Iterable[str]) -> str | None:
    """Return why a text cannot be M_prose, or null.

    Args:
        text: what the author wrote.
        api: the API, whose name must not occur.
        sources: documentation and source; every identifier of the text must occur in one of them.
    """
    leak = leaked_name(text, api)
    if leak:
        return f"the text names the API ({leak})"
    known = set(re.findall(r"\w+", " ".join(sources)))
    for name in re.findall(r"`([^`]+)`", text) + re.findall(r"\b\w+_\w+\b", text):
        unknown = [part for part in re.findall(r"[A-Za-z_]\w*", name) if part not in known]
        if unknown:
            return f"the name {unknown[0]} is not in the source"
    return None


def reject_task(task: WrittenTask, api: str) -> str | None:
    """Return why a task cannot be used, or null; gold runs and mutants are for the harness."""
    for part, text in (("description", task.description), ("context", task.context_code)):
        leak = leaked_name(text, api)
        if leak:
            return f"the {part} names the API ({leak})"
    tree = _parse(f"{task.context_code}\n{task.reference_solution}")
    if tree is None:
        return "the reference does not compile"
    if not any(isinstance(node, ast.FunctionDef) for node in tree.body):
        return "the reference defines no function"
    return reject_example(task.reference_solution, api)


def leaked_name(text: str, api: str) -> str | None:
    """Return the identifier of a text that gives the API's leaf away, or null; substrings of other words do not."""
    leaf = api.rsplit(".", 1)[-1]
    return next((word for word in re.findall(r"\w+", text) if word.lower() == leaf.lower()), None)


def _parse(code: str) -> ast.Module | None:
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError):
        return None


def _calls(tree: ast.Module) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
