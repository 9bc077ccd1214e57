"""The window that vLLM states in its list of models: used where the profile has none, recorded for replays."""

from __future__ import annotations

import pytest

from blocks.model_endpoint import open_completer
from novelapi.adapters.openai_model import OpenAIModel
from novelapi.errors import EndpointError
from novelapi.inference.cache import CompletionCache
from novelapi.inference.profile import ModelProfile, profile_of
from novelapi.inference.stated import stated_window
from novelapi.records.request import ModelAccess
from tests.fakes.openai_server import fake_openai
from tests.fakes.tasks import Scripted


@pytest.fixture
def cache(tmp_path):
    with CompletionCache(tmp_path / "cache") as cache:
        yield cache


def test_the_window_is_read_recorded_and_replayed(cache):
    with fake_openai(windows={"tiny": 4096}) as server:
        model = OpenAIModel("tiny", base_url=server.base_url)
        assert stated_window(model, cache, offline=True) is None
        assert stated_window(model, cache, offline=False) == 4096
    assert stated_window(model, cache, offline=True) == 4096  # the server is gone
    with pytest.raises(EndpointError):
        stated_window(model, cache, offline=False)


def test_a_server_that_was_started_with_another_window_is_believed(cache):
    with fake_openai(windows={"tiny": 4096}) as server:
        model = OpenAIModel("tiny", base_url=server.base_url, revision="r")
        assert stated_window(model, cache, offline=False) == 4096
        server.windows["tiny"] = 2048
        assert stated_window(model, cache, offline=False) == 2048
        server.windows.clear()
        assert stated_window(model, cache, offline=False) is None
    assert stated_window(model, cache, offline=True) is None


def test_a_profile_with_a_window_is_never_overruled(cache):
    with fake_openai(windows={"tiny": 4096}) as server:
        model = OpenAIModel("tiny", base_url=server.base_url, profile=ModelProfile(window=512))
        assert stated_window(model, cache, offline=False) is None
        access = ModelAccess(base_url=server.base_url, window=4096)
        assert profile_of(open_completer("openai:qwen2.5-coder-7b", access)).window_from == "profile"


def test_what_the_endpoint_states_becomes_the_profile_of_the_model():
    found = profile_of(open_completer("openai:tiny", ModelAccess(base_url="http://127.0.0.1:1/v1", window=4096)))
    assert (found.window, found.window_from) == (4096, "endpoint")


@pytest.mark.parametrize("stated", [None, "long", 0])
def test_an_endpoint_that_does_not_say_leaves_it_unknown(cache, stated):
    with fake_openai(windows={"tiny": stated}) as server:
        assert stated_window(OpenAIModel("tiny", base_url=server.base_url), cache, offline=False) is None
    assert stated_window(Scripted(), cache, offline=False) is None
