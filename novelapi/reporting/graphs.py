"""The parameter graphs of the libraries of a report: which novel API feeds which other, as a picture and a table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from novelapi.graph.model import ApiGraph, Edge
from novelapi.layout import Layout
from novelapi.records.base import Record
from novelapi.reporting.notices import Notice
from novelapi.reporting.rows import Rows
from novelapi.reporting.table import Column, Table, make_table

if TYPE_CHECKING:
    from novelapi.reporting.analysis import Analysis

MOST_SHOWN = 24
"""More APIs than this are no picture any more: then the most connected novel ones are shown, and the words say so."""

LAYOUT_SEED = 20260912
ROUNDS = 400
"""Iterations of the layout."""

SPREAD = 1.6
"""Wanted distance of neighbours, as a multiple of what an even spread over the area gives."""

ROW = 0.05
"""Least vertical distance of two names that stand above each other, as a share of the height."""

SIDE = 0.16
"""Width of a name, as a share of the width."""


WIDTH, HEIGHT = 1100, 620
MARGIN = (90, 24)
"""Room beside and above the outermost dots for their names."""

DOT = 7
"""Radius of a dot."""


class Spot(Record):
    """An API in the picture."""

    api: str
    """The API."""

    short: str
    """Its name without the library."""

    x: float
    """Place across, from 0 to 1."""

    y: float
    """Place down, from 0 to 1."""

    novel: bool
    """Whether it is new or changed for the model."""


class Picture(Record):
    """The part of a graph that is shown."""

    library: str
    """The library."""

    model: str
    """The model for which APIs are novel."""

    release: str
    """Release that the graph was built from."""

    novel: int
    """Novel APIs of the graph."""

    linked: int
    """Novel APIs with at least one strong edge."""

    edges: tuple[Edge, ...]
    """All strong edges from or to a novel API, sorted."""

    spots: tuple[Spot, ...]
    """The APIs that are drawn, sorted."""

    whole: bool
    """Whether all of `edges` are drawn; otherwise only those among the most connected novel APIs."""

    @property
    def arrows(self) -> list[tuple[str, str, str]]:
        """Source, target and words of what is handed on, for each pair of drawn APIs."""
        drawn = {spot.api for spot in self.spots}
        words: dict[tuple[str, str], list[str]] = {}
        for edge in self.edges:
            if edge.source in drawn and edge.target in drawn:
                words.setdefault((edge.source, edge.target), []).append(f"{edge.port.text} → {edge.parameter}")
        return [(source, target, ", ".join(parts)) for (source, target), parts in words.items()]


def read_pictures(rows: Rows) -> tuple[list[Picture], list[Notice]]:
    """Read the graphs that exist for the libraries and models of a report; say so where one cannot be drawn.

    Raises:
        DataError: a graph is broken.
    """
    pictures: list[Picture] = []
    for library, model, layout in _asked(rows):
        path = layout.graph(library, model)
        if not path.is_file():
            continue
        if find_spec("networkx") is None:
            text = (
                f"The parameter graph of {library} is not drawn: networkx is missing (pip install 'novelapi[graph]')."
            )
            return pictures, [Notice(kind="details", text=text)]
        picture = choose_picture(ApiGraph.load(path), library, model)
        if picture.edges:
            pictures.append(picture)
    return pictures, []


def choose_picture(graph: ApiGraph, library: str, model: str) -> Picture:
    """Choose what of a graph is shown: all strong edges of novel APIs, or those among the most connected ones."""
    novel = {node.api for node in graph.nodes if node.novel}
    edges = [edge for edge in graph.edges if edge.label == "strong" and novel & {edge.source, edge.target}]
    pairs = sorted({(edge.source, edge.target) for edge in edges})
    whole = len({api for pair in pairs for api in pair}) <= MOST_SHOWN
    if not whole:
        among = [pair for pair in pairs if novel.issuperset(pair)]
        partners = Counter(api for pair in among for api in pair)
        most = sorted(partners, key=lambda api: (-partners[api], api))[:MOST_SHOWN]
        pairs = [pair for pair in among if set(most).issuperset(pair)]
    return Picture(
        library=library,
        model=model,
        release=graph.release,
        novel=len(novel),
        linked=len({api for edge in edges for api in (edge.source, edge.target)} & novel),
        edges=tuple(edges),
        spots=tuple(_place(pairs, novel, library)),
        whole=whole,
    )


def describe_picture(picture: Picture) -> str:
    """Say what is drawn and what is not."""
    head = (
        f"{picture.linked} of {picture.novel} novel APIs of {picture.library} {picture.release} have a strong edge: "
        "a value was seen to go from one call to the other, or a specific type and a written program say so."
    )
    if picture.whole:
        return f"{head} All of them are drawn."
    return (
        f"{head} That is too much for one picture: drawn are the {len(picture.spots)} novel APIs with the most novel "
        "neighbours and the edges among them. The table has all."
    )


def graph_table(analysis: Analysis) -> Table:
    """Return every strong edge from or to a novel API."""
    rows = [
        {
            "library": picture.library,
            "source": edge.source,
            "port": edge.port.text,
            "target": edge.target,
            "parameter": edge.parameter,
            "tiers": ", ".join(sorted(edge.tiers)),
            "evidence": edge.evidence[0].detail if edge.evidence else "",
        }
        for picture in analysis.graphs
        for edge in picture.edges
    ]
    columns = [
        Column(key="library", title="Library"),
        Column(key="source", title="API that gives"),
        Column(key="port", title="what"),
        Column(key="target", title="API that takes it"),
        Column(key="parameter", title="as"),
        Column(key="tiers", title="Kinds of evidence"),
        Column(key="evidence", title="First evidence"),
    ]
    return make_table("graph", "Strong edges of novel APIs", columns, rows)


def picture_view(picture: Picture) -> dict[str, Any]:
    """Return a picture as the page's template needs it: places in its own units, arrows ending at the rim of a dot."""
    (left, top), (right, bottom) = MARGIN, (WIDTH - MARGIN[0], HEIGHT - MARGIN[1])
    places = {spot.api: (left + spot.x * (right - left), top + spot.y * (bottom - top)) for spot in picture.spots}
    arrows: list[dict[str, str]] = []
    for source, target, words in picture.arrows:
        (x, y), (to_x, to_y) = places[source], places[target]
        length = math.hypot(to_x - x, to_y - y) or 1.0
        rim = max(length - DOT - 2, 0.0) / length
        line = f"M{x:.1f} {y:.1f}L{x + (to_x - x) * rim:.1f} {y + (to_y - y) * rim:.1f}"
        arrows.append({"line": line, "words": f"{source} → {target}: {words}"})
    spots = [
        {"api": spot.api, "short": spot.short, "novel": spot.novel, "x": f"{x:.1f}", "y": f"{y:.1f}"}
        for spot, (x, y) in zip(picture.spots, places.values(), strict=True)
    ]
    return {
        "title": f"{picture.library} {picture.release}".strip(),
        "words": describe_picture(picture),
        "spots": spots,
        "arrows": arrows,
        "width": WIDTH,
        "height": HEIGHT,
        "dot": DOT,
    }


def _asked(rows: Rows) -> Iterator[tuple[str, str, Layout]]:
    """Yield each library with each model of the runs and their home, sorted."""
    homes = {home for run in rows.runs if (home := Layout.home_of(run.folder)) is not None}
    models = {run.model for run in rows.runs if run.model}
    libraries = {task.library for task in rows.tasks.values()}
    for home in sorted(homes):
        for library in sorted(libraries):
            for model in sorted(models):
                yield library, model, Layout(home)


def _place(pairs: Sequence[tuple[str, str]], novel: set[str], library: str) -> list[Spot]:
    """Lay the APIs of the pairs out, with a fixed seed, so that no two names stand on each other."""
    import networkx as nx  # noqa: PLC0415 - an extra

    if not pairs:
        return []
    graph: Any = nx.Graph()
    graph.add_nodes_from(sorted({api for pair in pairs for api in pair}))
    graph.add_edges_from(pairs)
    wanted = SPREAD / len(graph) ** 0.5
    places = nx.spring_layout(graph, k=wanted, iterations=ROUNDS, seed=LAYOUT_SEED)
    xs, ys = ([float(place[axis]) for place in places.values()] for axis in (0, 1))
    rank = {api: (_scaled(x, xs), _scaled(y, ys)) for api, x, y in zip(places, xs, ys, strict=True)}
    return [
        Spot(api=api, short=api.removeprefix(f"{library}."), x=round(x, 4), y=round(y, 4), novel=api in novel)
        for api, (x, y) in sorted(_apart(rank).items())
    ]


def _scaled(value: float, values: Sequence[float]) -> float:
    low, high = min(values), max(values)
    return 0.5 if high == low else (value - low) / (high - low)


def _apart(places: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Move names down that would stand on another one, then scale to the height again."""
    moved: dict[str, tuple[float, float]] = {}
    for api, (x, y) in sorted(places.items(), key=lambda item: (item[1][1], item[1][0], item[0])):
        near = sorted(other_y for other_x, other_y in moved.values() if abs(other_x - x) < SIDE)
        for other in near:
            if abs(other - y) < ROW:
                y = other + ROW  # noqa: PLW2901 - the place sinks past each name that is in its way
        moved[api] = (x, y)
    lowest = max((y for _, y in moved.values()), default=1.0)
    return {api: (x, y / max(lowest, 1.0)) for api, (x, y) in moved.items()}
