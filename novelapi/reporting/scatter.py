"""Scatter figures: what success goes with, one point per run or fit. Each lies beside the table of its name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from novelapi.records.base import Record
from novelapi.reporting.adaptation import adaptation_rows
from novelapi.reporting.analysis import Analysis
from novelapi.reporting.runs import Run
from novelapi.reporting.text import percent

STEPS = 4
"""Parts of an axis between its ticks."""


class Point(Record):
    """One run or fit."""

    name: str
    """Name for readers."""

    x: float
    """Position on the horizontal axis, in its unit."""

    y: float
    """pass@1, as a share."""

    low: float | None = None
    """Lower 95 % bound of `y`."""

    high: float | None = None
    """Upper 95 % bound of `y`."""

    hollow: bool = False
    """Whether it belongs to the second series."""


class Scatter(Record):
    """One figure."""

    name: str
    """Stem of its files and of the table beside it."""

    title: str
    """What it shows, in words."""

    x_title: str
    """What the horizontal axis measures."""

    y_title: str = "pass@1"
    """What the vertical axis measures."""

    kind: Literal["share", "number"] = "share"
    """Whether `x` is a share, shown in percent from 0 to 100, or a number from 0."""

    series: tuple[str, ...] = ()
    """Words for filled and hollow points, where there are both."""

    diagonal: bool = False
    """Whether both axes measure the same, so that the line of equal values means something."""

    points: tuple[Point, ...]
    """The points; at least one."""

    @property
    def most(self) -> float:
        """Upper end of the horizontal axis."""
        return 1.0 if self.kind == "share" else _round_up(max(point.x for point in self.points))

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Position as a share of the axis, and text, of each tick."""
        values = [self.most * step / STEPS for step in range(STEPS + 1)]
        texts = [f"{100 * v:.0f}" if self.kind == "share" else f"{v:,.10g}" for v in values]
        texts[-1] += " %" if self.kind == "share" else ""
        return [(step / STEPS, text) for step, text in enumerate(texts)]


def draw_scatters(analysis: Analysis) -> list[Scatter]:
    """Return every figure for which the runs hold at least two points."""
    makers: tuple[Callable[[Analysis], Scatter | None], ...] = (_retrieval, _costs, _probes, _edits)
    return [figure for make in makers if (figure := make(analysis)) is not None and len(figure.points) > 1]


def _retrieval(analysis: Analysis) -> Scatter | None:
    points = [
        point for entry in analysis.retrieved if (point := _run_point(analysis, entry.run, entry.hit)) is not None
    ]
    return _figure("retrieval", "Retrieval quality and success", "tasks with the target among the passages", points)


def _costs(analysis: Analysis) -> Scatter | None:
    points: list[Point] = []
    for cost in analysis.costs:
        if cost.prompt_tokens is not None:
            tokens = cost.prompt_tokens + (cost.completion_tokens or 0.0)
            point = _run_point(analysis, cost.run, tokens)
            points += [] if point is None else [point]
    title = "tokens of prompt and answers per task"
    return _figure("costs", "Cost and success", title, points, kind="number")


def _probes(analysis: Analysis) -> Scatter | None:
    points = [
        Point(
            name=_name(analysis.rows.runs, entry.run), x=entry.unknown.value, y=entry.known.value, low=entry.known.low,
            high=entry.known.high,
        )
        for entry in analysis.probed
        if entry.known.value is not None and entry.unknown.value is not None
    ]  # fmt: skip
    return _figure(
        "probes", "What the model knew beforehand", "pass@1 where the call name was not known", points, diagonal=True,
        y_title="pass@1 where it was known",
    )  # fmt: skip


def _edits(analysis: Analysis) -> Scatter | None:
    points: list[Point] = []
    for row in adaptation_rows(analysis):
        name = " ".join(str(row[key]) for key in ("delivery", "condition") if row.get(key))
        for key, hollow in (("pass_baseline", False), ("pass_train", True)):
            if row.get("efficacy") is not None and row.get(key) is not None:
                points.append(Point(name=name, x=float(row["efficacy"]), y=float(row[key]), hollow=hollow))
    return _figure(
        "adaptation", "Efficacy of edits and transfer", "edits whose target is reproduced", points,
        series=("held-out APIs, without knowledge in the prompt", "training tasks"),
    )  # fmt: skip


def _figure(name: str, title: str, x_title: str, points: Sequence[Point], **more: Any) -> Scatter | None:
    return Scatter(name=name, title=title, x_title=x_title, points=tuple(points), **more) if points else None


def _run_point(analysis: Analysis, run: int, x: float) -> Point | None:
    found = analysis.estimates[run].pass_at_1
    if found.value is None:
        return None
    return Point(name=_name(analysis.rows.runs, run), x=x, y=found.value, low=found.low, high=found.high)


def _name(runs: Sequence[Run], index: int) -> str:
    """Name a run as shortly as the others allow."""
    run = runs[index]
    models = {other.model for other in runs if other.is_cell}
    words = [run.model] if len(models) > 1 else []
    return " ".join([*words, run.delivery, run.condition]) if run.is_cell else run.name


def _round_up(value: float) -> float:
    """Return the least of 1, 2, 4, 6, 8, 10 times a power of ten that is not below the value."""
    if value <= 0:
        return 1.0
    scale = 10.0 ** math.floor(math.log10(value))
    return next(step * scale for step in (1, 2, 4, 6, 8, 10) if step * scale >= value * (1 - 1e-12))


def number_names(figure: Scatter) -> dict[str, int]:
    """Number the names of a figure's points from 1: there is no room for the names themselves."""
    return {name: number for number, name in enumerate(dict.fromkeys(point.name for point in figure.points), 1)}


def scatter_view(figure: Scatter) -> dict[str, Any]:
    """Return a figure as the page's template needs it: places in percent of the area, numbered points."""
    numbers = number_names(figure)
    points = [
        {
            "number": numbers[point.name],
            "hollow": point.hollow,
            "words": _words(figure, point),
            "style": f"--x:{100 * point.x / figure.most:.2f}%;--y:{100 * point.y:.2f}%"
            + (f";--l:{100 * point.low:.2f}%;--h:{100 * (point.high or 0.0):.2f}%" if point.low is not None else ""),
            "has_range": point.low is not None,
        }
        for point in figure.points
    ]
    ticks = [{"at": f"{100 * place:.0f}%", "text": text} for place, text in figure.ticks]
    shares = [{"at": f"{25 * step}%", "text": f"{25 * step}"} for step in range(STEPS + 1)]
    return {"figure": figure, "points": points, "ticks": ticks, "shares": shares, "names": list(numbers)}


def _words(figure: Scatter, point: Point) -> str:
    x = f"{percent(point.x)} %" if figure.kind == "share" else f"{point.x:,.0f}"
    return f"{point.name}: {x}, {percent(point.y)} %"
