"""The Docker backend without a daemon: what it would ask for, and what it says where something is missing."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from novelapi.adapters import docker_daemon, docker_image
from novelapi.adapters.docker_container import Plan, Users
from novelapi.cli import app
from novelapi.errors import NovelApiError
from novelapi.execution import cgroups
from novelapi.execution.environments import python_environment
from novelapi.execution.guest import users
from novelapi.execution.launcher import Parent

MAIN = [sys.executable, "-c", "from novelapi.cli import main; main()"]
TASK = {
    "schema": 1, "task_id": "fsum", "library": "python", "api": "math.fsum", "description": "Add the values.",
    "context_code": "import math\n", "entry_point": "solve", "signature": "def solve(values):",
    "reference_solution": "def solve(values):\n    return math.fsum(values)\n", "inputs": [{"args": ["[0.1] * 10"]}],
}  # fmt: skip


@pytest.fixture
def files(tmp_path):
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    (tmp_path / "predictions.jsonl").write_text(json.dumps({"task_id": "fsum", "samples": ["x"]}) + "\n")
    return ["evaluate", tmp_path / "predictions.jsonl", "--tasks", tmp_path / "tasks.jsonl", "--out", tmp_path / "out"]


def novelapi(*arguments, host="unix:///nowhere/docker.sock"):
    return subprocess.run(
        [*MAIN, *map(str, arguments)], env={**os.environ, "DOCKER_HOST": host},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def one_line(done, code, *words):
    lines = done.stderr.strip().splitlines()
    assert (done.returncode, len(lines)) == (code, 1), done.stderr
    for word in words:
        assert word in lines[0]


def refusal(*arguments):
    """What a verb raises in this process; the command line makes one line and an exit code of it."""
    with pytest.raises(NovelApiError) as caught:
        app(list(map(str, arguments)), standalone_mode=False)
    assert "\n" not in str(caught.value)
    return caught.value.exit_code, str(caught.value)


def test_without_the_sdk(files, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "docker", None)
    code, words = refusal(*files, "--backend", "docker")
    assert (code, "pip install 'novelapi[docker]'" in words) == (3, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("host", ["unix:///nowhere/docker.sock", "nonsense://x"])
def test_without_a_daemon(files, tmp_path, host):
    done = novelapi(*files, "--backend", "docker", host=host)
    one_line(done, 3, "no Docker daemon answers", "start dockerd, or set DOCKER_HOST")
    assert not (tmp_path / "out").exists()


def test_doctor_without_a_daemon():
    done = novelapi("doctor", "--backend", "docker", "--json")
    found = json.loads(done.stdout)
    one_line(done, 3, "start dockerd")
    assert not found["ok"]
    needed = {item["name"] for item in found["prerequisites"] if item["needed"]}
    assert needed == {"libseccomp", "uv", "Docker"}


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--backend", "docker", "--unsafe"], "--unsafe runs without any sandbox"),
        (["--docker-image", "x"], "--docker-image belongs to --backend docker"),
    ],
)
def test_flags_that_exclude_each_other(files, flags, words):
    code, message = refusal(*files, *flags)
    assert (code, words in message) == (2, True)


@pytest.mark.parametrize("name", ["Upper", "with space", "", "a:b:c", "-x"])
def test_a_name_that_no_image_can_have(name, monkeypatch, tmp_path):
    monkeypatch.setenv("NOVELAPI_HOME", str(tmp_path))
    code, message = refusal("env", "image", "--", name)
    assert (code, "no name of an image" in message) == (2, True)


def test_an_unknown_backend(files):
    with pytest.raises(Exception, match=r"'podman' is not one of .*bubblewrap.*docker") as caught:
        app([*map(str, files), "--backend", "podman"], standalone_mode=False)
    assert caught.value.exit_code == 2


def test_a_broken_file_is_told_before_a_missing_daemon(files, tmp_path):
    (tmp_path / "predictions.jsonl").write_text("{broken\n")
    code, message = refusal(*files, "--backend", "docker")
    assert (code, "predictions.jsonl" in message) == (2, True)


def test_the_image_is_the_same_every_time_and_holds_no_file():
    one, two = docker_image.skeleton(temporary=True), docker_image.skeleton(temporary=True)
    assert one == two != docker_image.skeleton(temporary=False)
    with tarfile.open(fileobj=io.BytesIO(one)) as archive:
        assert all(entry.isdir() or entry.issym() for entry in archive)
        assert archive.getmember("tmp").linkname == "/scratch"


def plan(**more):
    owners = Users.of(os.getpid(), mapped=False)
    return Plan(image="image", parent=Parent(env=python_environment()), users=owners, **{"system": True, **more})


def test_every_place_is_bound_once_and_read_only():
    mounts = plan().mounts("/somewhere/control")
    places = [mount["Target"] for mount in mounts]
    assert len(places) == len(set(places))
    assert all(mount["ReadOnly"] for mount in mounts)
    assert {"/usr", "/control"} <= set(places)
    assert "/usr" not in [mount["Target"] for mount in plan(system=False).mounts("/x")]


def test_slots_have_users_of_their_own():
    one, two = Users.of(100, mapped=False), Users.of(101, mapped=False)
    assert len({one.candidate, one.server, two.candidate, two.server}) == 4
    assert min(one.candidate, one.server) > 65536
    assert Users.of(4_194_303, mapped=True).server < 65536  # a mapped daemon has no more
    assert Users.of(4_194_303, mapped=False).server < 2**31


def test_an_owner_is_known_again():
    machine, pid, started = docker_daemon.owner().rsplit("/", 2)
    assert docker_daemon.owner() == f"{machine}/{pid}/{started}"
    assert (int(pid), int(started) > 0) == (os.getpid(), True)


def test_the_accounts_of_a_group_that_is_gone(tmp_path):
    """A container's groups go with it; a run that ends at that moment still has its figures."""
    for name, text in (
        ("cpuacct.usage", "5000000"),
        ("memory.max_usage_in_bytes", "2048"),
        ("memory.oom_control", "oom_kill 3"),
    ):
        (tmp_path / name).write_text(text)
    group = cgroups.Borrowed(cgroups.V1.of(dict.fromkeys(("memory", "pids", "cpuacct"), tmp_path)))
    assert (group.cpu_ms(), group.peak_kb(), group.oom_kills()) == (5.0, 2, 3)
    for path in tmp_path.iterdir():
        path.unlink()
    tmp_path.rmdir()
    group.reset_peak()
    assert (group.cpu_ms(), group.peak_kb(), group.oom_kills(), group.used_bytes()) == (5.0, 2, 3, None)


def test_a_group_of_another_name_is_not_taken():
    assert cgroups.group_of(os.getpid(), "no-such-container").kind == "none"
    assert cgroups.group_of(2**22 + 1, "x").kind == "none"


def test_emptying_follows_no_link_and_knows_no_depth(tmp_path):
    keep = tmp_path / "keep"
    keep.mkdir()
    (keep / "file").write_text("x")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    here = Path.cwd()
    os.chdir(scratch)
    try:
        Path("link").symlink_to(keep)
        Path("file").write_text("x")
        Path("closed").mkdir()
        Path("closed/inner").write_text("x")
        Path("closed").chmod(0)
        for _ in range(1500):
            Path("d").mkdir()
            os.chdir("d")
        users.empty(str(scratch), os.listdir(scratch))  # noqa: PTH208 - names, as the guest has them
    finally:
        os.chdir(here)
    assert list(scratch.iterdir()) == []
    assert (keep / "file").read_text() == "x"
