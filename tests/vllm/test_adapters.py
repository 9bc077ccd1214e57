"""Two adapters on one real server, request by request in turn, say what each says on a server of its own."""

from __future__ import annotations

import json
import time

import pytest

from novelapi.layout import Layout
from tests.fakes.served_model import ARGUMENTS, ENVIRONMENT, NO_PROGRAM, PROGRAM, build_adapter, build_model
from workers.serving import Adapters, ServeSpec, VLLMServer, post

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not PROGRAM.exists(), reason=NO_PROGRAM),
]

PROMPTS = [f"def f{number}(x):" for number in range(4)]


def serve(folder, name):
    lora = ("--enable-lora", "--max-loras", "2", "--max-cpu-loras", "4", "--max-lora-rank", "8")
    spec = ServeSpec(
        model=str(folder / "model"),
        name="tiny",
        program=str(PROGRAM),
        arguments=(*ARGUMENTS, *lora),
        environment=ENVIRONMENT,
    )
    return VLLMServer(spec, Layout(folder / name))


def ask(url, model, prompt):
    body = {"model": model, "prompt": prompt, "max_tokens": 12, "temperature": 0}
    return json.loads(post(f"{url}/completions", body, 300))["choices"][0]["text"]


def test_interleaved_adapters_answer_as_each_does_alone(tmp_path):
    build_model(tmp_path / "model")
    folders = [build_adapter(tmp_path / name, seed) for seed, name in enumerate("ab")]
    server = serve(tmp_path, "together")
    try:
        began = time.monotonic()
        url = server.start()
        print(f"start with warm-up {time.monotonic() - began:.0f} s")
        names = [Adapters(url).load(folder) for folder in folders]
        together = {name: [] for name in names}
        for prompt in PROMPTS:
            for name in names:
                together[name].append(ask(url, name, prompt))
        base = [ask(url, "tiny", prompt) for prompt in PROMPTS]
        Adapters(url).unload(names[0])
        assert names[0] not in Adapters(url).loaded()
    finally:
        server.stop()
    assert together[names[0]] != together[names[1]]
    assert base not in together.values()
    for folder, name in zip(folders, names, strict=True):
        alone = serve(tmp_path, name)
        try:
            url = alone.start()
            assert Adapters(url).load(folder) == name
            assert [ask(url, name, prompt) for prompt in PROMPTS] == together[name]
        finally:
            alone.stop()
