"""What all tests share: skips with a printed reason, and scratch folders."""

from __future__ import annotations

import os
import shutil

import pytest

SANDBOX_REASON = None if shutil.which("bwrap") else "bubblewrap is not installed (apt install bubblewrap)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SANDBOX_REASON and item.get_closest_marker("sandbox"):
            item.add_marker(pytest.mark.skip(reason=SANDBOX_REASON))


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the data folder of a user."""
    if "NOVELAPI_HOME" not in os.environ:
        monkeypatch.setenv("NOVELAPI_HOME", str(tmp_path_factory.getbasetemp() / "home"))
