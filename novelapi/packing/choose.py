"""Which components of which API go into a pack, and what that promises: chosen on one half, counted on the other.

An API may get any condition that closed more of its failures than every cheaper one. The value of a condition for an
API is the mean outcome of the API's tasks minus that of the baseline, shrunk by one task towards the mean of all APIs
(an API with one task says little), times the API's number of tasks. Where the delivery `pack` was measured before, it
is multiplied by the share of passes that sections of this condition kept.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from novelapi.errors import UsageError
from novelapi.packing.evidence import CONDITIONS, FOLDS, RunEvidence
from novelapi.packing.knapsack import Option, choose
from novelapi.packing.sections import section_text, tokens_of, total_tokens
from novelapi.records.cell import Condition
from novelapi.records.pack import Crowding, Effect, Pack, PackFold, PackSection

SHRINK = 1.0
"""Tasks that the mean of all APIs counts for."""
DRAWS = 2000
LEVEL = 0.95
RESERVE = 24
"""Tokens kept for the estimate of the whole text: a message and the first rule."""


@dataclass(frozen=True, kw_only=True)
class Together:
    """How a pack did that was measured before: the sections that each task was shown, and the outcomes."""

    pack: Pack
    passed: Mapping[str, bool]

    def alone(self, evidence: RunEvidence, tasks: Collection[str]) -> list[tuple[Condition, str]]:
        """Return the tasks that pass with their section alone, with its condition."""
        found: list[tuple[Condition, str]] = []
        for task_id in sorted(tasks):
            api = evidence.tasks[task_id].api
            section = next((item for item in self.pack.shown_for(task_id) if item.api == api), None)
            if section is not None and task_id in self.passed and evidence.passed[section.condition].get(task_id):
                found.append((section.condition, task_id))
        return found

    def crowding(self, evidence: RunEvidence, tasks: Collection[str]) -> dict[Condition, Crowding]:
        """Return the share of passes that sections kept, by condition; conditions that were not shown get the mean."""
        alone = self.alone(evidence, tasks)
        overall = sum(self.passed[task_id] for _, task_id in alone) / len(alone) if alone else 1.0
        found: dict[Condition, Crowding] = {}
        for condition in CONDITIONS:
            own = [self.passed[task_id] for name, task_id in alone if name == condition]
            kept = (sum(own) + SHRINK * overall) / (len(own) + SHRINK)
            found[condition] = Crowding(condition=condition, kept=round(kept, 6), tasks=len(own))
        return found


def make_pack(evidence: RunEvidence, budget: int, *, together: Together | None = None, seed: int = 0) -> Pack:
    """Return the pack of a run.

    Args:
        evidence: the run.
        budget: most tokens of the whole text.
        together: an earlier measurement of the delivery `pack`, for the crowding.
        seed: seed of the intervals.

    Raises:
        UsageError: no section that helps fits into the budget.
    """
    texts = _texts(evidence)
    everything = frozenset(evidence.tasks)
    sections, left_out = _fit(evidence, texts, budget, everything, together)
    if not sections:
        least = min((tokens_of(text) for own in texts.values() for text in own.values()), default=0) + RESERVE
        raise UsageError(
            f"no section that helps fits into {budget} tokens (the shortest section needs {least}): raise --budget"
            if least > budget
            else f"no knowledge of {evidence.experiment} turned a failure into a pass: there is nothing to pack"
        )
    folds: list[PackFold] = []
    for number in range(FOLDS):
        own = frozenset(task_id for task_id, fold in evidence.fold.items() if fold == number)
        chosen, _ = _fit(evidence, texts, budget, everything - own, together)
        folds.append(PackFold(tasks=tuple(sorted(own)), sections=chosen))
    releases = {evidence.bundles[section.api].release for section in sections}
    return Pack(
        library=evidence.group,
        release=releases.pop() if len(releases) == 1 else "",
        model=evidence.model,
        model_revision=evidence.revision,
        experiment=evidence.experiment,
        budget=budget,
        tokens=total_tokens([section.text for section in sections]),
        sections=sections,
        folds=tuple(folds),
        baseline=round(_mean([evidence.passed["baseline"][task_id] for task_id in evidence.tasks]), 6),
        predicted=predict(evidence, folds, together, seed),
        basis="alone" if together is None else "together",
        crowding=tuple(together.crowding(evidence, everything).values()) if together else (),
        left_out=left_out,
    )


def _texts(evidence: RunEvidence) -> dict[str, dict[Condition, str]]:
    """Return the text of every condition that was measured, for every API that has tasks."""
    known: list[Condition] = [condition for condition in CONDITIONS if condition in evidence.passed]
    found: dict[str, dict[Condition, str]] = {}
    for api in evidence.by_api():
        if api in evidence.bundles:
            bundle, purpose = evidence.bundles[api], evidence.purposes.get(api, "")
            own: dict[Condition, str] = {name: section_text(bundle, name, purpose) for name in known}
            found[api] = {name: text for name, text in own.items() if text}
    return found


def _fit(
    evidence: RunEvidence,
    texts: Mapping[str, Mapping[Condition, str]],
    budget: int,
    known: frozenset[str],
    together: Together | None,
) -> tuple[tuple[PackSection, ...], dict[str, int]]:
    """Choose sections by the outcomes of the known tasks alone."""
    kept = together.crowding(evidence, known) if together else None
    means = {
        condition: _mean([_gain(evidence, condition, task_id) for task_id in known]) for condition in evidence.passed
    }
    options: dict[str, list[Option]] = {}
    reasons: Counter[str] = Counter()
    for api, own in evidence.by_api().items():
        if api not in texts:
            reasons["no bundle"] += 1
            continue
        seen = [task_id for task_id in own if task_id in known]
        options[api] = [
            Option(
                name=name,
                cost=tokens_of(texts[api][name]),
                value=len(own) * _value(evidence, name, seen, means[name], kept),
            )
            for name in _cheapest(evidence, texts[api], seen, kept)
        ]
    chosen = choose(options, budget - RESERVE)
    for api, found in options.items():
        if api not in chosen:
            helps = any(item.value > 0 for item in found)
            reasons["not worth its tokens within the budget" if helps else "no knowledge helped"] += 1
    sections = tuple(
        PackSection(
            api=api,
            condition=option.name,  # type: ignore[arg-type]
            text=texts[api][option.name],  # type: ignore[index]
            tokens=option.cost,
            expected=round(option.value, 4),
        )
        for api, option in sorted(chosen.items())
    )
    return sections, dict(sorted(reasons.items()))


def _cheapest(
    evidence: RunEvidence,
    texts: Mapping[Condition, str],
    seen: Sequence[str],
    crowding: Mapping[Condition, Crowding] | None,
) -> list[Condition]:
    """Return the conditions that closed more failures of an API than every cheaper one; all where none was seen."""
    ordered = sorted(texts, key=lambda name: (tokens_of(texts[name]), CONDITIONS.index(name)))
    if not seen:
        return ordered
    kept: list[Condition] = []
    best = 0.0
    for name in ordered:
        total = sum(_gain(evidence, name, task_id) for task_id in seen) * (crowding[name].kept if crowding else 1.0)
        if total > best:
            kept.append(name)
            best = total
    return kept


def _gain(evidence: RunEvidence, condition: str, task_id: str) -> float:
    return float(evidence.passed[condition][task_id]) - float(evidence.passed["baseline"][task_id])


def _value(
    evidence: RunEvidence,
    condition: Condition,
    tasks: Sequence[str],
    mean: float,
    kept: Mapping[Condition, Crowding] | None,
) -> float:
    total = sum(_gain(evidence, condition, task_id) for task_id in tasks)
    value = (total + SHRINK * mean) / (len(tasks) + SHRINK)
    return value * kept[condition].kept if kept else value


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


# What is promised


def predict(evidence: RunEvidence, folds: Sequence[PackFold], together: Together | None, seed: int) -> Effect:
    """Return the gain that a new measurement of the folds should show, with an interval for that measurement.

    Tasks are counted with the section that the other half of the tasks chose. The interval draws APIs with replacement,
    and, with crowding, whether each pass is kept.
    """
    by_api: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for fold in folds:
        shown = {section.api: section for section in fold.sections}
        others = frozenset(evidence.tasks) - frozenset(fold.tasks)
        kept = together.crowding(evidence, others) if together else None
        for task_id in fold.tasks:
            api = evidence.tasks[task_id].api
            section = shown.get(api)
            gain = _gain(evidence, section.condition, task_id) if section else 0.0
            share = kept[section.condition].kept if kept and section else 1.0
            by_api[api].append((gain, share))
    number = sum(len(rows) for rows in by_api.values())
    gain = sum(gain * share for rows in by_api.values() for gain, share in rows) / max(1, number)
    low, high = _interval(list(by_api.values()), seed)
    return Effect(gain=round(gain, 6), low=low, high=high, tasks=number)


def _interval(apis: Sequence[Sequence[tuple[float, float]]], seed: int) -> tuple[float, float]:
    source = random.Random(seed)  # noqa: S311  intervals, not security
    draws: list[float] = []
    for _ in range(DRAWS):
        drawn = [row for rows in source.choices(apis, k=len(apis)) for row in rows]
        draws.append(sum(gain for gain, share in drawn if source.random() < share) / max(1, len(drawn)))
    draws.sort()
    tail = (1 - LEVEL) / 2
    return round(draws[int(tail * DRAWS)], 6), round(draws[int((1 - tail) * DRAWS) - 1], 6)


def measured_effect(evidence: RunEvidence, seed: int = 0) -> Effect:
    """Return the gain that the delivery `pack` showed, each task with the pack that it had no part in choosing.

    Raises:
        UsageError: it has not been run.
    """
    if evidence.together is None:
        raise UsageError("the delivery pack has not been run: novelapi run --delivery pack --pack PACK")
    by_api: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for task_id, task in evidence.tasks.items():
        if task_id in evidence.together:
            gain = float(evidence.together[task_id]) - float(evidence.passed["baseline"][task_id])
            by_api[task.api].append((gain, 1.0))
    rows = [gain for own in by_api.values() for gain, _ in own]
    low, high = _interval(list(by_api.values()), seed)
    return Effect(gain=round(_mean(rows), 6), low=low, high=high, tasks=len(rows))
