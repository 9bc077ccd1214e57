"""A task of the benchmark: one JSON object a line, written by stage 3 or by hand."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from novelapi.records.base import Record


class TaskInput(Record):
    """One set of arguments for the entry point, as Python expressions."""

    args: tuple[str, ...] = ()
    """Positional arguments; each is evaluated in the sandbox, in the namespace after `context_code`."""

    kwargs: dict[str, str] = Field(default_factory=dict)
    """Keyword arguments, likewise."""

    hidden: bool = False
    """Whether the input is kept out of the description and the prompt."""


class CallSpec(Record):
    """A call that the completion has to make."""

    api: str
    """Public path of the target."""

    required: dict[str, str] = Field(default_factory=dict)
    """Parameter name to Python expression: the call must bind this value (evaluated after `context_code`, with the
    parameters of the entry point in reach). An equal default counts."""

    novel: bool = True
    """Whether it is new or changed for the model; a task of several APIs may also call known ones."""

    result_flows: bool = True
    """Whether the answer must change when the target's result does."""


class Link(Record):
    """A value that one target returns and another one has to be given."""

    source: int = Field(ge=0)
    """Position in `calls` of the target that returns it."""

    port: str = "result"
    """Expression over `result`: which part of what it returns."""

    target: int = Field(ge=0)
    """Position in `calls` of the target that is given it."""

    parameter: str
    """Parameter that holds it, or a list or tuple with it in; `self` is the receiver of a method."""


Motif = Literal["pair", "chain", "fork", "collider"]
"""pair: A -> B; chain: A -> B -> C; fork: A -> B, A -> C; collider: A -> C, B -> C."""


class Tolerance(Record):
    """How far numbers may be from the expected ones: |a - b| <= atol + rtol * |b|."""

    rtol: float = 0.0
    """Relative tolerance."""

    atol: float = 0.0
    """Absolute tolerance."""


class Task(Record):
    """One coding problem with its harness."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    """Version of this format."""

    task_id: str = Field(min_length=1)
    """Unique: library / leaf / number."""

    library: str
    """Library in the catalogue or distribution; `python` is the standard library of the running interpreter."""

    release: str = ""
    """Release that the task runs on; empty only for `python`."""

    api: str
    """Public path of the target API."""

    change: Literal["added", "modified"] = "added"
    """Kind of novelty."""

    difficulty: Literal["easy", "medium", "hard"] = "easy"
    """easy: one direct call; medium: options that matter; hard: the call inside a small computation."""

    description: str
    """What to return from which inputs, in words, without the name of the API."""

    context_code: str = ""
    """Given to the model; runs before the completion."""

    entry_point: str = ""
    """Name of the function that the harness calls (kind `function`)."""

    signature: str = ""
    """First line of the function that has to be written."""

    reference_solution: str
    """A solution that calls the target."""

    inputs: tuple[TaskInput, ...] = ()
    """The inputs (kind `function`); at least one."""

    expected: tuple[Any, ...] | None = None
    """One tagged plain value per input, recorded from the reference; null until it is recorded."""

    calls: tuple[CallSpec, ...] = ()
    """The calls that must be made, one spy each; one object is accepted too. Default: one call of `api`."""

    links: tuple[Link, ...] = ()
    """In a task of several APIs: which values go from one call to another."""

    motif: Motif | None = None
    """Topology of the links; null for a task of one API."""

    kind: Literal["function", "script"] = "function"
    """`script`: context, completion and test code in one namespace, always of weak integrity."""

    test_code: str = ""
    """The test of a script."""

    observe: str | None = None
    """Expression over `result` that turns the result into plain data, or null."""

    tolerance: Tolerance | None = None
    """Tolerance for inexact numbers; null means exact."""

    unordered: bool = False
    """Whether the order of a list or array result is free."""

    seed: int | None = None
    """Seed of the random sources of `random` and numpy before each input; null means 0."""

    integrity: Literal["strong", "weak"] | None = None
    """Whether a pass is proved (see docs/integrity.md); null until it is decided by running the reference."""

    provenance: dict[str, Any] = Field(default_factory=dict)
    """Where the task comes from, and the evidence of the gates."""

    @field_validator("calls", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        """Accept a single object in place of a list."""
        return [value] if isinstance(value, dict) else value

    @model_validator(mode="before")
    @classmethod
    def _default_call(cls, data: Any) -> Any:
        """Without `calls` the task asks for one call of its API."""
        if isinstance(data, dict) and not data.get("calls") and isinstance(data.get("api"), str):
            return {**data, "calls": [{"api": data["api"]}]}
        return data

    @model_validator(mode="after")
    def _is_complete(self) -> Task:
        """Ask for what the kind needs."""
        needed = {"entry_point": self.entry_point, "signature": self.signature, "inputs": self.inputs}
        if self.kind == "script":
            needed = {"test_code": self.test_code}
        if self.library != "python":
            needed["release"] = self.release
        missing = [name for name, value in needed.items() if not value]
        if missing:
            message = f"field missing: {', '.join(missing)}"
            raise ValueError(message)
        for link in self.links:
            if link.source == link.target or max(link.source, link.target) >= len(self.calls):
                message = f"a link joins call {link.source} to call {link.target} of {len(self.calls)}"
                raise ValueError(message)
        if self.expected is not None and len(self.expected) != len(self.inputs):
            message = f"{len(self.expected)} expected values for {len(self.inputs)} inputs"
            raise ValueError(message)
        return self
