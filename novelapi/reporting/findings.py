"""The findings in words, numbers first: what a hurried reader takes away."""

from __future__ import annotations

from collections.abc import Sequence

from novelapi.records.base import Record
from novelapi.reporting.analysis import Analysis
from novelapi.reporting.contrasts import Family
from novelapi.reporting.differences import Difference, Subset
from novelapi.reporting.runs import Run
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
    # The planned condition, not the luckiest one: the best of twelve is partly chance.
    full = [index for index in scored if runs[index].condition == "full"]
    best = max(full or scored, key=lambda index: (values[index].value or 0.0, -index))
    over = _of(analysis, "over_baseline", "all")
    base = next((d.contrast.first for d in over if d.contrast.second == best), None)
    lead = f"{percent(values[best].value)} %"
    if base is None or values[base].value is None:
        return Finding(
            lead=lead,
            text=f"of {plural(values[best].units, 'scored task')} are solved{_with_run(runs, best)}.",
            evidence=_interval(values[best]),
        )
    return Finding(
        lead=lead,
        text=(
            f"of the tasks are solved {_with(runs[best])}; {_with(runs[base])}, "
            f"{runs[base].model or 'the model'} solves {percent(values[base].value)} %."
        ),
        evidence=f"{_interval(values[best])} against {_interval(values[base])}.",
    )


def findings(analysis: Analysis) -> list[Finding]:
    """Return the other findings, the most important first."""
    found = [
        _best_component(analysis),
        _full_over_name(analysis),
        _what_remains(analysis),
        _copying(analysis),
    ]
    return [finding for finding in found if finding is not None]


def _best_component(analysis: Analysis) -> Finding | None:
    runs = analysis.rows.runs
    single = [
        difference
        for difference in _of(analysis, "over_baseline", "all")
        if runs[difference.contrast.second].condition in COMPONENTS and difference.interval.value is not None
    ]
    if len(single) < 2:
        return None
    ordered = sorted(single, key=lambda d: -(d.interval.value or 0.0))
    best, others = ordered[0], ordered[1:]
    rest = join_words(
        [f"{NOUNS[runs[other.contrast.second].condition]} {points(other.interval.value)}" for other in others[:3]]
    )
    noun = NOUNS[runs[best.contrast.second].condition]
    return Finding(
        lead=f"{points(best.interval.value)} points",
        text=f"from {noun}: of the single components it closes the most failures ({rest}).",
        evidence=_test(best),
    )


def _full_over_name(analysis: Analysis) -> Finding | None:
    every = _of(analysis, "full_over_s_name", "all")
    if not every or every[0].interval.value is None:
        return None
    first = every[0]
    same = [d for d in _of(analysis, "full_over_s_name", "low_overlap") if d.contrast == first.contrast]
    limited = ""
    if same and same[0].interval.value is not None:
        low = same[0]
        limited = (
            f" On the {plural(low.pairs, 'task')} whose examples do not give the answer away: "
            f"{points(low.interval.value)} points ({points(low.interval.low)} to {points(low.interval.high)})."
        )
    return Finding(
        lead=f"{points(first.interval.value)} points",
        text="from all knowledge over the name alone: what documentation adds to knowing that the API exists.",
        evidence=_test(first) + limited,
    )


def _what_remains(analysis: Analysis) -> Finding | None:
    runs = analysis.rows.runs
    for wanted in ("full", ""):
        index = next((i for i, run in enumerate(runs) if run.condition == wanted), None)
        if index is None or not analysis.summaries[index].labels:
            continue
        summary = analysis.summaries[index]
        label, times = max(summary.labels.items(), key=lambda item: item[1])
        return Finding(
            lead=f"{count(times)} of {count(summary.failed)}",
            text=f"failures {_with(runs[index])} are {label}, the most frequent cause.",
            evidence=", ".join(f"{name} {number}" for name, number in summary.labels.items()) + ".",
        )
    return None


def _copying(analysis: Analysis) -> Finding | None:
    runs = analysis.rows.runs
    index = next((i for i, run in enumerate(runs) if run.condition == "full"), None)
    if index is None:
        return None
    high = int((analysis.outcomes.overlap[:, index] > analysis.threshold).sum())
    if not high:
        return None
    return Finding(
        lead=plural(high, "task"),
        text="come with an example close to their answer; every comparison is also given without them.",
        evidence=f"Token overlap of the reference with a shown example above {analysis.threshold:g}.",
    )


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
    p = p_value(difference.p_holm)
    p = p if p.startswith("<") else f"= {p}"
    holm = f", Holm over {difference.family_size}" if difference.family_size > 1 else ""
    return (
        f"95 % interval {points(interval.low)} to {points(interval.high)}, p {p}{holm}; "
        f"{plural(difference.pairs, 'pair')} of {plural(interval.clusters, 'API')}."
    )
