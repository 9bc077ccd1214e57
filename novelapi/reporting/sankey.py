"""Geometry of a flow figure: two columns of nodes and the ribbons between them, in pixels and percent."""

from __future__ import annotations

from collections.abc import Mapping

from novelapi.records.base import Record
from novelapi.reporting.outcomes import CODES, MISSING, OUTCOMES, PASS

HEIGHT = 360.0
GAP = 6.0
SLOT = 22.0
"""Least height per node, so that its name fits."""

WIDTH = 100.0
NODE = 1.6
ORDER = (OUTCOMES[PASS], *reversed(OUTCOMES[PASS + 1 :]), *reversed(OUTCOMES[MISSING:PASS]))
"""From top to bottom: solved first, then failures by how far they came."""


class Node(Record):
    """One outcome on one side."""

    name: str
    """The outcome."""

    code: str
    """Its name where there is no room."""

    tasks: int
    """Tasks with it."""

    top: float
    """Upper edge in pixels."""

    height: float
    """Height in pixels."""

    middle: float
    """Where its name stands, in pixels."""


class Ribbon(Record):
    """Tasks that go from one outcome to another."""

    before: str
    """Outcome on the left."""

    after: str
    """Outcome on the right."""

    tasks: int
    """How many."""

    path: str
    """SVG path."""


class Sankey(Record):
    """A flow figure."""

    left: tuple[Node, ...]
    """Outcomes of the first run."""

    right: tuple[Node, ...]
    """Outcomes of the second run."""

    ribbons: tuple[Ribbon, ...]
    """What goes where."""

    height: float
    """Height of the figure in pixels."""


def draw_sankey(flows: Mapping[tuple[str, str], int]) -> Sankey:
    """Lay out a flow figure.

    Args:
        flows: tasks by pair of outcomes; not empty.
    """
    left, left_height = _column({name: _sum(flows, 0, name) for name in ORDER})
    right, right_height = _column({name: _sum(flows, 1, name) for name in ORDER})
    tops = {0: {node.name: node.top for node in left}, 1: {node.name: node.top for node in right}}
    scale = HEIGHT / sum(flows.values())
    ribbons: list[Ribbon] = []
    for before in ORDER:
        for after in ORDER:
            tasks = flows.get((before, after), 0)
            if tasks:
                height = tasks * scale
                path = _path(tops[0][before], tops[1][after], height)
                ribbons.append(Ribbon(before=before, after=after, tasks=tasks, path=path))
                tops[0][before] += height
                tops[1][after] += height
    return Sankey(left=left, right=right, ribbons=tuple(ribbons), height=round(max(left_height, right_height), 1))


def _sum(flows: Mapping[tuple[str, str], int], side: int, name: str) -> int:
    return sum(tasks for pair, tasks in flows.items() if pair[side] == name)


def _column(totals: Mapping[str, int]) -> tuple[tuple[Node, ...], float]:
    nodes: list[Node] = []
    y = 0.0
    scale = HEIGHT / sum(totals.values())
    for name, tasks in totals.items():
        if tasks:
            height = tasks * scale
            slot = max(height + GAP, SLOT)
            top = y + (slot - height) / 2
            nodes.append(
                Node(
                    name=name,
                    code=CODES[name],
                    tasks=tasks,
                    top=round(top, 2),
                    height=round(height, 2),
                    middle=round(y + slot / 2, 2),
                )
            )
            y += slot
    return tuple(nodes), y


def _path(left: float, right: float, height: float) -> str:
    """Two cubic curves between the inner edges of the columns."""
    start, end, middle = NODE, WIDTH - NODE, WIDTH / 2
    return (
        f"M{start} {left:.2f}C{middle} {left:.2f} {middle} {right:.2f} {end} {right:.2f}"
        f"V{right + height:.2f}C{middle} {right + height:.2f} {middle} {left + height:.2f} {start} {left + height:.2f}Z"
    )
