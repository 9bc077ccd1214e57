"""Several libraries in one command: one that fails, or that has nothing new, does not stop the others."""

from __future__ import annotations

import pytest

from flows import session
from novelapi.errors import IndexUnavailableError, NothingNewError, NovelApiError

NAMES = ["ase", "deepchem", "flask", "numpy"]
PROBLEMS = {"deepchem": NothingNewError("nothing is new there"), "flask": IndexUnavailableError("no answer there")}


def work(name):
    if name in PROBLEMS:
        raise PROBLEMS[name]
    return name.upper()


def test_the_others_go_on(capsys):
    done, failures = session._each(NAMES, work)
    assert done == ["ASE", "NUMPY"]
    assert list(failures) == ["flask"], "nothing new is no failure"
    assert capsys.readouterr().err == "deepchem: nothing is new there\nflask: no answer there\n"


def test_a_single_library_fails_with_its_own_error():
    with pytest.raises(NothingNewError):
        session._each(["deepchem"], work)


def test_a_preview_of_several_goes_on_too(capsys, monkeypatch):
    import flows.preview

    def preview(name, options, access):
        work(name)
        return flows.preview.LibraryPreview(library=name, old="1", new="2", finished=[], missing=[], tasks=None)

    monkeypatch.setattr(flows.preview, "preview_library", preview)
    options = {"model": "copy", "cutoff": None, "limit": None, "old": None, "new": None, "stages": None}
    with pytest.raises(NovelApiError, match=r"1 of 4 libraries failed \(flask\)"):
        session.build_libraries(NAMES, options, access=session.DIRECT, dry_run=True, as_json=False)
    shown = capsys.readouterr()
    assert shown.out.splitlines() == ["ase 1 -> 2", "numpy 1 -> 2"]
    assert "deepchem: nothing is new there" in shown.err
