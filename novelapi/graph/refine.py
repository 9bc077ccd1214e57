"""A language model labels what is open: edges that nothing has shown by running. Off unless it is asked for.

An observed edge is never asked about and never changed. Answers come through the completion cache, so a graph can be
refined again without a request; what cannot be read as an answer leaves the edge as it was, and is counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Literal, cast

from pydantic import ValidationError

from novelapi.graph.model import ApiGraph, Edge, Evidence, make_graph
from novelapi.graph.retrieve import describe
from novelapi.inference.templates import render_template
from novelapi.ports import Completer
from novelapi.records.base import Record
from novelapi.records.cell import Sampling

SAMPLING = Sampling(n=1, max_tokens=200)


class Answer(Record):
    """What a model says of an edge."""

    label: Literal["strong", "weak", "non"]
    """Its label."""

    reason: str = ""
    """Why."""


def open_edges(graph: ApiGraph, most: int) -> list[Edge]:
    """Return the edges to ask about, best first: those without an observation."""
    edges = [edge for edge in graph.edges if not edge.tiers & {"observed", "model"}]
    return sorted(edges, key=lambda edge: (-edge.score, edge.key))[:most]


def refine(graph: ApiGraph, completer: Completer, most: int) -> ApiGraph:
    """Return the graph with the labels of a model on its open edges.

    Args:
        graph: what was built.
        completer: the model, behind a cache.
        most: number of edges that are asked about at most; the others are counted.

    Raises:
        EndpointError: the model did not answer.
    """
    chosen = open_edges(graph, most)
    texts = completer.complete([_prompt(graph, edge) for edge in chosen], SAMPLING) if chosen else []
    changed: dict[tuple[str, str, str, str], Edge] = {}
    counts: Counter[str] = Counter()
    for edge, (text, *_) in zip(chosen, cast("Sequence[Sequence[str]]", texts), strict=True):
        answer = read_answer(text)
        if answer is None:
            counts["answers of the model that are none"] += 1
            continue
        said = Evidence(tier="model", detail=f"{completer.name}: {answer.reason}", where=edge.evidence[0].where)
        evidence = (*edge.evidence, said)
        changed[edge.key] = edge.model_copy(update={"label": answer.label, "evidence": evidence})
    counts["open edges that no model was asked about"] += len(open_edges(graph, len(graph.edges))) - len(chosen)
    edges = [changed.get(edge.key, edge) for edge in graph.edges]
    return make_graph(graph.name, graph.nodes, edges, release=graph.release, left_out={**graph.left_out, **counts})


def _prompt(graph: ApiGraph, edge: Edge) -> str:
    return render_template(
        "label_edge",
        giver=describe(graph.by_api[edge.source]),
        taker=describe(graph.by_api[edge.target]),
        port=edge.port.text,
        parameter=edge.parameter,
    )


def read_answer(text: str) -> Answer | None:
    """Return the last JSON object of a text that is an answer, null where there is none."""
    decoder = json.JSONDecoder()
    found: Answer | None = None
    for start in (place for place, character in enumerate(text) if character == "{"):
        try:
            row, _ = decoder.raw_decode(text, start)
            found = Answer.model_validate(row)
        except (ValueError, RecursionError, ValidationError):
            continue
    return found
