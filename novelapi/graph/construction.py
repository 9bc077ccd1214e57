"""Who labels a pair of ports: a model that is asked, one that counts words, and two that need no thought.

`WordModel` is a multinomial naive Bayes classifier (add-one smoothing) over the words of the two APIs, by the place
where they stand: a baseline that can be trained in a second, so that a transfer from library to library has a floor.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from novelapi.errors import UsageError
from novelapi.graph.model import LABELS, ApiGraph, Edge, Evidence, Label, Node, make_graph
from novelapi.graph.pairs import Key, PairRow
from novelapi.graph.refine import SAMPLING, read_answer
from novelapi.graph.retrieve import describe, with_prerequisites
from novelapi.graph.text import split_terms
from novelapi.inference.templates import render_template
from novelapi.ports import Completer
from novelapi.records.base import Record

Labeller = Callable[[Sequence[PairRow]], list[Label | None]]
"""Labels pairs; null where an answer could not be read."""


def prompt_of(row: PairRow) -> str:
    """Return the question about a pair: the one that refines graphs."""
    return render_template(
        "label_edge", giver=row.giver, taker=row.taker, port=row.port, parameter=row.parameter
    )  # fmt: skip


def training_row(row: PairRow) -> dict[str, str]:
    """Return a pair as a row of supervised fine-tuning (`adaptation.rows.Row`)."""
    return {
        "task_id": "/".join([row.library, *row.key]),
        "library": row.library,
        "api": row.target,
        "prompt": prompt_of(row),
        "answer": f'{{"label": "{row.label}"}}',
    }


def asked(completer: Completer) -> Labeller:
    """Return the labels of a model without any example.

    Raises:
        EndpointError: when it is called: the model did not answer.
    """

    def label(rows: Sequence[PairRow]) -> list[Label | None]:
        texts = completer.complete([prompt_of(row) for row in rows], SAMPLING) if rows else []
        answers = [read_answer(first) for first, *_ in texts]
        return [answer.label if answer is not None else None for answer in answers]

    return label


def constant(label: Label) -> Labeller:
    """Return the labeller that says one label of every pair."""
    return lambda rows: [label] * len(rows)


def by_name(rows: Sequence[PairRow]) -> list[Label | None]:
    """Label by names alone: strong if a word of the parameter is in the source's name, else non."""
    return ["strong" if set(split_terms(row.parameter)) & set(split_terms(row.source)) else "non" for row in rows]


class WordModel:
    """Naive Bayes over words and their places."""

    def __init__(self, rows: Sequence[PairRow]) -> None:
        """Count the words of labelled pairs.

        Raises:
            UsageError: there is no pair.
        """
        if not rows:
            raise UsageError("no pair to train on: give the split `train` of at least one library")
        self._priors = Counter(row.label for row in rows)
        self._words: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for row in rows:
            self._words[row.label].update(_features(row))
        self._totals = {label: words.total() for label, words in self._words.items()}
        self._known = len({word for words in self._words.values() for word in words})

    def __call__(self, rows: Sequence[PairRow]) -> list[Label | None]:
        """Label pairs; equal scores go to the first label."""
        return [self._best(row) for row in rows]

    def _best(self, row: PairRow) -> Label:
        features = Counter(_features(row))
        return max((label for label in LABELS if self._priors[label]), key=lambda label: self._score(label, features))

    def _score(self, label: Label, features: Mapping[str, int]) -> float:
        words, total = self._words[label], self._totals[label] + self._known
        prior = math.log(self._priors[label] / self._priors.total())
        return prior + sum(number * math.log((words[word] + 1) / total) for word, number in features.items())


def _features(row: PairRow) -> Iterator[str]:
    for place, text in (("giver", row.giver), ("taker", row.taker), ("port", row.port), ("parameter", row.parameter)):
        yield from (f"{place}:{word}" for word in set(split_terms(text)))
    shared = set(split_terms(row.giver)) & set(split_terms(row.taker))
    yield f"shared:{min(len(shared), 12)}"
    same = row.source.rpartition(".")[0] == row.target.rpartition(".")[0]
    yield f"same module:{same}"


class LabelScore(Record):
    """How well one label is found."""

    label: Label
    """The label."""

    pairs: int
    """Pairs that have it."""

    precision: float
    """Share of the pairs that were called so and are."""

    recall: float
    """Share of the pairs that are so and were called it."""

    f1: float
    """Harmonic mean of both."""


class Scores(Record):
    """How well pairs were labelled."""

    pairs: int
    """Number of pairs."""

    unread: int
    """Answers that could not be read; they are wrong."""

    accuracy: float
    """Share of right labels."""

    macro_f1: float
    """Mean F1 of the labels."""

    labels: tuple[LabelScore, ...]
    """Each label."""


def score(rows: Sequence[PairRow], labels: Sequence[Label | None]) -> Scores:
    """Compare labels with those of the pairs."""
    found = tuple(_label_score(label, rows, labels) for label in LABELS)
    right = sum(row.label == label for row, label in zip(rows, labels, strict=True))
    return Scores(
        pairs=len(rows),
        unread=sum(label is None for label in labels),
        accuracy=round(right / max(1, len(rows)), 4),
        macro_f1=round(sum(item.f1 for item in found) / len(found), 4),
        labels=found,
    )


def _label_score(label: Label, rows: Sequence[PairRow], labels: Sequence[Label | None]) -> LabelScore:
    pairs = sum(row.label == label for row in rows)
    called = sum(own == label for own in labels)
    both = sum(row.label == own == label for row, own in zip(rows, labels, strict=True))
    precision, recall = both / called if called else 0.0, both / pairs if pairs else 0.0
    f1 = 2 * precision * recall / (precision + recall) if both else 0.0
    return LabelScore(label=label, pairs=pairs, precision=round(precision, 4), recall=round(recall, 4), f1=round(f1, 4))


def documentation(graph: ApiGraph | None, nodes: Sequence[Node]) -> list[dict[str, object]]:
    """Return one row per API; with a graph each has the field `prerequisite_apis`."""
    rows = [{"api": node.api, "text": describe(node)} for node in nodes]
    return with_prerequisites(graph, rows) if graph is not None else [dict(row) for row in rows]


def predicted_graph(graph: ApiGraph, rows: Sequence[PairRow], labels: Sequence[Label | None], by: str) -> ApiGraph:
    """Return the graph that labels give: the automated one. Its nodes are those of the graph it is compared with.

    Args:
        graph: nodes, and which port each pair means.
        rows: the pairs.
        labels: their labels; pairs without one, or labelled non, give no edge.
        by: who gave them.
    """
    ports = {(node.api, item.port.text): item.port for node in graph.nodes for item in node.outputs}
    edges: dict[Key, Edge] = {}
    for row, label in zip(rows, labels, strict=True):
        if label == "strong" or label == "weak":  # noqa: PLR1714 - what narrows the type
            edges[row.key] = Edge(
                source=row.source,
                port=ports[row.source, row.port],
                target=row.target,
                parameter=row.parameter,
                label=label,
                evidence=(Evidence(tier="model", detail=f"labelled by {by}"),),
            )
    return make_graph(graph.name, graph.nodes, edges.values(), release=graph.release)
