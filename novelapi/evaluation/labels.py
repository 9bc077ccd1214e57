"""The six labels of a failure, decided by rule from what was seen (docs/labels.md has the rules in words).

A label is a pure function of the task, its harness, the observation and the source of the completion. The first rule
that holds decides: WrongSyntax, WrongImport, WrongAPISelection, WrongParam, WrongShapeDtype, WrongLogic.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from novelapi.evaluation import program
from novelapi.execution.harness import Harness, calls_right
from novelapi.records.task import Task
from novelapi.records.verdict import CallRecord, ErrorEvidence, Label, Observation

LABELS_VERSION = 1

_IMPORT_ERRORS = ("builtins.ImportError", "builtins.ModuleNotFoundError")
_NAME_ERRORS = ("builtins.NameError", "builtins.UnboundLocalError")
_CALL_REFUSED = re.compile(
    r"(unexpected keyword|got multiple values|missing \d* ?required|missing a required|takes no (keyword )?arguments"
    r"|takes (exactly|at most|at least|from|no|\d+)|expected (at most|at least|exactly) \d+|positional argument"
    r"|invalid keyword argument|not a valid keyword|no keyword argument|argument \S+ is missing|required argument)",
    re.IGNORECASE,
)
_STRUCTURE = re.compile(
    r"(shape|dimension|\bdims?\b|ndim|\brank\b|\d-?d\b|dtype|data type|broadcast|length|same (size|number)|\bsize\b"
    r"|mismatch|must be (a |an )?(array|matrix|sequence|list|dict|string|number|numeric|square|real|integer)|square"
    r"|could not convert|cannot (cast|convert)|unsupported operand|not supported|iterable|subscriptable|not callable"
    r"|empty|at least one|too (few|many)|columns?|schema|field required|not serializable"
    r"|expected [\w.]+,? (got|not|but))",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """A label and its reason in one line."""

    label: Label
    reason: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """One failed sample with everything that the rules look at."""

    task: Task
    harness: Harness
    seen: Observation
    tree: ast.Module | None
    context: ast.Module | None

    @property
    def failing_input(self) -> int | None:
        """Index of the first failing input; null if the completion did not load, or all answers are right."""
        for found in self.seen.inputs:
            if not found.equal:
                return found.index
        return len(self.seen.inputs) if self.seen.ended and self.seen.stage == "run" else None

    @property
    def error(self) -> ErrorEvidence | None:
        """The exception that ended the loading or the first failing input."""
        if self.seen.error is not None:
            return self.seen.error
        index = self.failing_input
        if index is None or index >= len(self.seen.inputs):
            return None
        return self.seen.inputs[index].error

    @property
    def calls(self) -> list[CallRecord]:
        """Calls of the targets up to and in the first failing input."""
        index = self.failing_input
        if index is None:
            return list(self.seen.calls)
        return [call for call in self.seen.calls if call.input is None or call.input <= index]

    @property
    def method(self) -> bool:
        """Whether the target is reached through an instance: its leaf is an attribute of whatever the receiver is."""
        parts = self.task.api.split(".")
        return len(parts) >= 3 and parts[-2][:1].isupper()

    @property
    def reaches(self) -> bool:
        """Whether the source holds a reachable call that resolves to a target."""
        if self.tree is None:
            return False
        return any(program.reaches_target(self.tree, self.context, goal) for goal in self.goals)

    @property
    def goals(self) -> list[program.Goal]:
        """What the program should call."""
        known = self.harness.namesakes
        return [
            program.Goal(
                api=call.api, method=self.method, namesakes=frozenset(known[number] if number < len(known) else ())
            )
            for number, call in enumerate(self.task.calls)
        ]


def diagnose(task: Task, harness: Harness, seen: Observation) -> Diagnosis:
    """Return the label of a failed sample."""
    tree = program.parse_code(seen.code)
    case = Case(task=task, harness=harness, seen=seen, tree=tree, context=program.parse_code(task.context_code))
    for rule in (_syntax, _not_called, _refused):
        found = rule(case)
        if found is not None:
            return found
    return _logic(case)


# WrongSyntax


def _syntax(case: Case) -> Diagnosis | None:
    seen = case.seen
    if not seen.code.strip():
        return Diagnosis(label="WrongSyntax", reason="the answer holds no code")
    if seen.stage in ("extract", "compile"):
        what = f"{_short(seen.error)}" if seen.error else f"the compiler ended ({seen.ended})"
        return Diagnosis(label="WrongSyntax", reason=f"does not compile: {what}")
    if case.tree is not None and program.is_stub(case.tree, case.task.entry_point):
        return Diagnosis(label="WrongSyntax", reason="the answer is a stub")
    return None


# WrongImport and WrongAPISelection: the target was never called


def _not_called(case: Case) -> Diagnosis | None:
    uncalled = [spec.api for spec in case.task.calls if not any(call.api == spec.api for call in case.calls)]
    if not uncalled:
        return None
    error = case.error
    if error is not None:
        missed = _missed_target(case, error, uncalled)
        if missed is not None:
            return missed
    if case.calls and len(case.task.calls) > 1 and error is None and not case.seen.ended:
        return Diagnosis(label="WrongAPISelection", reason=f"{uncalled[0]} was never called")
    early = _early_end(case)
    if early is None:
        return Diagnosis(label="WrongAPISelection", reason=f"{uncalled[0]} was never called")
    if case.reaches:
        return Diagnosis(label="WrongLogic", reason=f"{early} before the call of {uncalled[0]}")
    return Diagnosis(label="WrongAPISelection", reason=f"{early}; no call resolves to {uncalled[0]}")


def _missed_target(case: Case, error: ErrorEvidence, apis: list[str]) -> Diagnosis | None:
    """An import, attribute or name error: on the target (WrongImport), or on the library (WrongAPISelection)."""
    for api in apis:
        if error.type in _IMPORT_ERRORS:
            found = _failed_import(case, error, api)
        elif error.type == "builtins.AttributeError":
            found = _failed_attribute(case, error, api)
        elif error.type in _NAME_ERRORS:
            found = _failed_name(case, error, api)
        else:
            return None
        if found is not None:
            return found
    return None


def _failed_import(case: Case, error: ErrorEvidence, api: str) -> Diagnosis | None:
    parts = api.split(".")
    leaf, package = parts[-1], parts[0]
    line = error.position[0] if error.position else None
    statement = program.import_at(case.tree, line) if case.tree is not None else None
    imported: set[str] = set()
    module = ""
    if isinstance(statement, ast.ImportFrom):
        imported, module = {alias.name for alias in statement.names}, statement.module or ""
    elif isinstance(statement, ast.Import):
        module = next((alias.name for alias in statement.names if error.name and alias.name.startswith(error.name)), "")
        imported = {module.rsplit(".", 1)[-1]} if "." in module else set()
    name, owner = error.name or "", error.owner or ""
    on_path = name == package or f"{owner}.{name}".strip(".") in _prefixes(api) or name in _prefixes(api)
    if leaf in imported or (name == leaf and owner) or on_path:
        return Diagnosis(label="WrongImport", reason=f"{api} was meant but not reached: {_short(error)}")
    if package in (name.split(".")[0], owner.split(".")[0], module.split(".")[0]):
        used = case.tree is not None and any(leaf in chain for chain in _all_chains(case.tree, name.rsplit(".", 1)[-1]))
        if used:
            return Diagnosis(label="WrongImport", reason=f"a wrong path to {api}: {_short(error)}")
        return Diagnosis(label="WrongAPISelection", reason=f"a name that the library does not have: {_short(error)}")
    return None


def _failed_attribute(case: Case, error: ErrorEvidence, api: str) -> Diagnosis | None:
    parts = api.split(".")
    leaf, name = parts[-1], error.name
    raised_inside = bool(error.frames) and error.frames[-1].where == "library"
    chains = _chains(case, error, name) if name else []
    if raised_inside and _accessor_on_path(case, error, parts):
        return Diagnosis(label="WrongShapeDtype", reason=f"the path to {api} refused the data: {_short(error)}")
    if name is None:
        return None
    missed = Diagnosis(label="WrongImport", reason=f"{api} was meant but not reached: {_short(error)}")
    owner_root = (error.owner or "").split(".")[0]
    if name == leaf and (error.owner_kind == "module" or error.ancestor):
        return missed
    if error.owner_kind == "module" and name != leaf:
        # A module on the way to the leaf does not exist, or not there: `np.core.strings.slice`.
        if f"{error.owner}.{name}" in _prefixes(api) or any(_leads_to(chain, name, leaf) for chain in chains):
            return missed
    if owner_root == parts[0] or error.ancestor or (name == leaf):
        return Diagnosis(label="WrongAPISelection", reason=f"a name that the library does not have: {_short(error)}")
    return None


def _accessor_on_path(case: Case, error: ErrorEvidence, parts: list[str]) -> bool:
    """Whether an accessor of the target's path (`.str` of `Series.str.removeprefix`) raised for the receiver's data."""
    if case.tree is None or error.position is None:
        return False
    line = error.position[0]
    return any(program.chains_at(case.tree, line, part) for part in parts[1:-1] if part.islower())


def _failed_name(case: Case, error: ErrorEvidence, api: str) -> Diagnosis | None:
    name = error.name
    if name is None:
        return None
    parts = api.split(".")
    names = program.names_of(case.context, program.parse_code(case.task.reference_solution))
    stands_for = names.known.get(name)
    chains = _chains(case, error, name)
    on_path = name in (parts[-1], parts[0]) or stands_for == parts[0] or (stands_for or "?") in _prefixes(api)
    if on_path or any(chain[0] == name and chain[-1] == parts[-1] and len(chain) > 1 for chain in chains):
        return Diagnosis(label="WrongImport", reason=f"{api} was meant but not reached: {_short(error)}")
    return None


def _prefixes(api: str) -> set[str]:
    """Return the dotted prefixes of a path, the whole included: where an import of it can fail."""
    parts = api.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


def _chains(case: Case, error: ErrorEvidence, name: str) -> list[list[str]]:
    if case.tree is None or error.position is None:
        return []
    return program.chains_at(case.tree, error.position[0], name)


def _all_chains(tree: ast.Module, name: str) -> list[list[str]]:
    """Return all dotted expressions that start with a name."""
    found: list[list[str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            parts = program.dotted(node)
            if parts and name in parts:
                found.append(parts)
    return found


def _leads_to(chain: list[str], name: str, leaf: str) -> bool:
    return leaf in chain[chain.index(name) :]


def _early_end(case: Case) -> str | None:
    """Say what ended the program before it gave an answer; null when it ran to its end."""
    seen = case.seen
    if seen.stage == "entry":
        return f"the entry point {case.task.entry_point} is missing"
    if seen.ended:
        return f"ended ({seen.ended})"
    if case.error is not None:
        return f"raised {_short(case.error)}"
    index = case.failing_input
    if index is not None and index < len(seen.inputs):
        difference = seen.inputs[index].difference
        if "coroutine" in difference or "generator" in difference:
            return "a coroutine or generator that was never run"
    return None


# WrongParam and WrongShapeDtype: the target refused the call


def _refused(case: Case) -> Diagnosis | None:
    index = case.failing_input
    if index is None and case.seen.stage == "done":
        return None
    calls = [call for call in case.calls if call.input == index or call.input is None or case.seen.stage == "load"]
    refused = [call for call in calls if call.error is not None]
    if not refused:
        return _late_refusal(case)
    call = refused[-1]
    assert call.error is not None
    gold = _gold_call(case, call)
    if gold is not None and gold.error is not None and gold.input == call.input and gold.error.type == call.error.type:
        return None  # the reference's call is refused likewise: the refusal is what the task is about
    ends_run = case.error is not None and (case.error.type, case.error.message) == (call.error.type, call.error.message)
    never_yields = not any(other.returned for other in calls if other.api == call.api)
    if not ends_run and not never_yields:
        return None
    return _judge_refusal(case, call, call.error)


def _late_refusal(case: Case) -> Diagnosis | None:
    """An error while a lazy result is consumed is the target's if its innermost library frame is the target's own."""
    error = case.error
    if error is None or not case.calls:
        return None
    library = [frame for frame in error.frames if frame.where in ("library", "stdlib")]
    if not library or not library[-1].target or error.frames[-1].where == "completion":
        return None
    return _judge_refusal(case, case.calls[-1], error)


def _judge_refusal(case: Case, call: CallRecord, error: ErrorEvidence) -> Diagnosis | None:
    text = _short(error)
    if not call.bound:
        return Diagnosis(label="WrongParam", reason=f"{call.api} refused its arguments: {text}")
    if call.callback or _in_callback(error):
        if _forwarded_keyword(case, call, error):
            return Diagnosis(label="WrongParam", reason=f"a keyword that {call.api} only forwards: {text}")
        return None
    if error.type == "builtins.TypeError" and _CALL_REFUSED.search(error.message) and not _inside_helpers(error):
        return Diagnosis(label="WrongParam", reason=f"{call.api} refused its arguments: {text}")
    return _blame(case, call, error)


def _blame(case: Case, call: CallRecord, error: ErrorEvidence) -> Diagnosis | None:
    """Decide between an option and data, by comparison with the reference's call and by the words of the refusal."""
    suspects = _suspects(case, call)
    structural = bool(_STRUCTURE.search(error.message)) or suspects.data_named(error.message)
    if suspects.option_named(error.message) or (suspects.options and not suspects.data):
        blame_option = True
    elif suspects.data and not suspects.options:
        blame_option = False
    else:
        blame_option = suspects.has_options and not (suspects.has_data and structural)
    if blame_option:
        return Diagnosis(label="WrongParam", reason=f"{call.api} refused an option: {_short(error)}")
    return _data_refused(case, call, error)


def _data_refused(case: Case, call: CallRecord, error: ErrorEvidence) -> Diagnosis | None:
    """The structure of data was refused (WrongShapeDtype), or only its value (then the program around is wrong)."""
    gold = _gold_call(case, call)
    if gold is not None and not _STRUCTURE.search(error.message):
        changed = [name for name, value in call.arguments.items() if gold.arguments.get(name) != value]
        if changed and all(
            _structure(call.arguments[name]) == _structure(gold.arguments.get(name, "")) for name in changed
        ):
            return None
    return Diagnosis(label="WrongShapeDtype", reason=f"{call.api} refused the structure of its data: {_short(error)}")


def _structure(excerpt: str) -> str:
    """Reduce an excerpt of a value to its type and shape."""
    head = re.match(r"\w+\[[\d, ]*\] \w+", excerpt)
    if head:
        return head.group(0)
    try:
        value = ast.literal_eval(excerpt)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return excerpt.split("(", maxsplit=1)[0].split("[", maxsplit=1)[0][:40]
    if isinstance(value, list | tuple | set | dict):
        return f"{type(value).__name__}[{len(value)}]:{sorted({type(item).__name__ for item in value})}"
    return type(value).__name__


def _in_callback(error: ErrorEvidence) -> bool:
    """Whether a frame of the completion lies below a frame of the library: a function that was handed over raised."""
    library_seen = False
    for frame in error.frames:
        if frame.where in ("library", "stdlib"):
            library_seen = True
        elif frame.where == "completion" and library_seen:
            return True
    return False


def _inside_helpers(error: ErrorEvidence) -> bool:
    """Whether a call deeper inside the library was refused, not the target's own."""
    library = [frame for frame in error.frames if frame.where == "library"]
    return bool(library) and not library[-1].target and len(library) > 2


def _forwarded_keyword(case: Case, call: CallRecord, error: ErrorEvidence) -> bool:
    match = re.search(r"unexpected keyword argument '(\w+)'", error.message)
    return match is not None and match.group(1) in call.arguments and case.tree is not None


@dataclass(frozen=True, kw_only=True)
class Suspects:
    """The arguments of a refused call."""

    data: frozenset[str]
    """Data arguments that differ from the reference's call with the same input."""
    options: frozenset[str]
    """Other arguments that differ, are missing or are too many."""
    all_data: frozenset[str]
    all_options: frozenset[str]
    values: dict[str, str]

    @property
    def has_data(self) -> bool:
        """Whether data may be at fault."""
        return bool(self.data or (not self.options and self.all_data))

    @property
    def has_options(self) -> bool:
        """Whether an option may be at fault."""
        return bool(self.options or (not self.data and self.all_options))

    def option_named(self, message: str) -> bool:
        """Whether the message names an option that differs, or quotes its value."""
        named = any(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message) for name in self.options if len(name) > 2)
        quoted = any(
            len(self.values.get(name, "").strip("'\"")) > 1 and self.values[name].strip("'\"") in message
            for name in self.options
            if name in self.values
        )
        return named or quoted

    def data_named(self, message: str) -> bool:
        """Whether the message names a data argument."""
        return any(re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", message) for name in self.all_data if len(name) > 1)


def _suspects(case: Case, call: CallRecord) -> Suspects:
    gold = _gold_call(case, call)
    data_names = _data_names(case, call)
    given = dict(call.arguments)
    differing = set(given)
    if gold is not None:
        differing = {name for name, value in given.items() if gold.arguments.get(name) != value}
        differing |= {name for name in gold.arguments if name not in given}
    return Suspects(
        data=frozenset(differing & data_names),
        options=frozenset(differing - data_names),
        all_data=frozenset(data_names & set(given)),
        all_options=frozenset(set(given) - data_names),
        values=given,
    )


def _gold_call(case: Case, call: CallRecord) -> CallRecord | None:
    """Return the reference's call of the same target during the same input."""
    same = [gold for gold in case.harness.gold_calls if gold.api == call.api and gold.bound]
    at_input = [gold for gold in same if gold.input == call.input]
    return (at_input or same or [None])[0]


def _data_names(case: Case, call: CallRecord) -> set[str]:
    """Return the names of the bound arguments that carry data; by source, since values alone do not tell."""
    if case.tree is None:
        return set(call.arguments)
    node = program.call_at(case.tree, call.position, call.line)
    if node is None:
        return set(call.arguments)
    positions, keywords, receiver = program.data_arguments(node, case.tree, case.task.entry_point)
    order = list(call.arguments)
    offset = 1 if order[:1] == ["self"] else 0
    names = {order[number + offset] for number in positions if number + offset < len(order)}
    names |= {name for name in keywords if name in call.arguments}
    if receiver and offset:
        names.add("self")
    if "**" in keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        names |= set(order)
    return names


# WrongLogic


def _logic(case: Case) -> Diagnosis:
    seen = case.seen
    if case.error is not None:
        return Diagnosis(label="WrongLogic", reason=f"crash outside the target: {_short(case.error)}")
    if seen.ended:
        return Diagnosis(label="WrongLogic", reason=f"ended ({seen.ended}) after the call")
    index = case.failing_input
    if index is not None and index < len(seen.inputs):
        return Diagnosis(label="WrongLogic", reason=f"wrong answer to input {index}: {seen.inputs[index].difference}")
    missing = calls_right(case.task, seen, case.harness)
    if missing is not None:
        return Diagnosis(label="WrongLogic", reason=f"right answer, but {missing}")
    return Diagnosis(label="WrongLogic", reason="the answer does not depend on the target's result")


def _short(error: ErrorEvidence | None) -> str:
    if error is None:
        return "no exception"
    message = " ".join(error.message.split())
    return f"{error.type.rsplit('.', 1)[-1]}: {message[:160]}" if message else error.type.rsplit(".", 1)[-1]
