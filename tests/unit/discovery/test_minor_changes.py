"""What only the sources show to differ keeps its reason, although nobody is asked about it."""

import pytest

from novelapi.discovery.classify import classify_static
from novelapi.discovery.diff import Differ
from novelapi.discovery.discover import needs_asking
from tests.unit.discovery.test_differences import f, table_of


@pytest.mark.parametrize(
    ("old", "new", "asked", "reason"),
    [
        ("(a, b=1)", "(a, b=2)", False, "defaults_only"),
        ("(a: int)", "(a: str)", False, "annotation_only"),
        ("(*fields)", "(field, /, *fields)", False, "variadic_only"),
        ("(a)", "(a, b)", True, "modified"),
        ("(a)", "(a)", False, "unchanged"),
    ],
)
def test_reasons(tmp_path, old, new, asked, reason):
    tables = table_of(tmp_path / "old", f(old)), table_of(tmp_path / "new", f(new))
    (row,) = [row for row in Differ(*tables).differences() if row.new.shown == "lib.f"]
    assert needs_asking(row) is asked
    assert classify_static(row).verdict == reason
