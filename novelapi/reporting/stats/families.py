"""Several tests that answer one question: a family."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for the family by the step-down rule of Holm (1979), in the order given.

    A hypothesis is rejected at level a exactly when its adjusted value is at most a; the chance of any false rejection
    in the family is then at most a, whatever the dependence of the tests.
    """
    adjusted = [0.0] * len(p_values)
    floor = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        floor = max(floor, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = floor
    return adjusted
