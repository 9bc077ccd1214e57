"""Mutants: wrong solutions that a task must refuse. A task that one of them passes is thrown away."""

from __future__ import annotations

import ast
import base64
from collections.abc import Sequence
from typing import Any

from novelapi.evaluation.outcome import passes
from novelapi.execution.harness import Harness
from novelapi.execution.trial import observe
from novelapi.execution.values import flat, raises
from novelapi.execution.zygote import Zygote
from novelapi.records.api import Parameter
from novelapi.records.task import Task

Tree = Any


class NoSourceError(Exception):
    """A value cannot be written as a Python expression."""


def to_source(tree: Tree) -> str:  # noqa: PLR0911 - one line per kind of value
    """Return a Python expression that gives a recorded value.

    Raises:
        NoSourceError: the value is of a kind that has no short expression.
    """
    if isinstance(tree, list):
        return "[" + ", ".join(map(to_source, tree)) + "]"
    if not isinstance(tree, dict):
        return repr(tree)
    tag = tree.get("$")
    if tag is None:
        return "{" + ", ".join(f"{key!r}: {to_source(item)}" for key, item in tree.items()) + "}"
    if tag == "tuple":
        return "(" + "".join(to_source(item) + ", " for item in tree["items"]) + ")"
    if tag in ("set", "frozenset"):
        return f"{tag}([{', '.join(map(to_source, tree['items']))}])"
    if tag == "float":
        return f"float({tree['value']!r})"
    if tag in ("bytes", "bytearray"):
        return f"{tag}({base64.b64decode(tree['base64'])!r})"
    if tag == "dict":
        return "dict([" + ", ".join(f"({to_source(key)}, {to_source(value)})" for key, value in tree["items"]) + "])"
    if tag in ("ndarray", "scalar") and isinstance(tree["dtype"], str):
        return _array_source(tree)
    raise NoSourceError(str(tag))


def _array_source(tree: dict[str, Tree]) -> str:
    shape = tree.get("shape", [])
    if "values" in tree:
        items = flat(tree) or []
        text = f"__import__('numpy').array([{', '.join(map(to_source, items))}], dtype={_dtype(tree)})"
    else:
        text = (
            f"__import__('numpy').frombuffer(__import__('base64').b64decode({tree['base64']!r}), dtype={_dtype(tree)})"
        )
    return f"{text}.reshape({tuple(shape)}){'[()]' if tree['$'] == 'scalar' else '.copy()'}"


def _dtype(tree: dict[str, Tree]) -> str:
    if tree["dtype"] == "T":
        return "__import__('numpy').dtypes.StringDType()"
    return repr(tree["dtype"])


def mutants(
    task: Task, harness: Harness, without_options: dict[str, str], old: Sequence[Parameter] | None = None
) -> dict[str, str]:
    """Return wrong solutions by name.

    Args:
        task: the task.
        harness: its expected values.
        without_options: the reference with one required option left out, by the option's name.
        old: the target's parameters in the old release, which bound what a habit passes; null where they are unknown.
    """
    head = task.signature
    found = {"empty": f"{head}\n    pass\n", "nothing": f"{head}\n    return None\n"}
    imports = task.reference_solution.split("def solve(")[0]
    call_all = f"{imports}\n_real = None\n" + task.reference_solution.replace("def solve(", "def _reference(")
    arguments = head.removeprefix("def solve(").removesuffix("):")
    for name, code in without_options.items():
        found[f"without {name}"] = code
    if task.change == "modified" and (callee := _callee(task)) is not None:
        given = [item for item in arguments.split(", ") if item != callee.split(".", maxsplit=1)[0]]
        habit = ", ".join(given[: _positions(old)])
        found["old habit"] = f"{imports}\n\n{head}\n    return {callee}({habit})\n"
    if any(raises(value) for value in harness.expected):
        return found
    try:
        values = [to_source(value) for value in harness.expected]
    except NoSourceError:
        return found
    found["constant"] = f"{head}\n    return {values[0]}\n"
    memory = f"_memory = [{', '.join(values)}]\n"
    found["uncalled"] = f"{memory}\n\n{head}\n    return _memory.pop(0)\n"
    found["dead call"] = f"{call_all}\n\n{memory}\n\n{head}\n    _reference({arguments})\n    return _memory.pop(0)\n"
    return found


def _positions(old: Sequence[Parameter] | None) -> int | None:
    """Return how many arguments the old release took by position; null for any number, or where that is unknown."""
    if old is None or any(item.kind == "var_positional" for item in old):
        return None
    return sum(item.kind in ("positional_only", "positional_or_keyword") for item in old)


def _callee(task: Task) -> str | None:
    """Return how the reference writes the target, to call it with all that is given, in order, as ever before."""
    leaf = task.api.rpartition(".")[2]
    for node in ast.walk(ast.parse(task.reference_solution)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == leaf:
            return ast.unparse(node.func)
    return None


def survivors(zygote: Zygote, task: Task, harness: Harness, wrong: dict[str, str]) -> list[str]:
    """Return the names of mutants that pass."""
    found: list[str] = []
    for name, code in wrong.items():
        seen = observe(zygote, task, harness, code, "fork")
        if seen.infra is None and passes(task, harness, seen):
            found.append(name)
    return found
