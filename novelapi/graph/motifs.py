"""Motifs of a graph of APIs: pair A -> B, chain A -> B -> C, fork A -> B and A -> C, collider A -> C and B -> C.

A chain's ends differ; branches of a fork or collider have no order. A motif counts whether or not further edges join
its members.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Literal

Kind = Literal["pair", "chain", "fork", "collider"]
KINDS: tuple[Kind, ...] = ("chain", "fork", "collider")
"""The motifs of three APIs."""
Pair = tuple[str, str]
Motif = tuple[str, ...]


def neighbours(pairs: Iterable[Pair]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return successors and predecessors by API; edges of an API to itself are left out."""
    after: defaultdict[str, set[str]] = defaultdict(set)
    before: defaultdict[str, set[str]] = defaultdict(set)
    for source, target in pairs:
        if source != target:
            after[source].add(target)
            before[target].add(source)
    return dict(after), dict(before)


def count_motifs(pairs: Iterable[Pair]) -> dict[Kind, int]:
    """Return how many motifs of each kind there are."""
    known = {(source, target) for source, target in pairs if source != target}
    after, before = neighbours(known)
    return {
        "chain": sum(len(after.get(middle, set()) - {start}) for start, middle in known),
        "fork": sum(_pairs(len(targets)) for targets in after.values()),
        "collider": sum(_pairs(len(sources)) for sources in before.values()),
    }


def _pairs(number: int) -> int:
    return number * (number - 1) // 2


def find_motifs(kind: Kind, pairs: Iterable[Pair]) -> Iterator[Motif]:
    """Yield the motifs of a kind in a fixed order of members: the root of a fork first, the sink of a collider last."""
    known = sorted({(source, target) for source, target in pairs if source != target})
    after, before = neighbours(known)
    if kind == "pair":
        yield from known
    elif kind == "chain":
        for start, middle in known:
            yield from ((start, middle, end) for end in sorted(after.get(middle, set()) - {start}))
    elif kind == "fork":
        for root in sorted(after):
            yield from ((root, first, second) for first, second in combinations(sorted(after[root]), 2))
    else:
        for sink in sorted(before):
            yield from ((first, second, sink) for first, second in combinations(sorted(before[sink]), 2))
