"""Which release a model can have known: late files, yanks, backports, post-releases, pre-releases."""

from datetime import UTC, date, datetime

import pytest

from novelapi.discovery.index import IndexFile, Project
from novelapi.discovery.releases import latest_before, list_releases, resolve_pair
from novelapi.errors import UsageError

CUTOFF = date(2024, 9, 1)
WHEEL, SDIST = "-py3-none-any.whl", ".tar.gz"


def project(*rows):
    """Return a project of files: (version, day of upload, yanked)."""
    files = [
        IndexFile(
            filename=f"lib-{version}{suffix}",
            kind="wheel" if suffix.endswith("whl") else "sdist",
            url="https://files.example/x",
            sha256="0" * 64,
            size=1,
            uploaded=datetime.fromisoformat(day).replace(tzinfo=UTC),
            yanked=yanked,
            requires_python=None,
        )
        for version, day, yanked, suffix in (row if len(row) == 4 else (*row, False, WHEEL) for row in rows)
    ]
    return Project(name="lib", fetched=date(2026, 1, 1), files=tuple(files))


# files, the release that was known before 2024-09-01, why
TABLE = [
    ([("1.0", "2024-01-01"), ("1.1", "2024-06-01"), ("1.2", "2024-10-01")], "1.1"),  # the plain case
    ([("1.0", "2024-09-01")], None),  # the day itself is too late
    ([("1.0", "2024-08-31T23:59:59")], "1.0"),  # the second before is not
    ([("2.0", "2024-03-01"), ("1.9", "2024-08-01")], "2.0"),  # a backport is later, not higher
    ([("1.0", "2024-03-01"), ("1.0.post1", "2024-08-01")], "1.0.post1"),  # a post-release replaces its base
    ([("1.0", "2024-03-01"), ("1.1rc1", "2024-08-01")], "1.0"),  # no pre-release
    ([("1.0", "2024-03-01"), ("1.1.dev3", "2024-08-01")], "1.0"),  # no development version
    ([("1.0", "2024-03-01"), ("1.1", "2024-04-01", True, WHEEL)], "1.0"),  # withdrawn
    ([("1.1", "2024-04-01", True, WHEEL)], "1.1"),  # withdrawn, but nothing else is left
    (
        [("1.0", "2024-03-01"), ("1.1", "2024-04-01", True, WHEEL), ("1.1", "2024-04-01", False, SDIST)],
        "1.1",
    ),  # one file of two is withdrawn: the release is not
    (
        [("1.0", "2024-03-01"), ("1.1", "2024-08-01", False, SDIST), ("1.1", "2024-12-01", False, WHEEL)],
        "1.1",
    ),  # a late file
    ([("1.9", "2024-03-01"), ("1.10", "2024-04-01")], "1.10"),  # versions, not texts
    ([("2024.3.1", "2024-03-01"), ("2024.3.10", "2024-04-01")], "2024.3.10"),
    ([("1!0.5", "2024-03-01"), ("3.0", "2024-04-01")], "1!0.5"),  # an epoch is above all
    ([("1.0a1", "2024-03-01")], None),  # nothing final
    ([], None),
]


@pytest.mark.parametrize(("files", "expected"), TABLE)
def test_known_before(files, expected):
    found = latest_before(list_releases(project(*files)), CUTOFF)
    assert (found.version if found else None) == expected


def test_first_and_last_file_are_told_apart():
    (release,) = list_releases(project(("1.1", "2024-08-01", False, SDIST), ("1.1", "2024-12-01", False, WHEEL)))
    assert (release.first.date(), release.last.date()) == (date(2024, 8, 1), date(2024, 12, 1))


RELEASES = list_releases(project(("1.0", "2024-01-01"), ("1.1", "2024-06-01"), ("2.0", "2024-10-01")))


def pair(**arguments):
    return resolve_pair("lib", RELEASES, **arguments)


def test_pairs():
    assert (pair(cutoff=CUTOFF).old, pair(cutoff=CUTOFF).new) == ("1.1", "2.0")
    assert pair(cutoff=CUTOFF, pinned="1.1").new == "1.1"
    assert pair(cutoff=date(2023, 1, 1)).old is None
    assert (pair(old="1.0.0", new="2").old, pair(old="1.0.0", new="2").new) == ("1.0", "2.0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give --cutoff"),
        ({"cutoff": date(2027, 1, 1)}, "after the newest release"),
        ({"old": "2.0", "new": "1.0"}, "exchange --old and --new"),
        ({"old": "0.5"}, "no final release 0.5"),
        ({"old": "new"}, "not a version"),
    ],
)
def test_what_is_asked_in_vain(arguments, message):
    with pytest.raises(UsageError, match=message):
        pair(**arguments)


def test_a_window_without_news():
    with pytest.raises(UsageError, match="nothing in lib"):
        pair(cutoff=CUTOFF, pinned="1.1").require_window()
