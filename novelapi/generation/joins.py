"""Which calls may follow each other: edges that were observed, and ports that fit by the kind of their values.

The result is a parameter graph of its own: strong edges come from the library's graph, weak ones join two APIs with
examples of their own where a value of the kind that one gave is of the kind that the other took.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from novelapi.generation.members import Member
from novelapi.generation.uses import NO_DATA, Kind, Use, fits
from novelapi.graph.model import ApiGraph, Edge, Evidence, Input, Node, Output, Port, make_graph
from novelapi.graph.motifs import Kind as Motif
from novelapi.graph.subsets import Subset, sample_subsets
from novelapi.graph.text import Ranker, split_terms

HUB = 25
"""An API whose results were seen to go to more others than this says nothing: it only makes data."""
_PER_PAIR = 3
_PROPOSED = 4
"""Sources that are joined to one parameter where nothing was observed: those whose words fit it best."""
_PAIRS = 10
"""One subset in so many is a pair."""
_COMPUTED = re.compile(
    r"\b(re-?calculat|re-?comput|pre-?calculat|pre-?comput|already (computed|calculated))", re.IGNORECASE
)
MOTIFS: tuple[Motif, ...] = ("pair", "chain", "fork", "collider")


def expression(port: Port) -> str | None:
    """Return which part of `result` a port is, null for a receiver and for any item of a sequence."""
    if port.kind == "whole":
        return "result"
    if port.kind == "attribute":
        return f"result.{port.name}"
    if port.kind == "key":
        return f"result[{port.name!r}]"
    return f"result[{port.name}]" if port.kind == "item" and port.name else None


def port_of(text: str) -> Port:
    """Return the port of an expression over `result`, as `uses` writes it."""
    rest = text.removeprefix("result")
    if not rest:
        return Port()
    if rest.startswith("."):
        return Port(kind="attribute", name=rest[1:])
    return Port(kind="item", name=rest.strip("[]"))


def partners(graph: ApiGraph, usable: frozenset[str]) -> list[str]:
    """Return the APIs that are not new and that an observed edge joins to a usable new one, hubs left out."""
    edges = list(_observed(graph))
    novel = {node.api for node in graph.nodes if node.novel}
    found = {api for edge in edges for api in (edge.source, edge.target) if {edge.source, edge.target} & usable}
    return sorted(found - novel)


def _observed(graph: ApiGraph) -> Iterator[Edge]:
    """Yield the observed edges without hubs, arguments that are no data, and ports that are no value."""
    after: defaultdict[str, set[str]] = defaultdict(set)
    for edge in graph.edges:
        if "observed" in edge.tiers:
            after[edge.source].add(edge.target)
    hubs = {api for api, targets in after.items() if len(targets) > HUB}
    for edge in graph.edges:
        plain = "observed" in edge.tiers and edge.parameter not in NO_DATA and expression(edge.port) is not None
        if plain and not {edge.source, edge.target} & hubs:
            yield edge


def join(graph: ApiGraph, members: Mapping[str, Member], uses: Mapping[str, Sequence[Use]]) -> ApiGraph:
    """Return the graph of what may follow what.

    Args:
        graph: the library's graph.
        members: APIs that a task may call.
        uses: the calls that are known of each.
    """
    able = {api for api in members if uses.get(api)}
    edges = {edge.key: edge for edge in _fitting(members, uses, able)}
    for edge in _observed(graph):
        slots = {
            free.feeds if free.position is not None else "self"
            for use in uses.get(edge.target, ())
            for free in use.draft.free
        }
        joined = {edge.source, edge.target} <= able and edge.parameter in slots
        if joined and edge.parameter not in _derived(members[edge.target]):
            edges[edge.key] = edge.model_copy(update={"label": "strong"})
    inputs: defaultdict[str, set[str]] = defaultdict(set)
    for edge in edges.values():
        inputs[edge.target].add(edge.parameter)
    nodes = [
        Node(
            api=api,
            novel=members[api].novel,
            inputs=tuple(Input(name=name) for name in sorted(inputs[api])),
        )
        for api in sorted(able)
    ]
    return make_graph(graph.name, nodes, edges.values(), release=graph.release)


def _fitting(members: Mapping[str, Member], uses: Mapping[str, Sequence[Use]], able: set[str]) -> Iterator[Edge]:
    """Yield the edges between new APIs whose values fit: the sources whose words fit a parameter best."""
    new = [_node(members[api], uses[api]) for api in sorted(able) if members[api].novel]
    ranker, says = Ranker(new), {node.api: _says(node) for node in new}
    for target in new:
        options, derived = _options(members[target.api]), _derived(members[target.api])
        for item in target.inputs:
            if item.name in derived:
                continue
            wanted = {kind for use in uses[target.api] for name, kind in use.takes.items() if name == item.name}
            fitting = (
                (proposal.source, proposal.output.port, kind)
                for proposal in ranker.rank(target, item)
                if item.name not in options or says[proposal.source] & set(split_terms(item.name))
                for kind in _kinds(uses[proposal.source], proposal.output.port, wanted)
            )
            for source, port, kind in islice(fitting, _PROPOSED):
                detail = f"what came out and what went in are both: {' '.join(kind)}"
                yield Edge(
                    source=source, port=port, target=target.api, parameter=item.name, label="weak",
                    evidence=(Evidence(tier="type", detail=detail),),
                )  # fmt: skip


def _options(member: Member) -> set[str]:
    """Return the parameters that may be left out: what fits them by its kind alone is seldom what they mean."""
    return {item.name.lstrip("*") for item in member.bundle.surface.parameters if item.default is not None}


def _derived(member: Member) -> set[str]:
    """Return the parameters that save a call to compute what follows from its other arguments.

    The value of an earlier step would contradict them.
    """
    parameters = member.bundle.surface.parameters
    return {item.name.lstrip("*") for item in parameters if _COMPUTED.search(item.description or "")}


def _says(node: Node) -> set[str]:
    """Return the words by which an API names what it gives."""
    return set(split_terms(" ".join([node.api.rpartition(".")[2], *(output.text for output in node.outputs)])))


def _kinds(uses: Sequence[Use], port: Port, wanted: set[Kind]) -> list[Kind]:
    """Return the first kind of value that a port gave and that fits, none where none does."""
    given = sorted({use.ports[name] for use in uses for name in use.ports if port_of(name) == port})
    return [kind for kind in given if any(fits(kind, item) for item in wanted)][:1]


def _first(ports: Mapping[str, Kind]) -> str:
    """Return the port that a result is used by: the whole, or the first part of a tuple with names."""
    named = [name for name in ports if name.startswith("result.")]
    return named[0] if named else next(iter(ports))


def _node(member: Member, uses: Sequence[Use]) -> Node:
    """Return a member as a node with the ports that running showed, and what is documented of them."""
    surface = member.bundle.surface
    told = {item.name.lstrip("*"): item.description or "" for item in surface.parameters}
    ports = sorted({_first(use.ports) for use in uses if use.ports})
    takes = sorted({name for use in uses for name in use.takes})
    return Node(
        api=member.api,
        text=(member.bundle.m_prose or "").split("\n\n")[0],
        outputs=tuple(Output(port=port_of(name), text=surface.returns or "") for name in ports),
        inputs=tuple(Input(name=name, text=told.get(name, "")) for name in takes),
        novel=member.novel,
    )


def draw(joined: ApiGraph, number: int, seed: int) -> list[Subset]:
    """Return subsets with a new API: a tenth pairs, as many of each other topology.

    Half of them lie along observed edges, as far as there are any.
    """
    found: list[Subset] = []
    pairs = number // _PAIRS
    for place, kind in enumerate(MOTIFS):
        others = len(MOTIFS) - 1
        share = pairs if kind == "pair" else (number - pairs + others - place) // others
        if share:
            observed = sample_subsets(joined, (share + 1) // 2, kinds=[kind], seed=seed).subsets
            observed = [subset for subset in observed if _distinct(subset)]
            known = {frozenset(subset.members) for subset in observed}
            every = sample_subsets(joined, 2 * share, kinds=[kind], labels=("strong", "weak"), seed=seed).subsets
            more = [subset for subset in every if _distinct(subset) and frozenset(subset.members) not in known]
            found += [*observed, *more][:share]
    return found


def _distinct(subset: Subset) -> bool:
    """Whether no two members have one name: `np.matrix_transpose` and `np.linalg.matrix_transpose` do the same."""
    return len({api.rpartition(".")[2] for api in subset.members}) == len(subset.members)


def joins_of(joined: ApiGraph, source: str, target: str) -> tuple[list[tuple[str, str]], str]:
    """Return what may join two APIs, observed edges first, and the reason for the first of them."""
    edges = [edge for edge in joined.edges if (edge.source, edge.target) == (source, target)]
    edges.sort(key=lambda edge: (edge.label != "strong", edge.port.kind != "whole", edge.key))
    found = [(text, edge.parameter) for edge in edges if (text := expression(edge.port)) is not None]
    first = edges[0].evidence[0]
    where = f" [{first.where}]" if first.where else ""
    return found[:_PER_PAIR], f"{first.tier}: {first.detail}{where}"
