"""One warm parent and one prepared task for all attacks."""

import pytest

from tests.redteam.ground import Ground


@pytest.fixture(scope="session")
def ground():
    found = Ground()
    yield found
    found.zygote.close()
