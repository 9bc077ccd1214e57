"""What the author of tasks is given for one API, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field

from novelapi.records.api import Candidate, Parameter
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.environment import Environment
from novelapi.records.task import Task


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """One API to write tasks for."""

    candidate: Candidate
    bundle: KnowledgeBundle
    env: Environment
    preload: tuple[str, ...]
    owners: tuple[str, ...] = ()
    """Paths of the API's class, where that is new as well: the context cannot hold it, the solution makes it."""

    @property
    def named_candidate(self) -> Candidate:
        """The candidate, with documented parameters where its signature only hands on (`*args, **kwargs`)."""
        known = [item for item in self.bundle.surface.parameters if not item.kind.startswith("var_")]
        if not known or any(not item.kind.startswith("var_") for item in self.candidate.parameters):
            return self.candidate
        fields = {"name", "kind", "default"}
        parameters = tuple(Parameter.model_validate(item.model_dump(include=fields)) for item in known)
        return self.candidate.model_copy(update={"parameters": parameters})


@dataclass(kw_only=True)
class Written:
    """What came out for one API."""

    api: str
    tasks: list[Task] = field(default_factory=list)
    reasons: dict[str, int] = field(default_factory=dict)
    """Rejected drafts by reason."""
