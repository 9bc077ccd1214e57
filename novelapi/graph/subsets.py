"""Subsets of APIs to make multi-API tasks of: chains, forks and colliders with a novel API in a stated position.

The sampler first covers every novel API that is in a motif at all, beyond the cap where nothing else is left, then
draws at random; no subset is drawn twice, in whatever order its members stand, and no API that is not novel is drawn
more often than the cap allows.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from novelapi.errors import UsageError
from novelapi.graph.model import ApiGraph, Label
from novelapi.graph.motifs import KINDS, Kind, find_motifs
from novelapi.records.base import Record

POOL = 200_000
"""Motifs of one kind that are looked at: hubs of large graphs have millions."""


class Subset(Record):
    """APIs with a topology."""

    kind: Kind
    """pair: A -> B; chain: A -> B -> C; fork: A -> B, A -> C; collider: A -> C, B -> C."""

    members: tuple[str, ...]
    """A, B and C."""

    novel: tuple[int, ...]
    """Positions of novel APIs, from 0."""


class Sampled(Record):
    """What was drawn."""

    subsets: tuple[Subset, ...]
    """In the order of drawing."""

    covered: int
    """Novel APIs that are in a subset."""

    uncovered: tuple[str, ...]
    """Novel APIs with an edge that are in none: no motif has them in the position, or the number was used up."""

    motifs: dict[str, int]
    """Motifs with a novel API in the position, by kind (at most `POOL` of each are looked at)."""


def sample_subsets(
    graph: ApiGraph,
    number: int,
    *,
    kinds: Sequence[Kind] = KINDS,
    position: int | None = None,
    labels: Sequence[Label] = ("strong",),
    cap: int = 5,
    seed: int = 0,
) -> Sampled:
    """Draw subsets.

    Args:
        graph: the graph.
        number: how many subsets.
        kinds: topologies.
        position: where a novel API must stand (0, 1 or 2); null for anywhere.
        labels: labels of the edges that may join.
        cap: most subsets that one API that is not novel may be in.
        seed: the same seed draws the same subsets.

    Raises:
        UsageError: a number, cap or position that nothing can fulfil.
    """
    if number < 1 or cap < 1 or position not in {None, 0, 1, 2}:
        raise UsageError("a sample needs at least one subset, a cap of at least 1, and a position 0, 1 or 2")
    drawer = _Drawer(graph, number, cap)
    pools = {kind: _pool(graph, kind, position, labels) for kind in kinds}
    source = random.Random(seed)  # noqa: S311  sampling, not security
    for pool in pools.values():
        source.shuffle(pool)
    for api in sorted(drawer.novel):
        own = [subset for pool in pools.values() for subset in pool if api in _novel(subset)]
        if own and api not in drawer.covered:
            _ = drawer.take_first(own) or drawer.take_first(own, capped=False)
    queues = {kind: iter(pool) for kind, pool in pools.items()}
    while queues and not drawer.full:
        for kind in list(queues):
            if not drawer.take_first(queues[kind]):
                del queues[kind]
    joined = {api for pair in graph.joined(labels) for api in pair}
    return Sampled(
        subsets=tuple(drawer.taken),
        covered=len(drawer.covered),
        uncovered=tuple(sorted((drawer.novel & joined) - drawer.covered)),
        motifs={kind: len(pool) for kind, pool in pools.items()},
    )


class _Drawer:
    def __init__(self, graph: ApiGraph, number: int, cap: int) -> None:
        self.novel = frozenset(node.api for node in graph.nodes if node.novel)
        self.number = number
        self.cap = cap
        self.taken: list[Subset] = []
        self.covered: set[str] = set()
        self._uses: Counter[str] = Counter()
        self._seen: set[frozenset[str]] = set()

    @property
    def full(self) -> bool:
        return len(self.taken) >= self.number

    def take_first(self, candidates: Iterable[Subset], *, capped: bool = True) -> bool:
        """Take the first candidate that may be taken; return whether there was one."""
        for subset in candidates:
            if self.full:
                return False
            if self._may(subset, capped=capped):
                self.taken.append(subset)
                self._seen.add(frozenset(subset.members))
                self._uses.update(api for api in subset.members if api not in self.novel)
                self.covered |= self.novel & set(subset.members)
                return True
        return False

    def _may(self, subset: Subset, *, capped: bool) -> bool:
        if frozenset(subset.members) in self._seen:
            return False
        return not capped or all(self._uses[api] < self.cap for api in subset.members)


def _pool(graph: ApiGraph, kind: Kind, position: int | None, labels: Sequence[Label]) -> list[Subset]:
    novel = frozenset(node.api for node in graph.nodes if node.novel)
    found: list[Subset] = []
    for members in islice(find_motifs(kind, graph.joined(labels)), POOL):
        places = tuple(place for place, api in enumerate(members) if api in novel)
        if (position in places) if position is not None else places:
            found.append(Subset(kind=kind, members=members, novel=places))
    return found


def _novel(subset: Subset) -> set[str]:
    return {subset.members[place] for place in subset.novel}
