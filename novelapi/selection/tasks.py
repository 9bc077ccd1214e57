"""What a selection task is: a list of tools, and the calls that a right answer makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from novelapi.selection.names import Names

Match = Literal["set", "accepted", "sequence"]
"""How an answer is compared: the set of tools; arguments against lists of accepted values; a sequence with links."""
Language = Literal["python", "java", "javascript"]
Edge = tuple[str, str]
"""Name of the tool that gives, name of the tool that takes."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One API that a task lists."""

    name: str
    """Unique in its task."""
    owner: str = ""
    """The tool that the API belongs to (ToolBench); empty where tools have one name."""
    title: str = ""
    """The API's own name beside its owner; empty where tools have one name."""
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """Schema by parameter, in the declared order; empty where nothing is declared."""
    required: tuple[str, ...] = ()
    """Parameters without which a call is refused."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One call of the right answer."""

    name: str
    """Name of a listed tool."""
    arguments: Mapping[str, Any] | None = None
    """Values by parameter (`accepted`: lists of accepted values, "" among them: may be left out); null: no label."""
    label: str = ""
    """What other calls of the answer call its result; empty when nothing refers to it."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One row of a selection suite."""

    key: str
    """Its id: the suite's own, with its part in front where ids are only unique there."""
    query: str
    """What the user asked."""
    tools: tuple[Tool, ...]
    """Every candidate, in the order of the list."""
    wanted: tuple[Wanted, ...]
    """Calls of the right answer; empty when none must be made, and where any will do."""
    match: Match
    part: str = ""
    """Category, group, split or domain."""
    language: Language = "python"
    """Whose literals a text argument may be written in."""
    calls: Literal["exact", "none", "some"] = "exact"
    """What must be called: what is wanted, nothing, or anything (BFCL's irrelevance and relevance)."""
    links: tuple[Edge, ...] | None = None
    """Links that the row itself states, its calls being in no order; null where they follow from references."""
    listing: Any = None
    """The tools as the data set writes them, for the trivial answer that echoes its prompt."""
    aliases: tuple[str, ...] = ()
    """Other ids that a prediction may use while they are unique."""
    ignored: frozenset[str] = frozenset()
    """Names that a data set puts among calls although they call nothing."""
    scheme: Literal["plain", "toolbench", "spaced"] = "plain"
    """How names are changed on their way to a model and back (`names`)."""

    @cached_property
    def names(self) -> Names:
        """The row's own table of names."""
        return Names(self.tools, self.scheme)

    @cached_property
    def by_name(self) -> Mapping[str, Tool]:
        """Tools by name."""
        return {tool.name: tool for tool in self.tools}

    @property
    def blind(self) -> bool:
        """Whether the labels cannot tell a right answer from one that names everything listed."""
        return self.match == "set" and {call.name for call in self.wanted} == {tool.name for tool in self.tools}


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A row that cannot be scored because its own data are wrong."""

    key: str
    part: str
    reason: str
    """In one line; equal defects have equal beginnings, so that they can be counted."""


@dataclass(frozen=True, kw_only=True)
class TaskSet:
    """What a reader found."""

    tasks: Mapping[str, Task]
    """By id, in the order of the files."""
    skipped: Sequence[Skipped] = ()
    """Rows with a defect, each with its reason."""
    notes: Sequence[str] = ()
    """What else was left out, in words."""
