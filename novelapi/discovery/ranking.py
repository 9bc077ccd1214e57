"""Orders candidates by evidence that users would really meet them, and thins them out to a library's cap."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from packaging.version import InvalidVersion, Version

from novelapi.discovery.classify import Verdict
from novelapi.discovery.documentation import Documentation

WEIGHTS: Mapping[str, float] = {
    "documented": 3.0,
    "exported_high": 2.0,
    "exported": 1.0,
    "added": 0.5,
    "parameters_section": 0.75,
    "examples_section": 0.75,
    "called_in_docs": 0.5,
    "called_in_tests": 0.5,
    "version_in_window": 1.0,
    "member_of_new_class": -0.75,
    "property": -0.5,
    "auxiliary_class": -2.0,
    "no_usable_change": -2.0,
}
"""Points per kind of evidence, in the order of discovery.md, section 3; calls count with the decimal logarithm."""

AUXILIARY_ROLES = frozenset({"exception", "warning", "typeddict", "enum", "protocol"})
BALANCE = 0.5
"""Share of the score against that of diversity when a cap thins candidates out (the published value)."""

_INERT = {"device", "xp", "like", "assume_valid", "assume_unique", "assume_sorted", "assume_centered"}
"""Parameters that change no answer: where the data lie, and promises about them that only a broken one shows."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SECTIONS = {
    "parameters": re.compile(r"^(Parameters\s*\n-{3,}|Args:|Arguments:|:param |Keyword Args:)", re.MULTILINE),
    "examples": re.compile(r"^(Examples?\s*\n-{3,}|Examples?:{1,2}$|\s*>>> |```|\.\. code-block::)", re.MULTILINE),
}
_SINCE = re.compile(
    r"(?:versionadded|versionchanged)::\s*v?([0-9][\w.]*)|(?:[Nn]ew in|[Aa]dded in) version\s+v?([0-9][\w.]*)"
)


def usable_change(verdict: Verdict) -> bool:
    """Return whether a call can show the novelty: the API is new, or takes something that it refused before."""
    if verdict.verdict == "added":
        return True
    return any(
        change.kind == "parameter_added"
        and change.parameter not in _INERT
        and not (change.parameter or "").startswith("_")
        and not (change.new or "").startswith("*")
        for change in verdict.changes
    ) or any(change.kind == "parameter_renamed" for change in verdict.changes)


def collect_evidence(
    verdict: Verdict, documentation: Documentation, window: tuple[str | None, str], role: str
) -> dict[str, Any]:
    """Return what speaks for an API being met by users."""
    doc = verdict.doc or ""
    leaf = verdict.shown.rpartition(".")[2]
    public = verdict.api.public
    return {
        "export": public.get(verdict.shown) or min(public.values(), default=None),
        "paths": dict(sorted(verdict.api.paths.items())),
        "documented": verdict.shown in documentation.named or any(path in documentation.named for path in public),
        "doc_length": len(doc),
        "parameters_section": bool(_SECTIONS["parameters"].search(doc)),
        "examples_section": bool(_SECTIONS["examples"].search(doc)),
        "called_in_docs": documentation.in_docs.get(leaf, 0),
        "called_in_tests": documentation.in_tests.get(leaf, 0),
        "versions_in_window": versions_in_window(doc, window),
        "role": role,
        "old_error": verdict.old_error,
        "old_path": verdict.old_path,
    }


def versions_in_window(doc: str, window: tuple[str | None, str]) -> list[str]:
    """Return the versions in (old, new] that a docstring says something was added or changed in."""
    old, new = (Version(item) if item else None for item in window)
    found: set[Version] = set()
    for groups in _SINCE.findall(doc):
        try:
            version = Version(next(filter(None, groups)).rstrip("."))
        except InvalidVersion:
            continue
        if (old is None or version > old) and (new is None or version <= new):
            found.add(version)
    return [str(version) for version in sorted(found)]


def score(verdict: Verdict, evidence: Mapping[str, Any]) -> float:
    """Return the sum of the points of all evidence, rounded to 3 decimals."""
    depth = verdict.shown.count(".") - (
        1 if verdict.kind in {"method", "classmethod", "staticmethod", "property"} else 0
    )
    exported = evidence["export"] in {"all", "package", "redundant"}
    points = {
        "documented": evidence["documented"],
        "exported_high": exported and depth <= 2,
        "exported": exported and depth > 2,
        "added": verdict.verdict == "added",
        "parameters_section": evidence["parameters_section"],
        "examples_section": evidence["examples_section"],
        "called_in_docs": _scale(evidence["called_in_docs"]),
        "called_in_tests": _scale(evidence["called_in_tests"]),
        "version_in_window": bool(evidence["versions_in_window"]),
        "member_of_new_class": "member_of_new_class" in verdict.tags,
        "property": verdict.kind == "property",
        "auxiliary_class": evidence["role"] in AUXILIARY_ROLES,
        "no_usable_change": not usable_change(verdict),
    }
    return round(sum(WEIGHTS[name] * float(value) for name, value in points.items()), 3)


def _scale(calls: int) -> float:
    """Return 0 to 2 for 0 to 99 calls and more."""
    return min(2.0, math.log10(1 + calls))


def thin_out(items: Sequence[tuple[Verdict, float]], cap: int) -> list[Verdict]:
    """Choose `cap` candidates by maximal marginal relevance over a lexical similarity (no neural encoder, no network).

    Args:
        items: candidates with their scores, best first.
        cap: number to keep; 0 keeps all.

    Returns:
        The chosen ones, in their given order.
    """
    if not cap or len(items) <= cap:
        return [verdict for verdict, _ in items]
    low, high = min(points for _, points in items), max(points for _, points in items)
    quality = [(points - low) / (high - low) if high > low else 1.0 for _, points in items]
    vectors = [_terms(verdict) for verdict, _ in items]
    nearest = [0.0] * len(items)
    left = set(range(len(items)))
    chosen: list[int] = []
    while len(chosen) < cap:
        best = max(left, key=lambda i: (BALANCE * quality[i] - (1 - BALANCE) * nearest[i], -i))
        left.discard(best)
        chosen.append(best)
        for i in left:
            nearest[i] = max(nearest[i], _cosine(vectors[best], vectors[i]))
    return [items[i][0] for i in sorted(chosen)]


def _terms(verdict: Verdict) -> dict[str, float]:
    """Return a unit vector of the words in the path and the first 500 characters of the docstring."""
    text = verdict.shown.replace("_", " ") + " " + (verdict.doc or "")[:500]
    counts = Counter(word.lower() for word in _WORD.findall(text))
    weights = {word: 1 + math.log(count) for word, count in counts.items()}
    norm = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
    return {word: weight / norm for word, weight in weights.items()}


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    if len(other) < len(one):
        one, other = other, one
    return sum(weight * other[word] for word, weight in one.items() if word in other)
