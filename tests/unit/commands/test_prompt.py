"""The verb `prompt`: what a model is asked, byte for byte, and readable refusals."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from novelapi import jsonl
from novelapi.commands import prompt
from novelapi.errors import DataError, UnknownNameError, UsageError
from novelapi.layout import Layout
from novelapi.records.bundle import Exemplar, KnowledgeBundle, KnownParameter, Surface
from novelapi.settings import load_settings
from tests.fakes.tasks import numpy_task

BUNDLE = KnowledgeBundle(
    api="numpy.unstack", library="numpy", release="2.4.4", change="added", kind="function",
    surface=Surface(s_name="numpy.unstack", parameters=(KnownParameter(name="x", kind="positional_only"),)),
    exemplars=(Exemplar(code="import numpy as np\nnp.unstack(np.eye(7))", status="executed"),),
    m_prose="It cuts an array.", m_code="def unstack(x): ...", licence="BSD-3-Clause",
)  # fmt: skip


@pytest.fixture
def layout(tmp_path, monkeypatch):
    monkeypatch.setenv("NOVELAPI_HOME", str(tmp_path))
    load_settings.cache_clear()
    found = Layout(load_settings().home_dir)
    jsonl.write(found.stage("numpy", "stage3_tasks", "copy"), [numpy_task().to_row()])
    jsonl.write(found.stage("numpy", "stage2_knowledge", "copy"), [BUNDLE.to_row()])
    yield found
    load_settings.cache_clear()


def run(*arguments):
    app = typer.Typer()
    app.callback()(lambda: None)
    prompt.register(app)
    result = CliRunner().invoke(app, ["prompt", *arguments])
    if result.exception:
        raise result.exception
    return result.stdout


@pytest.mark.parametrize(
    ("condition", "shown", "not_shown"),
    [
        ("baseline", ["## Context"], ["unstack", "It cuts"]),
        ("s_name", ["`numpy.unstack`"], ["np.eye(7)", "It cuts"]),
        ("e", ["np.eye(7)"], ["It cuts"]),
        ("full", ["`numpy.unstack`", "np.eye(7)", "It cuts", "def unstack"], []),
    ],
)
def test_conditions(layout, condition, shown, not_shown):
    text = run("numpy/unstack/1", "--condition", condition)
    assert all(part in text for part in shown)
    assert not any(part in text for part in not_shown)
    assert text.endswith("runs after the context.\n")


def test_full_is_the_default_and_json_holds_the_same_text(layout):
    document = json.loads(run("numpy/unstack/1", "--json"))
    assert document["text"] == run("numpy/unstack/1")
    assert (document["condition"], document["task_id"]) == ("full", "numpy/unstack/1")
    assert document["tokens"] > 100


def test_a_task_of_a_users_own_file(layout, tmp_path):
    path = tmp_path / "mine.jsonl"
    jsonl.write(path, [numpy_task(task_id="mine/1", description="Do mine.").to_row()])
    assert "Do mine." in run("mine/1", "--tasks", str(path))


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (["numpy/unstak/1"], UnknownNameError, "did you mean numpy/unstack/1"),
        (["scipy/cossin/1"], UnknownNameError, "novelapi build scipy"),
        (["numpy/unstack/1", "--condition", "fulll"], UnknownNameError, "did you mean full"),
        (["numpy/unstack/1", "--model", "other"], UnknownNameError, "novelapi build numpy"),
        (["numpy/unstack/1", "--tasks", "/nowhere.jsonl"], DataError, "cannot read"),
    ],
)
def test_refusals(layout, arguments, kind, words):
    with pytest.raises(kind, match=words):
        run(*arguments)


def test_without_knowledge_only_the_baseline_can_be_shown(layout):
    layout.stage("numpy", "stage2_knowledge", "copy").unlink()
    with pytest.raises(UsageError, match="--condition baseline"):
        run("numpy/unstack/1")
    assert "## Task" in run("numpy/unstack/1", "--condition", "baseline")


def test_a_broken_task_row(layout):
    jsonl.write(layout.stage("numpy", "stage3_tasks", "copy"), [{"task_id": "numpy/unstack/1"}])
    with pytest.raises(DataError, match="library"):
        run("numpy/unstack/1")
