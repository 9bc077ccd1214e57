"""The twelve conditions, the grids, and what each condition shows."""

from typing import get_args

import pytest

from novelapi.knowledge.conditions import (
    KnowledgeCondition,
    build_experiment_grid,
    build_oracle_grid,
    build_parametric_grid,
)
from novelapi.knowledge.render import HEADINGS, render
from novelapi.records.bundle import Exemplar, KnowledgeBundle, KnownParameter, Surface
from novelapi.records.cell import Condition

BUNDLE = KnowledgeBundle(
    api="lib.f",
    library="lib",
    release="2",
    change="added",
    kind="function",
    surface=Surface(
        s_name="lib.f",
        parameters=(KnownParameter(name="x", kind="keyword_only", type="int", default="1", description="Operand."),),
        returns="int",
        signature="(*, x=1)",
    ),
    exemplars=(
        Exemplar(code="from lib import f\n\nif f():\n    f(x=2)\n", status="executed", output="2", calls=("f[x=](2)",)),
        Exemplar(code="f(x=3)\n", status="executed", output="```", calls=("f[x=](3)",)),
    ),
    m_prose="It multiplies.\n\n  indented",
    m_code="def f(*, x=1):\n    return x\n",
    licence="MIT",
)


def test_names_and_order():
    assert tuple(KnowledgeCondition) == get_args(Condition)
    assert len(KnowledgeCondition) == 12


def test_grids():
    main = build_experiment_grid()
    assert len(main) == len({point.name for point in main}) == 34
    assert [point.name for point in main[:2]] == ["oracle-baseline", "rag-s_name"]
    assert len(build_oracle_grid()) == 12
    assert len(build_parametric_grid()) == len({point.name for point in build_parametric_grid()}) == 14


@pytest.mark.parametrize("condition", KnowledgeCondition)
def test_a_condition_shows_its_components_only(condition):
    text = render(BUNDLE, condition)
    shown = {name for name, heading in HEADINGS.items() if heading in text}
    assert shown == condition.components


def test_baseline_is_empty():
    assert render(BUNDLE, "baseline") == ""


def test_code_and_white_space_stay():
    text = render(BUNDLE, "full")
    assert "```python\nfrom lib import f\n\nif f():\n    f(x=2)\n```" in text
    assert "It multiplies.\n\n  indented" in text
    assert "````\n```\n````" in text  # a fence inside is fenced by a longer one
    assert "f(*, x=1)" in text
    assert "- `x` (int; keyword-only; default 1): Operand." in text


def test_hidden_calls_are_not_shown():
    text = render(BUNDLE, "e", hide=frozenset({"f[x=](2)"}))
    assert "f(x=3)" in text
    assert "f(x=2)" not in text
    assert render(BUNDLE, "e", hide=frozenset({"f[x=](2)", "f[x=](3)"})) == ""


def test_rows_have_the_names_of_the_paper():
    row = BUNDLE.to_row()
    assert {"S_name", "S_param", "E", "M_prose", "M_code"} <= row.keys()
    assert KnowledgeBundle.from_row(row) == BUNDLE
