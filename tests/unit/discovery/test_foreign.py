"""What a path leads to when it runs decides whose it is, whatever the sources define for other machines."""

from __future__ import annotations

import pytest

from novelapi.discovery.classify import classify_observed
from novelapi.discovery.diff import Differ
from novelapi.discovery.verify import Observation
from tests.unit.discovery.test_differences import f, table_of

CODE = "try:\n    import fast\n" + "".join(f"    {line}\n" for line in f("(x)").splitlines())
CODE += "except ImportError:\n    from other import f\n"
ABSENT = Observation(ok=False, error="AttributeError: module 'lib' has no attribute 'f'", stage="attribute")


def seen(module, kind="function", *, at_home=True):
    return Observation(
        ok=True, kind=kind, module=module, qualname="f", at_home=at_home, doc="Documented at length." * 3
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (seen("lib.a"), "added"),
        (seen("other.inner"), "foreign"),
        (seen("other", "class"), "foreign"),
        (seen("other", "callable"), "foreign"),  # numpy's functions are objects that dispatch
        (seen("other", "callable", at_home=False), "added"),  # an object of ours of another package's class
        (seen("other.inner", at_home=False), "added"),  # ours, made by a decorator of another package
        (seen("other.inner", "method"), "added"),
        (seen("_speedups", at_home=False), "added"),  # an extension module that leaves its package out
        (seen(None, at_home=False), "added"),
    ],
)
def test_whose_it_is(tmp_path, found, verdict):
    before, after = table_of(tmp_path / "old", ""), table_of(tmp_path / "new", CODE)
    (row,) = [row for row in Differ(before, after).differences() if row.new.shown == "lib.f"]
    assert classify_observed(row, {"lib.f": found}, {"lib.f": ABSENT}, ("lib",)).verdict == verdict
