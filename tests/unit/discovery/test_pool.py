"""Every difference from a published table gets a reason that is computed from the two releases."""

import pytest

from novelapi.catalog import Library, PrivatePrefix
from novelapi.discovery.pool import WEAK, compare_pool, read_membership, summary
from novelapi.errors import DataError
from novelapi.records.api import Candidate, Change, Exclusion
from tests.unit.discovery.test_differences import f, table_of

CODE = {
    "__init__": "from lib.a import f, g, h\n__all__ = ['f', 'g', 'h']\n",
    "a": f("(x)") + "\n\ndef g(x):\n    return x\n\n\ndef h(x):\n    return x\n",
    "b": "from lib.a import f\n\n\nclass K:\n    pass\n",
    "inner": f("(x)"),
    "tests/test_a": f("(x)"),
}
LIBRARY = Library(
    name="lib",
    distribution="lib",
    imports=("lib",),
    private_prefixes=(PrivatePrefix(prefix="lib.inner", source="README"),),
)


def candidate(api, change="added", kind="function"):
    return Candidate(
        api=api, library="lib", release="2", old_release="1", paths=(api,), canonical=api.replace("lib.", "lib.a:"),
        kind=kind, change=change, changes=(Change(kind="added"),), signature="(x)", parameters=(),
        docstring="Do something that is described at length here.",
    )  # fmt: skip


OURS = [candidate("lib.f"), candidate("lib.g", "modified"), candidate("lib.b.K.m", kind="method")]
EXCLUDED = [Exclusion(api="lib.old", reason="deprecated", detail="says so", canonical=None)]

# a published name with its label, side, reason
TABLE = [
    ("lib.f", "added", "both", ""),
    ("lib.a.f", "added", "both", ""),  # another spelling
    ("lib.g", "added", "label_differs", "old_path_resolves"),
    ("lib.old", "added", "theirs_only", "deprecated"),
    ("lib.h", "modified", "theirs_only", "unchanged"),
    ("lib._a.f", "added", "theirs_only", "private_segment"),
    ("lib.tests.test_a.f", "added", "theirs_only", "test_tree"),
    ("lib.inner.f", "added", "theirs_only", "private_prefix"),
    ("lib.nothing", "added", "theirs_only", "unknown_name"),
    ("lib.b.f", "added", "theirs_only", "unchanged"),
]


@pytest.mark.parametrize(("api", "label", "side", "reason"), TABLE)
def test_names(tmp_path, api, label, side, reason):
    rows = compare_pool({api: label}, OURS, EXCLUDED, table_of(tmp_path, CODE), LIBRARY)
    (row,) = [row for row in rows if row.side != "ours_only"]
    assert (row.api, row.side, row.reason) == (api, side, reason)


@pytest.mark.parametrize(
    ("old", "reason"),
    [
        ("def h(x):\n    return x\n", "same_signature"),
        ("def h(x: int):\n    return x\n", "unchanged"),  # stage 1 should have said that the annotation changed
        ("def h(x, y=1):\n    return x\n", "unchanged"),  # stage 1 should have found this
        ("h = 1\n", "unchanged"),
    ],
)
def test_what_callers_write_in_both_releases_is_no_change(tmp_path, old, reason):
    before = table_of(tmp_path / "old", {"__init__": "from lib.a import h\n__all__ = ['h']\n", "a": old})
    rows = compare_pool({"lib.h": "modified"}, [], [], table_of(tmp_path / "new", CODE), LIBRARY, old_table=before)
    assert [row.reason for row in rows] == [reason]
    assert reason not in WEAK or reason == "unchanged"


@pytest.mark.parametrize(
    ("old", "new"),
    [("def h(__x):\n    return __x\n", "def h(x, /):\n    return x\n"), ("def h(a, /): pass\n", "def h(b, /): pass\n")],
)
def test_a_name_that_no_call_can_hold_is_no_change(tmp_path, old, new):
    tables = [table_of(tmp_path / name, {"__init__": text}) for name, text in (("old", old), ("new", new))]
    (row,) = compare_pool({"lib.h": "modified"}, [], [], tables[1], LIBRARY, old_table=tables[0])
    assert row.reason == "same_signature"


def test_ours_only(tmp_path):
    rows = compare_pool({"lib.f": "added"}, OURS, EXCLUDED, table_of(tmp_path, CODE), LIBRARY)
    assert {row.api: row.reason for row in rows if row.side == "ours_only"} == {
        "lib.g": "method_differs",
        "lib.b.K.m": "member",
    }


def test_summary(tmp_path):
    theirs = {api: label for api, label, _, _ in TABLE}
    counts = summary(compare_pool(theirs, OURS, EXCLUDED, table_of(tmp_path, CODE), LIBRARY))
    assert counts["names"] == len(TABLE)
    assert counts["explained"] == len(TABLE) - 3  # two unchanged names and an unknown one are no good reasons


def test_membership(tmp_path):
    path = tmp_path / "membership.csv"
    path.write_text("api_name,library,m1,m2\nlib.f,lib,added,\nlib.g,lib,,modified\n")
    assert [(row.api, row.labels) for row in read_membership(path)] == [
        ("lib.f", {"m1": "added"}),
        ("lib.g", {"m2": "modified"}),
    ]
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="no columns api_name"):
        read_membership(path)
    with pytest.raises(DataError, match="no file"):
        read_membership(tmp_path / "none.csv")
