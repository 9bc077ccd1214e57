"""How far a second opinion agrees with the deterministic labels: Cohen's kappa, in all and per label."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from novelapi.records.base import Record
from novelapi.records.verdict import LABELS, Label


class Agreement(Record):
    """Agreement over pairs of labels."""

    pairs: int
    """Number of failures with both labels."""

    observed: float
    """Share of equal labels."""

    kappa: float | None
    """Cohen's kappa (Cohen 1960) over the six labels; null where chance alone would agree always."""

    per_label: dict[Label, float | None] = Field(default_factory=dict)
    """Kappa of each label against all others."""


def measure_agreement(pairs: Sequence[tuple[Label, Label]]) -> Agreement:
    """Compare (deterministic label, opinion) pairs."""
    equal = sum(first == second for first, second in pairs)
    return Agreement(
        pairs=len(pairs),
        observed=equal / len(pairs) if pairs else 0.0,
        kappa=_kappa(pairs),
        per_label={label: _kappa([(a == label, b == label) for a, b in pairs]) for label in LABELS},
    )


def _kappa(pairs: Sequence[tuple[object, object]]) -> float | None:
    if not pairs:
        return None
    count = len(pairs)
    observed = sum(first == second for first, second in pairs) / count
    values = sorted({value for pair in pairs for value in pair}, key=str)
    chance = sum(
        sum(first == value for first, _ in pairs) * sum(second == value for _, second in pairs) for value in values
    ) / (count * count)
    return (observed - chance) / (1 - chance) if chance < 1 else None
