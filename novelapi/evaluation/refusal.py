"""The target was called and refused: WrongParam or WrongShapeDtype, unless the fault lies in the program around it."""

from __future__ import annotations

import ast
import re

from novelapi.evaluation.arguments import alike, exchanged, gold_call, only_callback, suspects_of
from novelapi.evaluation.case import Case, Diagnosis, short
from novelapi.records.verdict import CallRecord, ErrorEvidence

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
    r"|empty|at least one|too (few|many)|columns?|schema|field required|serializable"
    r"|expected [\w.]+,? (got|not|but))",
    re.IGNORECASE,
)


def refused(case: Case) -> Diagnosis | None:
    """Return the diagnosis if the target refused the call of the failing input; null if the fault lies elsewhere."""
    index = case.failing_input
    if index is None and case.seen.stage == "done":
        return None
    calls = [call for call in case.calls if call.input == index or call.input is None or case.seen.stage == "load"]
    refused = [call for call in calls if call.error is not None]
    if not refused:
        return _late_refusal(case)
    call = refused[-1]
    assert call.error is not None
    gold = gold_call(case, call)
    if gold is not None and gold.error is not None and gold.input == call.input and gold.error.type == call.error.type:
        return None  # the reference's call is refused likewise: the refusal is what the task is about
    ends_run = _same(case.error, call.error)
    never_yields = not any(other.returned for other in calls if other.api == call.api)
    if not ends_run and not never_yields:
        return None
    return _judge_refusal(case, call, call.error)


def _late_refusal(case: Case) -> Diagnosis | None:
    """An error while a lazy result is consumed is the target's if its innermost library frame is the target's own."""
    error = case.error
    if error is None or not case.calls:
        return None
    call = next((call for call in reversed(case.calls) if _same(call.late, error)), case.calls[-1])
    if _same(call.late, error) and call.late is not None:
        error = call.late
    library = [frame for frame in error.frames if frame.where in ("library", "stdlib")]
    if call.callback or not library or not library[-1].target or error.frames[-1].where == "completion":
        return None
    return _judge_refusal(case, call, error)


def _same(one: ErrorEvidence | None, other: ErrorEvidence | None) -> bool:
    return one is not None and other is not None and (one.type, one.message) == (other.type, other.message)


def _judge_refusal(case: Case, call: CallRecord, error: ErrorEvidence) -> Diagnosis | None:
    text = short(error)
    if not call.bound:
        return Diagnosis(label="WrongParam", reason=f"{call.api} refused its arguments: {text}")
    if call.callback or _in_callback(call, error) or _own_function_refused(case, call, error):
        if _forwarded_keyword(call, error):
            return Diagnosis(label="WrongParam", reason=f"a keyword that {call.api} only forwards: {text}")
        return None
    if error.type == "builtins.TypeError" and _CALL_REFUSED.search(error.message) and not _inside_helpers(error):
        return Diagnosis(label="WrongParam", reason=f"{call.api} refused its arguments: {text}")
    if exchanged(case, call):
        return Diagnosis(label="WrongParam", reason=f"{call.api} got its arguments exchanged: {text}")
    if only_callback(case, call, error.message):
        return None  # the error is about what the function returned
    return _blame(case, call, error)


def _blame(case: Case, call: CallRecord, error: ErrorEvidence) -> Diagnosis | None:
    """Decide between an option and data, by comparison with the reference's call and by the words of the refusal."""
    suspects = suspects_of(case, call)
    structural = bool(_STRUCTURE.search(error.message)) or suspects.data_named(error.message)
    if suspects.option_named(error.message) or (suspects.options and not suspects.data):
        blame_option = True
    elif suspects.data and not suspects.options:
        blame_option = False
    else:
        blame_option = suspects.has_options and not (suspects.has_data and structural)
    if blame_option:
        return Diagnosis(label="WrongParam", reason=f"{call.api} refused an option: {short(error)}")
    return _data_refused(case, call, error)


def _data_refused(case: Case, call: CallRecord, error: ErrorEvidence) -> Diagnosis | None:
    """The structure of data was refused (WrongShapeDtype), or only its value (then the program around is wrong)."""
    gold = gold_call(case, call)
    if gold is not None and not _STRUCTURE.search(error.message):
        changed = [name for name, value in call.arguments.items() if not alike(value, gold.arguments.get(name))]
        if changed and all(
            _structure(call.arguments[name]) == _structure(gold.arguments.get(name, "")) for name in changed
        ):
            return None
    return Diagnosis(label="WrongShapeDtype", reason=f"{call.api} refused the structure of its data: {short(error)}")


def _structure(excerpt: str) -> str:
    """Reduce an excerpt of a value to its type and shape; of containers of objects, how they are nested."""
    head = re.match(r"\w+\[[\d, ]*\] \w+", excerpt)
    if head:
        return head.group(0)
    try:
        value = ast.literal_eval(excerpt)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        nested = re.match(r"[\[({]+", excerpt)
        if nested:
            return nested.group(0)
        return excerpt.split("(", maxsplit=1)[0].split("[", maxsplit=1)[0][:40]
    if isinstance(value, dict):
        kinds = sorted({f"{type(key).__name__}:{type(item).__name__}" for key, item in value.items()})
        return f"dict[{len(value)}]:{kinds}"
    if isinstance(value, list | tuple | set):
        return f"{type(value).__name__}[{len(value)}]:{sorted({type(item).__name__ for item in value})}"
    return type(value).__name__


def _in_callback(call: CallRecord, error: ErrorEvidence) -> bool:
    """Whether a function that was handed over raised: a frame of the completion below the target's call."""
    places = [frame.where for frame in error.frames]
    if error is call.error:
        return "completion" in places
    library = next((number for number, place in enumerate(places) if place in ("library", "stdlib")), len(places))
    return "completion" in places[library:]


def _own_function_refused(case: Case, call: CallRecord, error: ErrorEvidence) -> bool:
    """Whether the message is that of a call of the completion's own function: `<lambda>() takes 1 positional ...`."""
    match = re.match(r"(?:[\w.]+\.<locals>\.|\w+\.)*(<lambda>|\w+)\(\) ", error.message)
    if error.type != "builtins.TypeError" or match is None or case.tree is None:
        return False
    own = {node.name for node in ast.walk(case.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return match.group(1) in {*own, "<lambda>"} - {call.api.rsplit(".", 1)[-1]}


def _inside_helpers(error: ErrorEvidence) -> bool:
    """Whether a call deeper inside the library was refused, not the target's own."""
    library = [frame for frame in error.frames if frame.where == "library"]
    return bool(library) and not library[-1].target and len(library) > 2


def _forwarded_keyword(call: CallRecord, error: ErrorEvidence) -> bool:
    match = re.search(r"unexpected keyword argument '(\w+)'", error.message)
    return match is not None and match.group(1) in call.arguments
