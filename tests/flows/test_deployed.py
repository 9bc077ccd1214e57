"""As a user does it: `novelapi deploy`, a worker process, `prefect deployment run`. The real core on a small library."""

from __future__ import annotations

import pytest

from novelapi.processes import session_members
from tests.fakes.installation import small_installation
from tests.fakes.package_index import NAME

pytestmark = [pytest.mark.flows, pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(1200)]

LIMIT = 3


def test_deploy_worker_and_deployment_run_reach_a_report(tmp_path):
    with small_installation(tmp_path) as installation:
        assert "paper-grid/paper-grid" in installation.deploy()["deployments"]

        wrong = installation("prefect", "deployment", "run", "paper-grid/paper-grid", "--param", "limt=3")
        assert wrong.returncode == 1
        assert "limt" in wrong.stdout + wrong.stderr

        with installation.worker("cpu") as worker:
            installation.run("paper-grid/paper-grid", "group=" + NAME, "cutoff=2024-03-01", f"limit={LIMIT}")
        assert session_members(worker.pid) == []
    assert (tmp_path / "analysis" / f"{NAME}-copy" / "report.html").exists()
    cells = sorted((tmp_path / "results" / f"{NAME}-copy").iterdir())
    assert len(cells) == 12
    assert 0 < len((cells[0] / "results.jsonl").read_text().splitlines()) <= LIMIT
