"""A model server's life, with a program that stands in for vLLM."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from novelapi.errors import NovelApiError, PrerequisiteError
from novelapi.layout import Layout
from novelapi.processes import identify, session_members
from workers.serving import Adapters, ServeSpec, VLLMServer, adapter_name, explain, post, stop_stale

FAKE = Path(__file__).resolve().parents[2] / "fakes" / "vllm_program.py"


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "vllm"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def layout(tmp_path):
    return Layout(tmp_path / "data")


@pytest.fixture
def serve(program, layout):
    """Starts servers that are stopped at the end."""
    servers = []

    def start(model="tiny", **fields):
        server = VLLMServer(ServeSpec(**{"model": model, "name": "tiny", "program": program, **fields}), layout)
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()


def wait_until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_server_answers_after_start_and_is_gone_after_stop(serve, layout):
    server = serve()
    guard = server._guard.pid
    assert server.is_healthy()
    answer = json.loads(post(f"{server.url}/completions", {"model": "tiny", "prompt": "hello"}, 5))
    assert answer["choices"][0]["text"] == "tiny says hello"
    assert len(session_members(guard)) >= 3
    server.stop()
    assert session_members(guard) == []
    assert [path.suffix for path in layout.serving.iterdir()] == [".log"]


def test_a_killed_program_takes_its_children_with_it(serve):
    server = serve()
    guard = server._guard.pid
    program, *others = [pid for pid in session_members(guard) if pid != guard]
    assert others
    os.kill(program, signal.SIGKILL)
    server._guard.wait(timeout=60)
    assert session_members(guard) == []


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("missing", "there is no such model: correct the job variable `model`"),
        ("huge", "the accelerator is out of memory: lower --gpu-memory-utilization"),
    ],
)
def test_a_refused_model_is_one_line_with_the_remedy(serve, layout, model, message):
    with pytest.raises(NovelApiError, match=message) as caught:
        serve(model)
    assert "\n" not in str(caught.value)
    assert not list(layout.serving.glob("*.json"))


def test_a_server_that_never_answers_is_stopped_in_time(serve):
    with pytest.raises(NovelApiError, match="start_timeout_s"):
        serve("mute", start_timeout_s=1)


def test_a_start_that_is_given_up_leaves_no_process(program, layout):
    server = VLLMServer(ServeSpec(model="mute", name="tiny", program=program), layout)
    found = []

    def start():
        with pytest.raises(NovelApiError, match="its worker is stopping"):
            server.start()
        found.append("ended")

    thread = threading.Thread(target=start)
    thread.start()
    while not server.state.exists():
        time.sleep(0.05)
    guard = json.loads(server.state.read_text())["process"]["pid"]
    server.give_up()
    thread.join(60)
    assert (found, session_members(guard)) == (["ended"], [])


def test_a_missing_program_names_the_script_that_builds_it(layout):
    with pytest.raises(PrerequisiteError, match=r"python -m workers\.serve_env"):
        VLLMServer(ServeSpec(model="tiny", name="tiny", program="/nowhere/vllm"), layout).start()


OWNER = """
import sys, time
from pathlib import Path
from novelapi.layout import Layout
from workers.serving import ServeSpec, VLLMServer
server = VLLMServer(ServeSpec(model="tiny", name="tiny", program=sys.argv[1]), Layout(Path(sys.argv[2])))
server.start()
print(server._guard.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def owner(program, layout):
    """A process that owns a server, and the server's guard."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, program, str(layout.home)], stdout=subprocess.PIPE, text=True
    )
    guard = int(process.stdout.readline())
    yield process, guard
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_killed_owner_takes_the_server_with_it(owner):
    process, guard = owner
    assert session_members(guard)
    process.send_signal(signal.SIGKILL)
    wait_until(lambda: not session_members(guard))


def test_what_a_dead_worker_left_behind_is_stopped_at_the_next_start(owner, layout):
    process, guard = owner
    os.kill(guard, signal.SIGKILL)  # the guard first, so that nobody takes the server down
    process.kill()
    process.wait()
    assert session_members(guard)
    stop_stale(layout)
    assert session_members(guard) == []
    assert not list(layout.serving.glob("*.json"))


def test_a_living_workers_server_is_left_alone(owner, layout):
    _, guard = owner
    assert stop_stale(layout) == []
    assert identify(guard) is not None


def test_adapters_are_loaded_once_by_content_and_unloaded(serve, tmp_path):
    server = serve(arguments=("--enable-lora",))
    folder = write_adapter(tmp_path / "a", b"weights")
    adapters = Adapters(server.url)
    name = adapters.load(folder)
    assert adapters.load(write_adapter(tmp_path / "copy", b"weights")) == name
    assert adapters.load(write_adapter(tmp_path / "b", b"other weights")) != name
    assert len(adapters.loaded()) == 3
    adapters.unload(name)
    adapters.unload(name)
    assert name not in adapters.loaded()


def test_a_server_without_adapters_says_what_to_start_it_with(serve, tmp_path):
    with pytest.raises(NovelApiError, match="--enable-lora"):
        Adapters(serve().url).load(write_adapter(tmp_path / "a", b"weights"))


def test_a_folder_without_adapter_is_an_error(tmp_path):
    with pytest.raises(NovelApiError, match=r"adapter_config\.json"):
        adapter_name(tmp_path)


def write_adapter(folder, weights):
    folder.mkdir()
    (folder / "adapter_config.json").write_text("{}")
    (folder / "adapter_model.safetensors").write_bytes(weights)
    return folder


def test_only_the_last_start_of_a_log_is_explained(tmp_path):
    log = tmp_path / "log"
    log.write_text("--- start a\nCUDA out of memory\n--- start a\nINFO\nValueError: strange\nmore\n")
    assert explain(log) == "ValueError: strange"


def test_a_reason_that_no_table_knows_is_the_line_that_tells_it(tmp_path):
    log = tmp_path / "log"
    log.write_text(
        "--- start a\n"
        "(APIServer pid=1) WARNING 11-22 This can cause errors like `OSError: [Errno 24] Too many open files`.\n"
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
        "  Value error, the moon is in the wrong quarter [type=value_error]\n"
        "RuntimeError: Engine core initialization failed. See root cause above.\n"
    )
    assert explain(log) == "the moon is in the wrong quarter [type=value_error]"


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (
            (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 260.00 MiB. GPU 0 has a total capacity of 23.6 GiB"
                " of which 145.88 MiB is free."
            ),
            "lower --gpu-memory-utilization or --max-num-seqs",
        ),
        (
            (
                "Failed to load model - not enough GPU memory. Try lowering --gpu-memory-utilization to free memory for weights,"
                " increasing --tensor-parallel-size, or using --quantization. (original error: CUDA out of memory. Tried ...)"
            ),
            "quantise it, or add --tensor-parallel-size",
        ),
        (
            (
                "CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering"
                " `max_num_seqs` or `gpu_memory_utilization` when initializing the engine."
            ),
            "lower --gpu-memory-utilization or --max-num-seqs",
        ),
        (
            (
                "ValueError: Free memory on device cuda:0 (3.1/23.6 GiB) on startup is less than desired GPU memory utilization"
                " (0.92, 21.7 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
            ),
            "another process holds the accelerator's memory: end it",
        ),
        (
            (
                "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when"
                " initializing the engine (this flag also controls CPU memory reservation on the CPU backend, despite its name)."
            ),
            "raise --gpu-memory-utilization",
        ),
        (
            (
                "ValueError: To serve at least one request with the model's max seq len (32768), (1.75 GiB KV cache is needed,"
                " which is larger than the available KV cache memory (0.9 GiB)."
            ),
            "does not fit into the cache: lower --max-model-len",
        ),
    ],
)
def test_memory_that_runs_out_is_explained_from_the_words_of_vllm(tmp_path, said, remedy):
    """Texts of vLLM 0.32; of an accelerator, they were read in its source and not seen on one."""
    log = tmp_path / "log"
    log.write_text(
        f"--- start a\n(EngineCore pid=7) ERROR 11-22 {said}\nRuntimeError: Engine core initialization failed.\n"
    )
    assert remedy in explain(log)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", "b"),
        ("name", "b"),
        ("program", "b"),
        ("arguments", ("--x",)),
        ("gpu", "1"),
        ("environment", {"A": "1"}),
    ],
)
def test_whatever_decides_a_server_is_in_its_key(field, value):
    spec = ServeSpec(model="a", name="a", program="a")
    assert spec.model_copy(update={field: value}).key != spec.key
