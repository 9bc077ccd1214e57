"""Hand-written tasks and completers for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from novelapi.records.cell import Sampling
from novelapi.records.task import Task


def numpy_task(number: int = 1, **fields: Any) -> Task:
    """A task of numpy.unstack, or of what the fields say."""
    row: dict[str, Any] = {
        "task_id": f"numpy/unstack/{number}",
        "library": "numpy",
        "release": "2.4.4",
        "api": "numpy.unstack",
        "description": "Split the array `x` along the given axis and return the parts as a list of nested lists.",
        "context_code": "import numpy as np\n",
        "entry_point": "solve",
        "signature": "def solve(x, axis):",
        "reference_solution": "def solve(x, axis):\n    return [part.tolist() for part in np.unstack(x, axis=axis)]\n",
        "inputs": [
            {"args": ["np.arange(6).reshape(2, 3)", "1"]},
            {"args": ["np.ones((4, 5, 6))"], "kwargs": {"axis": "987654"}, "hidden": True},
        ],
    }
    return Task.model_validate(row | fields)


class Scripted:
    """A plain completer: only what the port asks for; it counts what it is asked."""

    name = "scripted"

    def __init__(self, revision: str = "r1") -> None:
        self.revision = revision
        self.asked: list[tuple[str, int]] = []

    def complete(self, prompts: Sequence[str], sampling: Sampling) -> list[list[str]]:
        self.asked += [(prompt, sampling.n) for prompt in prompts]
        return [
            [
                f"{self.revision}|{prompt}|{'greedy' if i == 0 else f't={sampling.temperature} s={sampling.seed} #{i}'}"
                for i in range(sampling.n)
            ]
            for prompt in prompts
        ]
