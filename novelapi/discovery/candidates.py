"""Turns verdicts into the records of stage 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from novelapi.discovery.apis import Api, ApiTable
from novelapi.discovery.classify import Verdict
from novelapi.discovery.signatures import to_records, write_signature
from novelapi.records.api import ApiKind, Candidate, Exclusion


def make_candidate(
    verdict: Verdict, *, library: str, old: str | None, new: str, evidence: Mapping[str, Any]
) -> Candidate:
    """Return the record of a candidate, without rank and score."""
    item = verdict.api.object
    old_params = verdict.old_params if verdict.verdict == "modified" else None
    return Candidate(
        api=verdict.shown,
        library=library,
        release=new,
        old_release=old,
        paths=tuple(sorted(verdict.api.paths)),
        canonical=item.canonical,
        kind=_kind(verdict.kind),
        change="added" if verdict.verdict == "added" else "modified",
        changes=verdict.changes,
        signature=None if verdict.params is None else write_signature(verdict.params, verdict.returns),
        parameters=to_records(verdict.params or ()),
        old_signature=None if old_params is None else write_signature(old_params, verdict.old_returns),
        old_parameters=to_records(old_params or ()),
        evidence=dict(evidence),
        verified="runtime" if verdict.verified else "static",
        tags=tuple(sorted(verdict.tags)),
        docstring=verdict.doc,
        source=f"{item.file}:{item.line}-{item.end}" if item.file else None,
    )


def _kind(kind: str) -> ApiKind:
    for known in ("class", "method", "classmethod", "staticmethod", "property"):
        if kind == known:
            return known
    return "function"


def make_exclusions(
    verdicts: Iterable[Verdict], removed: Iterable[Api], new_table: ApiTable, old_table: ApiTable | None
) -> tuple[Exclusion, ...]:
    """Return one row per spelling of everything that is neither a candidate nor unchanged, sorted by path."""
    rows: dict[str, Exclusion] = {}

    def add(path: str, reason: str, detail: str, canonical: str | None) -> None:
        rows.setdefault(path, Exclusion(api=path, reason=reason, detail=detail, canonical=canonical))

    taken: set[str] = set()
    for path, known, canonical in new_table.new_spellings(old_table):
        add(path, "new_alias", f"the same object as {known}, which the old release has", canonical)
    for verdict in verdicts:
        if verdict.is_candidate:
            taken.update(verdict.api.paths)
        elif verdict.verdict != "unchanged":
            for path in verdict.api.spellings:
                add(path, verdict.verdict, verdict.detail, verdict.api.object.canonical)
    for api in removed:
        for path in api.spellings:
            add(path, "removed", f"the old release defines it as {api.object.path}", api.object.canonical)
    for foreign in new_table.foreign:
        if old_table is None or not old_table.has_path(foreign.path):
            add(foreign.path, "foreign", f"it is {foreign.target}", None)
    return tuple(row for path, row in sorted(rows.items()) if path not in taken)
