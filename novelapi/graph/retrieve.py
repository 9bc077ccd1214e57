"""Prerequisites: APIs that can give what another one takes, and retrieval that adds them within a budget of tokens.

The backward closure of an API goes from each of its parameters to the outputs that can become it, best edges first, and
on from there to a depth. Cycles end it: an API is named once. A hub is never searched further back: what everything can
come from says nothing.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

from novelapi.errors import UnknownNameError, UsageError
from novelapi.graph.model import LABELS, ApiGraph, Edge, Node
from novelapi.graph.text import Bm25
from novelapi.records.base import Record

PER_PARAMETER = 2
"""Sources that are named for one parameter."""
HUB_IN = 60
"""An API with more sources than this is named, and its own prerequisites are not."""


class Prerequisite(Record):
    """One API of a backward closure."""

    api: str
    """What gives the value."""

    port: str
    """Which part of its result."""

    target: str
    """What takes it."""

    parameter: str
    """As which parameter."""

    depth: int
    """Calls before the API that was asked about: 1 gives to it directly."""

    label: str
    """Label of the edge."""


class Prerequisites:
    """Backward closures in one graph."""

    def __init__(self, graph: ApiGraph) -> None:
        """Index the edges by target; edges without a label of use are left out."""
        self.graph = graph
        by_target: defaultdict[str, list[Edge]] = defaultdict(list)
        for edge in graph.edges:
            if edge.label != "non":
                by_target[edge.target].append(edge)
        self._edges = {
            api: sorted(edges, key=lambda edge: (LABELS.index(edge.label), -edge.score, edge.key))
            for api, edges in by_target.items()
        }

    def of(self, api: str, depth: int = 1, per_parameter: int = PER_PARAMETER) -> list[Prerequisite]:
        """Return what may have to be called before an API, nearest and best first, each once.

        Raises:
            UnknownNameError: the graph does not have it; near names are suggested.
        """
        if api not in self.graph.by_api:
            raise UnknownNameError("API", api, self.graph.by_api)
        found: list[Prerequisite] = []
        seen = {api}
        waiting = deque([(api, 0)])
        while waiting:
            target, far = waiting.popleft()
            if far == depth:
                continue
            for edge in self._best(target, seen, per_parameter):
                seen.add(edge.source)
                found.append(
                    Prerequisite(
                        api=edge.source,
                        port=edge.port.text,
                        target=target,
                        parameter=edge.parameter,
                        depth=far + 1,
                        label=edge.label,
                    )
                )
                if len(self._edges.get(edge.source, ())) <= HUB_IN:
                    waiting.append((edge.source, far + 1))
        return found

    def _best(self, target: str, seen: AbstractSet[str], per_parameter: int) -> list[Edge]:
        """Return the best edges of each parameter, one per source."""
        chosen: list[Edge] = []
        used: defaultdict[str, int] = defaultdict(int)
        sources = set(seen)
        for edge in self._edges.get(target, ()):
            if edge.source not in sources and used[edge.parameter] < per_parameter:
                used[edge.parameter] += 1
                sources.add(edge.source)
                chosen.append(edge)
        return chosen


def with_prerequisites(graph: ApiGraph, rows: Iterable[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return documentation rows with a field `prerequisite_apis`; it is empty for APIs outside the graph."""
    known = Prerequisites(graph)
    found: list[dict[str, object]] = []
    for row in rows:
        api = str(row["api"])
        before = [item.api for item in known.of(api)] if api in graph.by_api else []
        found.append({**row, "prerequisite_apis": before})
    return found


Count = Callable[[str], int]
"""Counts the tokens of a text."""


class Found(Record):
    """What a query is answered with."""

    apis: tuple[str, ...]
    """APIs in the order in which they are shown."""

    tokens: int
    """Tokens of their texts."""

    text: str
    """What is shown."""


class GraphSearch:
    """Documents of all APIs of a graph, found by terms, with or without what comes before them."""

    def __init__(self, graph: ApiGraph, count: Count) -> None:
        """Index one document per API: name, parameters and first paragraph.

        Raises:
            UsageError: the graph has no API.
        """
        if not graph.nodes:
            raise UsageError(f"the graph of {graph.name} has no API: build it again")
        self._prerequisites = Prerequisites(graph)
        self._nodes = graph.by_api
        self._names = list(graph.by_api)
        self._count = count

    @cached_property
    def _index(self) -> Bm25:
        nodes = self._nodes.values()
        return Bm25([" ".join([describe(node), *(item.text for item in node.inputs)]) for node in nodes])

    def ranking(self, query: str) -> list[str]:
        """Return the APIs that share a term with a query, best first."""
        scores = self._index.scores(query)
        return [self._names[place] for place in sorted(scores, key=lambda place: (-scores[place], self._names[place]))]

    def plain(self, query: str, budget: int) -> Found:
        """Return the best APIs whose texts fit into a budget.

        Raises:
            UsageError: not even the best one fits.
        """
        return self._fill(self.ranking(query), budget)

    def with_graph(self, query: str, budget: int, depth: int = 1, per_parameter: int = 1) -> Found:
        """Return the best APIs, each followed by its backward closure, as far as the budget goes.

        Raises:
            UsageError: not even the best one fits.
        """
        ordered: dict[str, None] = {}
        for api in self.ranking(query):
            ordered[api] = None
            ordered.update((item.api, None) for item in self._prerequisites.of(api, depth, per_parameter))
        return self._fill(list(ordered), budget)

    def _fill(self, apis: Sequence[str], budget: int) -> Found:
        """Show APIs until one does not fit: the same rule, whatever the order is made by."""
        shown: list[str] = []
        texts: list[str] = []
        used = 0
        for api in apis:
            text = describe(self._nodes[api])
            tokens = self._count(text + "\n")
            if used + tokens > budget:
                break
            shown.append(api)
            texts.append(text)
            used += tokens
        if apis and not shown:
            raise UsageError(f"a budget of {budget} tokens holds not one API: raise it")
        return Found(apis=tuple(shown), tokens=used, text="\n".join(texts))


def describe(node: Node) -> str:
    """Return an API in one line: call, result, purpose."""
    call = ", ".join(item.name if item.required else f"{item.name}=..." for item in node.inputs)
    result = next((item.type for item in node.outputs if item.port.kind == "whole" and item.type), None)
    arrow = f" -> {' '.join(result.split())}" if result else ""
    return f"`{node.api}({call})`{arrow}: {' '.join(node.text.split())}"


class Completeness(Record):
    """How often everything that a task needs is shown."""

    budget: int
    """Tokens that both were given."""

    tasks: int
    """Number of tasks with at least one relevant API in the graph."""

    several: int
    """How many of them need more than one."""

    plain: float
    """Share of tasks with all relevant APIs shown, without the graph."""

    graph: float
    """The same with it."""

    plain_several: float
    """Share among the tasks that need more than one, without the graph."""

    graph_several: float
    """The same with it."""


def completeness(
    search: GraphSearch, tasks: Sequence[tuple[str, AbstractSet[str]]], budget: int, depth: int = 1
) -> Completeness:
    """Compare retrieval with and without the graph at one budget.

    Args:
        search: the documents.
        tasks: query and relevant APIs of each task; tasks without a relevant API are left out.
        budget: tokens of each answer.
        depth: of the backward closure.
    """
    rows: list[tuple[bool, bool, bool]] = []
    for query, relevant in tasks:
        if relevant:
            plain = set(search.plain(query, budget).apis)
            graph = set(search.with_graph(query, budget, depth).apis)
            rows.append((len(relevant) > 1, relevant <= plain, relevant <= graph))
    several = [row for row in rows if row[0]]
    return Completeness(
        budget=budget,
        tasks=len(rows),
        several=len(several),
        plain=_share([row[1] for row in rows]),
        graph=_share([row[2] for row in rows]),
        plain_several=_share([row[1] for row in several]),
        graph_several=_share([row[2] for row in several]),
    )


def _share(values: Sequence[bool]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0
