"""The six labels of a failure, decided by rule from what was seen (docs/labels.md has the rules in words).

A label is a pure function of the task, its harness, the observation and the source of the completion. The first rule
that holds decides: WrongSyntax, WrongImport, WrongAPISelection, WrongParam, WrongShapeDtype, WrongLogic.
"""

from __future__ import annotations

from novelapi.evaluation import missed, program, refusal
from novelapi.evaluation.case import Case, Diagnosis, short
from novelapi.execution.harness import Harness, calls_right
from novelapi.records.task import Task
from novelapi.records.verdict import Observation

LABELS_VERSION = 3


def diagnose(task: Task, harness: Harness, seen: Observation) -> Diagnosis:
    """Return the label of a failed sample."""
    tree = program.parse_code(seen.code)
    case = Case(task=task, harness=harness, seen=seen, tree=tree, context=program.parse_code(task.context_code))
    for rule in (_syntax, missed.not_called, refusal.refused):
        found = rule(case)
        if found is not None:
            return found
    return _logic(case)


def _syntax(case: Case) -> Diagnosis | None:
    seen = case.seen
    if not seen.code.strip():
        return Diagnosis(label="WrongSyntax", reason="the answer holds no code")
    if seen.stage in ("extract", "compile"):
        what = f"{short(seen.error)}" if seen.error else f"the compiler ended ({seen.ended})"
        return Diagnosis(label="WrongSyntax", reason=f"does not compile: {what}")
    if case.tree is not None and program.is_stub(case.tree, case.task.entry_point):
        return Diagnosis(label="WrongSyntax", reason="the answer is a stub")
    return None


def _logic(case: Case) -> Diagnosis:
    seen = case.seen
    if case.error is not None:
        return Diagnosis(label="WrongLogic", reason=f"crash outside the target: {short(case.error)}")
    if seen.ended:
        return Diagnosis(label="WrongLogic", reason=f"ended ({seen.ended}) after the call")
    index = case.failing_input
    if index is not None and index < len(seen.inputs):
        return Diagnosis(label="WrongLogic", reason=f"wrong answer to input {index}: {seen.inputs[index].difference}")
    missing = calls_right(case.task, seen, case.harness)
    if missing is not None:
        return Diagnosis(label="WrongLogic", reason=f"right answer, but {missing}")
    return Diagnosis(label="WrongLogic", reason="the answer does not depend on the target's result")
