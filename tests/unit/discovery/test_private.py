"""A user's own package: read from its wheels, named by its content, taken apart like any library, mistakes told."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from novelapi.catalog import find_library
from novelapi.discovery.index import PackageIndex
from novelapi.discovery.metadata import wheel_metadata
from novelapi.discovery.private import keep_private
from novelapi.discovery.requests import find_versions
from novelapi.discovery.workspace import Workspace
from novelapi.errors import DataError, UnknownNameError, UsageError
from novelapi.execution.environments import Environments
from novelapi.layout import Layout
from novelapi.records.request import LibraryRequest
from novelapi.settings import load_settings
from tests.fakes.package_index import NEW, OLD, package, wheel

TODAY = date(2026, 1, 2)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A workspace whose index must not be asked."""
    monkeypatch.setenv("NOVELAPI_HOME", str(tmp_path / "home"))
    load_settings.cache_clear()
    layout = Layout(tmp_path / "home")
    yield Workspace(
        layout=layout,
        index=PackageIndex(layout=layout, offline=True),
        environments=Environments(root=tmp_path / "envs"),
    )
    load_settings.cache_clear()


def write(folder: Path, version: str, source: str, name: str = "tinyshapes", **extra: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    path.write_bytes(wheel(name, version, package(source), **extra))
    return path


@pytest.fixture
def pair(tmp_path):
    return write(tmp_path / "w", "2.0", NEW), write(tmp_path / "w", "1.0", OLD)


def test_two_wheels_are_a_library_with_both_releases(workspace, pair):
    library = keep_private(workspace, *pair, TODAY)
    assert library.name.startswith("tinyshapes+")
    assert (library.distribution, library.release, library.previous) == ("tinyshapes", "2.0", "1.0")
    assert find_library(library.name) == library
    found = workspace.resolve(library)
    assert (found.old, found.new) == ("1.0", "2.0")
    assert "interleave" in workspace.surface(library, "2.0").names["tinyshapes"]
    assert "interleave" not in workspace.surface(library, "1.0").names["tinyshapes"]
    assert workspace.surface(library, "2.0").roots == ("tinyshapes",)
    assert workspace.sdist(library, "2.0") is None


def test_no_cutoff_is_needed_whatever_the_model(workspace, pair):
    name = keep_private(workspace, *pair, TODAY).name
    pair_found = find_versions(LibraryRequest(library=name, model="openai:any"), workspace.layout)
    assert (pair_found.old, pair_found.new) == ("1.0", "2.0")


def test_without_an_old_release_everything_is_new(workspace, pair):
    library = keep_private(workspace, pair[0], None, TODAY)
    assert workspace.resolve(library).old is None


def test_content_names_it_times_do_not(workspace, pair, tmp_path):
    name = keep_private(workspace, *pair, TODAY).name
    again = write(tmp_path / "again", "2.0", NEW)
    assert keep_private(workspace, again, pair[1], date(2027, 1, 1)).name == name
    assert workspace.request(find_library(name), "2.0").before.year == 2026  # the day on which they were given first
    other = write(tmp_path / "other", "2.0", NEW.replace("[5], 2", "[6], 2").replace("repeated", "repeated often"))
    assert keep_private(workspace, other, pair[1], TODAY).name != name


def test_what_it_needs_comes_from_its_metadata_extras_left_out(workspace, tmp_path):
    needs = "Requires-Dist: idna>=3\nRequires-Dist: rich; extra == 'cli'\nLicense-Expression: MIT\n"
    path = write(tmp_path, "2.0", NEW, metadata=needs)
    found = wheel_metadata(path)
    assert (found.name, found.version, found.licence) == ("tinyshapes", "2.0", "MIT")
    assert found.requirements == ("idna>=3",)
    request = workspace.request(keep_private(workspace, path, None, TODAY), "2.0")
    assert (request.requirements, request.requires_python) == (("idna>=3",), ">=3.9")
    assert Path(request.wheel).name == path.name


def test_a_development_version_counts_as_a_release(workspace, tmp_path):
    new, old = write(tmp_path, "2.0.dev1", NEW), write(tmp_path, "1.0", OLD)
    library = keep_private(workspace, new, old, TODAY)
    assert workspace.release(library, "2.0.dev1").version == "2.0.dev1"


@pytest.mark.parametrize(
    ("new", "old", "words"),
    [
        (("2.0", "tinyshapes"), ("2.0", "tinyshapes"), "raise the version"),
        (("1.0", "tinyshapes"), ("2.0", "tinyshapes"), "exchange --old and --library-path"),
        (("2.0", "tinyshapes"), ("1.0", "otherlib"), "two releases of one package"),
    ],
)
def test_two_wheels_that_are_no_pair_are_refused(workspace, tmp_path, new, old, words):
    first, second = write(tmp_path / "a", new[0], NEW, new[1]), write(tmp_path / "b", old[0], OLD, old[1])
    with pytest.raises(UsageError, match=words):
        keep_private(workspace, first, second, TODAY)


def test_what_is_no_package_is_refused(workspace, tmp_path):
    with pytest.raises(UsageError, match="there is no file or folder"):
        keep_private(workspace, tmp_path / "none.whl", None, TODAY)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"holds no pyproject\.toml"):
        keep_private(workspace, tmp_path / "empty", None, TODAY)
    for name in ("tiny.txt", "tinyshapes-1.0-py3-none-any.whl"):
        (tmp_path / name).write_text("no zip")
        with pytest.raises(DataError, match="is no wheel"):
            keep_private(workspace, tmp_path / name, None, TODAY)


def test_a_private_name_that_is_not_kept_here_says_what_to_give(workspace):
    with pytest.raises(UnknownNameError, match="--library-path"):
        find_library("tinyshapes+0123456789")
