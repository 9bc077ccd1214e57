"""What was seen when a completion ran, and what follows from it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from novelapi.records.base import Record
from novelapi.records.effort import Effort

Label = Literal["WrongSyntax", "WrongImport", "WrongAPISelection", "WrongParam", "WrongShapeDtype", "WrongLogic"]
Outcome = Literal["pass", "fail", "unscored"]
Integrity = Literal["strong", "weak"]

LABELS: tuple[Label, ...] = (
    "WrongSyntax",
    "WrongImport",
    "WrongAPISelection",
    "WrongParam",
    "WrongShapeDtype",
    "WrongLogic",
)


class Frame(Record):
    """One frame of a traceback, outermost first."""

    where: Literal["completion", "context", "harness", "library", "stdlib", "other"]
    """Whose code it is; `library` is any installed distribution."""

    module: str
    """Module name of the frame."""

    function: str
    """Name of the code object."""

    line: int
    """Line number, 1-based (0 if unknown)."""

    target: bool = False
    """Whether this is the target's own function (or a method of a target class)."""


class ErrorEvidence(Record):
    """An exception as it was seen in the sandbox, as plain text."""

    type: str
    """Qualified class name, such as `builtins.TypeError`."""

    bases: tuple[str, ...] = ()
    """Qualified names of its base classes, nearest first."""

    message: str = ""
    """`str(error)`, at most 2,000 characters."""

    frames: tuple[Frame, ...] = ()
    """The traceback without the harness's own frames."""

    name: str | None = None
    """The name that failed: attribute, variable, or module of an import."""

    owner: str | None = None
    """For an attribute: qualified name of the module, class or type of the object that lacks it. For an import from a
    module: that module."""

    owner_kind: Literal["module", "class", "instance"] | None = None
    """What `owner` is."""

    ancestor: bool = False
    """Whether `owner` is (an instance of) an ancestor of the class that owns a target."""

    position: tuple[int, int, int, int] | None = None
    """Line, end line, column, end column in the completion of the innermost completion frame."""

    context: str | None = None
    """Qualified class name of the exception that was being handled (`__cause__` or `__context__`)."""


class CallRecord(Record):
    """One call of a target, recorded where the completion could not reach the record (remote) or in process (local)."""

    api: str
    """The target's public path."""

    input: int | None
    """Index of the input during which the call was made; null while the completion was being loaded."""

    origin: Literal["completion", "library"]
    """Whether the completion's code made the call, or another library function by itself."""

    where: Literal["remote", "local"]
    """Whether the real function ran in a process out of the completion's reach."""

    line: int | None = None
    """Line in the completion of the nearest completion frame."""

    position: tuple[int, int, int, int] | None = None
    """Line, end line, column, end column of the call expression in the completion, if it was called directly."""

    arguments: dict[str, str] = Field(default_factory=dict)
    """Excerpt of each bound argument (or `0`, `1`, ... when the call did not bind)."""

    bound: bool = True
    """Whether the arguments fitted the target's signature (true when there is no signature to be had)."""

    required: dict[str, bool] = Field(default_factory=dict)
    """For each required argument whether the call bound the required value."""

    links: tuple[int, ...] = ()
    """Links of the task whose value the call was given, by position."""

    returned: bool = False
    """Whether the target yielded a result."""

    result: str = ""
    """Excerpt of the result."""

    error: ErrorEvidence | None = None
    """What the target raised."""

    late: ErrorEvidence | None = None
    """What was raised while a lazy result was consumed."""

    callback: bool = False
    """Whether the exception came out of a function that the completion had handed over."""

    subclass: bool = False
    """Whether the target is a class that the completion made a class of its own out of."""


class InputEvidence(Record):
    """What happened with one input."""

    index: int
    """Position in the task's inputs."""

    equal: bool
    """Whether the answer is the expected one."""

    difference: str = ""
    """The first difference, in words."""

    answer: str = ""
    """Excerpt of the answer."""

    expected: str = ""
    """Excerpt of the expected value."""

    error: ErrorEvidence | None = None
    """What the completion raised."""


class StubRun(Record):
    """The repetition of a passing sample with the target's result replaced."""

    stub: str
    """How the result was replaced, such as `perturbed` or `sentinel`."""

    spy: int | None = None
    """The one target whose result was replaced, by its position in the task's calls; null for all of them."""

    changed: bool
    """Whether the answer changed, or calls that have to be given the result were given the other one."""

    answer: str = ""
    """Excerpt of the changed answer, or of the error."""


class Observation(Record):
    """Everything that was seen of one completion; labels are a pure function of it, the task and the code."""

    code: str
    """The extracted code that ran."""

    stage: Literal["extract", "compile", "load", "entry", "run", "done"]
    """How far it came: `done` when every input was answered or raised."""

    error: ErrorEvidence | None = None
    """What ended it before the inputs: syntax, import-time error, missing entry point."""

    inputs: tuple[InputEvidence, ...] = ()
    """One per input that was tried."""

    calls: tuple[CallRecord, ...] = ()
    """Calls of the targets, in order."""

    stubs: tuple[StubRun, ...] = ()
    """Repetitions with a replaced result."""

    ended: str | None = None
    """Why the process ended early: `exit`, `signal`, `cpu`, `wall`, `memory`, `protocol`, `output`, `unplain`."""

    infra: str | None = None
    """A fault that is not the completion's: then the sample is unscored."""

    stdout: str = ""
    """Head and tail of what it printed."""

    flags: tuple[str, ...] = ()
    """Remarks of the audit hook, such as `frame-walk`; never part of the verdict."""

    integrity: Integrity = "weak"
    """How well the run is proved."""

    executor: str = ""
    """`fork` or `fresh`."""

    env: str = ""
    """Key of the environment."""

    cpu_ms: float = 0.0
    """CPU time of the sample's processes in milliseconds."""

    wall_ms: float = 0.0
    """Elapsed time in milliseconds."""

    peak_kb: int = 0
    """Largest resident set of the sample's processes in kB."""


class ResultRow(Record):
    """One line of results.jsonl: the verdict on one sample."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    """Version of this format."""

    task_id: str
    """The task."""

    sample: int
    """Index in the list of samples; 0 is the greedy one."""

    outcome: Outcome
    """`unscored`: nothing can be said of the model; the cause is in `reason`."""

    label: Label | None
    """Cause of a failure by the rules of docs/labels.md; null otherwise."""

    reason: str
    """One line in words."""

    integrity: Integrity
    """Whether this verdict is proved."""

    calls: tuple[CallRecord, ...] = ()
    """Calls of the targets."""

    evidence: dict[str, Any] = Field(default_factory=dict)
    """The rest of the observation: stage, error, inputs, stub runs, flags, output."""

    cpu_ms: float = 0.0
    """CPU time in milliseconds."""

    wall_ms: float = 0.0
    """Elapsed time in milliseconds."""

    peak_kb: int = 0
    """Largest resident set in kB."""

    executor: str = ""
    """`fork` or `fresh`."""

    env: str = ""
    """Key of the environment."""

    overlap: float | None = None
    """Greatest token overlap of the reference with an example that was shown; null without examples."""

    opinion: Label | None = None
    """A strong model's label of the failure, beside `label` and never the verdict; null where none was asked."""

    retrieved: bool | None = None
    """Whether a passage of the target was in the prompt; null unless the delivery retrieves."""

    effort: Effort | None = None
    """What the answer took, where the model is asked more than once; null for a single request."""

    prompt: str | None = None
    """Digest of the prompt; its text is in prompts.jsonl of the run."""

    text: str = ""
    """Digest of the raw text; the text is in predictions.jsonl at (`task_id`, `sample`)."""
