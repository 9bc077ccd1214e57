"""A disk that is full, with the real core: the run folder is a small file system, the database of the server in it."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.fakes.installation import small_installation
from tests.fakes.package_index import NAME

pytestmark = [
    pytest.mark.flows,
    pytest.mark.sandbox,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system"),
]

RUN = ("novelapi", "run", "--library", NAME, "--cutoff", "2024-03-01", "--json")
ENDS = ("free space or choose another folder with NOVELAPI_HOME", "free space, or set NOVELAPI_HOME to another folder",
        "free space, then run the same command again", "run the same command again to do the missing ones")  # fmt: skip


@pytest.fixture
def disk(tmp_path):
    """A file system of 64 MB in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def installation(disk, tmp_path):
    with small_installation(disk) as installation:
        installation.environment["NOVELAPI_ENVS"] = str(tmp_path / "envs")
        assert installation("flows.server", "start").returncode == 0
        yield installation


def fill(disk, leave):
    found = os.statvfs(disk)
    with (disk / "filler").open("wb") as filler:
        filler.write(b"x" * (found.f_bavail * found.f_frsize - leave))


def says_what_to_do(done):
    """Assert that a run failed with one line."""
    assert done.returncode == 1, done.stderr[-2000:]
    last = done.stderr.strip().splitlines()[-1]
    print(last)
    assert any(words in last for words in ("No space left on device", "the disk is full", "free space")), done.stderr
    assert last.endswith(ENDS)
    assert "Traceback" not in done.stderr
    assert "Error logging to API" not in done.stderr


def test_stages_that_find_the_disk_full_say_so_and_the_next_run_makes_them(installation, disk):
    fill(disk, leave=700_000)
    says_what_to_do(installation(*RUN))
    (disk / "filler").unlink()
    done = installation(*RUN)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)["cells"]["work"]["executed"] == 12


def test_cells_that_find_the_disk_full_say_so_and_the_next_run_makes_them(installation, disk):
    first = installation(*RUN, "--conditions", "baseline")
    assert first.returncode == 0, first.stderr[-2000:]
    fill(disk, leave=150_000)
    says_what_to_do(installation(*RUN))
    (disk / "filler").unlink()
    done = installation(*RUN)
    assert done.returncode == 0, done.stderr[-2000:]
    work = json.loads(done.stdout)["cells"]["work"]
    print(work)
    assert work["cached"] >= 1
    assert work["executed"] + work["cached"] == 12
