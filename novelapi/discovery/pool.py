"""Compares the candidates of a library with a published table of names, and gives a reason for every difference."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from novelapi.catalog import Library
from novelapi.discovery.apis import ApiTable
from novelapi.discovery.classify import REASONS
from novelapi.discovery.signatures import compare, is_generic, write_signature
from novelapi.discovery.visibility import Trees, declared_private, is_private
from novelapi.errors import DataError
from novelapi.records.api import Candidate, Exclusion
from novelapi.records.base import Record

Side = Literal["both", "label_differs", "theirs_only", "ours_only"]

WEAK = frozenset({"unchanged", "over_cap", "old_unknown", "not_importable", "unknown_name", "needs_running"})
"""Reasons that a maintainer of the library would not accept as they stand."""


class Membership(Record):
    """One name of the table."""

    api: str
    """Dotted path."""

    library: str
    """Library, with the table's own spelling."""

    labels: dict[str, str]
    """added or modified by model; models for which the name is no member are left out."""


class PoolRow(Record):
    """One name of either side."""

    api: str
    """Dotted path."""

    side: Side
    """Who has it."""

    theirs: str | None = None
    """Their label."""

    ours: str | None = None
    """Our label."""

    reason: str = ""
    """Why the sides differ, as a code; empty where they agree."""

    detail: str = ""
    """The evidence."""


def read_membership(path: Path) -> list[Membership]:
    """Read a table with the columns api_name, library and one per model.

    Raises:
        DataError: there is no such file, or it lacks the two columns.
    """
    if not path.is_file():
        raise DataError(f"no file {path}: give the path of a membership table")
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        columns = reader.fieldnames or []
        if not {"api_name", "library"} <= set(columns):
            raise DataError(f"{path} has no columns api_name and library: it is no membership table")
        models = [name for name in columns if name not in ("api_name", "library")]
        return [
            Membership(
                api=row["api_name"], library=row["library"], labels={name: row[name] for name in models if row[name]}
            )
            for row in reader
        ]


def compare_pool(
    theirs: Mapping[str, str],
    candidates: Sequence[Candidate],
    excluded: Iterable[Exclusion],
    table: ApiTable,
    library: Library,
    *,
    old_table: ApiTable | None = None,
) -> list[PoolRow]:
    """Classify every name of both sides.

    Args:
        theirs: their label by dotted path, for one model.
        candidates: ours, for the same two releases.
        excluded: what stage 1 left out.
        table: the new release.
        library: its catalogue entry.
        old_table: the old release, for names that stage 1 found unchanged; null without one.
    """
    mine = {path: row for row in candidates for path in {row.api, *row.paths, row.canonical.replace(":", ".")}}
    left_out = {row.api: row for row in excluded}
    trees = Trees(table.surface.names)
    rows: list[PoolRow] = []
    matched: set[str] = set()
    for api, label in sorted(theirs.items()):
        own = mine.get(api)
        if own is not None:
            matched.add(own.api)
            same = own.change == label
            reason, detail = ("", "") if same else _other_label(own)
            side: Side = "both" if same else "label_differs"
            rows.append(PoolRow(api=api, side=side, theirs=label, ours=own.change, reason=reason, detail=detail))
            continue
        reason, detail = _why_not_ours(api, left_out, table, trees, library)
        if reason == "unchanged" and old_table is not None:
            reason, detail = _same_for_callers(api, old_table, table) or (reason, detail)
        rows.append(PoolRow(api=api, side="theirs_only", theirs=label, reason=reason, detail=detail))
    for row in candidates:
        if row.api not in matched:
            reason, detail = _why_not_theirs(row)
            rows.append(PoolRow(api=row.api, side="ours_only", ours=row.change, reason=reason, detail=detail))
    return rows


def _other_label(own: Candidate) -> tuple[str, str]:
    if own.change == "modified":
        return "old_path_resolves", str(own.evidence.get("old_path") or "the old release has it at the same path")
    return "old_path_fails", str(own.evidence.get("old_error") or "the old release does not have the path")


def _why_not_ours(
    api: str, left_out: Mapping[str, Exclusion], table: ApiTable, trees: Trees, library: Library
) -> tuple[str, str]:
    """Return the reason of stage 1, else what bars the name, else that nothing changed."""
    found = left_out.get(api)
    if found is not None:
        return found.reason, found.detail
    if is_private(api):
        return "private_segment", "a segment of the path has a leading underscore"
    tree = trees.reason(api)
    if tree is not None:
        return tree, "part of a tree that is no public API"
    prefix = declared_private(api, library.private_prefixes)
    if prefix is not None:
        return "private_prefix", f"below {prefix}, which the library calls private"
    known = table.find(api)
    if known is None:
        return "unknown_name", "the sources of the new release do not show such a name"
    barrier = known.barrier()
    return barrier if barrier is not None else ("unchanged", f"the same in both releases: {known.object.path}")


def _same_for_callers(api: str, old_table: ApiTable, table: ApiTable) -> tuple[str, str] | None:
    """Return the signature that both releases write, up to names that no call can hold; null where none is written."""
    before, after = old_table.find(api), table.find(api)
    old, new = (known.object.params if known is not None else None for known in (before, after))
    if old is None or new is None or is_generic(new) or compare(old, new):
        return None
    return "same_signature", f"a call is written {write_signature(new)} in both releases"


def _why_not_theirs(row: Candidate) -> tuple[str, str]:
    """Return which rule of the published method passes a candidate over."""
    if row.kind in ("method", "classmethod", "staticmethod", "property"):
        return "member", "the published method records no members of classes"
    if row.evidence.get("role") in ("typeddict", "enum", "protocol"):
        return "constructor", "its run-time signature is the generic one of its kind"
    if len(row.docstring or "") < 40:
        return "short_docstring", "the published method asks for 40 characters of docstring"
    return "method_differs", "public by export, documentation or path, which the published method does not look at"


def summary(rows: Iterable[PoolRow]) -> dict[str, object]:
    """Return counts by side and reason, and the share of their names that are ours or well excluded."""
    rows = list(rows)
    theirs = [row for row in rows if row.side != "ours_only"]
    explained = sum(row.side != "theirs_only" or row.reason not in WEAK for row in theirs)
    sides = Counter(row.side for row in rows)
    reasons = Counter(f"{row.side}: {row.reason}" for row in rows if row.reason)
    return {
        "names": len(theirs),
        "sides": dict(sorted(sides.items())),
        "reasons": dict(sorted(reasons.items())),
        "explained": explained,
        "share": round(explained / len(theirs), 4) if theirs else None,
    }


def words_of(reason: str) -> str:
    """Return a reason in words."""
    return REASONS.get(reason, reason.replace("_", " "))
