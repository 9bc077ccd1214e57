"""What the catalogue says about a library, a model, a group and a condition."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field

from novelapi.records.base import Record
from novelapi.records.cell import Condition, Delivery

Domain = Literal["swe", "ai4science", "data_science", "dl", "agent_tool", "other"]


class PrivatePrefix(Record):
    """A part of a library that its own documentation calls private although no underscore says so."""

    prefix: str
    """Dotted path or pattern (`transformers.models.*.convert_*`); everything at and below it is private."""

    source: str
    """The page or file of the library that says so."""


class SetApart(Record):
    """A public part of a library of which no task can be made."""

    prefix: str
    """Dotted path or pattern; everything at and below it is meant."""

    reason: str
    """Why: its answers depend on the machine, it only checks and returns nothing."""

    source: str
    """The page or file of the library that shows it."""


class Library(Record):
    """One library that can be benchmarked."""

    name: str
    """Name in the catalogue; the distribution's own name where there is no entry."""

    aliases: tuple[str, ...] = ()
    """Other names that users try."""

    distribution: str
    """Name on the package index."""

    imports: tuple[str, ...]
    """Top-level packages it installs; empty where there is no entry (the wheel says)."""

    domain: Domain = "other"
    """Field of use."""

    licence: str = "NOASSERTION"
    """SPDX expression of the new release."""

    copyleft: bool = False
    """Whether what is quoted from it stands under copyleft terms."""

    release: str | None = None
    """The pinned new release; null takes the newest stable one."""

    wheels: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of the pinned release's wheels by file name, for the platforms on which it was built."""

    cap: int = Field(default=0, ge=0)
    """Largest number of candidates; 0 for no cap."""

    private_prefixes: tuple[PrivatePrefix, ...] = ()
    """What the library calls private without an underscore."""

    documented_only: str | None = None
    """The page that says that what the documentation does not name is no public API; null where none does."""

    set_apart: tuple[SetApart, ...] = ()
    """What is public and new but makes no task."""

    namespace: tuple[str, ...] = ()
    """Distributions that fill the same top-level package; their releases follow the resolution of this one's."""

    requirements: tuple[str, ...] = ()
    """Distributions that both releases need and do not declare, dated like everything else."""

    doc_dependencies: tuple[str, ...] = ()
    """Distributions that the documentation's examples need; installed beside the new release only."""

    prelude: str | None = None
    """Code that has to run before anything is imported from the library."""

    static: bool = False
    """Whether the sources alone are read, because installing two releases is out of proportion."""

    docs: tuple[str, ...] = ("doc", "docs", "docs_src")
    """Folders of documentation in the sdist."""

    changelog: tuple[str, ...] = ()
    """Files or patterns of the changelog in the sdist."""

    private: bool = False
    """Whether it is a user's own package, given as files; its name then ends in a digest of their content."""

    previous: str | None = None
    """Release before the new one, of a private package; null when none was given."""

    @property
    def store(self) -> str:
        """Name under which what was read from its releases is kept: content decides for a private package."""
        return self.name if self.private else self.distribution


class Model(Record):
    """One backbone whose knowledge is measured."""

    name: str
    """Name in the catalogue."""

    aliases: tuple[str, ...] = ()
    """Other names that users try."""

    cutoff: date | None
    """Upper bound of what it can have seen; null where it has seen nothing."""

    provenance: str
    """Where the cutoff comes from."""

    hf_id: str | None = None
    """Repository on the Hugging Face hub."""

    paper: bool = False
    """Whether it is one of the four backbones of the published main grid."""

    primary: bool = False
    """Whether it is the published primary backbone."""


class Group(Record):
    """A named set of libraries with the split that it prescribes."""

    name: str
    """Name of the group."""

    libraries: tuple[str, ...]
    """Libraries in their published order."""

    paper: bool = True
    """Whether the published evaluation has it."""

    split: Literal["by_api", "held_out_library"] = "by_api"
    """What separates training from test: APIs of every library, or whole libraries."""

    train_share: float = 0.8
    """Share of the APIs of each library that may be trained on, for `by_api`."""

    held_out: tuple[str, ...] = ()
    """Libraries of the test side, for `held_out_library`."""

    seed: int = 42
    """Seed of the split; per library it is combined with the CRC-32 of the library's name."""


class ConditionEntry(Record):
    """One knowledge condition: which components are given."""

    name: Condition
    """Name, as in the published method."""

    components: tuple[Literal["S_name", "S_param", "E", "M_prose", "M_code"], ...]
    """Components in the order in which they are rendered."""


class DeliveryEntry(Record):
    """One way of giving knowledge to a model."""

    name: Delivery
    """Name."""

    description: str
    """What happens, in one sentence."""

    grid: Literal["main", "oracle", "parametric", "agentic"]
    """The grid it belongs to."""
