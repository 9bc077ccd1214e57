"""Scores one answer to one task: set, ranking, parameters, links, ladder, and whether it resolves the task.

An answer resolves a task if the highest rung that the row labels holds and its calls were read from JSON, code or a
record; mentions in text never do (where nothing must be called, calling nothing is right). Where the labels are all
tools that the row lists, naming everything is right by construction: there only an answer that is nothing but its calls
(the whole text, a fenced block or a record) resolves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from novelapi.fingerprint import text_digest
from novelapi.records.selection import Ladder, SelectionRow, Tally
from novelapi.selection.accepted import (
    MISSING_REQUIRED,
    NESTED_TYPE,
    TYPE,
    UNEXPECTED,
    WRONG_COUNT,
    WRONG_NAME,
    Mismatch,
    alternatives,
    check_arguments,
    check_value,
)  # fmt: skip
from novelapi.selection.assignment import assign
from novelapi.selection.calls import Call, Extraction
from novelapi.selection.extraction import extract
from novelapi.selection.measures import match_counts, rates, score_ranking
from novelapi.selection.positions import name_arguments
from novelapi.selection.sequence import Step, read_flow
from novelapi.selection.tasks import Task, Tool

SCORE_VERSION = 1
"""Raise it whenever the same answer would get another score."""

ONLY_TEXT = "text_only"
WRONG_SET = "wrong_set"
BLIND = "undecidable_in_prose"
UNEXPECTED_CALL = "unexpected_call"
NO_CALL = "no_call"
WRONG_ARGUMENTS = "wrong_arguments"
WRONG_LINKS = "wrong_links"
AMBIGUOUS = "ambiguous_name"
_ORDER = (WRONG_NAME, MISSING_REQUIRED, UNEXPECTED, TYPE, NESTED_TYPE)
"""How early a check refuses; what is not listed refuses later."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """A call with the tool that it stands for."""

    call: Call
    tool: Tool | None
    ambiguous: bool = False

    @property
    def name(self) -> str:
        """The tool's name, else the written one."""
        if self.tool is not None:
            return self.tool.name
        return f"{self.call.owner}.{self.call.name}" if self.call.owner else self.call.name

    @property
    def arguments(self) -> dict[str, Any]:
        """All its arguments by name."""
        declared = list(self.tool.parameters) if self.tool is not None else []
        return name_arguments(declared, self.call.arguments, self.call.positional)


def name_calls(task: Task, calls: Sequence[Call]) -> list[Named]:
    """Map written names back through the row's own list."""
    found: list[Named] = []
    for call in calls:
        if call.name in task.ignored:
            continue
        tools = task.names.find(call.name, call.owner)
        found.append(Named(call=call, tool=tools[0] if len(tools) == 1 else None, ambiguous=len(tools) > 1))
    return found


def score(task: Task, suite: str, sample: int, text: str) -> SelectionRow:
    """Score one answer."""
    extraction = extract(text, task.tools, task.names)
    named = name_calls(task, extraction.calls)
    structured = extraction.kind != "text"
    called = list(dict.fromkeys(item.name for item in named))
    expected = list(dict.fromkeys(call.name for call in task.wanted))
    unsure = tuple(dict.fromkeys(item.name for item in named if item.ambiguous))
    counts = match_counts(called, expected)
    known = rates(counts.hits, counts.given, counts.wanted) if expected else None
    ranking = score_ranking(called, expected) if expected else None
    verdict = _judge(task, extraction, named if structured else [])
    return SelectionRow(
        suite=suite,
        task_id=task.key,
        part=task.part,
        sample=sample,
        outcome="fail" if verdict.errors else "pass",
        error=verdict.errors[0].error if verdict.errors else None,
        reason=verdict.errors[0].message if verdict.errors else None,
        extraction=extraction.kind,
        place=extraction.place,
        malformed=extraction.malformed,
        expected=tuple(expected),
        called=tuple(called),
        unknown=tuple(dict.fromkeys(item.name for item in named if item.tool is None and not item.ambiguous)),
        ambiguous=unsure,
        precision=known.precision if known else None,
        recall=known.recall if known else None,
        f1=known.f1 if known else None,
        exact=set(called) == set(expected) if expected else None,
        ndcg=ranking.ndcg if ranking else {},
        recall_at=ranking.recall if ranking else {},
        complete_at=ranking.complete if ranking else {},
        parameters=verdict.parameters,
        values=verdict.values,
        edges=verdict.edges,
        ladder=verdict.ladder,
        errors=tuple(found.error for found in verdict.errors),
        text=text_digest(text),
    )


@dataclass(frozen=True, kw_only=True)
class _Verdict:
    """What the comparison of a task came to."""

    errors: Sequence[Mismatch]
    ladder: Ladder
    parameters: Tally | None = None
    values: Tally | None = None
    edges: Tally | None = None


def _judge(task: Task, extraction: Extraction, named: Sequence[Named]) -> _Verdict:
    if task.calls == "none":
        found = [Mismatch(error=UNEXPECTED_CALL, message=f"'{item.name}' is called, nothing must be") for item in named]
        return _Verdict(errors=found[:1], ladder=Ladder(selected=not found))
    if extraction.kind == "text":
        verdict = _compare(task, extraction, [])
        mentioned = f"nothing is called; {len(extraction.calls)} tools are mentioned in text"
        return _Verdict(
            errors=[Mismatch(error=ONLY_TEXT, message=mentioned)], ladder=verdict.ladder,
            parameters=verdict.parameters, values=verdict.values, edges=verdict.edges,
        )  # fmt: skip
    if task.calls == "some":
        good = any(item.tool is not None for item in named)
        errors = [] if good else [Mismatch(error=NO_CALL, message="no listed tool is called")]
        return _Verdict(errors=errors, ladder=Ladder(selected=good))
    return _compare(task, extraction, named)


def _compare(task: Task, extraction: Extraction, named: Sequence[Named]) -> _Verdict:
    if task.match == "set":
        return _compare_sets(task, extraction, named)
    return _compare_accepted(task, named) if task.match == "accepted" else _compare_sequences(task, extraction, named)


def _compare_sets(task: Task, extraction: Extraction, named: Sequence[Named]) -> _Verdict:
    wanted = {call.name for call in task.wanted}
    called = {item.name for item in named}
    unsure = [item.name for item in named if item.ambiguous]
    errors: list[Mismatch] = []
    if unsure:
        errors.append(Mismatch(error=AMBIGUOUS, message=f"'{unsure[0]}' stands for two listed tools"))
    elif called != wanted:
        words = [f"not called: {', '.join(sorted(wanted - called))}"] if wanted - called else []
        words += [f"not expected: {', '.join(sorted(called - wanted))}"] if called - wanted else []
        errors.append(Mismatch(error=WRONG_SET, message="; ".join(words)))
    elif task.blind and extraction.place == "prose":
        message = "every listed tool is right here, so a list within prose cannot be told from naming everything"
        errors.append(Mismatch(error=BLIND, message=message))
    selected = called == wanted and not unsure
    return _Verdict(errors=errors, ladder=Ladder(selected=selected, executed=_executed(named, selected=selected)))


def _executed(named: Sequence[Named], *, selected: bool) -> bool | None:
    """Whether the record says that every tool answered without an error at least once; null without a record."""
    if any(item.call.ok is None for item in named) or not named:
        return None
    answered = {item.name for item in named if item.call.ok}
    return selected and answered == {item.name for item in named}


def _compare_accepted(task: Task, named: Sequence[Named]) -> _Verdict:
    """Match calls one to one with lists of accepted values, in any order."""
    wanted = task.wanted

    def problem(row: int, column: int) -> Mismatch | None:
        expected, item = wanted[row], named[column]
        if item.tool is None or item.name != expected.name:
            message = f"'{item.name}' is called in place of '{expected.name}'"
            return Mismatch(error=WRONG_NAME, message=message)
        return check_arguments(item.arguments, item.tool, expected.arguments or {}, task.language)

    found = {(row, column): problem(row, column) for row in range(len(wanted)) for column in range(len(named))}
    pairs = assign(len(wanted), len(named), lambda row, column: _distance(found[row, column]))
    errors = [mismatch for pair in pairs if (mismatch := found[pair]) is not None]
    if len(named) != len(wanted):
        message = f"{len(named)} calls are made, {len(wanted)} are expected"
        errors.insert(0, Mismatch(error=WRONG_COUNT, message=message))
    names = sorted(call.name for call in wanted)
    selected = sorted(item.name for item in named) == names
    parameters, values = _tallies(task, named, pairs)
    return _Verdict(
        errors=errors,
        ladder=Ladder(selected=selected, filled=not errors, executed=_executed(named, selected=not errors)),
        parameters=parameters,
        values=values,
    )  # fmt: skip


def _distance(mismatch: Mismatch | None) -> int:
    if mismatch is None:
        return 0
    return 1 + (len(_ORDER) - _ORDER.index(mismatch.error) if mismatch.error in _ORDER else 0)


def _tallies(task: Task, named: Sequence[Named], pairs: Sequence[tuple[int, int]]) -> tuple[Tally, Tally]:
    """Count arguments over the matched calls; one that may be left out is wanted only if it is given."""
    hits = right = wanted = 0
    partners = {row: named[column] for row, column in pairs}
    for number, expected in enumerate(task.wanted):
        item = partners.get(number)
        same = item is not None and item.name == expected.name and item.tool is not None
        given = item.arguments if same and item is not None else {}
        for name, values in (expected.arguments or {}).items():
            wanted += name in given or "" not in alternatives(values)
            hits += name in given
            if name in given and item is not None and item.tool is not None and name in item.tool.parameters:
                schema = item.tool.parameters[name]
                right += check_value(name, given[name], schema, alternatives(values), task.language) is None
    total = sum(len(item.arguments) for item in named)
    return Tally(hits=hits, given=total, wanted=wanted), Tally(hits=right, given=total, wanted=wanted)


def _compare_sequences(task: Task, extraction: Extraction, named: Sequence[Named]) -> _Verdict:
    ordered = task.links is None
    wanted = [Step(name=call.name, arguments=call.arguments or {}, label=call.label) for call in task.wanted]
    right = read_flow(wanted, ordered=ordered)
    steps = [Step(name=item.name, arguments=item.arguments, label=item.call.label) for item in named]
    given = read_flow(steps, ordered=ordered)
    right_edges = right.edges if task.links is None else task.links
    edges = given.edges if task.links is None or extraction.links is None else _named_links(task, extraction.links)
    labelled = any(call.arguments is not None for call in task.wanted)
    selected = sorted(given.names) == sorted(right.names)
    filled = selected and sorted(given.shallow) == sorted(right.shallow) if labelled else None
    flows = sorted(given.deep) == sorted(right.deep)
    linked = (flows or not labelled) and sorted(edges) == sorted(right_edges)
    sequenced = selected and filled is not False and linked
    errors: list[Mismatch] = []
    if not selected:
        errors.append(_wrong_names(given.names, right.names))
    elif filled is False:
        message = next((text for text in given.shallow if text not in right.shallow), "a call is repeated")
        errors.append(Mismatch(error=WRONG_ARGUMENTS, message=f"not expected: {message[:200]}"))
    elif not sequenced:
        errors.append(Mismatch(error=WRONG_LINKS, message="results do not flow between the calls as they must"))
    return _Verdict(
        errors=errors,
        ladder=Ladder(
            selected=selected, filled=filled, sequenced=sequenced, executed=_executed(named, selected=sequenced)
        ),
        parameters=match_counts(given.parameters, right.parameters) if labelled else None,
        values=match_counts(given.values, right.values) if labelled else None,
        edges=match_counts(edges, right_edges),
    )  # fmt: skip


def _wrong_names(given: Sequence[str], right: Sequence[str]) -> Mismatch:
    if set(given) == set(right):
        message = f"{len(given)} calls are made, {len(right)} are expected"
        return Mismatch(error=WRONG_COUNT, message=message)
    missing, surplus = sorted(set(right) - set(given)), sorted(set(given) - set(right))
    words = [f"not called: {', '.join(missing)}"] if missing else []
    words += [f"not expected: {', '.join(surplus)}"] if surplus else []
    return Mismatch(error=WRONG_SET, message="; ".join(words))


def _named_links(task: Task, links: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return links with their names mapped back."""

    def name(text: str) -> str:
        tools = task.names.find(text)
        return tools[0].name if len(tools) == 1 else text

    return tuple((name(source), name(target)) for source, target in links)
