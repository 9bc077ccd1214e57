"""The twelve knowledge conditions, the components of each, and the grids of the experiments."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from novelapi.records.base import Record
from novelapi.records.cell import Delivery

Component = Literal["s_name", "s_param", "e", "m_prose", "m_code"]
Components = frozenset[Component]


class KnowledgeCondition(StrEnum):
    """Which knowledge is given; the values are the names on disk, in the order of all tables."""

    BASELINE = "baseline"
    S_NAME = "s_name"
    E = "e"
    M_PROSE = "m_prose"
    M_CODE = "m_code"
    S = "s"
    S_M_PROSE = "s_m_prose"
    S_M_CODE = "s_m_code"
    S_M_PROSE_M_CODE = "s_m_prose_m_code"
    S_E = "s_e"
    S_E_M_CODE = "s_e_m_code"
    FULL = "full"

    @property
    def components(self) -> Components:
        """The components that are given."""
        return COMPONENTS[self]


COMPONENTS: dict[KnowledgeCondition, Components] = {
    KnowledgeCondition.BASELINE: frozenset(),
    KnowledgeCondition.S_NAME: frozenset({"s_name"}),
    KnowledgeCondition.E: frozenset({"e"}),
    KnowledgeCondition.M_PROSE: frozenset({"m_prose"}),
    KnowledgeCondition.M_CODE: frozenset({"m_code"}),
    KnowledgeCondition.S: frozenset({"s_name", "s_param"}),
    KnowledgeCondition.S_M_PROSE: frozenset({"s_name", "s_param", "m_prose"}),
    KnowledgeCondition.S_M_CODE: frozenset({"s_name", "s_param", "m_code"}),
    KnowledgeCondition.S_M_PROSE_M_CODE: frozenset({"s_name", "s_param", "m_prose", "m_code"}),
    KnowledgeCondition.S_E: frozenset({"s_name", "s_param", "e"}),
    KnowledgeCondition.S_E_M_CODE: frozenset({"s_name", "s_param", "e", "m_code"}),
    KnowledgeCondition.FULL: frozenset({"s_name", "s_param", "e", "m_prose", "m_code"}),
}
"""The components of each condition."""


class GridPoint(Record):
    """One cell of a grid, before it is given a model and an instance."""

    condition: KnowledgeCondition
    """Knowledge that is given."""

    delivery: Delivery
    """How it is given; `oracle` where there is nothing to deliver."""

    @property
    def name(self) -> str:
        """Name of the cell: delivery and condition."""
        return f"{self.delivery}-{self.condition}"


def build_experiment_grid() -> tuple[GridPoint, ...]:
    """Return the 34 cells of the main grid: the baseline, and 11 conditions by retrieval, training, and both."""
    deliveries: tuple[Delivery, ...] = ("rag", "sft", "rag_sft")
    points = [GridPoint(condition=KnowledgeCondition.BASELINE, delivery="oracle")]
    for delivery in deliveries:
        points += [
            GridPoint(condition=condition, delivery=delivery)
            for condition in KnowledgeCondition
            if condition is not KnowledgeCondition.BASELINE
        ]
    return tuple(points)


def build_oracle_grid() -> tuple[GridPoint, ...]:
    """Return the 12 cells in which the target's own bundle stands in the prompt."""
    return tuple(GridPoint(condition=condition, delivery="oracle") for condition in KnowledgeCondition)


def build_parametric_grid() -> tuple[GridPoint, ...]:
    """Return the 14 cells of the parametric grid: unchanged and adapted weights, without and with knowledge.

    The unchanged weights ("base") are the `oracle` cells.
    """
    deliveries: tuple[Delivery, ...] = ("oracle", "sft", "raft", "grace", "memit", "alphaedit", "alphaedit_lora")
    conditions = (KnowledgeCondition.BASELINE, KnowledgeCondition.FULL)
    return tuple(
        GridPoint(condition=condition, delivery=delivery) for delivery in deliveries for condition in conditions
    )
