"""Only entries inside (old, new] that name the API are quoted."""

import pytest
from packaging.version import Version

from novelapi.knowledge.changelog import Window, _entries, about, in_docstring
from novelapi.knowledge.targets import Target

WINDOW = Window(Version("1.26.2"), Version("2.4.4"))


@pytest.mark.parametrize(
    ("version", "inside"),
    [
        ("1.26.2", False),  # the old release itself
        ("1.26.3", True),
        ("2.0.0rc1", False),  # its final release says the same
        ("2.4.4", True),
        ("2.4.5", False),
        ("2.5", False),
        ("1.9", False),  # not compared as text
        ("not a version", False),
    ],
)
def test_window(version, inside):
    assert WINDOW.holds(version) is inside


def target(api, kind="function", paths=()):
    return Target(api=api, paths=frozenset((api, *paths)), kind=kind, positional=(), new=frozenset(), added=True)


MARKDOWN = """# Changelog

## v2.5.0 (2026-01-01)

* Add `lib.frobnicate`.

## v2.1.0 (2025-01-01)

### New Features

* Add `lib.frobnicate`, which
  frobnicates, by @somebody in [#123](https://example.org/123)
* Fix something else

## v1.0

* Prepare `lib.frobnicate`.
"""
RST = """
Version 2.1.0
-------------

Released 2025

-   ``lib.frobnicate`` takes an option. :issue:`5`

Version 1.0
-----------

-   ``lib.frobnicate`` existed.
"""
SQLALCHEMY = """
.. changelog::
    :version: 2.1.0
    :released: May 5

    .. change::
        :tags: feature
        :tickets: 12

        Added :func:`.lib.frobnicate`.

.. changelog::
    :version: 1.0

    .. change::

        Added :func:`.lib.frobnicate` once.
"""


@pytest.mark.parametrize("text", [MARKDOWN, RST, SQLALCHEMY])
def test_entries_of_every_format(text, tmp_path):
    entries = list(_entries(text, tmp_path / "CHANGES.rst", "CHANGES.rst", WINDOW))
    found = about(target("lib.frobnicate"), entries)
    assert [entry.version for entry in found] == ["2.1.0"]
    assert "frobnicate" in found[0].text
    assert "somebody" not in found[0].text


def test_version_in_the_file_name(tmp_path):
    text = "Notes\n=====\n\nNew function `np.unstack`\n-------------------------\nIt splits an array along an axis.\n"
    entries = list(_entries(text, tmp_path / "2.1.0-notes.rst", "2.1.0-notes.rst", WINDOW))
    assert [(entry.version, entry.text) for entry in about(target("numpy.unstack"), entries)] == [
        ("2.1.0", "New function `np.unstack`: It splits an array along an axis.")
    ]


# api, kind, entry, whether the entry is about it
MENTIONS = [
    ("numpy.unstack", "function", "`np.unstack` added", True),
    ("numpy.char.split", "function", "`np.split` is faster", False),  # a namesake
    ("numpy.where", "function", "Calling with `where` warns", False),  # a word and a parameter
    ("lib.Frame.map", "method", "`Frame.map` takes engine", True),
    ("lib.Frame.map", "method", "`Series.map` takes engine", False),
    ("lib.cumulative_sum", "function", "Added ``cumulative_sum``", True),
    ("lib.cumulative_sum", "function", "cumulative sums are faster", False),
]


@pytest.mark.parametrize(("api", "kind", "text", "expected"), MENTIONS)
def test_mentions(api, kind, text, expected, tmp_path):
    entries = list(_entries(f"## 2.1.0\n\n* {text}\n", tmp_path / "CHANGELOG.md", "CHANGELOG.md", WINDOW))
    assert bool(about(target(api, kind), entries)) is expected


def test_remarks_in_a_docstring():
    text = "Do it.\n\nx : int\n    A number.\n\n    .. versionadded:: 2.1.0\n\n.. versionadded:: 1.9.0\n\n.. versionchanged:: 2.2\n   Faster.\n"
    assert [(entry.version, entry.text) for entry in in_docstring(text, WINDOW, "here")] == [
        ("2.1.0", "`x`: added"),
        ("2.2", "Faster."),
    ]
