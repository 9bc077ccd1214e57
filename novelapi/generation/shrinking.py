"""Small, readable data for a seed: large, random or computed arrays become literal ones of the same kind.

Sizes shrink together: the same length becomes the same smaller length in all arguments, so that shapes still agree.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from novelapi.execution.judge import run_code
from novelapi.execution.zygote import Zygote
from novelapi.generation import drafts
from novelapi.generation.drafts import Draft
from novelapi.generation.seeds import Seed
from novelapi.generation.trials import TRIAL_LIMITS
from novelapi.records.api import Candidate
from novelapi.records.task import Task, TaskInput

_LONG = 90
_READABLE = frozenset({"array", "asarray", "arange", "reshape", "matrix"})
_MOST_DIMENSIONS = 3
_MOST_ELEMENTS = 24

_SHAPES = """
def _shape_of(value):
    kind = type(value)
    if kind.__module__ + "." + kind.__qualname__ != "numpy.ndarray":
        return None
    return [value.dtype.kind, list(value.shape)]
"""

MakeTask = Callable[..., Task]


def shrink(zygote: Zygote, make_task: MakeTask, candidate: Candidate, seed: Seed) -> Seed | None:
    """Return the seed with small literal arrays; null when no argument needs it, or one cannot be replaced.

    Args:
        zygote: where the arguments are evaluated.
        make_task: writes a draft as a task, for the trial.
        candidate: the API.
        seed: the call.
    """
    draft = drafts.drafts_of(candidate, seed)
    if draft is None or not any(_unreadable(free.text) for free in draft.free):
        return None
    shapes = _shapes(zygote, make_task, draft)
    if shapes is None:
        return None
    sizes = _sizes([size for found in shapes if found is not None for size in found[1]])
    texts: dict[int | None, str] = {}
    for free, found in zip(draft.free, shapes, strict=True):
        if found is not None:
            kind, shape = found
            text = literal(kind, [sizes[size] for size in shape])
            if text is None:
                return None
            texts[free.position] = text
        elif _unreadable(free.text):
            return None
    arguments = tuple(
        replace(argument, text=texts.get(number, argument.text)) for number, argument in enumerate(seed.arguments)
    )
    imports = tuple(sorted({*seed.imports, "import numpy as np"}))
    return replace(seed, arguments=arguments, receiver=texts.get(None, seed.receiver), imports=imports, made_up=True)


def _unreadable(text: str) -> bool:
    """Whether an expression is long, random, or computed by calls that a reader would have to run."""
    if len(text) > _LONG:
        return True
    called = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(ast.parse(text, mode="eval"))
        if isinstance(node, ast.Call)
    }
    return bool(called - _READABLE) or "mgrid" in text


def _shapes(zygote: Zygote, make_task: MakeTask, draft: Draft) -> list[tuple[str, list[int]] | None] | None:
    """Evaluate the arguments and return the kind and shape of each array; null when they do not evaluate."""
    names = [free.name for free in draft.free]
    task = make_task(draft, [TaskInput(args=tuple(free.text for free in draft.free))])
    code = f"{_SHAPES}\n{draft.signature}\n    return [{', '.join(f'_shape_of({name})' for name in names)}]\n"
    run = run_code(zygote, task, code, mode="plain", limits=TRIAL_LIMITS)
    if run.infra is not None or run.ended is not None or not run.answers or not run.answers[0].is_value:
        return None
    return [None if item is None else (str(item[0]), list(item[1])) for item in run.answers[0].value]


def _sizes(found: list[int]) -> dict[int, int]:
    """Map each length to a small one: 0 and 1 stay, others become 2, 3, 4 in the order of their size."""
    large = sorted({size for size in found if size > 1})
    return {0: 0, 1: 1, **{size: min(size, 2 + rank) for rank, size in enumerate(large)}}


def literal(kind: str, shape: list[int]) -> str | None:
    """Return an array of a kind and shape as source; null for kinds and sizes that have no short form."""
    if len(shape) > _MOST_DIMENSIONS or kind not in "fiubcU":
        return None
    count = 1
    for size in shape:
        count *= size
    if count > _MOST_ELEMENTS or count == 0:
        return None
    numbers = [(7 * i + 3) % 11 for i in range(count)]
    items: Any = [_item(kind, number) for number in numbers]
    for size in reversed(shape[1:]):
        items = [f"[{', '.join(items[start : start + size])}]" for start in range(0, len(items), size)]
    return f"np.array([{', '.join(items)}])" if shape else f"np.array({items[0]})"


def _item(kind: str, number: int) -> str:
    if kind == "b":
        return str(number % 2 == 0)
    if kind == "f":
        return f"{number}.{'5' if number % 2 else '0'}"
    if kind == "c":
        return f"{number} + {number % 3 + 1}j"
    if kind == "U":
        return repr(("ant", "Bee", "cat", "dog", "Elk")[number % 5])
    return str(number)
