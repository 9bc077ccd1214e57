"""Weights in this process: a model of a few thousand random parameters, built here."""

from __future__ import annotations

import shutil

import pytest

from novelapi.adapters.transformers_model import TransformersModel
from novelapi.errors import PartialError, UsageError
from novelapi.inference.batch import complete_tasks
from novelapi.inference.cache import CompletionCache
from novelapi.inference.profile import ModelProfile
from novelapi.records.cell import Sampling
from novelapi.records.completion import Request
from tests.fakes.tasks import numpy_task
from tests.fakes.tiny_model import build_tiny_model

torch = pytest.importorskip("torch", reason="the extra train is not installed")
transformers = pytest.importorskip("transformers", reason="the extra train is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "tiny"
    build_tiny_model(path)
    return path


def ask(model, **fields):
    ((_, completion),) = model.stream([Request(**({"prompt": "def solve(x):", "max_tokens": 8} | fields))])
    return completion


def test_greedy_is_repeatable_and_independent_of_the_batch(folder):
    prompts = ["a", "def solve(x):\n    return x", "import numpy as np", "b"]
    sampling = Sampling(max_tokens=8)
    together = TransformersModel(folder).complete(prompts, sampling)
    assert together == [TransformersModel(folder, batch=1).complete([prompt], sampling)[0] for prompt in prompts]


def test_drawn_texts_depend_on_the_seed_and_not_on_neighbours(folder):
    model = TransformersModel(folder)
    first = ask(model, n=3, temperature=1.0, seed=1)
    requests = [Request(prompt=text, n=3, temperature=1.0, seed=1, max_tokens=8) for text in ("other", "def solve(x):")]
    assert dict(model.stream(requests))[1] == first
    assert ask(model, n=3, temperature=1.0, seed=2).texts != first.texts
    assert len(first.texts) == len(set(first.texts)) == 3


def test_drawing_leaves_the_global_random_state_alone(folder):
    model = TransformersModel(folder)
    ask(model, n=2, temperature=1.0)
    before = torch.random.get_rng_state()
    ask(model, n=2, temperature=1.0)
    assert torch.equal(before, torch.random.get_rng_state())


def test_the_chat_template_is_used_unless_bare_text_is_asked_for(folder):
    chat = TransformersModel(folder)
    bare = TransformersModel(folder, profile=ModelProfile(mode="completions"))
    assert chat.count_tokens("x") > bare.count_tokens("x") == 1


def test_a_prompt_beyond_the_window_is_marked_and_the_rest_is_answered(folder):
    model = TransformersModel(folder)
    answers = dict(model.stream([Request(prompt="x " * 400, max_tokens=8), Request(prompt="x", max_tokens=8)]))
    assert answers[0].failure == "context"
    assert answers[1].failure is None
    with pytest.raises(PartialError, match="window of 256"):
        model.complete(["x " * 400], Sampling(max_tokens=8))


def test_lengths_and_ends_are_reported(folder):
    completion = ask(TransformersModel(folder), max_tokens=5)
    assert completion.finish == ("length",)
    assert completion.completion_tokens == 5
    assert completion.prompt_tokens == TransformersModel(folder).count_tokens("def solve(x):")


def test_the_revision_changes_with_the_weights(folder, tmp_path):
    copy = tmp_path / "tiny"
    shutil.copytree(folder, copy)
    assert TransformersModel(copy).revision == TransformersModel(folder).revision
    model = transformers.AutoModelForCausalLM.from_pretrained(copy)
    model.model.norm.weight.data += 1
    model.save_pretrained(copy)
    assert TransformersModel(copy).revision != TransformersModel(folder).revision


def test_a_cell_is_answered_and_replayed(folder, tmp_path):
    tasks = [numpy_task(i) for i in range(3)]
    prompts = [f"def f{i}(x):" for i in range(3)]
    with CompletionCache(tmp_path / "c.sqlite") as cache:
        results = [
            complete_tasks(
                tasks, prompts, TransformersModel(folder), Sampling(n=2, max_tokens=6), cache, tmp_path / name
            )
            for name in ("a", "b")
        ]
    assert [(result.usage.calls, result.usage.cached) for result in results] == [(6, 0), (0, 6)]
    assert results[0].predictions.read_bytes() == results[1].predictions.read_bytes()


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(UsageError, match="save_pretrained"):
        TransformersModel(tmp_path)
