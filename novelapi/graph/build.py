"""A library's graph: nodes from its surface, edges from types, from programs that are read and from programs that ran.

Labels without a language model: strong = observed, or of a specific type and in a written flow; weak = a type that fits
or a written flow alone. What only the text tier proposes is not an edge of the graph (see `text` and `refine`).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from novelapi.discovery.apis import ApiTable
from novelapi.discovery.surface.model import Surface
from novelapi.graph.flow import Flow, Text, static_flows
from novelapi.graph.library import LibraryNodes
from novelapi.graph.model import TIERS, ApiGraph, Edge, Evidence, Input, Label, Node, Output, Port, Tier, make_graph
from novelapi.graph.typed import HUB, join_types
from novelapi.knowledge.snippets import ALIASES, blocks, parse_or_none
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.task import Task

SPECIFIC = 0.15
"""Least weight of a specific type: about 290 pairs of output and parameter."""
TAKEN_FOR_GRANTED = {**ALIASES, "nx": "networkx"}
"""Short names that docstrings use without an import."""
SHOWN = 3
"""Pieces of evidence of one tier that are kept; the others are counted in the first one's weight."""

Key = tuple[str, Port, str, str]


def documented_programs(table: ApiTable) -> list[Text]:
    """Return the examples in the docstrings of public APIs, one program each."""
    found: dict[str, Text] = {}
    for api in table.all():
        item = api.object
        if api.barrier() is not None or not item.doc or item.canonical in found:
            continue
        code = _joined([block.code for block in blocks(item.doc)])
        if code:
            where = f"{item.file}:{item.line}-{item.end}, examples of the docstring"
            found[item.canonical] = Text(code=code, where=where)
    return [found[name] for name in sorted(found)]


def bundle_programs(bundles: Iterable[KnowledgeBundle]) -> list[Text]:
    """Return the examples of stage 2 that ran."""
    return [
        Text(code=item.code, where=f"stage 2, {bundle.api}, example {number}")
        for bundle in bundles
        for number, item in enumerate(bundle.exemplars, 1)
        if item.status == "executed"
    ]


def gold_programs(tasks: Iterable[Task]) -> list[Text]:
    """Return the reference solutions of tasks, called with their first input."""
    found: list[Text] = []
    for task in tasks:
        if task.kind != "function":
            continue
        first = task.inputs[0]
        arguments = [*first.args, *(f"{name}={value}" for name, value in first.kwargs.items())]
        code = f"{task.context_code}\n{task.reference_solution}\n{task.entry_point}({', '.join(arguments)})\n"
        found.append(Text(code=code, where=f"task {task.task_id}, reference solution"))
    return found


def _joined(codes: Sequence[str]) -> str:
    """Join blocks that parse, with the imports that documents take for granted."""
    kept = [code for code in codes if parse_or_none(code) is not None]
    text = "\n".join(kept)
    heads = [f"import {name} as {short}" for short, name in TAKEN_FOR_GRANTED.items() if f"{short}." in text]
    return "\n".join([*(line for line in heads if line not in text), *kept])


def build_graph(
    surface: Surface,
    library: LibraryNodes,
    *,
    read: Sequence[Text] = (),
    observed: Sequence[Flow] = (),
    counts: Mapping[str, int] = {},
) -> ApiGraph:
    """Join the tiers of a library.

    Args:
        surface: the release.
        library: its nodes with the classes of their ports.
        read: programs whose flows are read.
        observed: flows that running showed.
        counts: what the run left out or gave, by reason.
    """
    typed = join_types(
        library.nodes,
        given=lambda node, output: library.given.get((node.api, output.port.text), ()),
        wanted=lambda node, item: library.wanted.get((node.api, item.name), ()),
        hub=HUB,
    )
    left_out = library.left_out + typed.left_out
    left_out.update({name: number for name, number in counts.items() if number})
    evidence: defaultdict[Key, list[Evidence]] = defaultdict(list)
    for edge in typed.edges:
        evidence[edge.source, edge.port, edge.target, edge.parameter] += edge.evidence
    weights = _weights(library)
    tiers: tuple[tuple[Tier, Iterable[Flow]], ...] = (
        ("observed", observed),
        ("static", static_flows(read, library)),
    )
    for tier, flows in tiers:
        for key, found in _by_key(flows, left_out).items():
            evidence[key] += _pieces(tier, found)
            if not any(item.tier == "type" for item in evidence[key]):
                evidence[key] += _fitting(key, library, weights)
    edges = [_edge(key, found) for key, found in evidence.items()]
    return make_graph(
        surface.distribution,
        _with_ports(library.nodes, edges),
        edges,
        release=surface.version,
        left_out=left_out,
    )


def _by_key(flows: Iterable[Flow], left_out: Counter[str]) -> dict[Key, list[Flow]]:
    found: defaultdict[Key, list[Flow]] = defaultdict(list)
    for flow in flows:
        if flow.source == flow.target:
            left_out["an API to itself"] += 1
        else:
            found[flow.source, flow.port, flow.target, flow.parameter].append(flow)
    return dict(found)


def _pieces(tier: Tier, flows: Sequence[Flow]) -> Iterator[Evidence]:
    """Yield the first pieces of evidence; the weight of the first says how many there are."""
    unique = list({flow.where: flow for flow in flows}.values())
    for place, flow in enumerate(unique[:SHOWN]):
        weight = float(len(unique)) if place == 0 else 1.0
        yield Evidence(tier=tier, detail=flow.statement, where=flow.where, weight=weight)


def _weights(library: LibraryNodes) -> dict[str, float]:
    """Return the weight of every class, hubs included."""
    producers = Counter(name for names in library.given.values() for name in names)
    consumers = Counter(name for names in library.wanted.values() for name in names)
    return {name: 1 / (1 + math.log(producers[name] * consumers[name])) for name in producers.keys() & consumers.keys()}


def _fitting(key: Key, library: LibraryNodes, weights: Mapping[str, float]) -> list[Evidence]:
    """Return the type evidence of a flow whose type is a hub: it fits, and says little."""
    source, port, target, parameter = key
    wanted = library.wanted.get((target, parameter), ())
    shared = [name for name in library.given.get((source, port.text), ()) if name in wanted]
    if not shared:
        return []
    best = max(shared, key=lambda name: weights[name])
    where = library.names[target].where
    return [Evidence(tier="type", detail=f"both are {best}", where=where, weight=round(weights[best], 6))]


def _edge(key: Key, found: Sequence[Evidence]) -> Edge:
    source, port, target, parameter = key
    ordered = tuple(sorted(found, key=lambda item: (TIERS.index(item.tier), -item.weight, item.where)))
    return Edge(
        source=source,
        port=port,
        target=target,
        parameter=parameter,
        label=label_of(ordered),
        score=round(sum(_gain(item) for item in ordered), 6),
        evidence=ordered,
    )


def label_of(evidence: Sequence[Evidence]) -> Label:
    """Return the label that evidence gives without a language model."""
    tiers = {item.tier for item in evidence}
    if "observed" in tiers:
        return "strong"
    specific = any(item.tier == "type" and item.weight >= SPECIFIC for item in evidence)
    if specific and "static" in tiers:
        return "strong"
    return "weak" if tiers & {"type", "static"} else "non"


def _gain(item: Evidence) -> float:
    """Return what a piece of evidence adds to a score: seen counts most, each more time less."""
    base = {"observed": 2.0, "static": 0.5}.get(item.tier)
    return item.weight if base is None else base * (1 + math.log(item.weight))


def _with_ports(nodes: Sequence[Node], edges: Sequence[Edge]) -> list[Node]:
    """Add the ports and parameters that only running or reading showed (attributes, keys, compiled signatures)."""
    outputs: defaultdict[str, dict[str, Output]] = defaultdict(dict)
    inputs: defaultdict[str, dict[str, Input]] = defaultdict(dict)
    for edge in edges:
        outputs[edge.source].setdefault(edge.port.text, Output(port=edge.port))
        inputs[edge.target].setdefault(edge.parameter, Input(name=edge.parameter, required=False))
    return [_with(node, outputs[node.api], inputs[node.api]) for node in nodes]


def _with(node: Node, outputs: Mapping[str, Output], inputs: Mapping[str, Input]) -> Node:
    there = {item.port.text for item in node.outputs}
    known = {item.name for item in node.inputs}
    more = tuple(outputs[name] for name in sorted(outputs) if name not in there)
    others = tuple(inputs[name] for name in sorted(inputs) if name not in known)
    if not more and not others:
        return node
    return node.model_copy(update={"outputs": (*node.outputs, *more), "inputs": (*node.inputs, *others)})
