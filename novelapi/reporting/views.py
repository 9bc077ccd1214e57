"""What the figures of the page show, row by row; every number comes from the analysis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from novelapi.reporting.analysis import Analysis
from novelapi.reporting.conditions import COMPONENTS, PARTS
from novelapi.reporting.contrasts import FLOWING, QUESTIONS
from novelapi.reporting.differences import Difference
from novelapi.reporting.flows import flow_counts
from novelapi.reporting.funnel import funnel_total
from novelapi.reporting.outcomes import CODES, FAILURES, MISSING, OUTCOMES, PASS, UNSCORED
from novelapi.reporting.runs import Run
from novelapi.reporting.sankey import draw_sankey
from novelapi.reporting.stats.intervals import Interval
from novelapi.reporting.text import count as count_text
from novelapi.reporting.text import percent, plural, points

View = dict[str, Any]

STACK = (PASS, *range(len(OUTCOMES) - 1, PASS, -1), UNSCORED, MISSING)
"""Order in bars: solved, then failures by how far they came, then what has no verdict."""

MOST_REASONS = 6
SHOWN = ("all", "low_overlap")
"""Subsets in the figure; the table has all of them."""

WIDE_SEGMENT = 0.035
"""Share of a bar from which on a segment has room for its code."""


def run_groups(runs: Sequence[Run]) -> list[tuple[str, list[int]]]:
    """Return the runs by model and delivery, each group with its title (empty when there is only one)."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for index, run in enumerate(runs):
        groups.setdefault((run.experiment if run.is_cell else "", run.model, run.delivery), []).append(index)
    models = {run.model for run in runs}
    return [
        (_group_title(experiment, model, delivery, len(models) > 1) if len(groups) > 1 else "", members)
        for (experiment, model, delivery), members in groups.items()
    ]


def pass_view(analysis: Analysis) -> list[View]:
    """pass@1 per run, with the baseline as a mark in every row."""
    groups: list[View] = []
    for title, members in run_groups(analysis.rows.runs):
        base = _base_value(analysis, members)
        rows = [
            {
                **_named(analysis.rows.runs[index]),
                "value": percent(analysis.estimates[index].pass_at_1.value),
                "range": _range(analysis.estimates[index].pass_at_1),
                "style": _style(analysis.estimates[index].pass_at_1),
                "mark": None if base is None else _place(base),
            }
            for index in members
        ]
        groups.append({"title": title, "rows": rows})
    return groups


def label_view(analysis: Analysis) -> View:
    """Outcomes per run as stacked bars; each bar holds all tasks that the run was asked."""
    groups: list[View] = []
    for title, members in run_groups(analysis.rows.runs):
        rows: list[View] = []
        for index in members:
            counts = _outcome_counts(analysis, index)
            total = max(sum(counts.values()), 1)
            segments = [
                {
                    "name": name,
                    "tasks": counts[name],
                    "code": CODES[name] if counts[name] / total >= WIDE_SEGMENT else "",
                }
                for name in (OUTCOMES[code] for code in STACK)
                if counts[name]
            ]
            failed = analysis.summaries[index].failed
            rows.append({**_named(analysis.rows.runs[index]), "segments": segments, "failed": failed, "total": total})
        groups.append({"title": title, "rows": rows})
    present = {segment["name"] for group in groups for row in group["rows"] for segment in row["segments"]}
    legend = [{"name": OUTCOMES[c], "code": CODES[OUTCOMES[c]]} for c in STACK if OUTCOMES[c] in present]
    return {"groups": groups, "legend": legend}


def difference_view(analysis: Analysis) -> View | None:
    """Paired differences as a forest: all tasks filled, tasks of low overlap hollow below."""
    shown = [d for d in analysis.differences if d.subset in SHOWN and d.interval.low is not None]
    if not shown:
        return None
    low = math.floor(min(d.interval.low or 0.0 for d in shown) * 10) / 10
    high = math.ceil(max(d.interval.high or 0.0 for d in shown) * 10) / 10
    low, high = min(low, 0.0), max(high, 0.1)
    span = high - low

    def at(value: float | None) -> str:
        return _place(((value or 0.0) - low) / span)

    step = 0.2 if span > 0.8 else 0.1
    ticks = [round(step * i, 1) for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    groups: dict[tuple[str, str], View] = {}
    for difference in shown:
        runs = analysis.rows.runs
        first, second = runs[difference.contrast.first], runs[difference.contrast.second]
        family = QUESTIONS[difference.contrast.family]
        titles = [title for title, members in run_groups(runs) if difference.contrast.second in members]
        group = groups.setdefault((titles[0], family), {"title": titles[0], "family": family, "rows": []})
        interval = difference.interval
        group["rows"].append(
            {
                "name": _compared(difference, first, second),
                "second": difference.subset == "low_overlap",
                "pairs": count_text(difference.pairs),
                "value": points(interval.value),
                "range": f"{points(interval.low)} to {points(interval.high)}",
                "style": f"--v:{at(interval.value)};--l:{at(interval.low)};--h:{at(interval.high)}",
            }
        )
    axis = [
        {"text": points(tick).removesuffix(".0"), "at": at(tick), "odd": round(tick / step) % 2 == 1} for tick in ticks
    ]
    return {"groups": list(groups.values()), "zero": at(0.0), "axis": axis}


def _compared(difference: Difference, first: Run, second: Run) -> str:
    """Name a comparison by its second run, and by both where the question does not say what is subtracted."""
    name = second.condition or second.name
    return f"{name} \N{MINUS SIGN} {first.condition or first.name}" if difference.contrast.family == "added" else name


def flow_views(analysis: Analysis) -> list[View]:
    """One flow figure per planned comparison; `full` against the baseline first."""
    views: list[View] = []
    flowing = (d for d in _whole(analysis) if d.contrast.family in FLOWING)
    for difference in sorted(flowing, key=lambda d: _flow_rank(analysis, d)):
        first, second = difference.contrast.first, difference.contrast.second
        flows = flow_counts(analysis.outcomes, first, second)
        if flows:
            names = [analysis.rows.runs[index].name for index in (first, second)]
            views.append({"first": names[0], "second": names[1], "sankey": draw_sankey(flows)})
    return views


def funnel_view(analysis: Analysis) -> list[View]:
    """The stages with their most frequent losses; the rest is added up."""
    stages: list[View] = []
    for stage in funnel_total(analysis.funnel):
        reasons = list(stage.reasons.items())
        most = max((count for _, count in reasons), default=1) or 1
        losses = [
            {"reason": reason, "count": count, "width": f"{100 * count / most:.1f}%"}
            for reason, count in reasons[:MOST_REASONS]
        ]
        rest = reasons[MOST_REASONS:]
        stages.append(
            {
                "words": stage.words,
                "kept": count_text(stage.kept),
                "more_counts": _stage_counts(stage.counts),
                "losses": losses,
                "more": len(rest),
                "more_count": sum(count for _, count in rest),
            }
        )
    return stages


def _stage_counts(counts: dict[str, int]) -> str:
    """The counts that say how varied the units are, in words."""
    parts = [f"of {plural(counts['apis'], 'API')}"] if "apis" in counts else []
    parts += [f"{count_text(counts[name])} {name}" for name in ("easy", "medium", "hard", "modified") if name in counts]
    return ", ".join(parts)


def _group_title(experiment: str, model: str, delivery: str, several: bool) -> str:
    if not delivery:
        return "Evaluations"
    return f"{model or experiment}, {delivery}" if several else delivery


def _named(run: Run) -> View:
    parts = PARTS.get(run.condition)
    return {
        "name": run.condition or run.name,
        "parts": None if parts is None else [name in parts for name, _, _ in COMPONENTS],
        "words": "" if parts is None else ", ".join(word for name, _, word in COMPONENTS if name in parts) or "nothing",
        "is_base": run.condition == "baseline",
    }


def _base_value(analysis: Analysis, members: Sequence[int]) -> float | None:
    over = (d for d in _whole(analysis) if d.contrast.family == "over_baseline")
    base = next((d.contrast.first for d in over if d.contrast.second in members), None)
    return None if base is None else analysis.estimates[base].pass_at_1.value


def _whole(analysis: Analysis) -> Iterator[Difference]:
    return (difference for difference in analysis.differences if difference.subset == "all")


def _flow_rank(analysis: Analysis, difference: Difference) -> tuple[int, int]:
    run = analysis.rows.runs[difference.contrast.second]
    is_main = run.condition == "full" and difference.contrast.family == "over_baseline"
    return (0 if is_main else 1, difference.contrast.second)


def _outcome_counts(analysis: Analysis, index: int) -> dict[str, int]:
    summary = analysis.summaries[index]
    failures = {name: summary.labels.get(name, 0) for name in FAILURES}
    return {"missing": summary.missing, "unscored": summary.unscored, "pass": summary.passed, **failures}


def _range(interval: Interval) -> str:
    return "" if interval.low is None else f"{percent(interval.low)}–{percent(interval.high)}"


def _style(interval: Interval) -> str:
    value = interval.value or 0.0
    low = value if interval.low is None else interval.low
    high = value if interval.high is None else interval.high
    return f"--v:{_place(value)};--l:{_place(low)};--h:{_place(high)}"


def _place(share: float) -> str:
    return f"{100 * share:.2f}%"
