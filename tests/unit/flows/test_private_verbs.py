"""The flag `--library-path` of the verbs: two files take the place of a library, and what goes with it is checked."""

from __future__ import annotations

import sys

import pytest
import typer
from typer.testing import CliRunner

from flows import commands
from novelapi.errors import UsageError
from novelapi.settings import load_settings
from tests.fakes.package_index import NEW, OLD, package, wheel


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What the verbs ask of the session instead of running it, in a home of this test's own."""
    monkeypatch.setenv("NOVELAPI_HOME", str(tmp_path / "home"))
    load_settings.cache_clear()
    calls = []
    session = type(sys)("flows.session")
    session.build_libraries = session.build_group = session.run_grid = lambda *args, **options: calls.append(args)
    monkeypatch.setitem(sys.modules, "flows.session", session)
    yield calls
    load_settings.cache_clear()


@pytest.fixture
def files(tmp_path):
    found = []
    for version, source in (("2.0", NEW), ("1.0", OLD)):
        path = tmp_path / f"tinyshapes-{version}-py3-none-any.whl"
        path.write_bytes(wheel("tinyshapes", version, package(source)))
        found.append(str(path))
    return found


def invoke(*args):
    app = typer.Typer(pretty_exceptions_enable=False)
    commands.register(app)
    return CliRunner().invoke(app, args)


def test_files_take_the_place_of_a_library(asked, files):
    new, old = files
    assert invoke("build", "--library-path", new, "--old", old).exit_code == 0
    assert invoke("run", "--library-path", new, "--old", old).exit_code == 0
    ((libraries, options), (grid,)) = asked
    assert libraries[0].startswith("tinyshapes+")
    assert (options["old"], options["new"], options["cutoff"]) == (None, None, None)
    assert grid["group"] == libraries[0]


@pytest.mark.parametrize(
    ("verb", "more", "words"),
    [
        ("build", ["numpy"], "leave numpy out"),
        ("build", ["--new", "2.0"], "leave --new 2.0 out"),
        ("build", ["--all-libraries"], "leave --all-libraries out"),
        ("run", ["--library", "numpy"], "leave numpy out"),
        ("run", ["--group", "swe"], "leave swe out"),
    ],
)
def test_nothing_else_may_be_named_beside_it(asked, files, verb, more, words):
    error = invoke(verb, "--library-path", files[0], *more).exception
    assert isinstance(error, UsageError)
    assert words in str(error)
    assert asked == []


def test_a_missing_file_and_an_old_release_without_a_new_one_are_one_line(asked, files):
    assert "there is no file or folder" in str(invoke("build", "--library-path", "none.whl").exception)
    assert "--old goes with --library-path" in str(invoke("run", "-l", "numpy", "--old", files[1]).exception)
    assert asked == []
