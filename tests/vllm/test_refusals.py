"""Models that the real vLLM refuses: each start ends with one line that says why and what to do."""

from __future__ import annotations

import json
import shutil

import pytest

from novelapi.errors import NovelApiError
from novelapi.layout import Layout
from tests.fakes.served_model import ENVIRONMENT, NO_PROGRAM, PROGRAM, build_model
from workers.serving import ServeSpec, VLLMServer

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not PROGRAM.exists(), reason=NO_PROGRAM),
]


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return build_model(tmp_path_factory.mktemp("model") / "good")


@pytest.fixture
def spoiled(good, tmp_path):
    """A copy of the model with other words in its configuration."""
    folder = tmp_path / "spoiled"
    shutil.copytree(good, folder)

    def spoil(**changes):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
        return folder

    return spoil


def refusal(folder, tmp_path, *arguments):
    """Start a server and return the one line with which it fails."""
    spec = ServeSpec(
        model=str(folder),
        name="tiny",
        program=str(PROGRAM),
        arguments=("--dtype", "float32", "--enforce-eager", *arguments),
        environment=ENVIRONMENT,
        start_timeout_s=600,
    )
    server = VLLMServer(spec, Layout(tmp_path))
    with pytest.raises(NovelApiError) as caught:
        server.start()
    line = str(caught.value)
    print(line)
    assert "\n" not in line
    assert str(server.log) in line
    assert not server.state.exists()
    return line


def test_an_architecture_that_vllm_does_not_know(spoiled, tmp_path):
    folder = spoiled(architectures=["StrangeForCausalLM"])
    assert "choose another model" in refusal(folder, tmp_path)


def test_a_model_type_that_transformers_does_not_know(spoiled, tmp_path):
    assert "choose another model" in refusal(spoiled(model_type="strange", architectures=["StrangeLM"]), tmp_path)


def test_a_folder_without_weights(spoiled, tmp_path):
    folder = spoiled()
    for weights in folder.glob("*.safetensors"):
        weights.unlink()
    assert "holds no weights" in refusal(folder, tmp_path)


def test_a_folder_that_does_not_exist(tmp_path):
    assert "there is no such model" in refusal(tmp_path / "nowhere", tmp_path)


def test_a_model_on_a_hub_that_does_not_answer(tmp_path):
    assert "its hub does not answer" in refusal("nobody/no-such-model", tmp_path)


def test_a_context_that_is_longer_than_the_model_s_own(good, tmp_path):
    assert "lower --max-model-len" in refusal(good, tmp_path, "--max-model-len", "4096")


def test_a_context_that_does_not_fit_into_the_cache(spoiled, tmp_path):
    folder = spoiled(max_position_embeddings=1 << 24)
    assert "does not fit into the cache" in refusal(folder, tmp_path, "--max-model-len", str(1 << 23))


def test_an_argument_that_vllm_does_not_know(good, tmp_path):
    assert "--no-such-flag" in refusal(good, tmp_path, "--no-such-flag", "3")
