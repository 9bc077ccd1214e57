"""Training rows in the prompts of the evaluation; with retrieved knowledge for each condition, and nothing held out."""

from __future__ import annotations

import pytest

from novelapi import jsonl
from novelapi.errors import UsageError
from novelapi.fingerprint import file_digest
from novelapi.grid import adaptation
from novelapi.grid.adaptation import RowsRequest, Selection, select_tasks, write_rows
from novelapi.grid.cells import shown_tasks
from novelapi.grid.retrieved import open_lexical
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.layout import Layout
from novelapi.records.cell import Cell, Retrieval
from tests.fakes.bundles import numpy_bundle
from tests.fakes.tasks import numpy_task

LEAVES = (
    "unstack",
    "matvec",
    "vecdot",
    "vecmat",
    "astype",
    "isdtype",
    "cumulative_sum",
    "bitwise_count",
    "trapezoid",
    "pow",
)
BASE = "transformers:base"


@pytest.fixture
def layout(tmp_path):
    """Ten APIs with one task each, of which two are held out."""
    found = Layout(tmp_path)
    bundles = [numpy_bundle(leaf, m_prose=f"Split it: all about {leaf} here.") for leaf in LEAVES]
    jsonl.write(found.stage("numpy", "stage2_knowledge", "copy"), (bundle.to_row() for bundle in bundles))
    tasks = [
        numpy_task(1, task_id=f"numpy/{leaf}/1", api=f"numpy.{leaf}", description=f"Split by {leaf}.")
        for leaf in LEAVES
    ]
    jsonl.write(found.instance("numpy", "copy") / "instance.jsonl", (task.to_row() for task in tasks))
    return found


def select(layout, **fields):
    source = layout.instance("numpy", "copy") / "instance.jsonl"
    selection = Selection(group="numpy", source="copy", instance_sha=file_digest(source), **fields)
    return select_tasks(selection, BASE, layout, lambda prompt: len(prompt) // 4)


def test_other_tasks_of_trained_apis_are_kept_out_of_training(layout):
    """One of each API that has several, none of an API that is not trained or held out; the instance holds none."""
    single = jsonl.read(layout.instance("numpy", "copy") / "instance.jsonl")
    more = [{**row, "task_id": row["task_id"][:-1] + str(number)} for row in single[:6] for number in (2, 3)]
    jsonl.write(layout.instance("numpy", "copy") / "instance.jsonl", [*single, *more])
    select(layout)
    held_out = {row["api"] for row in read(layout, "test")}
    all_train = [row["task_id"] for row in read(layout, "train")]
    done = select(layout, others=3)
    train, others = read(layout, "train"), read(layout, "others")
    assert done.counts["others"] == len(others) == len({row["api"] for row in others}) == 3
    assert sorted(row["task_id"] for row in (*train, *others)) == all_train
    assert {row["api"] for row in others} <= {row["api"] for row in train}
    assert held_out == {row["api"] for row in read(layout, "test")}
    kept = {row["task_id"] for row in (*train, *read(layout, "test"))}
    assert {row["task_id"] for row in read(layout, "instance")} == kept
    select(layout, others=9, train=2)
    assert {row["api"] for row in read(layout, "others")} <= {row["api"] for row in read(layout, "train")}
    assert [row["prompt"] for row in rows(layout, "task", others=3, split="others")[0]]
    assert not rows(layout, "task", split="others")[0]


def read(layout, side):
    return jsonl.read(layout.instance("numpy", BASE) / f"{side}.jsonl")


def request(layout, form, others=0, **fields):
    return RowsRequest(
        group="numpy", model=BASE, source="copy", instance_sha=select(layout, others=others).sha256,
        bundles_sha="b" * 64, form=form, **fields,
    )  # fmt: skip


def rows(layout, form, **fields):
    done = write_rows(request(layout, form, **fields), layout)
    return jsonl.read(layout.home / done.path), done


def sides(layout):
    split = jsonl.read(layout.instance("numpy", BASE) / "split.jsonl")
    return {side: {row["api"] for row in split if row["split"] == side} for side in ("train", "test")}


def test_tasks_are_split_by_api_and_long_ones_are_counted(layout):
    done = select(layout)
    assert done.counts == {"train": 8, "test": 2, "others": 0, "too_long": 0, "train_apis": 8, "test_apis": 2}
    assert not sides(layout)["train"] & sides(layout)["test"]
    assert select(layout, train=3, test=1).counts["train"] == 3
    with pytest.raises(UsageError, match="no train task of numpy fits into 16 tokens"):
        select(layout, window=16)
    one = jsonl.read(layout.instance("numpy", "copy") / "instance.jsonl")[:1]
    jsonl.write(layout.instance("numpy", "copy") / "instance.jsonl", one)
    with pytest.raises(UsageError, match="numpy has no train tasks: its libraries gave none"):
        select(layout)


def test_every_form_has_the_same_answers_and_its_own_prompts(layout):
    found = {form: rows(layout, form, **how)[0] for form, how in FORMS.items()}
    for form, own in found.items():
        assert [row["answer"] for row in own] == [row["answer"] for row in found["task"]], form
        assert {row["api"] for row in own} == sides(layout)["train"], form
    assert all(row["subject"] in row["prompt"] for row in found["subject"])
    assert len({tuple(row["prompt"] for row in own) for own in found.values()}) == 4


FORMS = {
    "task": {}, "subject": {}, "documents": {"documents": "m_prose"},
    "retrieved": {"documents": "m_prose", "retrieval": Retrieval(k=3)},
}  # fmt: skip


@pytest.mark.parametrize("condition", [name for name in KnowledgeCondition if name != "baseline"])
def test_retrieved_rows_are_the_prompts_of_their_condition(layout, condition):
    """Where the corpus holds training APIs alone, a row is what the cell shows: the same rankings, the same text."""
    asked, done = rows(layout, "retrieved", documents=condition, retrieval=Retrieval(k=3), split="test")
    assert condition in done.path
    cell = Cell(
        experiment="x", group="numpy", model=BASE, model_revision="1", condition=condition, delivery="rag_sft",
        instance_sha=select(layout).sha256, bundles_sha="b" * 64, source="copy", split="test", retrieval=Retrieval(k=3),
    )  # fmt: skip
    tasks = [
        numpy_task(1, task_id=row["task_id"], api=row["api"], description=f"Split by {row['api'][6:]}.")
        for row in asked
    ]
    shown, how = shown_tasks(cell, tasks, layout, open_lexical)
    assert {row["task_id"]: row["prompt"] for row in asked} == {name: item.prompt for name, item in shown.items()}
    assert how["k"] == 3


def test_training_prompts_show_nothing_of_held_out_apis(layout):
    found, done = rows(layout, "retrieved", documents="m_prose", retrieval=Retrieval(k=20))
    held_out = sides(layout)["test"]
    for row in found:
        assert not [api for api in held_out if f"all about {api[6:]} " in row["prompt"]]
        assert row["prompt"].count("all about") == 8
        assert row["dropped"] is False
    assert done.counts == {"rows": 8, "apis": 8, "dropped_targets": 0}
    test_rows, _ = rows(layout, "retrieved", documents="m_prose", retrieval=Retrieval(k=20), split="test")
    assert all(row["prompt"].count("all about") == 10 for row in test_rows)


def test_a_corpus_with_held_out_bundles_would_show_them(layout, monkeypatch):
    """The check above is not empty: without the rule, held-out bundles stand in training prompts."""
    own = adaptation.show_retrieved
    monkeypatch.setattr(adaptation, "show_retrieved", lambda *arguments, **_: own(*arguments))
    with pytest.raises(AssertionError):
        test_training_prompts_show_nothing_of_held_out_apis(layout)


def test_a_target_that_is_not_found_is_counted(layout):
    found, done = rows(layout, "retrieved", documents="m_prose", retrieval=Retrieval(k=1))
    missed = [row["task_id"] for row in found if f"all about {row['api'][6:]} " not in row["prompt"]]
    assert [row["task_id"] for row in found if row["dropped"]] == missed
    assert done.counts["dropped_targets"] == len(missed) < 8


@pytest.mark.parametrize(
    "fields", [{"documents": "baseline", "retrieval": Retrieval()}, {"documents": "full"}], ids=["baseline", "no index"]
)
def test_nothing_to_retrieve_is_an_error(layout, fields):
    with pytest.raises(UsageError, match="need a condition other than baseline, and a retrieval"):
        rows(layout, "retrieved", **fields)


def test_rows_of_another_instance_are_refused(layout):
    asked = request(layout, "task")
    select(layout, train=3)
    with pytest.raises(UsageError, match="the instance of numpy for transformers:base changed"):
        write_rows(asked, layout)
