"""The container is hardened: as the daemon has it on record, and as it is seen from inside."""

import json

import pytest

from novelapi.adapters import docker_daemon
from tests.redteam.ground import Ground

pytestmark = pytest.mark.docker
INSIDE = "import json, os\ndef solve(xs):\n    {}\n    return None\n"


@pytest.fixture(scope="module")
def record(ground):
    """What the daemon says of the container that the ground stands on."""
    client = docker_daemon.connect()
    try:
        found = client.api.inspect_container(str(ground.zygote.started.container._container.id))
    finally:
        client.close()
    return found


def inside(ground, *lines):
    row = ground.run(INSIDE.format("\n    ".join(lines)))
    return json.loads(row.evidence["stdout"])


def test_the_daemon_has_it_on_record(record):
    host = record["HostConfig"]
    assert host["CapDrop"] == ["ALL"]
    assert {name.removeprefix("CAP_") for name in host["CapAdd"]} == {"SETUID", "SETGID", "SETPCAP", "KILL"}
    assert host["SecurityOpt"] == ["no-new-privileges:true"]  # and so the daemon's own system-call profile
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["Privileged"]) == ("none", True, False)
    assert (host["PidsLimit"], host["Memory"], host["MemorySwap"]) == (256, 4096 << 20, 4096 << 20)
    assert host["AutoRemove"]
    assert not any(mount["RW"] for mount in record["Mounts"])
    assert not any("docker.sock" in mount["Source"] for mount in record["Mounts"])


def test_a_sample_has_no_privileges(ground):
    status = inside(
        ground,
        "print(json.dumps(dict(l.split(':\\t') for l in open('/proc/self/status').read().split('\\n') if ':\\t' in l)))",
    )
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[kind], 16) == 0
    assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")
    assert int(status.get("Seccomp_filters", "2")) == 2  # the daemon's and ours
    assert set(status["Uid"].split()) == {str(ground.zygote.started.container.plan.users.candidate)}
    assert status["Groups"].strip() == ""


def test_there_is_no_network_but_loopback(ground):
    assert inside(ground, "print(json.dumps(os.listdir('/sys/class/net')))") == ["lo"]


@pytest.mark.parametrize("folder", ["/", "/usr", "/etc", "/control"])
def test_the_root_is_read_only(ground, folder):
    flags = inside(ground, f"print(json.dumps(os.statvfs('{folder}').f_flag & os.ST_RDONLY))")
    assert flags == 1


def test_only_scratch_and_shared_memory_can_be_written(ground):
    found = inside(
        ground,
        "mounts = [line.split() for line in open('/proc/self/mounts')]",
        "places = [row[1] for row in mounts if 'rw' in row[3].split(',')]",
        "print(json.dumps(sorted(p for p in places if os.path.isdir(p) and os.access(p, os.W_OK))))",
    )
    assert found == ["/dev/mqueue", "/dev/shm", "/scratch"]  # queues are refused by a limit of none


def test_processes_and_files_are_limited(ground):
    children = inside(
        ground,
        "n = 0",
        "try:",
        "    while True:",
        "        if os.fork() == 0: os.execv('/bin/sleep', ['sleep', '100'])",
        "        n += 1",
        "except OSError: pass",
        "print(json.dumps(n))",
    )
    assert children == 63
    size, files = inside(ground, "s = os.statvfs('/scratch')", "print(json.dumps([s.f_blocks * s.f_bsize, s.f_files]))")
    assert (size, files) == (64 << 20, 4096)


def test_the_limit_of_memory_ends_the_sample_alone(backend):
    """A container with less memory than the sample is allowed: the kernel takes the sample, the parent serves on."""
    from novelapi.execution.environments import python_environment
    from novelapi.execution.harness import prepare
    from novelapi.execution.limits import SampleLimits
    from novelapi.execution.trial import observe
    from novelapi.execution.zygote import Zygote
    from tests.sandbox.tasks import PAIRWISE

    launcher = backend.open()
    zygote = Zygote(
        python_environment(), ("itertools",), memory_mb=-900, launcher=launcher
    )  # 124 MB with what is spare
    try:
        harness = prepare(zygote, PAIRWISE)
        code = "def solve(xs):\n    return bytearray(b'x') * (600 << 20)\n"
        seen = observe(zygote, PAIRWISE, harness, code, "fork", limits=SampleLimits(cpu_s=20, memory_mb=2048))
        assert (seen.ended, seen.infra) == ("memory", None)
        after = observe(zygote, PAIRWISE, harness, PAIRWISE.reference_solution, "fork")
        assert after.stage == "done"
    finally:
        zygote.close()
        launcher.close()


def test_a_warm_parent_leaves_no_container(backend):
    launcher = backend.open()
    found = Ground(launcher)
    name = str(found.zygote.started.container._container.id)
    assert name in {container.id for container in launcher.client.containers.list(all=True)}
    found.zygote.close()
    launcher.close()
    client = docker_daemon.connect()
    try:
        assert name not in {container.id for container in client.containers.list(all=True)}
    finally:
        client.close()
