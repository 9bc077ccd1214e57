from __future__ import annotations

from typing import get_args

from novelapi.grid.expand import expand_grid
from novelapi.knowledge.conditions import build_experiment_grid, build_oracle_grid
from novelapi.records.cell import Condition

ALL = get_args(Condition)


def points(grid):
    return [(point.delivery, point.condition) for point in grid]


def test_the_main_grid_is_the_published_one():
    assert sorted(expand_grid(ALL, ["rag", "sft", "rag_sft"])) == sorted(points(build_experiment_grid()))


def test_the_oracle_grid_has_twelve_cells():
    assert expand_grid(ALL, ["oracle"]) == points(build_oracle_grid())


def test_edited_weights_have_a_baseline_of_their_own():
    assert expand_grid(["baseline", "full"], ["oracle", "memit"]) == [
        ("oracle", "baseline"),
        ("oracle", "full"),
        ("memit", "baseline"),
        ("memit", "full"),
    ]


def test_what_is_named_twice_is_one_cell():
    assert expand_grid(["full", "full"], ["rag", "rag"]) == [("rag", "full")]
