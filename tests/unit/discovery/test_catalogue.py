"""The catalogue: 21 libraries with their sources, and the table of licences beside it."""

import re
from pathlib import Path

import pytest

from novelapi import catalog
from novelapi.discovery.visibility import declared_private, says_private
from novelapi.errors import UnknownNameError

ROOT = Path(__file__).parents[3]
LIBRARIES = catalog.libraries()


def test_twenty_one_libraries():
    assert len(LIBRARIES) == 21
    assert sum(library.copyleft for library in LIBRARIES.values()) == 2


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=lambda library: library.name)
def test_entries(library):
    assert library.release
    assert library.licence != "NOASSERTION"
    for entry in (*library.private_prefixes, *library.set_apart):
        assert entry.source
        assert entry.prefix.split(".")[0] in library.imports
    if library.prelude:
        compile(library.prelude, library.name, "exec")


def test_the_table_of_licences():
    rows = re.findall(
        r"^\| (\S+) \| (\S+) (\S+) \| (\S+) \| (yes|no) \|$", (ROOT / "LICENSES.md").read_text(), re.MULTILINE
    )
    expected = [
        (item.name, item.distribution, item.release, item.licence, "yes" if item.copyleft else "no")
        for item in LIBRARIES.values()
    ]
    assert sorted(rows) == sorted(expected)


@pytest.mark.parametrize(
    ("library", "path", "private"),
    [
        ("numpy", "numpy.f2py.crackfortran.param_eval", True),
        ("numpy", "numpy.f2py.compile", False),
        ("pandas", "pandas.core.frame.DataFrame", True),
        ("pandas", "pandas.DataFrame", False),
        ("pandas", "pandas.io.formats.style.Styler", False),
        ("sqlalchemy", "sqlalchemy.testing.provision.x", True),
        ("sqlalchemy", "sqlalchemy.dialects.mysql.base.MySQLCompiler", True),
        ("sqlalchemy", "sqlalchemy.dialects.mysql.INET4", False),
        ("fastmcp", "fastmcp.contrib.bulk.X", True),
    ],
)
def test_private_parts(library, path, private):
    assert (declared_private(path, LIBRARIES[library].private_prefixes) is not None) is private


@pytest.mark.parametrize(
    ("docstring", "private"),
    [
        ("For internal use only.", True),
        ("Helpers. This module is private.", True),
        ("These are implementation details of the parser.", True),
        ("Not part of the public API: anything may change.", True),
        ("Tools for internal combustion engines.", False),
        ("The public API of the package.", False),
        ("", False),
        (None, False),
        ("x" * 600 + " internal use only", False),  # far down it is about something else
    ],
)
def test_modules_that_call_themselves_private(docstring, private):
    assert says_private(docstring) is private


def test_any_library_can_be_left_out():
    """`lolo_LIBRARY` is a group wherever a group is asked for, not a distribution of that name."""
    pool = catalog.find_group("all_pooled_paper").libraries
    group = catalog.find_group("lolo_mdanalysis")
    assert (group.libraries, group.held_out, group.split) == (pool, ("MDAnalysis",), "held_out_library")
    assert catalog.named_group("lolo-diffusers") == catalog.groups()["lolo_diffusers"]
    outside = next(name for name in LIBRARIES if name not in pool)
    assert catalog.find_group(f"lolo_{outside}").libraries == (*pool, outside)
    assert catalog.named_group("numpy") is None
    with pytest.raises(UnknownNameError, match="did you mean pandas"):
        catalog.find_group("lolo_pandsa")
