"""A key changes with everything that decides a result, and with nothing else."""

from __future__ import annotations

import pytest

from novelapi.records.cell import Cell, Retrieval, Sampling
from novelapi.records.stage import StageResult
from tasks._keys import task_key

CELL = Cell(
    experiment="numpy-copy",
    group="numpy",
    model="copy",
    model_revision="copy-1",
    condition="full",
    delivery="oracle",
    instance_sha="a" * 64,
    bundles_sha="b" * 64,
)

KEYED_CELL_FIELDS = {
    # field: another value
    "experiment": "scipy-copy",
    "group": "scipy",
    "model": "openai:gpt",
    "model_revision": "copy-2",
    "condition": "baseline",
    "delivery": "rag",
    "instance_sha": "c" * 64,
    "bundles_sha": "c" * 64,
    "sampling": Sampling(n=2),
    "retrieval": Retrieval(),
    "adapter_sha": "d" * 64,
    "source": "copy",
    "opinion": "strong@1",
    "window": 4096,
    "split": "test",
    "prompt_version": 2,
    "evaluator_version": 2,
    "limit": 5,
}
IRRELEVANT_CELL_FIELDS: dict[str, str] = {}  # field: reason

KEYED_RETRIEVAL_FIELDS = {
    "index": "lancedb",
    "mode": "hybrid",
    "k": 3,
    "chunking": "windows",
    "embedder": "e" * 64,
    "version": 2,
    "documents": "f" * 64,
}
KEYED_SAMPLING_FIELDS = {"n": 5, "temperature": 0.1, "top_p": 0.5, "max_tokens": 64, "seed": 7}


def key(cell: Cell, **more) -> str:
    return task_key("cell", 1, f"{cell.experiment}/{cell.condition}", {"cell": cell, **more}, {"jobs": "speed"})


def test_every_field_of_the_cell_is_keyed_or_listed_as_irrelevant():
    assert set(Cell.model_fields) == set(KEYED_CELL_FIELDS) | set(IRRELEVANT_CELL_FIELDS)
    assert set(Sampling.model_fields) == set(KEYED_SAMPLING_FIELDS)
    assert set(Retrieval.model_fields) == set(KEYED_RETRIEVAL_FIELDS)


@pytest.mark.parametrize("field", sorted(KEYED_CELL_FIELDS))
def test_a_change_of_a_cell_field_changes_the_key(field):
    assert key(CELL.model_copy(update={field: KEYED_CELL_FIELDS[field]})) != key(CELL)


@pytest.mark.parametrize("field", sorted(KEYED_SAMPLING_FIELDS))
def test_a_change_of_a_sampling_field_changes_the_key(field):
    sampling = Sampling(**{field: KEYED_SAMPLING_FIELDS[field]})
    assert key(CELL.model_copy(update={"sampling": sampling})) != key(CELL)


@pytest.mark.parametrize("field", sorted(KEYED_RETRIEVAL_FIELDS))
def test_a_change_of_a_retrieval_field_changes_the_key(field):
    plain, changed = Retrieval(), Retrieval(**{field: KEYED_RETRIEVAL_FIELDS[field]})
    assert key(CELL.model_copy(update={"retrieval": changed})) != key(CELL.model_copy(update={"retrieval": plain}))


def test_an_irrelevant_parameter_does_not_change_the_key():
    assert key(CELL, jobs=1) == key(CELL, jobs=8) == key(CELL)


def test_an_irrelevant_field_inside_a_record_does_not_change_the_key():
    irrelevant = {"cell.limit": "example"}
    limited = CELL.model_copy(update={"limit": 3})
    assert task_key("cell", 1, "x", {"cell": limited}, irrelevant) == task_key(
        "cell", 1, "x", {"cell": CELL}, irrelevant
    )


def test_a_new_parameter_changes_the_key():
    assert key(CELL, colour="red") != key(CELL)


def test_stage_and_version_are_part_of_the_key():
    keys = {task_key(stage, version, "x", {}, {}) for stage in ("a", "b") for version in (1, 2)}
    assert len(keys) == 4


def test_a_stage_result_counts_by_the_digest_of_its_file_alone():
    def of(**fields) -> str:
        result = StageResult(**{"stage": "s", "path": "p", "sha256": "0" * 64, **fields})
        return task_key("next", 1, "x", {"before": result}, {})

    assert of(path="elsewhere", counts={"tasks": 3}) == of()
    assert of(sha256="1" * 64) != of()


def test_the_key_is_readable_and_one_folder_deep_per_part():
    assert key(CELL).split("/")[:4] == ["cell", "v1", "numpy-copy", "full"]


@pytest.mark.parametrize("name", ["openai:org/model", "../../etc", "a b", "é", ".."])
def test_a_subject_cannot_leave_the_store(name):
    parts = task_key("cell", 1, name, {}, {}).split("/")
    assert not {"", ".", ".."} & set(parts)


def test_order_of_keys_does_not_matter_and_order_of_values_does():
    assert task_key("s", 1, "x", {"a": {"b": 1, "c": 2}}, {}) == task_key("s", 1, "x", {"a": {"c": 2, "b": 1}}, {})
    assert task_key("s", 1, "x", {"a": [1, 2]}, {}) != task_key("s", 1, "x", {"a": [2, 1]}, {})


def test_a_parameter_without_canonical_form_is_an_error_and_not_an_uncached_run():
    with pytest.raises(TypeError, match="no canonical form"):
        task_key("s", 1, "x", {"a": object()}, {})
