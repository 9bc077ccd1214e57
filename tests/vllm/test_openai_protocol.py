"""The endpoint client against a real vLLM server with a tiny random model; minutes, since the server has to start."""

from __future__ import annotations

import pytest

from novelapi.adapters.openai_model import OpenAIModel
from novelapi.errors import UnknownNameError
from novelapi.inference.batch import complete_tasks
from novelapi.inference.cache import CompletionCache
from novelapi.inference.profile import ModelProfile
from novelapi.layout import Layout
from novelapi.records.cell import Sampling
from novelapi.records.completion import Request
from tests.fakes.served_model import ARGUMENTS, ENVIRONMENT, NO_PROGRAM, PROGRAM, build_model
from tests.fakes.tasks import numpy_task
from workers.serving import ServeSpec, VLLMServer

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not PROGRAM.exists(), reason=NO_PROGRAM),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("vllm")
    model = build_model(folder / "tiny")
    spec = ServeSpec(model=str(model), name="tiny", program=str(PROGRAM), arguments=ARGUMENTS, environment=ENVIRONMENT)
    server = VLLMServer(spec, Layout(folder / "data"))
    yield server.start()
    server.stop()


def ask(url, profile=ModelProfile(), **fields):  # noqa: B008
    model = OpenAIModel("tiny", base_url=url, profile=profile)
    ((_, completion),) = model.stream([Request(**({"prompt": "def f(x):", "max_tokens": 16} | fields))])
    return completion


def test_greedy_is_repeatable_and_usage_is_counted(url):
    first, second = ask(url), ask(url)
    assert first == second
    assert first.prompt_tokens > 0
    assert first.completion_tokens <= 16
    assert first.finish[0] in ("length", "stop")


def test_n_texts_in_one_request_depend_on_the_seed(url):
    first = ask(url, n=5, temperature=1.0, seed=3)
    assert len(set(first.texts)) > 1
    assert ask(url, n=5, temperature=1.0, seed=3).texts == first.texts
    assert ask(url, n=5, temperature=1.0, seed=4).texts != first.texts


def test_a_prompt_beyond_the_window_is_marked(url):
    assert ask(url, prompt="word " * 2000).failure == "context"


def test_an_unknown_model_gets_near_matches(url):
    with pytest.raises(UnknownNameError, match="did you mean tiny"):
        OpenAIModel("tinny", base_url=url).complete(["x"], Sampling())


def test_structured_outputs_constrain_the_answer(url):
    schema = {
        "type": "object",
        "properties": {"label": {"enum": ["WrongLogic"]}},
        "required": ["label"],
        "additionalProperties": False,
    }
    completion = ask(url, json_schema=schema, max_tokens=64)
    assert completion.texts[0].lstrip().startswith("{")


def test_bare_completions(url):
    assert ask(url, ModelProfile(mode="completions")).texts[0]


def test_a_cell_is_answered_and_replayed(url, tmp_path):
    tasks = [numpy_task(number) for number in range(20)]
    prompts = [f"def f{number}(x):" for number in range(20)]
    model = OpenAIModel("tiny", base_url=url)
    with CompletionCache(tmp_path / "c") as cache:
        results = [
            complete_tasks(tasks, prompts, model, Sampling(n=3, max_tokens=8), cache, tmp_path / name)
            for name in ("a", "b")
        ]
    assert [(result.usage.calls, result.usage.cached) for result in results] == [(40, 0), (0, 40)]
    assert results[0].predictions.read_bytes() == results[1].predictions.read_bytes()
