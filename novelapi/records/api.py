"""What discovery says about an API: parameters, paths, changes, candidates and exclusions."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from novelapi.records.base import Record

ParameterKind = Literal["positional_only", "positional_or_keyword", "var_positional", "keyword_only", "var_keyword"]
ApiKind = Literal["function", "class", "method", "classmethod", "staticmethod", "property"]
ChangeKind = Literal[
    "added",
    "parameter_added",
    "parameter_removed",
    "parameter_renamed",
    "parameter_kind",
    "parameter_moved",
    "parameter_default",
    "parameter_annotation",
    "became_class",
    "moved",
    "signature_revealed",
    "deprecated",
    "removed",
]


class Parameter(Record):
    """One parameter of a signature."""

    name: str
    """Name without stars."""

    kind: ParameterKind
    """How an argument reaches it, with the words of `inspect`."""

    default: str | None = None
    """Source text of the default, as written or as `repr`; null when an argument is required (or for stars)."""

    annotation: str | None = None
    """Source text of the annotation, or null."""


class Change(Record):
    """One difference between the old and the new release of an API."""

    kind: ChangeKind
    """What changed."""

    parameter: str | None = None
    """The parameter concerned, by its name in the new release (in the old one if it was removed)."""

    old: str | None = None
    """The old value: name, kind, default or annotation."""

    new: str | None = None
    """The new value."""


class Candidate(Record):
    """An API that is new or changed between two releases and that users can reach."""

    api: str
    """The path that is shown: documented, else of best evidence, else the shortest."""

    library: str
    """Name of the library in the catalogue, or of its distribution."""

    release: str
    """The new release."""

    old_release: str | None
    """The release before the cutoff; null when there was none."""

    paths: tuple[str, ...]
    """Every importable path without a private segment, sorted."""

    canonical: str
    """Defining module and qualified name in the new release, `module:qualified.name`."""

    kind: ApiKind
    """What sort of object it is."""

    change: Literal["added", "modified"]
    """New under every spelling, or present before with another signature."""

    changes: tuple[Change, ...]
    """The differences; `added` has exactly one entry of that kind."""

    signature: str | None
    """Signature in the new release, `(x, /, *, axis=0)`, without `self` or `cls`; null when there is none to be had."""

    parameters: tuple[Parameter, ...] = ()
    """The parameters of the new signature, without `self` or `cls`."""

    old_signature: str | None = None
    """Signature in the old release; null for an addition."""

    old_parameters: tuple[Parameter, ...] = ()
    """The parameters of the old signature."""

    evidence: dict[str, Any] = Field(default_factory=dict)
    """Why it is public and how much it is used: export evidence per path, documented, examples, uses in tests."""

    rank: int = 0
    """Position in the ranking by evidence of real use, from 1."""

    score: float = 0.0
    """The ranking score behind `rank`."""

    verified: Literal["runtime", "static"] = "static"
    """Whether both environments were asked (`runtime`) or only the sources were read (`static`)."""

    docstring: str | None = None
    """Documentation string in the new release, indentation removed."""

    source: str | None = None
    """Where the new release defines it: `file:first-last`, the file as the wheel names it; null for compiled code."""

    tags: tuple[str, ...] = ()
    """Remarks for stratification, such as `no_prior_release`."""


class Exclusion(Record):
    """A name that is not a candidate, and why; one row per spelling."""

    api: str
    """The path, defining-module paths included."""

    reason: str
    """A short identifier computed from the two releases, such as `moved` or `private_prefix`."""

    detail: str = ""
    """The evidence in words."""

    canonical: str | None = None
    """Defining module and qualified name."""
