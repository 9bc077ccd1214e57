"""The type tier: an output whose type fits a parameter's. One weight per type, so that hubs do not link everything.

The weight of a type with p producers and c consumers is 1 / (1 + ln(p c)): 1 where one output can only go to one
parameter, towards 0 for hubs. A type with more than `HUB` pairs is not joined at all unless the caller asks for it; it
is named in the graph with its number of pairs.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from novelapi.graph.model import Edge, Evidence, Input, Node, Output

HUB = 2_000
"""Most pairs of producer and consumer that a type of a library may join."""


@dataclass(frozen=True, kw_only=True)
class TypeEdges:
    """What the types of a set of APIs say."""

    edges: list[Edge]
    left_out: Counter[str]


Wanted = Callable[[Node, Input], Iterable[str]]
"""Returns the types that a parameter takes."""
Given = Callable[[Node, Output], Iterable[str]]
"""Returns the types that an output is an instance of."""


def same_label(_node: Node, item: Input | Output) -> Iterable[str]:
    """Return the type of a tool's port: a label that fits only itself."""
    return (item.type,) if item.type else ()


def join_types(
    nodes: Sequence[Node], *, given: Given = same_label, wanted: Wanted = same_label, hub: int | None = None
) -> TypeEdges:
    """Return an edge for every output and parameter of different APIs whose types fit.

    Args:
        nodes: the APIs.
        given: types of an output, its base classes included.
        wanted: types that a parameter accepts.
        hub: most pairs that a type may join; null joins all, as tool graphs want it.
    """
    producers: defaultdict[str, list[tuple[Node, Output]]] = defaultdict(list)
    consumers: defaultdict[str, list[tuple[Node, Input]]] = defaultdict(list)
    left_out: Counter[str] = Counter()
    for node in nodes:
        untyped = 0
        for output in node.outputs:
            for name in dict.fromkeys(given(node, output)):
                producers[name].append((node, output))
            untyped += output.type is None
        for item in node.inputs:
            for name in dict.fromkeys(wanted(node, item)):
                consumers[name].append((node, item))
            untyped += item.type is None
        left_out["ports without a type"] += untyped
    best: dict[tuple[str, str, str, str], Edge] = {}
    for name in sorted(producers.keys() & consumers.keys()):
        pairs = len(producers[name]) * len(consumers[name])
        if hub is not None and pairs > hub:
            left_out[f"hub type {name}: pairs of output and parameter"] += pairs
            continue
        weight = round(1 / (1 + math.log(pairs)), 6)
        for source, output in producers[name]:
            for target, item in consumers[name]:
                if source.api == target.api:
                    left_out["an API to itself"] += 1
                    continue
                edge = _edge((source, output), (target, item), name, weight)
                if edge.key not in best or best[edge.key].score < weight:
                    best[edge.key] = edge
    return TypeEdges(edges=list(best.values()), left_out=left_out)


def _edge(giver: tuple[Node, Output], taker: tuple[Node, Input], name: str, weight: float) -> Edge:
    (source, output), (target, item) = giver, taker
    detail = f"{output.port.text}: {output.type} fits {item.name}: {item.type}"
    if name not in {output.type, item.type}:
        detail += f" (as {name})"
    evidence = Evidence(tier="type", detail=detail, where=target.where, weight=weight)
    return Edge(
        source=source.api, port=output.port, target=target.api, parameter=item.name, label="weak", score=weight,
        evidence=(evidence,),
    )  # fmt: skip
