"""Decides what every API of the new release is: a candidate, unchanged, or excluded, and for which reason.

The sources propose (`diff`), running both releases decides (`verify`). Every reason is computed from the two releases;
`REASONS` says in words what each one means.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from novelapi.discovery.apis import MEMBER_KINDS, Api
from novelapi.discovery.diff import Difference
from novelapi.discovery.signatures import compare, is_generic, significant
from novelapi.discovery.surface.facts import KEYWORD_ONLY, POSITIONAL_OR_KEYWORD, VAR_KEYWORD, Param
from novelapi.discovery.verify import Observation
from novelapi.records.api import Change

REASONS: Mapping[str, str] = {
    "private_prefix": "the library calls this part of it private",
    "not_exported": "the module's __all__ leaves it out",
    "leaked_import": "a module imports it for its own use",
    "foreign": "it belongs to another distribution",
    "deprecated": "it is deprecated in the new release",
    "removed": "the new release does not have it",
    "moved": "the old release has the same thing at another path",
    "new_alias": "another name for something that the old release has",
    "alias": "another name for an API that is listed under its better one",
    "newly_inherited": "the method is old, only a class that inherits it is new to it",
    "became_class": "the old release had a value of that name where a class is now",
    "became_callable": "the old release had something else of that name",
    "kind_changed": "it was another sort of object",
    "signature_revealed": "only introspection changed: the old signature could not be read or took anything",
    "defaults_only": "only defaults changed: calls for the old release still work",
    "annotation_only": "only annotations changed",
    "variadic_only": "only *args or **kwargs came or went",
    "same_at_runtime": "the sources differ, the signatures at run time do not",
    "stub_only": "only the stub changed, and running tells no signature",
    "undocumented": "it has no docstring and its documentation does not name it",
    "not_documented": "the library promises only what its documentation names, and that does not name it",
    "not_importable": "it cannot be imported in the new release as installed",
    "not_callable": "it is a value, not something to call",
    "present_before": "the old release has it at the same path, though its sources do not show it",
    "old_unknown": "the old release cannot be asked: the module fails to import there for another reason",
    "needs_running": "only running could tell, and this library is read from its sources alone",
    "over_cap": "better or more diverse candidates fill the library's cap",
}

UNDOCUMENTED_BELOW = 40
"""Shorter docstrings say nothing (the published method draws the same line)."""


@dataclass(slots=True)
class Verdict:
    """What one API is."""

    api: Api
    verdict: str
    """added, modified, unchanged, or a reason for exclusion."""
    detail: str = ""
    changes: tuple[Change, ...] = ()
    kind: str = ""
    params: Sequence[Param] | None = None
    old_params: Sequence[Param] | None = None
    returns: str | None = None
    old_returns: str | None = None
    doc: str | None = None
    shown: str = ""
    old_path: str | None = None
    old_error: str | None = None
    """How the old release fails on it."""
    verified: bool = False
    tags: set[str] = field(default_factory=set)

    @property
    def is_candidate(self) -> bool:
        """Whether it is a candidate."""
        return self.verdict in {"added", "modified"}


def classify_static(row: Difference) -> Verdict:
    """Decide from the sources alone."""
    item = row.new.object
    verdict = _new_verdict(row)
    verdict.changes = row.changes
    if item.kind in {"value", "unknown"}:
        verdict.verdict = "unchanged" if row.relation != "none" else "needs_running"
        return verdict
    if item.deprecated:
        return _excluded(verdict, "deprecated", "its decorator, docstring or first statement says so")
    if row.old is None:
        return _without_predecessor(row, verdict)
    if row.old.kind not in {item.kind, *(MEMBER_KINDS if item.kind in MEMBER_KINDS else ())}:
        return _kind_change(row, verdict, row.old.kind)
    if row.comparable:
        verdict.old_params = row.old.params
        verdict.old_returns = row.old.returns
        _judge_changes(verdict, row)
    return verdict


def classify_observed(
    row: Difference, new: Mapping[str, Observation], old: Mapping[str, Observation], roots: Collection[str]
) -> Verdict:
    """Decide from the sources and from what both releases said when they ran.

    Args:
        row: what the sources say.
        new: what the new release says, by path.
        old: what the old release says, by path.
        roots: top-level packages of the library.
    """
    verdict = _new_verdict(row)
    found = _first_working(row.new, new)
    if found is None:
        return _not_importable(row, verdict, new)
    shown, seen = found
    verdict.shown, verdict.kind, verdict.verified = shown, _kind(seen), True
    verdict.doc = seen.doc or row.new.object.doc
    _take_signature(verdict, row.new.object.params, seen)
    if seen.kind in {"module", "value"}:
        return _excluded(
            verdict, "unchanged" if row.relation != "none" else "not_callable", f"{shown} is a {seen.kind}"
        )
    if row.new.object.deprecated or _says_deprecated(seen.warning):
        return _excluded(verdict, "deprecated", seen.warning or "its decorator, docstring or first statement says so")
    if _is_foreign(seen, roots):
        return _excluded(verdict, "foreign", f"it is {seen.module}.{seen.qualname} when it runs")
    earlier = _earlier(row, old)
    if earlier is None:
        return _unproved(row, verdict, old) or _without_predecessor(row, verdict)
    return _against(row, verdict, seen, *earlier)


def _is_foreign(seen: Observation, roots: Collection[str]) -> bool:
    """Return whether a path leads to what another package has under its own name: a decorator's work is not there."""
    return (
        seen.kind in {"function", "class", "callable"}
        and seen.at_home
        and (seen.module or "").partition(".")[0] not in roots
    )


def _new_verdict(row: Difference) -> Verdict:
    item = row.new.object
    return Verdict(
        row.new,
        "unchanged",
        kind=item.kind,
        params=item.params,
        returns=item.returns,
        doc=item.doc,
        shown=row.new.shown,
        old_path=row.old_path,
    )


def _excluded(verdict: Verdict, reason: str, detail: str) -> Verdict:
    verdict.verdict, verdict.detail = reason, detail
    return verdict


def _kind(seen: Observation) -> str:
    return "function" if seen.kind == "callable" else seen.kind


def _first_working(api: Api, observed: Mapping[str, Observation]) -> tuple[str, Observation] | None:
    """Return the best public path that leads somewhere, the shown one if it does."""
    for path in (api.shown, *sorted(api.public, key=lambda path: (path.count("."), path))):
        seen = observed.get(path)
        if seen is not None and seen.ok:
            return path, seen
    return None


def _not_importable(row: Difference, verdict: Verdict, new: Mapping[str, Observation]) -> Verdict:
    if row.relation != "none" and not significant(row.changes):
        return verdict  # nothing new about it
    seen = new.get(row.new.shown)
    return _excluded(verdict, "not_importable", (seen.error if seen else None) or "it was not asked for")


def _says_deprecated(warning: str | None) -> bool:
    return bool(warning and re.search(r"deprecat|will be removed", warning, re.IGNORECASE))


def _take_signature(verdict: Verdict, written: Sequence[Param] | None, seen: Observation) -> None:
    """Take names and kinds from running, and the text of defaults and annotations from the sources where they agree."""
    if seen.kind == "property":
        verdict.params = None
        return
    if seen.params is None or (seen.origin == "doc" and written is not None):
        return
    verdict.params = merge_parameters(written or (), seen.params)
    verdict.returns = verdict.returns or seen.returns


def merge_parameters(written: Sequence[Param], seen: Sequence[Param]) -> list[Param]:
    """Return the parameters seen at run time with the text of the sources for those that the sources have."""
    source = {param.name: param for param in written}
    merged: list[Param] = []
    for param in seen:
        own = source.get(param.name)
        if own is None:
            merged.append(param)
            continue
        written_default = own.default if own.default != "..." else None  # a stub leaves it out
        default = written_default if written_default is not None and param.default is not None else param.default
        merged.append(Param(param.name, param.kind, default, own.annotation or param.annotation))
    return merged


def _earlier(row: Difference, old: Mapping[str, Observation]) -> tuple[str, Observation] | None:
    """Return a path that leads to the API in the old release: one of its own first, else where it was before."""
    own = sorted(row.new.paths, key=lambda path: (path != row.new.shown, path not in row.new.public, path))
    for path in (*own, *([row.old_path] if row.old_path else [])):
        seen = old.get(path)
        if seen is not None and seen.ok:
            return path, seen
    return None


def _unproved(row: Difference, verdict: Verdict, old: Mapping[str, Observation]) -> Verdict | None:
    """Return an exclusion if the old release failed for a reason that says nothing about the API."""
    for path in row.new.public:
        seen = old.get(path)
        if seen is not None and not seen.ok:
            if verdict.old_error is None or path == verdict.shown:
                verdict.old_error = seen.error
            if not names_target(seen, path):
                return _excluded(verdict, "old_unknown", f"{path}: {seen.error}")
    return None


def names_target(seen: Observation, path: str) -> bool:
    """Return whether a failure in the old release is about the path itself: it, or a part of it, is not there."""
    error = seen.error or ""
    if seen.stage == "attribute":
        return True
    missing = re.match(r"ModuleNotFoundError: No module named '([^']+)'", error)
    return bool(missing) and (path == missing[1] or path.startswith(f"{missing[1]}."))


def _without_predecessor(row: Difference, verdict: Verdict) -> Verdict:
    if row.newly_inherited:
        return _excluded(verdict, "newly_inherited", f"defined as {row.new.object.path} before")
    verdict.verdict = "added"
    verdict.changes = (Change(kind="added"),)
    if row.class_is_new:
        verdict.tags.add("member_of_new_class")
    return verdict


def _against(row: Difference, verdict: Verdict, new: Observation, old_path: str, old: Observation) -> Verdict:
    """Compare with what the old release has."""
    verdict.old_path = old_path
    if old.kind in {"value", "module"} or (old.kind != new.kind and "class" in {old.kind, new.kind}):
        return _kind_change(row, verdict, old.kind)
    if row.relation == "none":
        verdict.tags.add("hidden_before")
    if "property" in {old.kind, new.kind}:
        if old.kind != new.kind:
            return _kind_change(row, verdict, old.kind)
        return _moved_or_unchanged(row, verdict)
    written = row.old.params if row.old is not None else None
    verdict.old_params = merge_parameters(written or (), old.params) if old.params is not None else written
    verdict.old_returns = row.old.returns if row.old is not None else old.returns
    if new.is_strong and old.is_strong:
        return _judge_strong(row, verdict, new, old)
    return _judge_weak(row, verdict, new, old)


def _judge_strong(row: Difference, verdict: Verdict, new: Observation, old: Observation) -> Verdict:
    """Both signatures come from Python itself."""
    assert new.params is not None
    assert old.params is not None
    verdict.changes = compare(verdict.old_params or (), verdict.params or ())
    if _only_spells_out(verdict.changes, old.params, new.params):
        return _excluded(verdict, "signature_revealed", "the old release took these keywords without naming them")
    if is_generic(old.params) and not is_generic(new.params):
        if (
            row.comparable
            and significant(row.changes)
            and not is_generic(row.old.params if row.old and row.old.params else ())
        ):
            verdict.changes = row.changes
        else:
            return _excluded(verdict, "signature_revealed", "the old release took anything and passed it on")
    elif significant(row.changes) and not significant(verdict.changes):
        return _excluded(verdict, "same_at_runtime", f"{len(row.changes)} differences in the sources only")
    return _judge_changes(verdict, row)


def _only_spells_out(changes: Sequence[Change], old: Sequence[Param], new: Sequence[Param]) -> bool:
    """Return whether `**kwargs` only gave way to the keywords that it stood for."""
    had, has = (any(param.kind == VAR_KEYWORD for param in params) for params in (old, new))
    by_keyword = {param.name for param in new if param.kind in {POSITIONAL_OR_KEYWORD, KEYWORD_ONLY}}
    return (
        had and not has and all(c.kind == "parameter_added" and c.parameter in by_keyword for c in significant(changes))
    )


def _judge_weak(row: Difference, verdict: Verdict, new: Observation, old: Observation) -> Verdict:
    """At least one signature comes from a docstring: only parameters that the old text never names count as new."""
    written = row.comparable and not _is_stub(row)
    if written and row.old is not None and row.old.params is not None:
        verdict.params, verdict.old_params = row.new.object.params, row.old.params
        verdict.changes = row.changes
        return _judge_changes(verdict, row)
    if new.params is None or old.params is None:
        if significant(row.changes):
            return _excluded(verdict, "stub_only", "running tells no signature in both releases")
        return _moved_or_unchanged(row, verdict)
    verdict.changes = compare(old.params, new.params)
    text = old.doc or ""
    fresh = [
        change
        for change in significant(verdict.changes)
        if change.kind == "parameter_added" and not re.search(rf"\b{re.escape(change.parameter or '')}\b", text)
    ]
    if fresh:
        verdict.changes = tuple(fresh)
        verdict.tags.add("documented_signature")
        return _judge_changes(verdict, row)
    if verdict.changes or row.changes:
        return _excluded(verdict, "signature_revealed", "one of the two signatures stands in a docstring only")
    return _moved_or_unchanged(row, verdict)


def _is_stub(row: Difference) -> bool:
    return row.new.object.file.endswith(".pyi") or (row.old is not None and row.old.file.endswith(".pyi"))


def _judge_changes(verdict: Verdict, row: Difference) -> Verdict:
    """Decide from the list of changes."""
    kinds = {change.kind for change in verdict.changes}
    if significant(verdict.changes):
        verdict.verdict = "modified"
        if row.relation == "moved":
            verdict.changes = (_move(row, verdict), *verdict.changes)
        return verdict
    if row.relation == "moved" or _has_moved(row, verdict):
        return _moved_or_unchanged(row, verdict)
    for kind, reason in (("parameter_default", "defaults_only"), ("parameter_annotation", "annotation_only")):
        if kind in kinds:
            names = sorted({change.parameter or "" for change in verdict.changes if change.kind == kind})
            return _excluded(verdict, reason, ", ".join(names))
    if kinds:
        return _excluded(verdict, "variadic_only", ", ".join(sorted({c.new or c.old or "" for c in verdict.changes})))
    return verdict


def _moved_or_unchanged(row: Difference, verdict: Verdict) -> Verdict:
    if row.relation == "moved" or _has_moved(row, verdict):
        return _excluded(verdict, "moved", f"{verdict.old_path} in the old release")
    return verdict


def _has_moved(row: Difference, verdict: Verdict) -> bool:
    return verdict.old_path is not None and verdict.old_path not in row.new.paths


def _move(row: Difference, verdict: Verdict) -> Change:
    return Change(kind="moved", old=verdict.old_path or row.old_path, new=verdict.shown)


def _kind_change(row: Difference, verdict: Verdict, before: str) -> Verdict:
    after = verdict.kind
    if before in {"value", "unknown", "module"}:
        reason = "became_class" if after == "class" else "became_callable"
    else:
        reason = "kind_changed"
    path = verdict.old_path or row.old_path
    return _excluded(verdict, reason, f"{path} was a {before}, now a {after}")
