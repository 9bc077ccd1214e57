"""Tool descriptions as nodes, and the outside edge sets that a builder is measured on: TaskBench and NESTFUL.

A tool's types are labels without structure: they fit exactly when they are the same text, capitals included.
Sources: microsoft/JARVIS (taskbench), IBM/NESTFUL version 1; see docs/graph.md.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from novelapi.errors import DataError
from novelapi.graph.model import ApiGraph, Edge, Evidence, Input, Node, Output, Port, make_graph
from novelapi.graph.motifs import Pair
from novelapi.jsonl import Row
from novelapi.records.base import Record

CLEAN = "clean"
"""Status of a NESTFUL edge whose field and argument both are in the specification."""
_REFERENCE = re.compile(r"\$(var\d+)(?:\.([^$]+))?\$")
_FIELD = re.compile(r"^[^.\[\]]+")


class NestfulEdge(Record):
    """A field of a result that a gold sequence writes into a later call's argument."""

    source: str
    """Tool that gave the result."""

    output: str
    """Field of the result."""

    target: str
    """Tool that was called with it."""

    parameter: str
    """Argument that it was written into."""

    status: str = CLEAN
    """`clean`, or what the specification lacks."""

    count: int = 1
    """How often the sequences write it."""


# TaskBench


def read_taskbench(path: Path) -> tuple[list[Node], frozenset[Pair]]:
    """Return the tools of a TaskBench graph, and its links.

    Raises:
        DataError: the file is broken, names a tool twice, or links one that it does not list.
    """
    body = _document(path, dict)
    try:
        nodes = [_taskbench_node(row) for row in body["nodes"]]
        links = frozenset((str(row["source"]), str(row["target"])) for row in body.get("links", ()))
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: a tool or link lacks {error}; it is no TaskBench graph") from error
    make_graph(path.stem, nodes, ())  # refuses duplicate names
    unknown = sorted({name for pair in links for name in pair} - {node.api for node in nodes})
    if unknown:
        raise DataError(f"{path}: a link names '{unknown[0]}', which is not among the nodes; correct the file")
    return nodes, links


def _taskbench_node(row: Row) -> Node:
    seen: Counter[str] = Counter()
    inputs: list[Input] = []
    for kind in row["input-type"]:
        seen[kind] += 1
        inputs.append(Input(name=kind if seen[kind] == 1 else f"{kind}_{seen[kind]}", type=kind))
    outputs = [
        Output(port=Port() if len(row["output-type"]) == 1 else Port(kind="item", name=str(place)), type=kind)
        for place, kind in enumerate(row["output-type"])
    ]
    return Node(api=row["id"], text=row.get("desc", ""), inputs=tuple(inputs), outputs=tuple(outputs))


# NESTFUL


def read_nestful_edges(path: Path) -> dict[str, tuple[list[Node], list[NestfulEdge]]]:
    """Return tools and edges of every split of a file of derived edges (`apis`, `edges`).

    Raises:
        DataError: the file is broken, or a split names a tool twice.
    """
    body = _document(path, dict)
    splits: dict[str, tuple[list[Node], list[NestfulEdge]]] = {}
    try:
        for row in body["apis"].values():
            splits.setdefault(row["split"], ([], []))[0].append(
                _tool(row["name"], row.get("description"), row["inputs"], row["outputs"])
            )
        for row in body["edges"]:
            found = NestfulEdge(
                source=row["source_api"], output=row["output"], target=row["target_api"], parameter=row["input"],
                status=row["status"], count=row["count"],
            )  # fmt: skip
            splits[row["split"]][1].append(found)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: a row lacks {error}; it is no file of NESTFUL edges") from error
    for name, (nodes, _) in splits.items():
        make_graph(name, nodes, ())  # refuses duplicate names
    return splits


def read_nestful(specification: Path, sequences: Path) -> tuple[list[Node], list[NestfulEdge], dict[str, int]]:
    """Return the tools of a NESTFUL split, the edges of its gold sequences, and how many references gave them.

    Raises:
        DataError: a file is broken, or a tool is there twice.
    """
    try:
        nodes = [_specified(row) for row in _document(specification, list)]
        make_graph(specification.stem, nodes, ())  # refuses duplicate names
        by_name = {node.api: node for node in nodes}
        references = [item for row in _document(sequences, list) for item in _references(row["output"])]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{specification} or {sequences}: a row lacks {error}; it is no NESTFUL split") from error
    counts = Counter({"references": len(references)})
    found: Counter[tuple[str, str, str, str]] = Counter()
    for item in references:
        if item[0] not in by_name or item[2] not in by_name:
            counts["dropped"] += 1
        else:
            found[item] += 1
    edges = [_judged(key, number, by_name) for key, number in sorted(found.items())]
    counts.update({"edges": len(edges), "clean": sum(edge.status == CLEAN for edge in edges)})
    return nodes, edges, dict(counts)


def _specified(row: Row) -> Node:
    inputs = {
        name: details
        for field in ("query_parameters", "path_parameters", "arguments")
        for name, details in row.get(field, {}).items()
    }
    return _tool(row["name"], row.get("description"), inputs, row["output_parameters"])


def _tool(name: str, text: str | None, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Node:
    return Node(
        api=name,
        text=text or "",
        inputs=tuple(
            Input(
                name=key,
                type=row.get("type"),
                required=bool(row.get("required", False)),
                text=row.get("description") or "",
            )
            for key, row in inputs.items()
        ),
        outputs=tuple(
            Output(port=Port(kind="key", name=key), type=row.get("type"), text=row.get("description") or "")
            for key, row in outputs.items()
        ),
    )


def _references(calls: Sequence[Row]) -> Iterator[tuple[str, str, str, str]]:
    """Yield source, field, target and argument of each reference with a field; `var_result` only collects answers."""
    made: dict[str, str] = {}
    for call in calls:
        if call["name"] == "var_result":
            continue
        for argument, value in call["arguments"].items():
            for label, path in _REFERENCE.findall(value) if isinstance(value, str) else ():
                if label in made and path and (field := _FIELD.match(path)):
                    yield made[label], field[0], call["name"], argument
        made[call.get("label", "")] = call["name"]


def _judged(key: tuple[str, str, str, str], count: int, nodes: Mapping[str, Node]) -> NestfulEdge:
    source, output, target, parameter = key
    status = CLEAN
    if output not in {item.port.name for item in nodes[source].outputs}:
        status = "field absent from spec"
    if parameter not in {item.name for item in nodes[target].inputs}:
        status = "argument absent from spec"
    return NestfulEdge(source=source, output=output, target=target, parameter=parameter, status=status, count=count)


def observed_graph(name: str, nodes: Sequence[Node], edges: Sequence[NestfulEdge]) -> ApiGraph:
    """Return the graph of the clean edges: they were written by people, so they are strong; others are counted."""
    left_out = Counter(edge.status for edge in edges if edge.status != CLEAN)
    kept = [edge for edge in edges if edge.status == CLEAN and edge.source != edge.target]
    left_out["an API to itself"] = sum(edge.source == edge.target for edge in edges if edge.status == CLEAN)
    return make_graph(
        name,
        nodes,
        (
            Edge(
                source=edge.source,
                port=Port(kind="key", name=edge.output),
                target=edge.target,
                parameter=edge.parameter,
                label="strong",
                score=float(edge.count),
                evidence=(Evidence(tier="observed", detail=f"written {edge.count} times in gold sequences"),),
            )
            for edge in kept
        ),
        left_out=left_out,
    )


def _document(path: Path, kind: type) -> Any:
    """Read one JSON document.

    Raises:
        DataError: it cannot be read, is no JSON, or is of another kind.
    """
    try:
        body = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}; check the path") from error
    except ValueError as error:
        raise DataError(f"{path}: not valid JSON ({error}); correct the file") from error
    if not isinstance(body, kind):
        raise DataError(f"{path}: expected a JSON {'object' if kind is dict else 'array'}; give another file")
    return body
