"""Tasks and inputs that a strong model wrote: brought into the form of stage 3, then through its gates in the sandbox.

What does not pass is refused with a reason; the deterministic author's task or inputs then stand.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from novelapi.execution.harness import HarnessError, prepare
from novelapi.execution.pool import Slot
from novelapi.execution.zygote import Zygote
from novelapi.generation import trials
from novelapi.generation.assignment import Assignment, Written
from novelapi.generation.author import QUOTA, Author
from novelapi.generation.choosing import LEAST, VISIBLE, WANTED
from novelapi.generation.sealing import Rejected, refused_early, same_answers, short, tolerance
from novelapi.inference.roles import WrittenTask, reject_task
from novelapi.records.api import Candidate
from novelapi.records.environment import Environment
from novelapi.records.task import CallSpec, Task, TaskInput

MOST_INPUTS = 3
"""Inputs of a model that are added to a task."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Tasks that a model wrote for one API."""

    assignment: Assignment
    tasks: tuple[WrittenTask, ...]
    author: Mapping[str, Any]
    """Model, role and prompt digests, for the provenance."""


def admit_tasks(slot: Slot, proposal: Proposal) -> Written:
    """Return the tasks that pass the gates which those of the deterministic author pass too.

    Raises:
        ZygoteError: the warm parent died (the pool tries again).
    """
    assignment = proposal.assignment
    author = Author(slot.zygote(assignment.env, assignment.preload), assignment)
    author.authorship = {"author": "model", **proposal.author}
    for item in proposal.tasks:
        try:
            _admit(author, item)
        except Rejected as rejected:
            author.reasons[str(rejected)] += 1
    return Written(api=assignment.candidate.api, tasks=author.tasks, reasons=dict(sorted(author.reasons.items())))


def _admit(author: Author, item: WrittenTask) -> None:
    """Make a task of what the model wrote.

    Raises:
        Rejected: with the reason.
    """
    why = reject_task(item, author.candidate.api)
    if why is not None:
        raise Rejected(why)
    if author.taken[item.difficulty] >= QUOTA[item.difficulty]:
        raise Rejected("more tasks of this difficulty than are kept")
    solution = Solution.read(item)
    inputs = [TaskInput(args=solution.arguments(given)) for given in item.inputs]
    dropped = solution.without_change(author.candidate)
    task = _task(author, item, solution, inputs)
    author.check_words(task)
    answers = trials.answers_of(author.zygote, task)
    if isinstance(answers, str):
        raise Rejected(f"the reference does not run ({answers.split(':')[0]})")
    positions = trials.choose_inputs(inputs, answers, WANTED)
    if len(positions) < LEAST:
        raise Rejected("too few inputs with different answers")
    chosen = tuple(
        TaskInput(args=inputs[position].args, hidden=order >= VISIBLE) for order, position in enumerate(positions)
    )
    values = tuple(answers[position].value for position in positions)
    task = task.model_copy(update={"inputs": chosen, "expected": values, "tolerance": tolerance(values)})
    if trials.repeats(values, trials.arguments_of(author.zygote, task, solution.parameters)):
        raise Rejected("the result only repeats the arguments")
    for code in dropped.values():
        without = trials.answers_of(author.zygote, task, code)
        if not isinstance(without, str) and same_answers(task, without):
            raise Rejected("the change has no visible effect")
    author.admit(task, dropped, "written by a model", task.reference_solution)


def _task(author: Author, item: WrittenTask, solution: Solution, inputs: Sequence[TaskInput]) -> Task:
    candidate = author.candidate
    return Task(
        task_id=f"{candidate.library}/{candidate.api.rsplit('.', 1)[-1]}/{len(author.tasks) + 1}",
        library=candidate.library,
        release=candidate.release,
        api=candidate.api,
        change=candidate.change,
        difficulty=item.difficulty,
        description=f"{item.description.strip()}\n",
        context_code=_imports(item.context_code),
        entry_point="solve",
        signature=solution.signature,
        reference_solution=solution.code,
        inputs=tuple(inputs),
        calls=(CallSpec(api=candidate.api, required=solution.required(candidate)),),
    )


def _imports(context: str) -> str:
    """Return a context in the form of stage 3.

    Raises:
        Rejected: it holds more than imports.
    """
    body = ast.parse(context).body
    if not all(isinstance(node, ast.Import | ast.ImportFrom) for node in body):
        raise Rejected("the context holds more than imports")
    return "".join(f"{ast.unparse(node)}\n" for node in body)


@dataclass(frozen=True, kw_only=True)
class Solution:
    """A reference as a tree, its entry point with plain parameters."""

    tree: ast.Module
    parameters: tuple[str, ...]

    @classmethod
    def read(cls, item: WrittenTask) -> Solution:
        """Read the reference of a task.

        Raises:
            Rejected: it is no module of imports and functions with one `solve` of plain parameters.
        """
        tree = ast.parse(item.reference_solution)
        entries = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "solve"]
        if len(entries) != 1 or not all(
            isinstance(node, ast.FunctionDef | ast.Import | ast.ImportFrom) for node in tree.body
        ):
            raise Rejected("the reference is not one function solve")
        (entry,), found = entries, entries[0].args
        if found.vararg or found.kwarg or found.kwonlyargs or found.posonlyargs or entry.decorator_list:
            raise Rejected("the reference has no plain parameters")
        names = tuple(argument.arg for argument in found.args)
        found.defaults, entry.returns = [], None
        for argument in found.args:
            argument.annotation = None
        return cls(tree=tree, parameters=names)

    @property
    def signature(self) -> str:
        """The `def` line."""
        return f"def solve({', '.join(self.parameters)}):"

    @property
    def code(self) -> str:
        """The reference solution."""
        return ast.unparse(self.tree) + "\n"

    def arguments(self, given: TaskInput) -> tuple[str, ...]:
        """Return the arguments of an input in the order of the parameters.

        Raises:
            Rejected: they do not fit, or are no expressions.
        """
        named = dict(zip(self.parameters, given.args, strict=False)) | given.kwargs
        if len(given.args) + len(given.kwargs) != len(self.parameters) or named.keys() != set(self.parameters):
            raise Rejected("an input does not fit the parameters")
        try:
            return tuple(ast.unparse(ast.parse(named[name].strip(), mode="eval")) for name in self.parameters)
        except (SyntaxError, ValueError) as error:
            raise Rejected("an input is no expression") from error

    def required(self, candidate: Candidate) -> dict[str, str]:
        """Return what a call must bind of the change: literals and parameters of the entry point."""
        found: dict[str, str] = {}
        for call, keyword in self._new_keywords(candidate):
            names = {node.id for node in ast.walk(keyword.value) if isinstance(node, ast.Name)}
            if len(list(self._calls(candidate))) == 1 and names <= set(self.parameters) and keyword.arg:
                found[keyword.arg] = ast.unparse(call.keywords[call.keywords.index(keyword)].value)
        return found

    def without_change(self, candidate: Candidate) -> dict[str, str]:
        """Return the reference without each keyword that the change added, by its name.

        Raises:
            Rejected: the API is changed, and the reference does not use what is new by keyword.
        """
        dropped: dict[str, str] = {}
        for call, keyword in list(self._new_keywords(candidate)):
            place = call.keywords.index(keyword)
            call.keywords.pop(place)
            dropped[str(keyword.arg)] = self.code
            call.keywords.insert(place, keyword)
        if candidate.change == "modified" and not dropped:
            raise Rejected("the reference does not use the change")
        return dropped

    def _calls(self, candidate: Candidate) -> list[ast.Call]:
        leaf = candidate.api.rsplit(".", 1)[-1]
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        return [node for node in calls if ast.unparse(node.func).rpartition(".")[2] == leaf]

    def _new_keywords(self, candidate: Candidate) -> list[tuple[ast.Call, ast.keyword]]:
        new = {change.parameter for change in candidate.changes if change.kind == "parameter_added"}
        return [(call, item) for call in self._calls(candidate) for item in call.keywords if item.arg in new - {None}]


# Inputs


@dataclass(frozen=True, kw_only=True)
class InputProposal:
    """Inputs that a model wrote for an accepted task."""

    task: Task
    inputs: tuple[TaskInput, ...]
    env: Environment
    preload: tuple[str, ...]
    author: Mapping[str, Any]
    """Model, role and prompt digests, for the provenance."""
    reason: str = ""
    """Why there is no input at all."""


def admit_inputs(slot: Slot, proposal: InputProposal) -> Task:
    """Return the task with those inputs, hidden, that the reference answers and that make its proof no weaker.

    More inputs only make a harness stricter, so mutants that failed still fail.

    Raises:
        ZygoteError: the warm parent died (the pool tries again).
    """
    reasons = Counter([proposal.reason] if proposal.reason else [])
    task, kept = proposal.task, 0
    found = _new_inputs(proposal, reasons)
    if found:
        zygote = slot.zygote(proposal.env, proposal.preload)
        answered = _answered(zygote, task, found, reasons)
        wider = _proved(zygote, task, answered, reasons) if answered else None
        task, kept = (wider, len(answered)) if wider is not None else (task, 0)
    note = {**proposal.author, "kept": kept, "rejected": {why: n for why, n in sorted(reasons.items()) if n}}
    return task.model_copy(update={"provenance": {**task.provenance, "author_inputs": note}})


def _answered(zygote: Zygote, task: Task, found: Sequence[TaskInput], reasons: Counter[str]) -> list[TaskInput]:
    """Return the first few inputs to which the reference gives plain answers."""
    answers = trials.answers_of(zygote, task.model_copy(update={"inputs": tuple(found), "expected": None}))
    places = [] if isinstance(answers, str) else trials.choose_inputs(found, answers, MOST_INPUTS)
    reasons["the reference gives no plain, new answer"] += len(found) - len(places)
    return [found[place] for place in places]


def _proved(zygote: Zygote, task: Task, found: Sequence[TaskInput], reasons: Counter[str]) -> Task | None:
    """Return the task with more inputs; null where its harness refuses them or proves less than before."""
    wider = task.model_copy(update={"inputs": (*task.inputs, *found), "expected": None})
    try:
        harness = prepare(zygote, wider)
    except HarnessError as error:
        reasons[short(str(error))] += len(found)
        return None
    wider = wider.model_copy(update={"expected": harness.expected, "tolerance": tolerance(harness.expected)})
    if harness.integrity != task.integrity or refused_early(wider, harness):
        reasons["the proof of a pass would be weaker"] += len(found)
        return None
    return wider


def _new_inputs(proposal: InputProposal, reasons: Counter[str]) -> list[TaskInput]:
    """Return the inputs that fit and are new, hidden."""
    task = proposal.task
    inner = task.signature.removeprefix("def solve(").removesuffix("):")
    names = tuple(part.strip() for part in inner.split(",") if part.strip())
    solution = Solution(tree=ast.parse(task.reference_solution), parameters=names)
    known = {item.args for item in task.inputs}
    found: list[TaskInput] = []
    for given in proposal.inputs:
        try:
            arguments = solution.arguments(given)
        except Rejected as rejected:
            reasons[str(rejected)] += 1
            continue
        if arguments in known:
            reasons["an input is repeated"] += 1
            continue
        known.add(arguments)
        found.append(TaskInput(args=arguments, hidden=True))
    return found
