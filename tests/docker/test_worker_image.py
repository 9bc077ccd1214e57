"""The image of Dockerfile.gpu at work: its user, its sandbox, its vLLM, and a pool whose jobs are its containers.

The image takes half an hour to build, so these tests look for one: its CPU variant, built as docs/operations.md says, on
the daemon that DOCKER_HOST names, under the name in NOVELAPI_TEST_IMAGE.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.request
import uuid

import pytest

pytest.importorskip("prefect", reason="Prefect is not installed (extra flows)")

from tests.fakes.installation import small_installation
from tests.fakes.package_index import NAME
from tests.fakes.served_model import ENVIRONMENT, MODEL

IMAGE = os.environ.get("NOVELAPI_TEST_IMAGE", "")
SHORT = ("--override-generation-config", '{"max_new_tokens": 48}')  # random weights never end by themselves
LEAST = ("--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined")
"""What the sandbox needs: namespaces, and a /proc of its own; the pool's job template can only say `privileged`."""

HOME = "/srv/novelapi/data"
USER = 1000
BLOCK = """
import json, sys
from blocks.vllm_server import VLLMServer
VLLMServer(**json.loads(sys.argv[1])).save("tiny", overwrite=True)
"""

pytestmark = [
    pytest.mark.docker,
    pytest.mark.flows,
    pytest.mark.slow,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(not IMAGE or shutil.which("docker") is None, reason="no image named in NOVELAPI_TEST_IMAGE"),
]


def docker(*command):
    done = subprocess.run(["docker", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path):
    """A run folder that the image's user may write."""
    path = tmp_path / "shared"
    path.mkdir()
    os.chown(path, USER, USER)
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o011)
    return path


@pytest.fixture
def begin(folder):
    """Starts containers of the image that share the run folder; they are removed at the end."""
    names = []

    def start(*command, options=(), **environment):
        names.append(f"novelapi-test-{uuid.uuid4().hex[:8]}")
        given = [word for key, value in environment.items() for word in ("-e", f"{key}={value}")]
        how = [*LEAST, "--network", "host", "-v", f"{folder}:{HOME}", *given, *options]
        docker("run", "-d", "--init", "--name", names[-1], *how, IMAGE, *command)
        return names[-1]

    yield start
    jobs = docker("ps", "-aq", "--filter", f"volume={folder}").split()  # those of the pool, too
    for name in {*names, *jobs}:
        subprocess.run(["docker", "rm", "-f", name], capture_output=True, check=False)


@pytest.fixture
def call(begin):
    """Runs one command in a container and returns what it printed."""

    def run(*command, **environment):
        name = begin(*command, **environment)
        code = docker("wait", name)
        done = subprocess.run(["docker", "logs", name], capture_output=True, text=True, check=True)
        assert code == "0", (done.stdout + done.stderr)[-3000:]
        return done.stdout

    return run


def test_an_ordinary_user_with_a_sandbox_that_passes_its_self_test(call):
    assert call("id", "-u").strip() == str(USER)
    report = call("novelapi", "doctor", "--json")
    print(report)
    assert json.loads(report)
    assert call("vllm", "--version")


def test_a_worker_that_runs_is_healthy(begin):
    with_quick_checks = ("--health-interval=2s", "--health-start-period=1s")
    idle = begin("sleep", "60", options=with_quick_checks)
    alive = begin("bash", "-c", "exec -a prefect sleep 60", options=with_quick_checks)
    wait_for(lambda: health(idle) == "unhealthy" and health(alive) == "healthy", seconds=40)


def health(name):
    return docker("inspect", "--format", "{{.State.Health.Status}}", name)


def wait_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_a_grid_whose_cells_run_in_containers_beside_a_real_vllm(tmp_path, folder, begin, call):
    pytest.importorskip("prefect_docker", reason="prefect-docker is not installed (extra docker-workers)")
    (tmp_path / "host").mkdir()
    with small_installation(tmp_path / "host") as installation:
        api = installation("flows.server", "start").stdout.strip()
        installation.environment["PREFECT_API_URL"] = api
        call("novelapi", "deploy", "--gpu", "docker", "--json", PREFECT_API_URL=api)
        index = {"UV_DEFAULT_INDEX": installation.index}
        change_pool(api, "cpu", env=index)
        change_pool(
            api, "gpu", env=index, image=IMAGE, volumes=[f"{folder}:{HOME}"], device_requests=[], mem_limit="6g",
            shm_size="1g", image_pull_policy="Never",
        )  # fmt: skip
        call("serve/bin/python", "-c", MODEL, f"{HOME}/model", "8192")
        served = {
            "model": f"{HOME}/model",
            "served_name": "tiny-model",
            "serve_arguments": ["--dtype", "float32", "--max-model-len", "8192", "--enforce-eager", *SHORT],
            "serve_environment": ENVIRONMENT,
        }
        call("python", "-c", BLOCK, json.dumps(served), PREFECT_API_URL=api)
        begin("prefect", "worker", "start", "--pool", "cpu", PREFECT_API_URL=api)
        with installation.worker("gpu", "--type", "docker"):
            began = time.monotonic()
            installation.run(
                "paper-grid/paper-grid", f"group={NAME}", "model=openai:tiny-model", "cutoff=2024-03-01", "server=tiny",
                'conditions=["baseline", "full"]', "limit=2",
            )  # fmt: skip
            print(f"completed after {time.monotonic() - began:.0f} s")
    assert "Downloading flow code" not in (tmp_path / "host" / "worker.log").read_text(), "gigabytes, at each run"
    (results,) = folder.glob("results/*/oracle-full/results.jsonl")
    assert results.read_text().splitlines()
    assert results.stat().st_uid == USER
    logs = [path.read_text() for path in (folder / "prefect" / "serving").glob("*.log")]
    starts = sum(log.count("--- start") for log in logs)
    asked = sum(log.count('POST /v1/chat/completions HTTP/1.1" 200') for log in logs)
    print(f"{starts} server starts, {asked} answers")
    assert starts == 2, "one container for the gates, one for all cells"
    assert asked > 0
    assert docker("ps", "-q", "--filter", f"ancestor={IMAGE}").count("\n") == 0, (
        "only the worker of the pool cpu is left"
    )


def change_pool(api, name, env, **defaults):
    """Change defaults of a pool's job variables, as a person does in the UI."""
    pool = ask(f"{api}/work_pools/{name}")
    properties = pool["base_job_template"]["variables"]["properties"]
    properties["env"]["default"] |= env
    for variable, value in defaults.items():
        properties[variable]["default"] = value
    ask(f"{api}/work_pools/{name}", {"base_job_template": pool["base_job_template"]}, method="PATCH")


def ask(address, body=None, method=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
    return json.loads(text) if text else None
