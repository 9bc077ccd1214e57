"""Uses: calls of an API that ran, with the kinds of value that they take and give, as running showed them.

A port of one API fits a parameter of another when what came out there is of the kind that went in here: arrays of the
same number of dimensions whose numbers fit, or objects of one class. Plain numbers, texts and flags join nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from novelapi.execution.pool import Slot
from novelapi.execution.zygote import Zygote
from novelapi.generation import drafts, trials
from novelapi.generation.drafts import Draft
from novelapi.generation.members import Member
from novelapi.generation.mining import mine
from novelapi.generation.seeds import Seed
from novelapi.generation.shrinking import shrink
from novelapi.records.environment import Environment
from novelapi.records.task import Task, TaskInput

PER_MEMBER = 4
_MOST_SEEDS = 8
WHOLE = "result"

NO_DATA = frozenset({"out", "where", "axis", "axes", "shape", "dtype", "order", "size"})
"""Parameters that say how, or where to: nothing is handed on to them."""

Kind = tuple[str, ...]
"""`("array", family, dimensions)` or the name of a class."""
_FAMILIES = ("integer", "real", "complex")
"""Each fits where a later one is wanted."""

_GUEST = """
def _kind_of(value, roots):
    import sys
    np = sys.modules.get("numpy")
    cls = type(value)
    name = cls.__module__ + "." + cls.__qualname__
    if name in ("builtins.list", "builtins.tuple") and np is not None and len(value):
        try:
            value = np.asarray(value)
        except Exception:
            return None
        name = "numpy.ndarray"
    if name == "numpy.ndarray":
        families = {"b": "flag", "i": "integer", "u": "integer", "f": "real", "c": "complex", "U": "text", "T": "text"}
        family = families.get(value.dtype.kind)
        return ["array", family, str(value.ndim)] if family and value.ndim else None
    if np is not None and isinstance(value, (np.generic, np.dtype)):
        return None
    own = cls.__module__.split(".")[0] in roots and not isinstance(value, type)
    return [name] if own and not issubclass(cls, BaseException) else None


def _ports_of(value, roots):
    ports = {"result": _kind_of(value, roots)}
    if isinstance(value, (tuple, list)) and 0 < len(value) <= 4:
        names = getattr(value, "_fields", None)
        for place, item in enumerate(value):
            ports["result.%s" % names[place] if names else "result[%d]" % place] = _kind_of(item, roots)
    return {port: kind for port, kind in ports.items() if kind}
"""


@dataclass(frozen=True, kw_only=True)
class Use:
    """One call that ran."""

    draft: Draft
    """The call, with its data as parameters, and how its result becomes plain data."""
    ports: Mapping[str, Kind]
    """What it gave, by expression over `result`."""
    takes: Mapping[str, Kind]
    """What it was given, by parameter; `self` is the receiver."""
    ends: bool
    """Whether its result becomes plain data, so that a task may end with it."""


@dataclass(frozen=True, kw_only=True)
class Search:
    """One member whose uses are looked for."""

    member: Member
    env: Environment
    preload: tuple[str, ...]
    roots: tuple[str, ...]
    """Packages whose objects may go from call to call."""


@dataclass(kw_only=True)
class Found:
    """What was found for one member."""

    api: str
    uses: list[Use] = field(default_factory=list)


def find(slot: Slot, search: Search) -> Found:
    """Return the uses of a member: calls in its examples that run.

    Raises:
        ZygoteError: the warm parent died (the pool tries again).
    """
    zygote, member = slot.zygote(search.env, search.preload), search.member
    found = Found(api=member.api)
    seeds = mine(member.candidate, member.bundle, partial(trials.value_of, zygote, member.candidate))
    for seed in seeds[:_MOST_SEEDS]:
        if len(found.uses) >= PER_MEMBER:
            break
        if (member.novel and not _is_new(seed, member)) or not _is_plain(seed):
            continue
        use = _use(zygote, member, seed, search.roots)
        if use is not None:
            found.uses.append(use)
    return found


def _is_new(seed: Seed, member: Member) -> bool:
    """Whether a call uses what is new."""
    added = drafts.added_parameters(member.candidate)
    return member.candidate.change == "added" or any(argument.parameter in added for argument in seed.arguments)


def _is_plain(seed: Seed) -> bool:
    """Whether a call returns its result, in an order that means something."""
    named = {argument.parameter: argument.text for argument in seed.arguments}
    return named.get("out", "None") == "None" and named.get("sorted") != "False"


def _use(zygote: Zygote, member: Member, seed: Seed, roots: tuple[str, ...]) -> Use | None:
    """Run a call and see what it takes and gives; null where it does not run."""

    def make(draft: Draft, inputs: list[TaskInput], *, bare: bool = False) -> Task:
        task = drafts.to_task(draft, member.bundle, 0, inputs)
        return task.model_copy(update={"reference_solution": draft.bare_reference()}) if bare else task

    known = {item.name.lstrip("*"): item for item in member.bundle.surface.parameters}
    seed = shrink(zygote, make, member.candidate, seed) or seed
    draft = drafts.drafts_of(member.candidate, seed, known)
    if draft is None:
        return None
    inputs = [TaskInput(args=tuple(free.text for free in draft.free))]
    kind = trials.kind_of(zygote, make(draft, inputs, bare=True), draft.call())
    if isinstance(kind, str):
        return None
    settled = drafts.with_kind(draft, kind)
    ends = settled is not None and settled.form in {"plain", "namedtuple", "iterator", "view"}
    draft = settled if ends and settled is not None else replace(draft, form="plain")
    head = "\n".join([*seed.target_imports, draft.signature])
    given = ", ".join(free.name for free in draft.free)
    kinds = f"[_kind_of(item, {roots!r}) for item in ({given},)]"
    code = f"{_GUEST}\n{head}\n    taken = {kinds}\n    return [_ports_of({draft.call()}, {roots!r}), taken]\n"
    answers = trials.answers_of(zygote, make(draft, inputs), code)
    if isinstance(answers, str) or not answers[0].is_value:
        return None
    ports, taken = answers[0].value
    names = [free.feeds if free.position is not None else "self" for free in draft.free]
    takes = {name: tuple(item) for name, item in zip(names, taken, strict=True) if item and _is_data(name)}
    return Use(draft=draft, ports={name: tuple(item) for name, item in ports.items()}, takes=takes, ends=ends)


def _is_data(name: str) -> bool:
    return bool(name) and name not in NO_DATA


def fits(given: Kind, wanted: Kind) -> bool:
    """Whether a value of one kind can stand where one of another kind stood."""
    if given == wanted:
        return True
    if given[0] != "array" or wanted[0] != "array" or given[2] != wanted[2]:
        return False
    numbers = given[1] in _FAMILIES and wanted[1] in _FAMILIES
    return numbers and _FAMILIES.index(given[1]) <= _FAMILIES.index(wanted[1])
