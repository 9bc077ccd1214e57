"""The deliveries that retrieve: the same bytes as the oracle where they find the same, and no example gives a task away."""

from __future__ import annotations

import pytest

from novelapi import jsonl
from novelapi.errors import NovelApiError, UsageError
from novelapi.filters import models
from novelapi.fingerprint import file_digest
from novelapi.grid.retrieved import open_lexical, show_retrieved, store_documents
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.leakage import normalised_calls
from novelapi.layout import Layout
from novelapi.records.bundle import Exemplar
from novelapi.records.cell import Cell, Retrieval
from tests.fakes.bundles import numpy_bundle
from tests.fakes.tasks import numpy_task

PATHS = {"numpy.unstack": ("numpy.unstack",)}
TASK = numpy_task(1)
SOLUTION = "import numpy as np\nx = np.arange(6).reshape(2, 3)\nnp.unstack(x, axis=1)"
TELLING = Exemplar(
    code=SOLUTION,
    status="executed",
    output="(array([0, 3]), array([1, 4]), array([2, 5]))",
    calls=tuple(normalised_calls(SOLUTION, PATHS["numpy.unstack"])),
)
LONG = "\n".join(f"    step_{number} = prepare(step_{number - 1},   mode='m{number}')" for number in range(1, 120))
TARGET = numpy_bundle(m_code=f"def unstack(x, /, *, axis=0):\n{LONG}\n\n\n\treturn step_119")
OTHERS = [
    numpy_bundle("matvec", m_prose="Product of a matrix and a vector."),
    numpy_bundle("vecdot", m_prose="Dot product of two vectors."),
]


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path)


def prepare(layout, bundles, tasks=(TASK,), delivery="rag", condition="full", **retrieval):
    jsonl.write(layout.stage("numpy", "stage2_knowledge", "m"), (bundle.to_row() for bundle in bundles))
    path = layout.instance("numpy", "m") / "instance.jsonl"
    jsonl.write(path, (task.to_row() for task in tasks))
    cell = Cell(
        experiment="numpy-m", group="numpy", model="m", model_revision="1", condition=condition, delivery=delivery,
        instance_sha=file_digest(path), bundles_sha=file_digest(layout.stage("numpy", "stage2_knowledge", "m")),
        retrieval=Retrieval(**retrieval),
    )  # fmt: skip
    return show_retrieved(cell, tasks, PATHS, layout, open_lexical)


def oracle(bundle, condition="full", task=TASK):
    return models.show(task, [bundle], KnowledgeCondition(condition), PATHS["numpy.unstack"])


@pytest.mark.parametrize("condition", [name for name in KnowledgeCondition if name != "baseline"])
def test_the_right_bundle_alone_gives_the_bytes_of_the_oracle(layout, condition):
    found = prepare(layout, [TARGET], condition=condition, k=20)
    assert found.shown[TASK.task_id].prompt == oracle(TARGET, condition).prompt
    assert found.shown[TASK.task_id].retrieved is True


def test_a_bundle_of_which_some_passages_are_found_is_shown_in_part(layout):
    text = prepare(layout, [TARGET], k=1).shown[TASK.task_id].knowledge
    assert "numpy.unstack" in text
    assert "step_119" not in text


def test_every_bundle_is_a_distractor_and_a_miss_is_recorded(layout):
    task = numpy_task(1, description="Dot product of two vectors: vecdot.", context_code="")
    found = prepare(layout, [TARGET, *OTHERS], [task], k=1, condition="m_prose")
    assert found.shown[task.task_id].retrieved is False
    assert found.spec["index"]["apis"] == 3
    assert found.spec["scores"]["hit"]["1"] == 0.0
    rows = jsonl.read(layout.home / found.spec["rankings"])
    assert rows[0]["hits"][0]["api"] == "numpy.vecdot"


@pytest.mark.parametrize("k", [1, 20])
def test_an_example_that_solves_the_task_is_left_out_whichever_bundle_it_is_in(layout, k):
    plain = TARGET.exemplars[0]
    bundles = [numpy_bundle(leaf, m_code=None, exemplars=(TELLING, plain)) for leaf in ("unstack", "matvec")]
    shown = prepare(layout, bundles, condition="e", k=k).shown[TASK.task_id]
    assert models.hidden_calls(TASK, PATHS["numpy.unstack"]) & set(TELLING.calls)
    assert "np.arange(6)" not in shown.knowledge
    assert "array([0, 3])" not in shown.knowledge
    assert plain.code in shown.knowledge


def test_rankings_are_made_once_for_all_numbers_of_passages(layout):
    first = prepare(layout, [TARGET, *OTHERS], k=1).spec["rankings"]
    assert prepare(layout, [TARGET, *OTHERS], k=3).spec["rankings"] == first
    assert prepare(layout, [TARGET, *OTHERS], k=3, chunking="windows").spec["rankings"] != first


def test_an_empty_index_is_one_readable_line(layout):
    with pytest.raises(UsageError, match="no knowledge to index; run `novelapi build`"):
        prepare(layout, [])


def test_documentation_is_a_delivery_of_its_own(layout, tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "unstack.md").write_text(
        f"# Unstacking\n\nSplit an array.\n\n```python\n{SOLUTION}\n```\n\nOther   text.\n"
    )
    (folder / "other.md").write_text("# Something else\n\nNothing to see.\n")
    name = store_documents(folder, "numpy", layout)
    found = prepare(layout, [TARGET], delivery="docs", documents=name, k=1)
    text = found.shown[TASK.task_id].knowledge
    assert "Other   text." in text
    assert "np.unstack" not in text  # it is the task's solution
    assert found.shown[TASK.task_id].retrieved is None
    with pytest.raises(NovelApiError, match="--docs"):
        prepare(layout, [TARGET], delivery="docs", documents="0" * 20)
