"""The verbs' flags, without Prefect."""

from __future__ import annotations

import subprocess
import sys
from datetime import date

import pytest
import typer
from typer.testing import CliRunner

from flows import choices, commands
from novelapi.errors import NovelApiError


@pytest.fixture
def asked(monkeypatch):
    """What the verbs ask of the session instead of running it."""
    calls = []
    session = type(sys)("flows.session")
    session.build_libraries = lambda *args, **options: calls.append((args, options))
    session.build_group = lambda *args, **options: calls.append((args, options))
    session.run_grid = lambda *args, **options: calls.append((args, options))
    monkeypatch.setitem(sys.modules, "flows.session", session)
    return calls


def invoke(*args):
    app = typer.Typer(pretty_exceptions_enable=False)
    commands.register(app)
    return CliRunner().invoke(app, args)


@pytest.mark.parametrize(
    ("args", "libraries", "stages"),
    [
        (["numpy", "--stages", "1", "2", "3"], ["numpy"], [1, 2, 3]),
        (["--stages", "1", "2", "numpy", "scipy"], ["numpy", "scipy"], [1, 2]),
        (["numpy", "--stages", "1", "--limit", "5"], ["numpy"], [1]),
        (["numpy", "--stages", "1", "--stages", "2"], ["numpy"], [1, 2]),
        (["numpy"], ["numpy"], None),
    ],
)
def test_stages_may_follow_one_flag(asked, args, libraries, stages):
    assert invoke("build", *args).exit_code == 0
    (called, options), _ = asked[0]
    assert called == libraries
    assert options["stages"] == stages


def test_conditions_and_deliveries_may_follow_one_flag(asked):
    assert invoke("run", "-l", "numpy", "--conditions", "full", "s_e", "--delivery", "rag", "oracle").exit_code == 0
    options = asked[0][0][0]
    assert (options["conditions"], options["deliveries"]) == (["full", "s_e"], ["rag", "oracle"])


def test_fresh_means_from_the_first_stage(asked):
    invoke("build", "numpy", "--fresh")
    invoke("build", "numpy", "--from-stage", "3")
    invoke("build", "numpy", "--resume")
    assert [options["from_stage"] for (_, options), _ in asked] == [1, 3, None]


def test_the_demo_is_numpy_before_december_2023_on_the_embedded_baseline(asked):
    invoke("demo", "--show-tasks")
    (options,), more = asked[0]
    assert (options["group"], str(options["cutoff"]), options["deliveries"]) == ("numpy", "2023-12-01", ["oracle"])
    assert more["show_tasks"] == 30
    choices.check_request([], options)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["build"], "name at least one library"),
        (["build", "numpy", "--all-libraries"], "name at least one library"),
        (["build", "numpy", "scipy", "--new", "2.0"], "belong to one library"),
        (["build", "numpy", "--stages", "7"], "unknown stage 7"),
        (["build", "numpy", "--group", "swe"], "name at least one library"),
        (["build", "--group", "swe", "--old", "2.0"], "belong to single libraries"),
        (["run"], "one of --library, --group and --library-path"),
        (["run", "-l", "numpy", "-g", "swe"], "one of --library, --group and --library-path"),
        (["run", "-l", "numpy", "--conditions", "fulll"], "did you mean full"),
        (["run", "-l", "numpy", "--delivery", "rg"], "did you mean rag"),
    ],
)
def test_a_wrong_request_is_refused_with_a_remedy_before_anything_starts(asked, args, message):
    result = invoke(*args)
    assert isinstance(result.exception, NovelApiError)
    assert message in str(result.exception)
    assert result.exception.exit_code == 2
    assert asked == []


def test_help_does_not_import_prefect():
    code = "import sys; sys.argv = ['novelapi', 'build', '--help']\ntry:\n    from novelapi.cli import main; main()\nexcept SystemExit:\n    pass\nassert 'prefect' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("model", ["transformers:/somewhere", "openai:own"])
def test_models_outside_the_catalogue_need_a_cutoff_and_no_entry(model):
    from novelapi.errors import UsageError

    choices.check_request(["numpy", "pandas"], {"model": model, "cutoff": date(2023, 12, 1)})
    with pytest.raises(UsageError, match=r"has no cutoff: give --cutoff DATE"):
        choices.check_request(["numpy"], {"model": model, "cutoff": None})
