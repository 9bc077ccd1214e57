"""The editors satisfy the checks, on both families, with tied and untied embeddings."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the extra train is not installed")
pytest.importorskip("trl", reason="the extra train is not installed")

from tests.fakes import editing_checks as checks  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # trl, datasets and torch warn about themselves

WEIGHTS = [checks.check_statistics, checks.check_memit, checks.check_undo, checks.check_alphaedit, checks.check_bound]
TRAINED = [checks.check_projected_lora, checks.check_loss, checks.check_first_adapters]
EDITS = [checks.check_edits, checks.check_outside, checks.check_labels]


@pytest.mark.parametrize("check", WEIGHTS, ids=lambda item: item.__name__)
def test_weight_editors_on_random_models(check, any_model, tokenizer):
    check(any_model, tokenizer)


@pytest.mark.parametrize("check", [*WEIGHTS, *TRAINED, *EDITS], ids=lambda item: item.__name__)
def test_methods_on_a_taught_model(check, taught, tokenizer):
    check(taught, tokenizer)


@pytest.mark.parametrize("check", [checks.check_outside, checks.check_edits], ids=lambda item: item.__name__)
def test_values_before_the_key_as_published(check, taught, tokenizer):
    check(taught, tokenizer, replace="before")


def test_merged_equals_unmerged(model, tokenizer, tmp_path):
    checks.check_merged(model, tokenizer, tmp_path)


@pytest.mark.parametrize(
    "check", [checks.check_rules, checks.check_distances, checks.check_solve], ids=lambda item: item.__name__
)
def test_rules_and_algebra(check):
    check()
