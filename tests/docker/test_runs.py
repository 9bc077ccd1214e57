"""Whole runs: a container or the daemon dies under way, workers in parallel, what is left of dead runs."""

import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("docker", reason="the docker SDK is not installed (pip install 'novelapi[docker]')")
from docker.errors import APIError

from novelapi.adapters import docker_daemon, docker_sandbox
from novelapi.adapters.docker_sandbox import DockerBackend
from novelapi.errors import PrerequisiteError
from novelapi.evaluation.run import Evaluation, evaluate, read_results
from novelapi.execution.environments import python_environment
from novelapi.execution.pool import SlotOptions
from novelapi.execution.zygote import Zygote, ZygoteError
from novelapi.records.prediction import Prediction
from tests.docker.daemon import Daemon
from tests.redteam import honest
from tests.redteam.ground import Ground
from tests.sandbox.tasks import FMEAN, PAIRWISE

pytestmark = pytest.mark.docker
MAIN = [sys.executable, "-c", "from novelapi.cli import main; main()"]
GOLD = PAIRWISE.reference_solution


@pytest.fixture
def client(docker_host):
    found = docker_daemon.connect()
    yield found
    found.close()


def ours(client, owner=None):
    """The containers of this process (or of another owner)."""
    found = client.containers.list(all=True, filters={"label": docker_daemon.LABEL}, ignore_removed=True)
    return [item for item in found if item.labels[docker_daemon.LABEL] == (owner or docker_daemon.owner())]


def run(tmp_path, samples, backend, slots=1, tasks=(PAIRWISE, FMEAN)):
    request = Evaluation(
        tasks={task.task_id: task for task in tasks if task.task_id in samples},
        predictions={name: Prediction(task_id=name, samples=tuple(texts)) for name, texts in samples.items()},
        results=tmp_path / "results.jsonl", environment_of=lambda *_: python_environment(), slots=slots,
        options=SlotOptions(backend=backend),
    )  # fmt: skip
    finished = evaluate(request)
    return finished, sorted(read_results(tmp_path / "results.jsonl"), key=lambda row: (row.task_id, row.sample))


def mixed(count):
    return [f"# {n}\n{GOLD}" if n % 3 else f"# {n}\ndef solve(xs):\n    return None\n" for n in range(count)]


def test_a_container_killed_under_way(tmp_path, backend, client):
    """What it had not judged is unscored or judged anew, never wrong; the next run scores the rest."""
    texts = mixed(400)
    before = {item.id for item in ours(client)}
    killed, stop = set(before), threading.Event()

    def killer():
        own = docker_daemon.connect()
        while not stop.wait(0.05) and len(killed) < len(before) + 2:
            for item in ours(own):
                if item.id not in killed and item.status == "running" and not stop.wait(0.7):
                    with contextlib.suppress(APIError):  # it may have ended by itself
                        item.kill()
                        killed.add(item.id)
        own.close()

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        finished, rows = run(tmp_path, {PAIRWISE.task_id: texts}, backend)
    finally:
        stop.set()
        thread.join()
    assert len(killed) > len(before)
    assert len(rows) == 400
    for row in rows:
        assert row.outcome in ("unscored", "pass" if row.sample % 3 else "fail"), row
        assert row.outcome != "unscored" or "died" in row.reason or "dead" in row.reason, row.reason
    unscored = [row.sample for row in rows if row.outcome == "unscored"]
    finished, rows = run(tmp_path, {PAIRWISE.task_id: texts}, backend)
    assert finished.judged == len(unscored)
    assert [row.outcome for row in rows] == ["pass" if n % 3 else "fail" for n in range(400)]
    assert {item.id for item in ours(client)} == before


def test_an_environment_that_is_gone_is_no_failure_of_the_model(tmp_path, backend):
    gone = python_environment().model_copy(update={"key": "gone-1", "prefix": "/gone", "python": "/gone/bin/python3"})
    request = Evaluation(
        tasks={PAIRWISE.task_id: PAIRWISE}, results=tmp_path / "results.jsonl", environment_of=lambda *_: gone,
        predictions={PAIRWISE.task_id: Prediction(task_id=PAIRWISE.task_id, samples=(GOLD,))},
        options=SlotOptions(backend=backend),
    )  # fmt: skip
    evaluate(request)
    row = read_results(tmp_path / "results.jsonl")[0]
    assert (row.outcome, row.label) == ("unscored", None)
    assert "novelapi env check" in row.reason


def test_workers_in_parallel(tmp_path, backend, client):
    """Each worker has its own container and its own users, so limits per user do not add up."""
    samples = {
        PAIRWISE.task_id: mixed(12),
        FMEAN.task_id: [FMEAN.reference_solution] * 3 + ["def solve(xs, ws):\n    return 1\n"],
    }
    finished, rows = run(tmp_path, samples, backend, slots=2)
    assert [row.outcome for row in rows] == ["pass"] * 3 + ["fail"] + ["pass" if n % 3 else "fail" for n in range(12)]
    assert finished.isolation["sandbox"] == "docker"
    assert finished.isolation["namespaces_of"] == "container"
    assert len(finished.isolation["weaker"]) == 4
    running = client.containers.list(all=True, filters={"label": docker_daemon.LABEL}, ignore_removed=True)
    assert not [item for item in running if item.labels[docker_daemon.LABEL].split("/")[2] != str(os.getpid())]


def test_nothing_is_left_behind(tmp_path, backend, client):
    before = {item.id for item in ours(client)}
    folders = set(Path("/tmp").glob("novelapi-docker-*"))
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    run(tmp_path, {PAIRWISE.task_id: mixed(6)}, backend)
    assert {item.id for item in ours(client)} == before
    assert set(Path("/tmp").glob("novelapi-docker-*")) <= folders
    assert len(list(Path("/proc/self/fd").iterdir())) <= open_files


def test_a_killed_supervisor_leaves_no_container(docker_host, client):
    """Its connection closes with it; the container ends by itself, and the daemon removes it."""
    script = (
        "import time\nfrom novelapi.adapters.docker_sandbox import DockerBackend\n"
        "from novelapi.adapters.docker_daemon import owner\n"
        "from novelapi.execution.environments import python_environment\nfrom novelapi.execution.zygote import Zygote\n"
        "zygote = Zygote(python_environment(), launcher=DockerBackend().open())\nprint(owner(), flush=True)\ntime.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    owner = process.stdout.readline().strip()
    assert len(ours(client, owner)) == 1
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 20
    while ours(client, owner) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert ours(client, owner) == []


def test_containers_of_dead_owners_are_swept(backend, client):
    """One whose first process hangs is removed by the next run; one of a living owner, or of another machine, stays."""
    machine, pid, started = docker_daemon.owner().rsplit("/", 2)
    image = docker_sandbox.DockerLauncher(client).find_image(temporary=True)
    sleep = {"entrypoint": ["/bin/sleep", "600"], "volumes": ["/usr:/usr:ro"], "network_mode": "none", "detach": True}
    owners = {"dead": f"{machine}/4194304/1", "reused pid": f"{machine}/{pid}/1", "elsewhere": f"x/1/{pid}/1",
              "alive": f"{machine}/{pid}/{started}"}  # fmt: skip
    made = {
        name: client.containers.run(image, labels={docker_daemon.LABEL: value}, **sleep)
        for name, value in owners.items()
    }
    try:
        backend.check()
        left = {item.id for item in client.containers.list(all=True)}
        assert {name for name, item in made.items() if item.id in left} == {"elsewhere", "alive"}
    finally:
        for item in made.values():
            docker_daemon.remove(client, item.id)


def test_an_image_that_is_not_there(docker_host):
    with pytest.raises(PrerequisiteError, match=r"'no-such-image:1' is not on this machine.*docker import"):
        DockerBackend(image="no-such-image:1").check()


def test_an_image_without_system_libraries(backend, client):
    """A whole image has to hold what the interpreter needs."""
    launcher = docker_sandbox.DockerLauncher(client)
    bare = DockerBackend(image=launcher.find_image(temporary=True)).open()
    try:
        with pytest.raises(
            (PrerequisiteError, ZygoteError), match=r"container of python-.*(no such file|system libraries)"
        ):
            Zygote(python_environment(), launcher=bare)
    finally:
        bare.close()


def test_an_image_of_ones_own(docker_host, tmp_path):
    """Made from what the loader finds; honest solutions pass in it, and of the host's programs only a few are there."""
    done = novelapi("env", "image", "own-libraries:1", "--json", NOVELAPI_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bytes"] < 100e6
    backend = DockerBackend(image="own-libraries:1")
    backend.check()
    launcher = backend.open()
    found = Ground(launcher)
    try:
        for name, code in honest.SOLUTIONS:
            assert found.run(code).outcome == "pass", name
        seen = found.run("import os\nprint(sorted(os.listdir('/usr/bin')))\ndef solve(xs):\n    return None\n")
        assert seen.evidence["stdout"].strip() == "['cat', 'echo', 'env', 'false', 'ls', 'sh', 'sleep', 'true']"
    finally:
        found.zygote.close()
        launcher.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the SDK leaves a refused socket open
@pytest.mark.usefixtures("daemon")  # the skip, where none can be started
def test_a_daemon_that_dies_under_way(tmp_path, monkeypatch):
    """The run ends with the remedy or with unscored rows; when the daemon is back, the next one scores the rest."""
    daemon = Daemon()
    monkeypatch.setenv("DOCKER_HOST", daemon.address)
    backend = DockerBackend()
    backend.check()
    stopper = threading.Timer(2.0, daemon.stop)
    stopper.start()
    try:
        with contextlib.suppress(PrerequisiteError):
            run(tmp_path, {PAIRWISE.task_id: mixed(90)}, backend)
        stopper.join()
        rows = read_results(tmp_path / "results.jsonl") if (tmp_path / "results.jsonl").exists() else []
        for row in rows:
            assert row.outcome in ("unscored", "pass" if row.sample % 3 else "fail"), row
        with pytest.raises(PrerequisiteError, match=r"no Docker daemon answers .* start dockerd"):
            backend.check()
        daemon.start()
        _, rows = run(tmp_path, {PAIRWISE.task_id: mixed(90)}, backend)
        assert [row.outcome for row in rows] == ["pass" if n % 3 else "fail" for n in range(90)]
    finally:
        daemon.close()
        gc.collect()


def novelapi(*arguments, **variables):
    return subprocess.run(
        [*MAIN, *map(str, arguments)], env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )


def test_the_verb(tmp_path, docker_host):
    (tmp_path / "tasks.jsonl").write_text(PAIRWISE.model_dump_json(by_alias=True) + "\n")
    row = {"task_id": PAIRWISE.task_id, "samples": [GOLD, "import os\nos._exit(0)\n"]}
    (tmp_path / "predictions.jsonl").write_text(json.dumps(row) + "\n")
    files = [tmp_path / "predictions.jsonl", "--tasks", tmp_path / "tasks.jsonl", "--out", tmp_path / "out"]
    done = novelapi("evaluate", *files, "--backend", "docker", "--json")
    assert done.returncode == 0, done.stderr
    assert (json.loads(done.stdout)["pass"], json.loads(done.stdout)["judged"]) == (1, 2)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["isolation"]["sandbox"] == manifest["spec"]["backend"] == "docker"
    mixed_up = novelapi("evaluate", *files)
    assert mixed_up.returncode == 2
    assert "holds results of --backend docker" in mixed_up.stderr
    again = novelapi("evaluate", *files, "--backend", "docker", "--json")
    assert json.loads(again.stdout)["judged"] == 0
    scored = novelapi("score", tmp_path / "out", "--backend", "docker", "--json")
    assert json.loads(scored.stdout)["judged"] == 2


def test_doctor(docker_host):
    done = novelapi("doctor", "--backend", "docker", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"]) == (0, True), done.stderr
    assert [trial["name"] for trial in found["trials"] if not trial["holds"]] == []
    assert len(found["trials"]) == 7
    assert found["isolation"]["sandbox"] == "docker"
