"""The verbs of graphs and packs: what is missing is said in one line, with the exit code of its kind."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from novelapi.cli import app
from novelapi.errors import DataError, NovelApiError, PrerequisiteError, UsageError
from novelapi.grid.packed import read_pack
from tests import synthetic_runs

RUNNER = CliRunner()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("NOVELAPI_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def error_of(*args):
    """The error that a verb ends with; the command line makes an exit code of it."""
    found = RUNNER.invoke(app, list(args)).exception
    assert isinstance(found, NovelApiError), found
    return found


def test_a_run_that_does_not_exist(home):
    assert isinstance(error_of("pack", str(home / "results" / "none")), UsageError)


def test_a_pack_is_chosen_and_written_from_a_run(home, tmp_path, monkeypatch):
    from novelapi import jsonl
    from novelapi.layout import Layout
    from tests.fakes.bundles import numpy_bundle

    cells = synthetic_runs.write_experiment(home, apis=4, tasks=16, conditions=("baseline", "s", "full"), effect=2)
    run = cells[0].parent
    assert "raise --budget" not in str(error_of("pack", str(run)))  # no bundles: there is nothing to pack
    apis = {row["api"] for row in jsonl.read(home / "processed" / "groups" / "numpy" / "copy" / "instance.jsonl")}
    bundles = [numpy_bundle(api.removeprefix("numpy."), api=api).to_row() for api in sorted(apis)]
    jsonl.write(Layout(home).stage("numpy", "stage2_knowledge", "copy"), bundles)
    assert "raise --budget" in str(error_of("pack", str(run), "--budget", "9", "--out", str(tmp_path / "p")))
    assert "--refit needs a measurement" in str(error_of("pack", str(run), "--refit"))
    assert not (tmp_path / "p").exists()
    found = RUNNER.invoke(app, ["pack", str(run), "--budget", "400", "--out", str(tmp_path / "p"), "--json"])
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["digest"] == read_pack(tmp_path / "p").digest
    assert document["measured"] is None
    assert 0 < document["tokens"] <= 400


def test_a_server_without_a_pack(tmp_path):
    found = error_of("serve-mcp", str(tmp_path))
    assert isinstance(found, DataError)
    assert "novelapi pack" in str(found)


def test_a_server_without_the_extra(tmp_path, monkeypatch):
    import sys

    from novelapi.adapters.mcp_server import make_server
    from novelapi.packing.choose import make_pack
    from tests.unit.packing.conftest import evidence_of

    monkeypatch.setitem(sys.modules, "mcp.server", None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'novelapi\[mcp\]'"):
        make_server(make_pack(evidence_of(), 2000))


def test_the_delivery_pack_without_a_pack():
    from flows.choices import check_pack

    with pytest.raises(UsageError, match="give it with --pack"):
        check_pack(None, ["oracle", "pack"])
    assert check_pack(None, ["oracle"]) == ["oracle"]
