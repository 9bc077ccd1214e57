"""Which weights the cells of an adaptation run have, and what its table says of them."""

from __future__ import annotations

import pytest

pytest.importorskip("prefect", reason="the extra flows is not installed")

from flows._fits import Fits, points, weights_of
from flows._runs import Tally
from novelapi.adaptation.recipes import Recipe
from novelapi.adaptation.summary import with_scores
from novelapi.errors import UsageError
from novelapi.records.request import FileResult


def test_rag_sft_has_weights_for_each_condition_and_no_baseline():
    asked = points(["oracle", "sft", "rag_sft"], ["baseline", "s", "full"])
    assert [point for point in asked if point[0] == "rag_sft"] == [("rag_sft", "s"), ("rag_sft", "full")]
    assert len(asked) == 8
    fitted = dict.fromkeys(weights_of(*point) for point in asked)
    assert list(fitted) == [None, ("sft", None), ("rag_sft", "s"), ("rag_sft", "full")]
    with pytest.raises(UsageError, match="give another condition"):
        points(["rag_sft"], ["baseline"])


def test_a_method_without_a_recipe_is_named():
    fits = Fits({}, None, {"sft": Recipe()}, FileResult(path="x", sha256="0"), Tally())
    with pytest.raises(UsageError, match="no recipe for 'grace', only for sft: add one"):
        fits.run(("grace", None), FileResult(path="x", sha256="0"))


def test_scores_are_those_of_the_own_condition():
    def cell(path, passed):
        found = {"pass": passed, "fail": 4 - passed, "unscored": 1}
        return {f"results/{path}/results.jsonl": FileResult(path=path, sha256="0", counts=found)}

    cells = cell("x/sft-baseline", 0) | cell("x/sft-full", 2) | cell("x-train/sft-baseline", 4)
    cells |= cell("x/rag_sft-s", 1) | cell("x/rag_sft-full", 3) | cell("x-train/rag_sft-s", 4)
    plain = with_scores({"delivery": "sft", "condition": None}, cells, "x")
    assert (plain["pass_train"], plain["pass_baseline"], plain["pass_full"]) == (1.0, 0.0, 0.5)
    own = with_scores({"delivery": "rag_sft", "condition": "s"}, cells, "x")
    assert (own["pass_train"], own["pass_baseline"], own["pass_full"]) == (1.0, None, 0.25)
    other = with_scores({"delivery": "rag_sft", "condition": "full"}, cells, "x")
    assert (other["pass_train"], other["pass_full"]) == (None, 0.75)


def test_a_group_that_leaves_one_library_out_has_the_libraries_of_the_pool():
    from flows.choices import members

    assert members("lolo_pandas") == members("all_pooled_paper")
    assert members("numpy") == ["numpy"]
