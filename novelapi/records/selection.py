"""A row of the results of a selection suite: which tools one answer calls, and how right that is."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from novelapi.records.base import Record


class Ladder(Record):
    """How far one answer comes; each rung stands on the one before. Null: the row has no label for it."""

    selected: bool = False
    """The right tools are called and no others."""

    filled: bool | None = None
    """And every call has the right arguments."""

    sequenced: bool | None = None
    """And results flow between the calls as they must, each from an earlier call."""

    executed: bool | None = None
    """And the record of the run reports no error; null where nobody ran the calls."""


class Tally(Record):
    """Counts behind a pooled precision and recall."""

    hits: int = Field(default=0, ge=0)
    """Units that are both given and wanted, matched one to one."""

    given: int = Field(default=0, ge=0)
    """Units of the answer."""

    wanted: int = Field(default=0, ge=0)
    """Units of the right answer."""


class SelectionRow(Record):
    """What one answer to one task of a selection suite came to."""

    schema_version: int = Field(default=1, alias="schema")
    """Version of this record."""

    suite: str
    """Name of the suite."""

    task_id: str
    """The task's id."""

    part: str = ""
    """Category, group, split or domain of the suite."""

    sample: int = Field(ge=0)
    """Index of the answer in its prediction; 0 for a gold answer."""

    outcome: Literal["pass", "fail", "unscored"]
    """`pass` if the answer resolves the task; `unscored` without an answer, or where the row's own data are wrong."""

    error: str | None = None
    """Name of the first error; null for a pass."""

    reason: str | None = None
    """The error in words, or why the row is unscored."""

    cause: Literal["data", "prediction"] | None = None
    """What kept an unscored row from being scored; null for the others."""

    extraction: Literal["json", "ast", "trace", "text"] | None = None
    """What the calls were read from; `text` are mentions, which are no calls. Null if unscored."""

    place: Literal["whole", "fence", "prose", "none"] | None = None
    """Where they stood in the answer."""

    malformed: int = Field(default=0, ge=0)
    """Items of a call list that are no calls."""

    expected: tuple[str, ...] = ()
    """Tools of the right answer, each once, in its order."""

    called: tuple[str, ...] = ()
    """Tools of the answer, each once, in its order; of a text, what it mentions."""

    unknown: tuple[str, ...] = ()
    """Those of them that the row does not list."""

    ambiguous: tuple[str, ...] = ()
    """Those of them that stand for two tools of the row, and so for neither."""

    precision: float | None = None
    """Share of the called that are expected; 0 when nothing is called. Null where nothing is expected."""

    recall: float | None = None
    """Share of the expected that are called."""

    f1: float | None = None
    """Harmonic mean of both."""

    exact: bool | None = None
    """Whether both sets are equal."""

    ndcg: dict[int, float] = Field(default_factory=dict)
    """Normalised discounted cumulative gain of the called, in their order, by cut-off."""

    recall_at: dict[int, float] = Field(default_factory=dict)
    """Share of the expected among the first k called, by cut-off."""

    complete_at: dict[int, float] = Field(default_factory=dict)
    """1 where all expected are among the first k called, by cut-off."""

    parameters: Tally | None = None
    """Arguments by tool and name; null where the row labels none."""

    values: Tally | None = None
    """Arguments by tool, name and value."""

    edges: Tally | None = None
    """Links between tools; null where the row labels none."""

    ladder: Ladder = Ladder()
    """How far the answer comes."""

    errors: tuple[str, ...] = ()
    """Names of all errors: one for each call that is refused or missing."""

    text: str = ""
    """Digest of the answer."""
