"""A context pack: the parts of a library's knowledge that closed a model's failures, within a budget of tokens."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from novelapi.fingerprint import digest
from novelapi.records.base import Record
from novelapi.records.cell import Condition


class PackSection(Record):
    """What the pack says about one API."""

    api: str
    """Public path."""

    condition: Condition
    """Components that it holds, by the name of the condition."""

    text: str
    """Markdown; a heading, what it is for, the components."""

    tokens: int
    """Its length, estimated from above."""

    expected: float
    """Tasks of the API that it is expected to turn from failed to passed, by what was measured."""


class PackFold(Record):
    """A pack that some tasks had no part in choosing: they are shown this one."""

    tasks: tuple[str, ...]
    """Ids of the tasks that were left out of the choice."""

    sections: tuple[PackSection, ...]
    """What was chosen from the other tasks, by name of the API."""


class Effect(Record):
    """A gain in pass@1 over the baseline on tasks that had no part in the choice."""

    gain: float
    """Difference of pass@1."""

    low: float
    """Lower end of the 95 % interval."""

    high: float
    """Upper end."""

    tasks: int
    """Number of tasks."""


class Crowding(Record):
    """How much of what a section does alone is left when the whole pack is read."""

    condition: Condition
    """Components of the section."""

    kept: float
    """Share of the passes that are kept, shrunk towards that of all sections."""

    tasks: int
    """Passes alone that it was seen on."""


class Pack(Record):
    """A pack with its measured effect."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    """Version of this format."""

    library: str
    """Library or group of the run."""

    release: str
    """Release that the knowledge is about; empty for a group."""

    model: str
    """Model that it was chosen for."""

    model_revision: str
    """What pins that model."""

    experiment: str
    """Run that it was chosen from."""

    budget: int
    """Most tokens of the whole text."""

    tokens: int
    """Its length, estimated from above."""

    sections: tuple[PackSection, ...]
    """What it holds, by name of the API: chosen from all tasks."""

    folds: tuple[PackFold, ...]
    """The packs that effects are measured with, so that no task is reported that was fitted."""

    baseline: float
    """pass@1 without knowledge."""

    predicted: Effect
    """What the finished cells promise for a new measurement."""

    basis: Literal["alone", "together"]
    """`alone`: each section as if nothing else were read, an upper figure; `together`: with measured crowding."""

    crowding: tuple[Crowding, ...] = ()
    """The crowding behind the prediction."""

    measured: Effect | None = None
    """What `novelapi run --delivery pack` measured with the folds; null until then."""

    left_out: dict[str, int] = Field(default_factory=dict)
    """APIs without a section, by reason."""

    @property
    def digest(self) -> str:
        """Identity of what is read, and by whom: the texts and the halves, not what is said of their effect."""
        folds = [[fold.tasks, [[item.api, item.text] for item in fold.sections]] for fold in self.folds]
        return digest([[[item.api, item.text] for item in self.sections], folds])

    def shown_for(self, task_id: str) -> tuple[PackSection, ...]:
        """Return the sections that a task may be shown: those it had no part in choosing."""
        return next((fold.sections for fold in self.folds if task_id in fold.tasks), self.sections)
