"""Runs drafts in the sandbox while they are made: which inputs run, what they give, what kind of result comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from novelapi.execution import values
from novelapi.execution.answers import Answer
from novelapi.execution.judge import run_code
from novelapi.execution.limits import SampleLimits
from novelapi.execution.zygote import Zygote
from novelapi.fingerprint import canonical_json
from novelapi.generation.literals import literal_of
from novelapi.records.api import Candidate
from novelapi.records.task import Task, TaskInput

_LARGEST = 4000
"""Characters of an answer's canonical JSON; larger ones say no more and cost at every sample."""

SLOW_MS = 500.0
"""CPU milliseconds of a few calls above which an example makes no task: thousands of samples will pay for it."""

TRIAL_LIMITS = SampleLimits(cpu_s=10.0)

_KIND = """
TABLES = (
    "numpy.ndarray", "numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray", "pandas.DataFrame", "pandas.Series",
    "pandas.core.frame.DataFrame", "pandas.core.series.Series", "polars.dataframe.frame.DataFrame",
)

def _kind_of_result(result):
    def plain(value, depth=0):
        name = type(value).__module__ + "." + type(value).__name__
        if value is None or type(value) in (bool, int, float, complex, str, bytes):
            return True
        if type(value) in (list, tuple, set, frozenset):
            return len(value) <= 50 and depth < 3 and all(plain(item, depth + 1) for item in value)
        if type(value) is dict:
            texts = all(type(key) is str for key in value)
            return len(value) <= 50 and depth < 3 and texts and all(plain(item, depth + 1) for item in value.values())
        return name == "numpy.ndarray" and value.dtype.kind in "biufcUSmM" and value.size <= 5000 or (
            type(value).__module__ == "numpy" and hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0)
    kind = type(result)
    name = kind.__module__ + "." + kind.__qualname__
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return ["namedtuple", name, list(result._fields), ""]
    if plain(result) or name in TABLES:
        return ["none" if result is None else "plain", name, [], ""]
    if kind.__module__ == "itertools" or hasattr(result, "__next__"):
        return ["iterator", name, [], ""]
    names = list(result) if isinstance(result, dict) else list(getattr(result, "__dict__", {})) or dir(kind)
    fields = []
    for field in names:
        if type(field) is not str or field.startswith("_") or not field.isidentifier():
            continue
        try:
            value = getattr(result, field)
        except Exception:
            continue
        if value is not None and not callable(value) and plain(value):
            fields.append(field)
    return ["object", name, fields, _view_of(result, kind, plain, bool(fields))]


def _view_of(result, kind, plain, has_fields):
    def has(name):
        return callable(getattr(kind, name, None))
    views = []
    if has("model_dump"):
        views.append("{}.model_dump()")
    if has("tolist"):
        views.append("{}.tolist()")
    if has("keys") and has("__getitem__") and not isinstance(result, dict):
        views.append("dict({})")
    if has("__iter__") and has("__len__") and not has("keys"):
        views.append("list({})")
    if isinstance(result, str):
        views.append("str({})")
    views += ["{}." + name + "()" for name in conversions(kind, has_fields)]
    for view in views:
        try:
            value = eval(view.format("result"), {"result": result})
        except Exception:
            continue
        if plain(value) and value is not None:
            return view
    if kind.__module__ in ("builtins", "types", "typing") or kind.__str__ is object.__str__:
        return ""
    if dataclass_like(kind) or issubclass(kind, BaseException):
        return ""
    text = str(result)
    return "str({})" if 0 < len(text) < 400 and "(" not in text and text[0] != "<" else ""


def conversions(kind, has_fields):
    import inspect
    names = [name for name in sorted(dir(kind)) if name.startswith(("as_", "to_"))]
    for name in ["toarray", "as_matrix", *names, *([] if has_fields else ["mean", "variance"])]:
        method = getattr(kind, name, None)
        if not callable(method):
            continue
        try:
            parameters = list(inspect.signature(method).parameters.values())[1:]
        except (TypeError, ValueError):
            continue
        if not [item for item in parameters if item.default is item.empty and not item.kind.name.startswith("VAR_")]:
            yield name


def dataclass_like(kind):
    return hasattr(kind, "__dataclass_fields__") or kind.__str__ is kind.__repr__
"""


@dataclass(frozen=True, kw_only=True)
class ResultKind:
    """What a call returns."""

    form: str
    """`plain`, `none`, `namedtuple`, `iterator` or `object`."""
    type: str
    """Qualified name of its type."""
    fields: tuple[str, ...]
    """Names of a named tuple, or of the plain public attributes of an object."""
    view: str = ""
    """Expression over `{}` that turns an object into plain data with meaning; empty when there is none."""


def value_of(zygote: Zygote, candidate: Candidate, program: str, expression: str) -> str | None:
    """Return the value of an expression after a program as a literal; null when it has no short one."""
    body = "".join(f"    {line}\n" for line in [*program.split("\n"), f"return {expression}"])
    task = Task(
        task_id="value",
        library=candidate.library,
        release=candidate.release,
        api=candidate.api,
        description="the value of an expression",
        entry_point="solve",
        signature="def solve():",
        reference_solution=f"def solve():\n{body}",
        inputs=(TaskInput(),),
    )
    answers = answers_of(zygote, task)
    return None if isinstance(answers, str) or not answers[0].is_value else literal_of(answers[0].value)


def kind_of(zygote: Zygote, task: Task, call: str) -> ResultKind | str:
    """Run the task's call on its first inputs and say what it returns; a text is the reason why that is not known."""
    head = task.reference_solution.split("    return ", 1)[0]
    code = f"{_KIND}\n{head}    return _kind_of_result({call})\n"
    run = run_code(zygote, task, code, mode="plain", limits=TRIAL_LIMITS)
    if run.cpu_ms > SLOW_MS:
        return "slow: a sample would cost too much"
    problem = (
        run.infra or (run.ended and f"ended ({run.ended})") or (run.error and f"{run.error.type}: {run.error.message}")
    )
    if problem:
        return str(problem)[:300]
    reason = "no input"
    for answer in run.answers:
        if answer.is_value and isinstance(answer.value, list) and len(answer.value) == 4:
            form, name, fields, view = answer.value
            return ResultKind(form=form, type=name, fields=tuple(fields), view=view)
        reason = explain(answer)
    return reason


def kinds_of(zygote: Zygote, task: Task, probe: Callable[[str, str], str]) -> list[ResultKind] | str:
    """Say what kind of result each of several shown values is; a text is the reason why that is not known.

    Args:
        zygote: where it runs.
        task: the task, with inputs.
        probe: writes the program, given the helper's source and name.
    """
    run = run_code(zygote, task, probe(_KIND, "_kind_of_result"), mode="plain", limits=TRIAL_LIMITS)
    if run.cpu_ms > SLOW_MS * 4:
        return "slow: a sample would cost too much"
    if run.infra or run.ended or run.error:
        return str(run.infra or run.ended or (run.error and run.error.type))
    for answer in run.answers[::-1]:
        if answer.is_value and isinstance(answer.value, list):
            return [
                ResultKind(form=form, type=name, fields=tuple(fields), view=view)
                for form, name, fields, view in answer.value
            ]
    return explain(run.answers[-1]) if run.answers else "no input"


def explain(answer: Answer) -> str:
    """Say in one line why an answer is no value."""
    if answer.error is not None:
        return f"{answer.error.type.rsplit('.', 1)[-1]}: {answer.error.message}"[:300]
    return (answer.opaque or "")[:300]


def answers_of(zygote: Zygote, task: Task, code: str | None = None) -> list[Answer] | str:
    """Run code (default: the reference) on all inputs; a text is the reason why it did not run."""
    run = run_code(zygote, task, code or task.reference_solution, mode="plain", limits=TRIAL_LIMITS)
    if run.infra is not None:
        return run.infra
    if run.error is not None:
        return f"{run.error.type}: {run.error.message}"[:300]
    if run.ended is not None:
        return f"ended ({run.ended})"
    return run.answers


def arguments_of(zygote: Zygote, task: Task, names: Sequence[str]) -> list[list[str | None]]:
    """Return the canonical text of every argument (by name) in every input; null where it is no plain value."""
    head = task.signature
    found: list[list[str | None]] = []
    for name in names:
        answers = answers_of(zygote, task, f"{head}\n    return {name}\n")
        if isinstance(answers, str):
            found.append([None] * len(task.inputs))
        else:
            found.append([_canonical(item.value) if item.is_value else None for item in answers])
    return found


def repeats(values: Sequence[Any], arguments: Sequence[Sequence[str | None]]) -> bool:
    """Whether answers say nothing that the caller did not know: each is an argument again, or always the same.

    A dictionary or a list does so if all its items do.

    Args:
        values: the answers, one per input.
        arguments: canonical texts of each argument, in the order of the answers.
    """
    texts = [_canonical(value) for value in values]
    if len(set(texts)) <= 1 or any(list(own) == texts for own in arguments):
        return True
    for keys in (_keys(value) for value in values[:1]):
        if keys and all(_keys(value) == keys for value in values):
            return all(repeats([value[key] for value in values], arguments) for key in keys)
    return False


def _keys(value: Any) -> list[Any]:
    """Return what the items of a plain dictionary or list are reached by."""
    if isinstance(value, dict) and "$" not in value:
        return sorted(value)
    return list(range(len(value))) if isinstance(value, list) else []


def choose_inputs(inputs: Sequence[TaskInput], answers: Sequence[Answer], wanted: int) -> list[int]:
    """Return positions of inputs whose answers are plain, small, and different from each other, in their order."""
    good: list[int] = []
    doubtful: list[int] = []
    repeated: list[int] = []
    seen: set[str] = set()
    asked: set[tuple[str, ...]] = set()
    for position, answer in enumerate(answers[: len(inputs)]):
        if not answer.is_value or answer.value is None or inputs[position].args in asked:
            continue
        text = _canonical(answer.value)
        if text is None or len(text) > _LARGEST or _empty(answer.value):
            continue
        asked.add(inputs[position].args)
        if text in seen:
            repeated.append(position)
        else:
            (doubtful if values.holds_nan(answer.value) else good).append(position)
        seen.add(text)
    chosen = (good + doubtful)[:wanted]
    if len(chosen) >= 2:  # yes or no, a small count: a few equal answers beside different ones are no harm
        chosen += repeated[: max(0, wanted - 1 - len(chosen))]
    return sorted(chosen)


def _canonical(tree: Any) -> str | None:
    try:
        return canonical_json(tree)
    except ValueError:
        return None


def _empty(tree: Any) -> bool:
    """Whether an answer says nothing: an empty container, or a column without a single value."""
    if isinstance(tree, dict) and tree.get("$") == "ndarray":
        return 0 in tree["shape"]
    if isinstance(tree, dict) and tree.get("$") == "series":
        return all(value is None for value in tree["data"].get("values", ("",)))
    items = tree.get("items") if isinstance(tree, dict) and "$" in tree else tree
    return isinstance(items, list | dict | str) and len(items) == 0


def inexact(tree: Any) -> str | None:
    """Return `single` or `double` when a value holds floating-point numbers, else null."""
    found: set[str] = set()
    _collect(tree, found)
    return "single" if "single" in found else ("double" if found else None)


def _collect(tree: Any, found: set[str]) -> None:
    if isinstance(tree, float):
        found.add("double")
    elif isinstance(tree, list):
        for item in tree:
            _collect(item, found)
    elif isinstance(tree, dict):
        dtype = tree.get("dtype")
        if isinstance(dtype, str):
            code = dtype.lstrip("<>|=")
            if code in ("f2", "f4", "c8") or dtype in ("float32", "float16"):
                found.add("single")
            elif code[:1] in ("f", "c") or dtype.startswith("float"):
                found.add("double")
        if tree.get("$") in ("float", "complex"):
            found.add("double")
        for item in tree.values():
            _collect(item, found)
