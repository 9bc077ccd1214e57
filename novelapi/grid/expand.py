"""From lists of conditions and deliveries to the cells of a grid."""

from __future__ import annotations

from collections.abc import Sequence

from novelapi.records.cell import Condition, Delivery


def expand_grid(conditions: Sequence[Condition], deliveries: Sequence[Delivery]) -> list[tuple[Delivery, Condition]]:
    """Return (delivery, condition) of each cell; the baseline has nothing to deliver: it stands once, as `oracle`."""
    found: list[tuple[Delivery, Condition]] = []
    for delivery in deliveries:
        for condition in conditions:
            pair: tuple[Delivery, Condition] = (delivery, condition)
            if condition == "baseline":
                pair = ("oracle", "baseline")
            if pair not in found:
                found.append(pair)
    return sorted(found, key=lambda pair: pair[1] != "baseline")
