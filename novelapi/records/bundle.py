"""What there is to know about an API, in the components of the published method: S, E, M."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field

from novelapi.records.base import Record


class KnownParameter(Record):
    """One parameter as a user needs to know it (one element of S_param)."""

    name: str
    """Name, with stars for variadic parameters."""

    kind: str
    """How an argument reaches it, with the words of `inspect`."""

    type: str | None = None
    """Type from annotation, stub or docstring; null when none says it."""

    default: str | None = None
    """Source text of the default; null when an argument is required."""

    description: str | None = None
    """Prose from the documentation; null when there is none."""


class Surface(Record):
    """S: name and parameters."""

    s_name: str
    """S_name: the fully qualified public name."""

    parameters: tuple[KnownParameter, ...]
    """S_param, in the order of the signature."""

    returns: str | None = None
    """Type or description of the result."""

    signature: str | None = None
    """The signature as text."""


class Exemplar(Record):
    """One element of E: a usage example."""

    code: str
    """Self-contained Python that runs in the new release."""

    status: Literal["executed", "static"]
    """`executed`: it ran in the new release in the sandbox; `static`: it could not be run, the reason is in `note`."""

    output: str | None = None
    """What it printed or evaluated to when it was executed, re-recorded."""

    source: Literal["doctest", "docs", "tests", "synthesis", "model"] = "doctest"
    """Where the code comes from."""

    origin: str = ""
    """File or docstring, so that a reader can find it."""

    uses_change: bool = False
    """Whether the call passes what is new (always true for an added API)."""

    calls: tuple[str, ...] = ()
    """Normalised source of each call of the target in it: for the leakage rule."""

    note: str = ""
    """Why it is only static, or which model wrote it."""


class KnowledgeBundle(Record):
    """All knowledge about one API in one release."""

    api: str
    """Public path, equal to `surface.s_name`."""

    library: str
    """Library in the catalogue."""

    release: str
    """Release that the knowledge was taken from."""

    change: Literal["added", "modified"]
    """Kind of novelty."""

    kind: str
    """What sort of object it is."""

    surface: Surface
    """S."""

    exemplars: tuple[Exemplar, ...]
    """E."""

    m_prose: str | None
    """M_prose: how it works, in words, without its own name."""

    m_prose_tier: Literal["paper", "source", "docstring"] | None = None
    """What M_prose stands on."""

    m_code: str | None
    """M_code: source without any documentation text; null for compiled code."""

    licence: str
    """SPDX identifier of the library: what is quoted here stands under it."""

    domain: str = ""
    """Domain of the library in the catalogue."""

    old_signature: str | None = None
    """Signature before the change."""

    changelog: tuple[str, ...] = ()
    """The changelog entries that M_prose uses, each with its version."""

    provenance: dict[str, Any] = Field(default_factory=dict)
    """How each component was obtained, and why a missing one is missing."""

    def to_paper_dict(self) -> dict[str, Any]:
        """Return the five components under the names of the published method."""
        return {
            "S_name": self.surface.s_name,
            "S_param": [parameter.to_row() for parameter in self.surface.parameters],
            "E": [exemplar.to_row() for exemplar in self.exemplars],
            "M_prose": self.m_prose,
            "M_code": self.m_code,
        }

    def to_row(self) -> dict[str, Any]:
        """Return the row of a bundle file: the paper's names for the components, ours for the rest."""
        row = self.model_dump(mode="json", exclude={"surface", "exemplars", "m_prose", "m_code"})
        return {
            "schema": 1,
            **row,
            "signature": self.surface.signature,
            "returns": self.surface.returns,
            **self.to_paper_dict(),
        }

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Self:
        """Rebuild a bundle from `to_row`.

        Raises:
            pydantic.ValidationError: a field is missing or unknown.
        """
        rest = dict(row)
        rest.pop("schema", None)
        surface = {
            "s_name": rest.pop("S_name", None),
            "parameters": rest.pop("S_param", None),
            "returns": rest.pop("returns", None),
            "signature": rest.pop("signature", None),
        }
        components = {
            "surface": surface,
            "exemplars": rest.pop("E", None),
            "m_prose": rest.pop("M_prose", None),
            "m_code": rest.pop("M_code", None),
        }
        return cls.model_validate({**rest, **components})
