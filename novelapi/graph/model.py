"""The graph as data: APIs with their ports, edges with labels and evidence, one digest, JSON in and out.

An edge joins one output port of an API to one input parameter of another. Cycles are allowed, since types give many;
edges of an API to itself are not, and whoever builds a graph counts them (`left_out`). Two edges between the same ports
are one: their evidence is joined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from novelapi import jsonl
from novelapi.errors import DataError, PrerequisiteError
from novelapi.fingerprint import digest
from novelapi.records.base import Record

if TYPE_CHECKING:
    import networkx as nx

GRAPH_VERSION = 1
"""Raise it, with a line in the changelog, whenever the same inputs would give another graph."""

PortKind = Literal["whole", "attribute", "key", "item", "receiver"]
"""The result itself; an attribute of it; what stands under a key; a position of a tuple, or any item of a sequence
(without a name); the receiver that the call changed."""
Label = Literal["strong", "weak", "non"]
Tier = Literal["type", "observed", "static", "text", "model"]
TIERS: tuple[Tier, ...] = ("observed", "type", "static", "text", "model")
"""In the order of trust."""
LABELS: tuple[Label, ...] = ("strong", "weak", "non")
PROPOSING: frozenset[Tier] = frozenset({"text"})
"""Tiers that only propose: an edge that nothing else speaks for is labelled `non`."""


class Port(Record):
    """What of a call goes on to another call."""

    kind: PortKind = "whole"
    """Which part of the result it is."""

    name: str = ""
    """Attribute, key or position; empty for the whole, the receiver and any item of a sequence."""

    @property
    def text(self) -> str:
        """Return it as one word: `return`, `return.shape`, `return[skyId]`, `return[0]`, `self`."""
        if self.kind == "receiver":
            return "self"
        return {"whole": "return", "attribute": f"return.{self.name}"}.get(self.kind, f"return[{self.name}]")


class Output(Record):
    """A port with what is known of it."""

    port: Port
    """Which part of the result."""

    type: str | None = None
    """Its type as the library writes it; null when nothing says."""

    text: str = ""
    """Its documentation."""


class Input(Record):
    """A parameter that may be given something."""

    name: str
    """Its name; `self` is the receiver of a method."""

    type: str | None = None
    """Its type as the library writes it; null when nothing says."""

    required: bool = True
    """Whether a call without it is refused."""

    text: str = ""
    """Its documentation."""


class Node(Record):
    """One API."""

    api: str
    """Public path, or the tool's name; unique in a graph."""

    text: str = ""
    """First paragraph of its documentation."""

    where: str = ""
    """Where it is defined: `file:first-last`, empty when that is not known."""

    novel: bool = False
    """Whether it is a candidate of stage 1: new or changed for the model."""

    outputs: tuple[Output, ...] = ()
    """What a call gives."""

    inputs: tuple[Input, ...] = ()
    """What a call takes, in the order of the signature."""


class Evidence(Record):
    """One reason for an edge."""

    tier: Tier
    """Which kind of reason."""

    detail: str
    """The reason in words: the types that fit, the statement, the terms."""

    where: str = ""
    """Where it can be opened: `file:line`, or the example and its line."""

    weight: float = Field(default=1.0, ge=0)
    """How specific it is, 1 at most for types; for text the ranking score."""


class Edge(Record):
    """An output that can become an input."""

    source: str
    """API that gives it."""

    port: Port
    """Which part of its result."""

    target: str
    """API that takes it."""

    parameter: str
    """Parameter that it becomes; `self` when it is the receiver."""

    label: Label
    """strong: seen, or of a specific type and in a written flow; weak: possible; non: neither."""

    score: float = 0.0
    """For ranking edges of one label; from 0."""

    evidence: tuple[Evidence, ...] = ()
    """Why; best tier first."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return what makes it unique."""
        return self.source, self.port.text, self.target, self.parameter

    @property
    def tiers(self) -> frozenset[Tier]:
        """The kinds of reasons that it has."""
        return frozenset(item.tier for item in self.evidence)


class ApiGraph(Record):
    """A graph: nodes and edges sorted, so that equal graphs have equal files."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    """Version of this format."""

    name: str
    """Library, or set of tools."""

    release: str = ""
    """Release that it was read from."""

    nodes: tuple[Node, ...]
    """All APIs, sorted by name."""

    edges: tuple[Edge, ...]
    """All edges, sorted by source, port, target and parameter."""

    left_out: dict[str, int] = Field(default_factory=dict)
    """What was not joined or not read, with its number, by reason."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        names = Counter(node.api for node in self.nodes)
        twice = sorted(name for name, number in names.items() if number > 1)
        if twice:
            message = f"the API {twice[0]} occurs {names[twice[0]]} times"
            raise ValueError(message)
        inputs = {(node.api, item.name) for node in self.nodes for item in node.inputs}
        seen: set[tuple[str, str, str, str]] = set()
        for edge in self.edges:
            fault = _fault(edge, names, inputs, seen)
            if fault:
                raise ValueError(fault)
            seen.add(edge.key)
        return self

    @property
    def digest(self) -> str:
        """Return the identity of the graph: nodes, edges and version of the builder."""
        return digest([GRAPH_VERSION, self.model_dump(mode="json", by_alias=True)])

    @cached_property
    def by_api(self) -> Mapping[str, Node]:
        """Nodes by name."""
        return {node.api: node for node in self.nodes}

    def joined(self, labels: Iterable[Label] = ("strong", "weak")) -> frozenset[tuple[str, str]]:
        """Return the pairs of APIs with an edge of one of these labels."""
        wanted = frozenset(labels)
        return frozenset((edge.source, edge.target) for edge in self.edges if edge.label in wanted)

    def counts(self) -> dict[str, int]:
        """Return how many nodes, and edges of each label and tier, there are."""
        found: Counter[str] = Counter(edge.label for edge in self.edges)
        found.update(f"tier {tier}" for edge in self.edges for tier in edge.tiers)
        order = [*LABELS, *(f"tier {tier}" for tier in TIERS)]
        return {
            "apis": len(self.nodes),
            "novel": sum(node.novel for node in self.nodes),
            "edges": len(self.edges),
            "pairs": len(self.joined()),
            **{name: found[name] for name in order},
        }

    def save(self, path: Path) -> None:
        """Write it as one JSON document.

        Raises:
            NovelApiError: the disk is full or the folder cannot be written.
        """
        row = {**self.model_dump(mode="json", by_alias=True), "digest": self.digest}
        jsonl.write_text(path, jsonl.dumps(row) + "\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a graph.

        Raises:
            DataError: it is no graph: broken JSON, a duplicate or unknown API, an edge of an API to itself, another
                digest than its content has.
        """
        try:
            row = jsonl.parse_line(path.read_bytes(), path, 1)
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror}; check the path") from error
        stated = row.pop("digest", None)
        try:
            graph = cls.model_validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise DataError(f"{path}: {f'{where}: ' if where else ''}{first['msg']}; build the graph again") from error
        if stated is not None and stated != graph.digest:
            raise DataError(f"{path} says the digest {stated} and has {graph.digest}: build the graph again")
        return graph

    def to_networkx(self, labels: Iterable[Label] = ("strong", "weak")) -> nx.MultiDiGraph[str]:
        """Return it as a networkx graph: APIs are nodes, edges carry port, parameter, label and score.

        Raises:
            PrerequisiteError: the extra `graph` is missing.
        """
        try:
            import networkx as nx  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise PrerequisiteError("networkx is missing: pip install 'novelapi[graph]'") from error
        view: nx.MultiDiGraph[str] = nx.MultiDiGraph(name=self.name, release=self.release)
        view.add_nodes_from((node.api, {"novel": node.novel}) for node in self.nodes)
        wanted = frozenset(labels)
        view.add_edges_from(
            (edge.source, edge.target, _attributes(edge)) for edge in self.edges if edge.label in wanted
        )
        return view


def _attributes(edge: Edge) -> dict[str, Any]:
    return {"port": edge.port.text, "parameter": edge.parameter, "label": edge.label, "score": edge.score}


def _fault(
    edge: Edge, names: Mapping[str, int], inputs: set[tuple[str, str]], seen: set[tuple[str, str, str, str]]
) -> str | None:
    """Return what is wrong with an edge, in words."""
    if edge.source == edge.target:
        return f"an edge joins {edge.source} to itself"
    for api in (edge.source, edge.target):
        if api not in names:
            return f"an edge names the API {api}, which is not listed"
    if (edge.target, edge.parameter) not in inputs:
        return f"an edge names the parameter {edge.parameter} of {edge.target}, which it does not have"
    if edge.key in seen:
        return f"the edge {' -> '.join(edge.key[::2])} ({edge.key[1]} -> {edge.key[3]}) occurs twice"
    return None


def make_graph(
    name: str, nodes: Sequence[Node], edges: Iterable[Edge], *, release: str = "", left_out: Mapping[str, int] = {}
) -> ApiGraph:
    """Return a graph with nodes and edges in their order.

    Raises:
        DataError: see `ApiGraph.load`.
    """
    try:
        return ApiGraph(
            name=name,
            release=release,
            nodes=tuple(sorted(nodes, key=lambda node: node.api)),
            edges=tuple(sorted(edges, key=lambda edge: edge.key)),
            left_out={key: left_out[key] for key in sorted(left_out) if left_out[key]},
        )
    except ValidationError as error:
        raise DataError(f"{name}: {error.errors()[0]['msg']}; correct the input") from error
