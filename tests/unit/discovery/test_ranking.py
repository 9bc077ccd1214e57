"""Ranking by evidence of use; a cap keeps different things rather than many of a kind."""

import pytest

from novelapi.discovery.apis import Api
from novelapi.discovery.classify import Verdict
from novelapi.discovery.ranking import score, thin_out, usable_change, versions_in_window
from novelapi.discovery.surface.model import ApiObject
from novelapi.records.api import Change


def verdict(name="lib.f", doc="", kind="function", change="added", changes=(), tags=()):
    item = ApiObject(name.replace("lib.", "lib:"), kind)
    found = Verdict(Api(item, {name: "all"}, shown=name), change, kind=kind, doc=doc, shown=name)
    found.changes = tuple(changes)
    found.tags.update(tags)
    return found


EVIDENCE = {
    "export": "all", "documented": False, "parameters_section": False, "examples_section": False, "called_in_docs": 0,
    "called_in_tests": 0, "versions_in_window": [], "role": "plain",
}  # fmt: skip


# each kind of evidence puts an API above one without it
@pytest.mark.parametrize(
    "more",
    [
        {"documented": True},
        {"parameters_section": True},
        {"examples_section": True},
        {"called_in_docs": 3},
        {"called_in_tests": 3},
        {"versions_in_window": ["2.0"]},
    ],
)
def test_evidence_raises(more):
    assert score(verdict(), {**EVIDENCE, **more}) > score(verdict(), EVIDENCE)


def test_evidence_lowers():
    assert score(verdict(), {**EVIDENCE, "role": "exception"}) < score(verdict(), EVIDENCE)
    assert score(verdict("lib.a.b.c.f"), EVIDENCE) < score(verdict("lib.f"), EVIDENCE)
    assert score(verdict(tags=["member_of_new_class"]), EVIDENCE) < score(verdict(), EVIDENCE)


def test_documented_counts_most():
    often = {**EVIDENCE, "called_in_tests": 99, "called_in_docs": 3}
    assert score(verdict(), {**EVIDENCE, "documented": True}) > score(verdict(), often)


def test_caps_keep_different_things():
    alike = [verdict(f"lib.load_{n}", "Load a table of numbers from a file on disk.") for n in range(5)]
    other = verdict("lib.solve", "Find the roots of a polynomial equation.")
    items = [(row, 10.0 - n / 10) for n, row in enumerate(alike)]
    items.insert(3, (other, 9.75))
    kept = thin_out(items, 2)
    assert [row.shown for row in kept] == ["lib.load_0", "lib.solve"]
    assert thin_out(items, 0) == [row for row, _ in items]
    assert thin_out(items, 6) == [row for row, _ in items]


def test_caps_do_not_depend_on_anything_else():
    items = [(verdict(f"lib.f{n}", f"Text number {n} of its kind."), 5.0) for n in range(30)]
    assert [row.shown for row in thin_out(items, 7)] == [row.shown for row in thin_out(items, 7)]


def added(name, new=None):
    return Change(kind="parameter_added", parameter=name, new=new or f"{name}=None")


@pytest.mark.parametrize(
    ("changes", "usable"),
    [
        ([added("axis")], True),
        ([added("device")], False),  # changes nothing that can be seen here
        ([added("xp"), added("device")], False),
        ([added("xp"), added("axis")], True),
        ([added("assume_valid")], False),  # a promise: only a broken one shows
        ([added("_cache")], False),
        ([added("field", "*field")], False),  # it came out of *args
        ([added("kw", "**kw")], False),
        ([Change(kind="parameter_renamed", parameter="x", old="a", new="x")], True),
        ([Change(kind="parameter_kind", parameter="x")], False),
        ([Change(kind="parameter_removed", parameter="x")], False),
    ],
)
def test_usable_changes(changes, usable):
    assert usable_change(verdict(change="modified", changes=changes)) is usable


def test_versions():
    text = ".. versionadded:: 2.1.0\n.. versionchanged:: 1.9\nNew in version 2.0.\n.. versionadded:: next"
    assert versions_in_window(text, ("1.9", "2.1")) == ["2.0", "2.1.0"]
    assert versions_in_window(text, (None, "1.9")) == ["1.9"]
