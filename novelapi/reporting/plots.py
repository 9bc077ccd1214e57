"""Figures as svg and png; each has a table of the same name beside it."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path as Outline

from novelapi import jsonl
from novelapi.reporting.analysis import Analysis
from novelapi.reporting.funnel import funnel_total
from novelapi.reporting.outcomes import CODES
from novelapi.reporting.palette import light, svg_dark_style, text_on
from novelapi.reporting.sankey import NODE, WIDTH, Sankey
from novelapi.reporting.scatter import STEPS, Scatter, draw_scatters, number_names
from novelapi.reporting.text import count, plain, points
from novelapi.reporting.views import MOST_REASONS, SHOWN, flow_views, label_view, run_groups

ROW = 0.27
"""Inches per row."""

MOST_LETTERS = 28
"""Longest reason that is written out in the funnel."""

NAME_COLUMNS = 4
NAME_ROW = 0.13
"""Inches per row of the names of points."""

WIDE = 7.2
"""Inches across: a page of a paper."""

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.5,
    "text.color": light("ink"),
    "axes.labelcolor": light("soft"),
    "xtick.color": light("soft"),
    "ytick.color": light("ink"),
    "axes.edgecolor": light("line"),
    "figure.facecolor": light("paper"),
    "axes.facecolor": light("paper"),
    "savefig.facecolor": light("paper"),
    "svg.fonttype": "none",
    "svg.hashsalt": "novelapi",
    "text.parse_math": False,  # a dollar in a name is a dollar
}
DPI = 160


def write_figures(analysis: Analysis, folder: Path) -> list[Path]:
    """Draw every figure that the runs give reason for, as svg and png; return the files."""
    drawers: dict[str, Callable[[Analysis], Figure | None]] = {
        "pass_at_1": draw_pass,
        "labels": draw_labels,
        "differences": draw_differences,
        "flows": draw_flows,
        "funnel": draw_funnel,
        **{figure.name: partial(draw_scatter, figure=figure) for figure in draw_scatters(analysis)},
        "graph": draw_graph,
    }
    written: list[Path] = []
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # Names in a script that the font lacks become boxes in png files; svg files hold them as text.
        warnings.filterwarnings("ignore", message="Glyph")
        for name, draw in drawers.items():
            figure = draw(analysis)
            if figure is not None:
                written += [_write_svg(figure, folder / f"{name}.svg"), _write_png(figure, folder / f"{name}.png")]
    return written


def draw_pass(analysis: Analysis) -> Figure | None:
    """pass@1 with its interval, one row per run."""
    rows: list[tuple[str, int | None]] = []
    for title, members in run_groups(analysis.rows.runs):
        rows += [(plain(title), None)] if title else []
        rows += [(_name(analysis, index), index) for index in members]
    figure, axes = _rows([name for name, _ in rows], [index is None for _, index in rows])
    for y, (_, index) in enumerate(rows):
        interval = analysis.estimates[index].pass_at_1 if index is not None else None
        if interval is not None and interval.value is not None:
            _mark(axes, y, interval.value, interval.low, interval.high, filled=True)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.set_xlabel("pass@1 of scored tasks, 95 % interval over APIs")
    return figure


def draw_labels(analysis: Analysis) -> Figure | None:
    """Outcomes of all tasks, one stacked bar per run."""
    view = label_view(analysis)
    rows: list[tuple[str, list[dict[str, Any]] | None]] = []
    for group in view["groups"]:
        rows += [(plain(group["title"]), None)] if group["title"] else []
        rows += [(plain(row["name"]), row["segments"]) for row in group["rows"]]
    figure, axes = _rows([name for name, _ in rows], [segments is None for _, segments in rows], legend=True)
    for y, (_, segments) in enumerate(rows):
        left = 0.0
        total = sum(segment["tasks"] for segment in segments or []) or 1
        for segment in segments or []:
            share = segment["tasks"] / total
            hatch = "////" if segment["name"] == "unscored" else None
            colour = light(segment["name"])
            axes.barh(
                y, share, left=left, height=0.72, color=colour, edgecolor=light("paper"), linewidth=0.8, hatch=hatch
            )
            if segment["code"] and share > 0.045:
                place: dict[str, Any] = {"ha": "center", "va": "center", "size": 6.5, "color": text_on(segment["name"])}
                axes.text(left + share / 2, y, segment["code"], **place)
            left += share
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.set_xlabel("share of the tasks that each run was asked")
    handles = [Rectangle((0, 0), 1, 1, color=light(entry["name"])) for entry in view["legend"]]
    texts = [f"{entry['code']} {entry['name']}" for entry in view["legend"]]
    figure.legend(handles, texts, loc="outside lower center", ncols=4, frameon=False, fontsize=7.5, handlelength=1)
    return figure


def draw_differences(analysis: Analysis) -> Figure | None:
    """Paired differences as a forest; hollow marks leave out tasks of high overlap."""
    shown = [d for d in analysis.differences if d.subset in SHOWN and d.interval.low is not None]
    if not shown:
        return None
    names: list[str] = []
    for difference in shown:
        first, second = difference.contrast.first, difference.contrast.second
        name = f"{_name(analysis, second)} − {_name(analysis, first)}"
        names.append(f"on {difference.pairs} tasks, low overlap" if difference.subset == "low_overlap" else name)
    figure, axes = _rows(names, [False] * len(names))
    for y, difference in enumerate(shown):
        interval = difference.interval
        _mark(axes, y, interval.value or 0.0, interval.low, interval.high, filled=difference.subset == "all")
    axes.axvline(0, color=light("strong-line"), linewidth=1.2, zorder=1)
    axes.xaxis.set_major_formatter(lambda value, _: points(value).removesuffix(".0"))
    axes.set_xlabel("difference of pass@1 in percentage points, 95 % interval over APIs")
    return figure


def draw_flows(analysis: Analysis) -> Figure | None:
    """Where outcomes go, for the first planned comparison."""
    views = flow_views(analysis)
    if not views:
        return None
    sankey: Sankey = views[0]["sankey"]
    figure = Figure(figsize=(WIDE, sankey.height / 100 + 0.6), layout="constrained")
    axes = figure.add_subplot()
    for ribbon in sankey.ribbons:
        axes.add_patch(PathPatch(_outline(ribbon.path), facecolor=light(ribbon.before), edgecolor="none", alpha=0.42))
    for nodes, x, text_x, align in (
        (sankey.left, 0.0, -1.5, "right"),
        (sankey.right, WIDTH - NODE, WIDTH + 1.5, "left"),
    ):
        for node in nodes:
            axes.add_patch(Rectangle((x, node.top), NODE, node.height, facecolor=light(node.name), edgecolor="none"))
            axes.text(text_x, node.middle, f"{CODES[node.name]}  {node.name} {node.tasks}", ha=align, va="center")
    axes.text(0, -10, plain(views[0]["first"]), ha="left", va="bottom", color=light("soft"))
    axes.text(WIDTH, -10, plain(views[0]["second"]), ha="right", va="bottom", color=light("soft"))
    axes.set_xlim(-42, WIDTH + 42)
    axes.set_ylim(sankey.height, -24)
    axes.axis("off")
    return figure


def draw_funnel(analysis: Analysis) -> Figure | None:
    """What each stage kept, and its losses by reason."""
    stages = funnel_total(analysis.funnel)
    if not stages:
        return None
    most = min(max(len(stage.reasons) for stage in stages), MOST_REASONS)
    figure = Figure(figsize=(WIDE, 0.6 + ROW * max(most, 1)), layout="constrained")
    for stage, axes in zip(stages, figure.subplots(1, len(stages), squeeze=False)[0], strict=True):
        reasons = list(stage.reasons.items())[:most]
        axes.barh(range(len(reasons)), [lost for _, lost in reasons], height=0.16, color=light("bad"), alpha=0.6)
        for y, (reason, lost) in enumerate(reasons):
            words = shorten(plain(reason), MOST_LETTERS, placeholder=" ...")
            label = axes.text(0, y - 0.2, f"{words}  {lost:,}", va="bottom", size=6.5)
            label.set_in_layout(False)  # a long reason must not squeeze the bars
        axes.set_title(f"{stage.words.title}: {count(stage.kept)}", loc="left", size=9, weight="bold")
        axes.set_ylim(max(most, 1) - 0.4, -0.9)
        axes.axis("off")
    return figure


def draw_scatter(_analysis: Analysis, *, figure: Scatter) -> Figure:
    """pass@1 over what it may go with, one numbered point per run or fit, with its names below."""
    numbers = number_names(figure)
    drawn = Figure(figsize=(WIDE, WIDE * 0.62 + NAME_ROW * -(-len(numbers) // NAME_COLUMNS)), layout="constrained")
    axes = drawn.add_subplot()
    accent, paper = light("accent"), light("paper")
    for point in figure.points:
        if point.low is not None and point.high is not None:
            axes.plot([point.x] * 2, [point.low, point.high], color=accent, alpha=0.34, linewidth=3, zorder=2)
        face = paper if point.hollow else accent
        axes.plot([point.x], [point.y], "o", markersize=10, color=face, markeredgecolor=accent, zorder=3, clip_on=False)
        place: dict[str, Any] = {"ha": "center", "va": "center_baseline", "size": 6, "zorder": 4}
        axes.text(point.x, point.y, str(numbers[point.name]), color=accent if point.hollow else paper, **place)
    names = [f"{number}  {plain(name)}" for name, number in numbers.items()]
    drawn.legend(
        [Line2D([], [], linestyle="none") for _ in names], names, loc="outside lower center", ncols=NAME_COLUMNS,
        frameon=False, fontsize=6.5, handlelength=0, handletextpad=0, labelspacing=0.3,
    )  # fmt: skip
    if figure.diagonal:
        axes.plot([0, 1], [0, 1], color=light("strong-line"), linewidth=1, linestyle="--", zorder=1)
    axes.set_xlim(0, figure.most)
    axes.set_xticks([place * figure.most for place, _ in figure.ticks], [text for _, text in figure.ticks])
    axes.set_ylim(0, 1)
    axes.set_yticks(
        [step / STEPS for step in range(STEPS + 1)], [f"{100 * step // STEPS}" for step in range(STEPS + 1)]
    )
    axes.set_xlabel(figure.x_title)
    axes.set_ylabel(f"{figure.y_title} (%)")
    axes.set_title(
        f"filled: {figure.series[0]}; hollow: {figure.series[1]}" if figure.series else "", loc="left", size=7.5
    )
    axes.grid(color=light("line"), linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return drawn


def draw_graph(analysis: Analysis) -> Figure | None:
    """The novel APIs of each library with their strong edges."""
    pictures = [picture for picture in analysis.graphs if picture.spots]
    if not pictures:
        return None
    figure = Figure(figsize=(WIDE * 1.4, WIDE * 0.8 * len(pictures)), layout="constrained")
    for picture, axes in zip(pictures, figure.subplots(len(pictures), 1, squeeze=False)[:, 0], strict=True):
        places = {spot.api: (spot.x, spot.y) for spot in picture.spots}
        for source, target, _ in picture.arrows:
            arrow = {"arrowstyle": "-|>", "color": light("soft"), "alpha": 0.6, "linewidth": 0.7, "shrinkB": 4}
            axes.annotate("", places[target], places[source], arrowprops=arrow)
        for spot in picture.spots:
            face = light("accent" if spot.novel else "paper")
            axes.plot([spot.x], [spot.y], "o", markersize=6, color=face, markeredgecolor=light("accent"), zorder=3)
            text = axes.annotate(
                plain(spot.short), (spot.x, spot.y), (0, 6), textcoords="offset points", ha="center", size=6.5
            )
            text.set_in_layout(False)
        axes.set_title(plain(f"{picture.library} {picture.release}"), loc="left", size=9, weight="bold")
        axes.set_xlim(-0.08, 1.08)
        axes.set_ylim(1.05, -0.08)
        axes.axis("off")
    return figure


def _rows(names: list[str], are_titles: list[bool], *, legend: bool = False) -> tuple[Figure, Axes]:
    """One horizontal row per name, from top to bottom."""
    figure = Figure(figsize=(WIDE, ROW * len(names) + (1.2 if legend else 0.7)), layout="constrained")
    axes = figure.add_subplot()
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names)
    for label, is_title in zip(axes.get_yticklabels(), are_titles, strict=True):
        label.set_fontweight("bold" if is_title else "normal")
    axes.tick_params(length=0)
    axes.grid(axis="x", color=light("line"), linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _mark(axes: Axes, y: int, value: float, low: float | None, high: float | None, *, filled: bool) -> None:
    accent, paper = light("accent"), light("paper")
    if low is not None and high is not None:
        axes.plot([low, high], [y, y], color=accent, alpha=0.34, linewidth=4, solid_capstyle="round", zorder=2)
    axes.plot([value], [y], "o", markersize=6, color=accent if filled else paper, markeredgecolor=accent, zorder=3)


def _outline(path: str) -> Outline:
    """Turn the path of a ribbon (`M C V C Z`) into matplotlib's form."""
    numbers = [float(text) for text in re.findall(r"-?\d+(?:\.\d+)?", path)]
    x0, y0, *upper = numbers[:8]
    corner = numbers[8]
    lower = numbers[9:]
    points = [(x0, y0), *zip(upper[::2], upper[1::2], strict=True), (upper[-2], corner)]
    points += [*zip(lower[::2], lower[1::2], strict=True), (x0, y0)]
    curve = [Outline.CURVE4] * 3
    return Outline(points, [Outline.MOVETO, *curve, Outline.LINETO, *curve, Outline.CLOSEPOLY])


def _name(analysis: Analysis, index: int) -> str:
    run = analysis.rows.runs[index]
    return plain(run.condition or run.name)


def _write_svg(figure: Figure, path: Path) -> Path:
    """Write a vector figure without a date, which turns dark where the reader prefers that."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    figure.set_layout_engine(None)  # the png takes over the layout that was found
    head, rest = buffer.getvalue().split("<defs>", 1)
    jsonl.write_text(path, f"{head}<style>{svg_dark_style()}</style>\n <defs>{rest}")
    return path


def _write_png(figure: Figure, path: Path) -> Path:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    jsonl.write_bytes(path, buffer.getvalue())
    return path
