"""The exact choice under a budget: at most one option per API, the greatest total value (multiple-choice knapsack).

Dynamic programming over the states that no other one dominates (Kellerer, Pferschy and Pisinger, Knapsack Problems,
2004, chapter 11): exact for integer costs, at most `budget` states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class Option:
    """One way to spend tokens on an API."""

    name: str
    cost: int
    value: float


class _State(NamedTuple):
    cost: int
    value: float
    chosen: tuple[tuple[str, Option], ...]


def choose(options: Mapping[str, Sequence[Option]], budget: int) -> dict[str, Option]:
    """Return the option of each API that is worth its tokens; of equal values the cheaper choice, then by name.

    Options without value are never chosen.
    """
    states = [_State(0, 0.0, ())]
    for api in sorted(options):
        useful = sorted((item for item in options[api] if item.value > 0), key=lambda item: (item.cost, item.name))
        longer = [
            _State(state.cost + item.cost, state.value + item.value, (*state.chosen, (api, item)))
            for item in useful
            for state in states
            if state.cost + item.cost <= budget
        ]
        states = _undominated([*states, *longer])
    return dict(states[-1].chosen)


def _undominated(states: Sequence[_State]) -> list[_State]:
    """Keep the states that are better than every cheaper one, by cost."""
    kept: list[_State] = []
    for state in sorted(states, key=lambda state: (state.cost, -state.value)):
        if not kept or state.value > kept[-1].value + 1e-12:
            kept.append(state)
    return kept
