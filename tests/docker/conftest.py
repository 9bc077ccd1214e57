"""One daemon for all tests of a session, or a skip with the reason."""

import shutil

import pytest

from novelapi.adapters.docker_sandbox import DockerBackend
from novelapi.execution.pool import SlotOptions
from tests.docker.bench import Bench
from tests.docker.daemon import Daemon, reason_against
from tests.redteam.ground import Ground


@pytest.fixture(scope="session")
def daemon():
    reason = reason_against()
    if reason is not None:
        pytest.skip(reason)
    try:
        found = Daemon()
    except RuntimeError as error:
        pytest.skip(str(error))
    yield found
    found.close()


@pytest.fixture(scope="session")
def docker_host(daemon):
    """Let the SDK and child processes find the daemon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", daemon.address)
        patch.delenv("DOCKER_TLS_VERIFY", raising=False)
        yield daemon


@pytest.fixture(scope="session")
def backend(docker_host):
    found = DockerBackend()
    found.check()
    return found


@pytest.fixture(scope="session")
def ground(backend):
    launcher = backend.open()
    found = Ground(launcher)
    yield found
    found.zygote.close()
    launcher.close()


def bench(options):
    found = Bench(options)
    yield found
    found.slot.close()


@pytest.fixture(scope="module")
def docker(backend):
    yield from bench(SlotOptions(backend=backend))


@pytest.fixture(scope="module")
def fresh(backend):
    yield from bench(SlotOptions(backend=backend, warm=False))


@pytest.fixture(scope="module")
def bubblewrap():
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed (apt install bubblewrap): nothing to compare with")
    yield from bench(SlotOptions())


@pytest.fixture(scope="session")
def in_bubblewrap():
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed (apt install bubblewrap): nothing to compare with")
    found = Ground()
    yield found
    found.zygote.close()
