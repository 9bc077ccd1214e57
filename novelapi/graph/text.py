"""The text tier: outputs ranked for a parameter by names and descriptions. It proposes, and proves nothing.

The score of an output for an input is the sum of three BM25 scores (Robertson and Zaragoza 2009; k1 1.5, b 0.75, query
terms as a set): of the two ports with the names of their APIs; a quarter of how well the APIs' own documentation fits
the parameter; half of how well the bare names agree. The weights were chosen on the two shared splits of NESTFUL.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from novelapi.graph.model import Input, Node, Output
from novelapi.graph.tools import CLEAN, NestfulEdge
from novelapi.records.base import Record

K1, B = 1.5, 0.75
AFFINITY, NAMES = 0.25, 0.5
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TERM = re.compile(r"[a-z0-9]+")


def split_terms(text: str) -> list[str]:
    """Return the words of a text: camel case split, lower case."""
    return _TERM.findall(_CAMEL.sub(" ", text).lower())


class Bm25:
    """Documents that are scored for a query."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Count the terms of the documents."""
        counts = [Counter(split_terms(text)) for text in texts]
        lengths = [count.total() for count in counts]
        mean = max(1.0, sum(lengths) / max(1, len(lengths)))
        self._norms = [K1 * (1 - B + B * length / mean) for length in lengths]
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, count in enumerate(counts):
            for term, number in count.items():
                self._postings[term].append((place, number))

    def scores(self, query: str) -> dict[int, float]:
        """Return the scores of the documents that share a term with the query, by position."""
        found: defaultdict[int, float] = defaultdict(float)
        for term in sorted(set(split_terms(query))):
            postings = self._postings.get(term, ())
            rarity = math.log(1 + (len(self._norms) - len(postings) + 0.5) / (len(postings) + 0.5))
            for place, number in postings:
                found[place] += rarity * number * (K1 + 1) / (number + self._norms[place])
        return dict(found)


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """An output that may be meant by a parameter."""

    source: str
    output: Output
    score: float


class Ranker:
    """All outputs of a set of APIs, to be ranked for any of their parameters."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Index the outputs."""
        self._nodes = list(nodes)
        self._outputs = [(place, output) for place, node in enumerate(nodes) for output in node.outputs]
        self._ports = Bm25([f"{nodes[place].api} {output.port.name} {output.text}" for place, output in self._outputs])
        self._names = Bm25([output.port.name for _, output in self._outputs])
        self._apis = Bm25([f"{node.api} {node.text}" for node in nodes])

    def rank(self, target: Node, wanted: Input, limit: int | None = None) -> list[Proposal]:
        """Return the outputs of other APIs, best first; equal scores in the order of names."""
        ports = self._ports.scores(f"{target.api} {wanted.name} {wanted.text}")
        apis = self._apis.scores(f"{target.api} {target.text} {wanted.name} {wanted.text}")
        names = self._names.scores(wanted.name)
        found = [
            Proposal(
                source=self._nodes[node].api,
                output=output,
                score=ports.get(place, 0.0) + AFFINITY * apis.get(node, 0.0) + NAMES * names.get(place, 0.0),
            )
            for place, (node, output) in enumerate(self._outputs)
            if self._nodes[node].api != target.api
        ]
        found.sort(key=lambda item: (-item.score, item.source, item.output.port.text))
        return found[:limit]


class RankScores(Record):
    """How well a ranker finds the sources of gold edges."""

    queries: int
    """Number of (API, parameter) pairs with a gold edge."""

    hit_1: float
    """Share of them whose first output is a gold one."""

    hit_5: float
    """Share of them with a gold output among the first five."""

    mrr: float
    """Mean of one by the rank of the first gold output."""


def score_ranking(nodes: Sequence[Node], edges: Sequence[NestfulEdge]) -> RankScores:
    """Rank every output of every other API for each (API, parameter) that a clean edge leads to."""
    gold: defaultdict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for edge in edges:
        if edge.status == CLEAN and edge.source != edge.target:
            gold[edge.target, edge.parameter].add((edge.source, edge.output))
    ranker, by_api = Ranker(nodes), {node.api: node for node in nodes}
    ranks = [_rank(ranker, by_api[api], parameter, sources) for (api, parameter), sources in sorted(gold.items())]
    number = max(1, len(ranks))
    return RankScores(
        queries=len(ranks),
        hit_1=sum(rank == 1 for rank in ranks) / number,
        hit_5=sum(rank <= 5 for rank in ranks) / number,
        mrr=sum(1 / rank for rank in ranks) / number,
    )


def _rank(ranker: Ranker, target: Node, parameter: str, gold: set[tuple[str, str]]) -> int:
    inputs: Mapping[str, Input] = {item.name: item for item in target.inputs}
    found = ranker.rank(target, inputs[parameter])
    return next(place for place, item in enumerate(found, 1) if (item.source, item.output.port.name) in gold)
