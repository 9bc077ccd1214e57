"""Which cells a choice of conditions and deliveries has."""

from __future__ import annotations

from collections.abc import Sequence

from novelapi.records.cell import Condition, Delivery, FurtherCondition

SHARED_BASELINE: tuple[Delivery, ...] = ("oracle", "rag", "sft", "rag_sft", "rag_graph")
"""Deliveries that have nothing to deliver without knowledge: one baseline stands for them all."""


def expand_grid(
    conditions: Sequence[Condition | FurtherCondition], deliveries: Sequence[Delivery]
) -> list[tuple[Delivery, Condition | FurtherCondition]]:
    """Return the cells in the order in which they were asked for, each once.

    `docs` and `pack` have one cell each: their texts are what they are, whatever the condition. So has `search`, whose
    tools show names whatever else they show. The main grid (`rag`,
    `sft`, `rag_sft`, all conditions) has 1 + 11 x 3 = 34 cells, `oracle` alone has 12. Edited and otherwise trained
    weights differ from the unchanged ones also without knowledge, so they have baselines of their own.
    """
    cells: dict[tuple[Delivery, Condition | FurtherCondition], None] = {}
    for delivery in deliveries:
        for condition in ("full",) if delivery in {"docs", "pack", "search"} else conditions:
            if condition == "s_prereq" and delivery != "oracle":
                continue  # `rag_graph` delivers prerequisites; trained weights hold none
            shared = condition == "baseline" and delivery in SHARED_BASELINE
            cells["oracle" if shared else delivery, condition] = None
    return list(cells)
