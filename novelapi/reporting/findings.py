"""The findings in words, numbers first: what a hurried reader takes away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from novelapi.records.base import Record
from novelapi.reporting.analysis import Analysis
from novelapi.reporting.contrasts import CONTROL, Family
from novelapi.reporting.differences import Difference, Subset
from novelapi.reporting.outcomes import FAILURES
from novelapi.reporting.probed import chosen_by_failure
from novelapi.reporting.runs import Run, delivery_position
from novelapi.reporting.stats.intervals import Interval
from novelapi.reporting.text import count, join_words, p_value, percent, plural, points

COMPONENTS = ("s_name", "e", "m_prose", "m_code")
"""Conditions that give one component alone."""

NOUNS = {
    "baseline": "no knowledge",
    "s_name": "the name alone",
    "e": "examples alone",
    "m_prose": "the explanation alone",
    "m_code": "the source alone",
    "s": "the signature",
    "full": "all knowledge",
}
"""How a sentence names a condition; all others go by their own name."""

MOST_NAMED = 4
"""Experiments that a sentence names one by one."""

SIGNIFICANT = 0.05


class Finding(Record):
    """One statement with its evidence."""

    lead: str
    """The number that the statement is about, such as `65.0 %`."""

    text: str
    """The statement, a whole sentence."""

    evidence: str = ""
    """Interval, test and denominators."""


def headline(analysis: Analysis) -> Finding:
    """Return the first sentence of the report."""
    runs = analysis.rows.runs
    values = [estimate.pass_at_1 for estimate in analysis.estimates]
    scored = [index for index, value in enumerate(values) if value.value is not None]
    if not scored:
        return Finding(lead="Nothing scored.", text="No sample of these runs has a verdict yet.")
    # The planned condition and delivery, not the luckiest: the best of twelve is partly chance.
    leads = _leads(analysis)
    if len(leads) > 1:
        return _headline_of_several(analysis, leads)
    best = leads[0] if leads else max(scored, key=lambda index: (values[index].value or 0.0, -index))
    base = _base_of(analysis, best)
    lead = f"{percent(values[best].value)} %"
    rivals = [index for index in scored if index != base]
    chosen = f", the highest of {plural(len(rivals), 'run')}" if not leads and len(rivals) > 1 else ""
    if base is None or values[base].value is None:
        return Finding(
            lead=lead,
            text=f"of {plural(values[best].units, 'scored task')} are solved{_with_run(runs, best)}{chosen}.",
            evidence=_interval(values[best]),
        )
    return Finding(
        lead=lead,
        text=(
            f"of the tasks are solved {_with(runs[best])}{chosen}; {_with(runs[base])}, "
            f"{runs[base].model or 'the model'} solves {percent(values[base].value)} %."
        ),
        evidence=f"{_interval(values[best])} against {_interval(values[base])}.{_by_choice(analysis)}",
    )


def _headline_of_several(analysis: Analysis, leads: Sequence[int]) -> Finding:
    """Return the first sentence of a grid: the range over its experiments, none of them picked."""
    runs = analysis.rows.runs
    values = [analysis.estimates[index].pass_at_1 for index in leads]
    bases = [base for index in leads if (base := _base_of(analysis, index)) is not None]
    without = [analysis.estimates[base].pass_at_1.value or 0.0 for base in bases]
    against = f"; {_with(runs[bases[0]])}, {_range(without, percent)} %" if bases else ""
    named = [
        f"{name} {percent(value.value)} ({percent(value.low)} to {percent(value.high)})"
        for name, value in zip(_names(analysis, leads), values, strict=True)
    ]
    return Finding(
        lead=f"{_range([value.value or 0.0 for value in values], percent)} %",
        text=f"of the tasks are solved {_with(runs[leads[0]])} in {len(leads)} experiments{against}.",
        evidence=f"{_listed(named)}, with 95 % intervals.{_by_choice(analysis) if bases else ''}",
    )


def findings(analysis: Analysis) -> list[Finding]:
    """Return the other findings, the most important first."""
    leads = _leads(analysis)
    found = [
        _best_component(analysis, leads),
        _full_over_name(analysis, leads),
        _over_models(analysis, leads),
        _changed_apis(analysis, leads),
        _what_remains(analysis, leads),
        _copying(analysis, leads),
    ]
    return [finding for finding in found if finding is not None]


def _best_component(analysis: Analysis, leads: Sequence[int]) -> Finding | None:
    runs = analysis.rows.runs
    groups: dict[tuple[str, str], list[Difference]] = {}
    for difference in _of(analysis, "over_baseline", "all"):
        run = runs[difference.contrast.second]
        if run.condition in COMPONENTS and difference.interval.value is not None and _is_led(run, runs, leads):
            groups.setdefault((run.experiment, run.model), []).append(difference)
    ordered = [
        sorted(single, key=lambda d: -(d.interval.value or 0.0)) for single in groups.values() if len(single) > 1
    ]
    if not ordered:
        return None
    wins = [runs[single[0].contrast.second].condition for single in ordered]
    most = max(dict.fromkeys(wins), key=wins.count)
    of_most = [single[0] for single, win in zip(ordered, wins, strict=True) if win == most]
    if len(ordered) > 1:
        return Finding(
            lead=f"{_range([d.interval.value or 0.0 for d in of_most], points)} points",
            text=(
                f"from {NOUNS[most]}: of the single components it closes the most failures in {len(of_most)} of "
                f"{len(ordered)} experiments."
            ),
            evidence=_each(analysis, of_most),
        )
    best, others = ordered[0][0], ordered[0][1:]
    rest = join_words(
        [f"{NOUNS[runs[other.contrast.second].condition]} {points(other.interval.value)}" for other in others]
    )
    return Finding(
        lead=f"{points(best.interval.value)} points",
        text=f"from {NOUNS[most]}: of the single components it closes the most failures ({rest}).",
        evidence=_test(best),
    )


def _full_over_name(analysis: Analysis, leads: Sequence[int]) -> Finding | None:
    runs = analysis.rows.runs
    every = [
        d
        for d in _of(analysis, "full_over_s_name", "all")
        if d.interval.value is not None and _is_led(runs[d.contrast.second], runs, leads)
    ]
    if not every:
        return None
    text = "from all knowledge over the name alone: what documentation adds to knowing that the API exists."
    if len(every) > 1:
        lead = f"{_range([d.interval.value or 0.0 for d in every], points)} points"
        return Finding(lead=lead, text=text, evidence=_each(analysis, every))
    first = every[0]
    same = [d for d in _of(analysis, "full_over_s_name", "low_overlap") if d.contrast == first.contrast]
    limited = ""
    if same and same[0].interval.value is not None:
        low = same[0]
        limited = (
            f" On the {plural(low.pairs, 'task')} whose examples do not give the answer away: "
            f"{points(low.interval.value)} points ({points(low.interval.low)} to {points(low.interval.high)})."
        )
    return Finding(lead=f"{points(first.interval.value)} points", text=text, evidence=_test(first) + limited)


def _over_models(analysis: Analysis, leads: Sequence[int]) -> Finding | None:
    """All knowledge over none, averaged over the models."""
    delivery = analysis.rows.runs[leads[0]].delivery if leads else ""
    found = next((m for m in analysis.models if m.delivery == delivery and m.condition == "full"), None)
    if found is None:
        return None
    interval = found.mixed.interval
    are_told_apart = found.mixed.p_models <= SIGNIFICANT
    verdict = "The models gain differently" if are_told_apart else "That models gain differently is not shown"
    return Finding(
        lead=f"{points(interval.value)} points",
        text=(
            f"from all knowledge over none, on average over {len(found.models)} models, on the "
            f"{plural(found.tasks, 'task')} that all of them have scored."
        ),
        evidence=(
            f"95 % interval {points(interval.low)} to {points(interval.high)}, p {_p(found.p_holm)}"
            f"{_holm(found.family_size)}. {verdict} (p {_p(found.mixed.p_models)})."
        ),
    )


def _changed_apis(analysis: Analysis, leads: Sequence[int]) -> Finding | None:
    """Whether changed APIs gain as much from all knowledge as new ones; only where one experiment leads."""
    gain = next((g for g in analysis.novelty if [g.second] == list(leads) and _is_base(analysis, g.first)), None)
    if gain is None or gain.p_holm is None:
        return None
    found = gain.interaction
    verdict = "gain differently" if gain.p_holm <= SIGNIFICANT else "gain differently is not shown"
    return Finding(
        lead=f"{points(found.value)} points",
        text=(
            f"is what all knowledge gives on changed APIs ({points(found.second.value)}) beyond what it gives on new "
            f"ones ({points(found.first.value)}): that they {verdict}."
        ),
        evidence=(
            f"95 % interval {points(found.low)} to {points(found.high)}, p {_p(gain.p_holm)}{_holm(gain.family_size)}; "
            f"{count(found.second.clusters)} changed and {count(found.first.clusters)} new APIs."
        ),
    )


def _what_remains(analysis: Analysis, leads: Sequence[int]) -> Finding | None:
    runs = analysis.rows.runs
    chosen = list(leads) or [index for index, run in enumerate(runs) if not run.condition][:1]
    labels: Counter[str] = Counter()
    for index in chosen:
        labels.update(analysis.summaries[index].labels)
    if not labels:
        return None
    failed = sum(analysis.summaries[index].failed for index in chosen)
    label = max(FAILURES, key=lambda name: labels[name])
    several = f" in {len(chosen)} experiments" if len(chosen) > 1 else ""
    return Finding(
        lead=f"{count(labels[label])} of {count(failed)}",
        text=f"failures {_with(runs[chosen[0]])}{several} are {label}, the most frequent cause.",
        evidence=", ".join(f"{name} {count(labels[name])}" for name in FAILURES if labels[name]) + ".",
    )


def _copying(analysis: Analysis, leads: Sequence[int]) -> Finding | None:
    high = int((analysis.outcomes.overlap[:, list(leads)] > analysis.threshold).any(axis=1).sum())
    if not high:
        return None
    return Finding(
        lead=plural(high, "task"),
        text="come with an example close to their answer; gains over none and over the name are also given without.",
        evidence=f"Token overlap of the reference with a shown example above {analysis.threshold:g}.",
    )


def _leads(analysis: Analysis) -> list[int]:
    """Return the runs that the findings are about: all knowledge, in the first delivery of the plan that has it."""
    runs = analysis.rows.runs
    full = [
        index
        for index, run in enumerate(runs)
        if run.condition == "full" and analysis.estimates[index].pass_at_1.value is not None
    ]
    if not full:
        return []
    # A control is compared with, not reported beside the models; alone it is the model.
    models = [index for index in full if runs[index].model != CONTROL] or full
    delivery = min((runs[index].delivery for index in models), key=delivery_position)
    return [index for index in models if runs[index].delivery == delivery]


def _is_led(run: Run, runs: Sequence[Run], leads: Sequence[int]) -> bool:
    return any((runs[i].experiment, runs[i].model, runs[i].delivery) == _cell_group(run) for i in leads)


def _cell_group(run: Run) -> tuple[str, str, str]:
    return (run.experiment, run.model, run.delivery)


def _base_of(analysis: Analysis, index: int) -> int | None:
    over = _of(analysis, "over_baseline", "all")
    return next((d.contrast.first for d in over if d.contrast.second == index), None)


def _is_base(analysis: Analysis, index: int) -> bool:
    return analysis.rows.runs[index].condition == "baseline"


def _by_choice(analysis: Analysis) -> str:
    """Say so where the tasks were chosen by failures without knowledge."""
    if not chosen_by_failure(analysis.rows.tasks.values()):
        return ""
    return " Tasks were chosen because a model failed them without knowledge: that figure is low by choice."


def _names(analysis: Analysis, indices: Sequence[int]) -> list[str]:
    """Return the models of runs, or their experiments where a model is there twice."""
    runs = [analysis.rows.runs[index] for index in indices]
    models = [run.model for run in runs]
    return models if len(set(models)) == len(models) and all(models) else [run.experiment for run in runs]


def _each(analysis: Analysis, differences: Sequence[Difference]) -> str:
    names = _names(analysis, [d.contrast.second for d in differences])
    return (
        _listed(
            [
                f"{name} {points(d.interval.value)} ({points(d.interval.low)} to {points(d.interval.high)}, "
                f"p {_p(d.p_holm)}{_holm(d.family_size)})"
                for name, d in zip(names, differences, strict=True)
            ]
        )
        + "."
    )


def _listed(parts: list[str]) -> str:
    more = len(parts) - MOST_NAMED
    return "; ".join(parts[:MOST_NAMED]) + (f"; {more} more in the table" if more > 0 else "")


def _range(values: Sequence[float], shown: Callable[[float], str]) -> str:
    low, high = shown(min(values)), shown(max(values))
    return low if low == high else f"{low} to {high}"


def _of(analysis: Analysis, family: Family, subset: Subset) -> list[Difference]:
    return [d for d in analysis.differences if d.contrast.family == family and d.subset == subset]


def _with(run: Run) -> str:
    if not run.is_cell:
        return f"in {run.name}"
    noun = NOUNS.get(run.condition, run.condition)
    where = "" if run.delivery == "oracle" or run.condition == "baseline" else f" ({run.delivery})"
    return f"with {noun}{where}"


def _with_run(runs: Sequence[Run], index: int) -> str:
    return f" {_with(runs[index])}" if len(runs) > 1 or runs[index].is_cell else ""


def _interval(interval: Interval) -> str:
    if interval.low is None:
        return f"{plural(interval.units, 'task')} about one API, so no interval"
    return (
        f"95 % interval {percent(interval.low)} to {percent(interval.high)} "
        f"({plural(interval.units, 'task')}, {plural(interval.clusters, 'API')})"
    )


def _test(difference: Difference) -> str:
    interval = difference.interval
    if interval.low is None:
        return f"{plural(difference.pairs, 'pair')} about one API, so no interval."
    return (
        f"95 % interval {points(interval.low)} to {points(interval.high)}, p {_p(difference.p_holm)}"
        f"{_holm(difference.family_size)}; "
        f"{plural(difference.pairs, 'pair')} of {plural(interval.clusters, 'API')}."
    )


def _p(p: float | None) -> str:
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"


def _holm(family_size: int) -> str:
    return f", Holm over {family_size}" if family_size > 1 else ""
