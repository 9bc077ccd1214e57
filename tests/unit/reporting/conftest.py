"""One small experiment and its report, made once and read by many tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from novelapi.reporting.report import ReportSummary, write_report
from tests.synthetic_runs import write_experiment


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with one complete experiment of 60 tasks over 30 APIs; read only."""
    home = tmp_path_factory.mktemp("experiment")
    write_experiment(home, apis=30, tasks=60, seed=3)
    return home


@pytest.fixture(scope="session")
def report(home: Path, tmp_path_factory: pytest.TempPathFactory) -> ReportSummary:
    """Its report, with figures; read only."""
    return write_report([home / "results" / "numpy-copy"], tmp_path_factory.mktemp("report"))
