"""How outcomes change between two runs, task by task."""

from __future__ import annotations

import numpy as np

from novelapi.reporting.outcomes import OUTCOMES, Outcomes


def flow_counts(outcomes: Outcomes, first: int, second: int) -> dict[tuple[str, str], int]:
    """Count the tasks that both runs were asked by their pair of outcomes, in the order of `OUTCOMES`."""
    both = outcomes.asked[:, first] & outcomes.asked[:, second]
    before, after = outcomes.codes[both, first], outcomes.codes[both, second]
    size = len(OUTCOMES)
    counted = np.bincount(before.astype(np.int64) * size + after, minlength=size * size).reshape(size, size)
    return {(OUTCOMES[i], OUTCOMES[j]): int(counted[i, j]) for i in range(size) for j in range(size) if counted[i, j]}
