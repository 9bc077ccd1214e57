"""Graph construction as data: pairs of an output and a parameter with a label, split by the API that takes.

Strong and weak pairs are edges. `non` pairs are drawn among those without an edge, half of them hard (the same two APIs
at another parameter, or an API that gives to a sibling), half at random: nothing speaks for them, which is no proof.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from novelapi import jsonl
from novelapi.errors import DataError, UsageError
from novelapi.fingerprint import text_digest
from novelapi.graph.model import LABELS, ApiGraph, Label, Output
from novelapi.graph.retrieve import describe
from novelapi.records.base import Record

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
PER_LABEL = 1_000
"""Pairs of one label that are kept of a library."""

Key = tuple[str, str, str, str]


class PairRow(Record):
    """One pair with its label."""

    schema_version: Literal[1] = 1
    """Version of this format."""

    library: str
    """Library, or set of tools."""

    source: str
    """API that gives."""

    port: str
    """Which part of its result: `return`, `return.S`, `return[0]`, `self`."""

    target: str
    """API that takes."""

    parameter: str
    """As which parameter."""

    giver: str
    """The source in one line: call, result, purpose."""

    taker: str
    """The target in one line."""

    label: Label
    """strong, weak or non."""

    split: Split
    """Side of the split; all pairs into one API are on one side."""

    @property
    def key(self) -> Key:
        """Return what makes it unique."""
        return self.source, self.port, self.target, self.parameter


def split_of(library: str, target: str) -> Split:
    """Return the side that pairs into an API are on: 80, 10 and 10 of a hundred, by its name."""
    place = int(text_digest(f"{library}/{target}")[:8], 16) % 100
    return "train" if place < 80 else ("valid" if place < 90 else "test")


def sample_pairs(graph: ApiGraph, per_label: int = PER_LABEL, seed: int = 0) -> list[PairRow]:
    """Return pairs of a graph, as many of each label as there are at most; sorted.

    Raises:
        UsageError: the graph has no edge, or the number is none.
    """
    if per_label < 1 or not graph.edges:
        raise UsageError(
            f"pairs of {graph.name}: the graph has {len(graph.edges)} edges, {per_label} a label were asked; "
            "build a graph with edges, and ask for at least one"
        )
    source = random.Random(seed)  # noqa: S311  sampling, not security
    edges: dict[Key, Label] = {edge.key: edge.label for edge in graph.edges if edge.label != "non"}
    chosen: dict[Key, Label] = {}
    for label in LABELS[:2]:
        keys = sorted(key for key, own in edges.items() if own == label)
        chosen |= dict.fromkeys(source.sample(keys, min(per_label, len(keys))), label)
    wanted = min(per_label, max(Counter(chosen.values()).values()))
    hard, easy = list(_hard(graph, edges)), _easy(graph, edges, source)
    source.shuffle(hard)
    chosen |= dict.fromkeys(hard[: wanted // 2], "non")
    for key in easy:
        if sum(label == "non" for label in chosen.values()) >= wanted:
            break
        chosen.setdefault(key, "non")
    return [_row(graph, key, chosen[key]) for key in sorted(chosen)]


def _hard(graph: ApiGraph, edges: Mapping[Key, Label]) -> Iterator[Key]:
    """Yield pairs without an edge whose APIs are joined at another parameter."""
    seen: set[Key] = set()
    for source, port, target, _ in sorted(edges):
        for item in graph.by_api[target].inputs:
            key = (source, port, target, item.name)
            if key not in edges and key not in seen:
                seen.add(key)
                yield key


def _easy(graph: ApiGraph, edges: Mapping[Key, Label], source: random.Random) -> Iterator[Key]:
    """Yield pairs without an edge at random; it ends when nearly all that are drawn were there."""
    givers = [node for node in graph.nodes if node.outputs]
    takers = [node for node in graph.nodes if node.inputs]
    for _ in range(100 * PER_LABEL):
        giver, taker = source.choice(givers), source.choice(takers)
        output: Output = source.choice(giver.outputs)
        key = (giver.api, output.port.text, taker.api, source.choice(taker.inputs).name)
        if giver is not taker and key not in edges:
            yield key


def _row(graph: ApiGraph, key: Key, label: Label) -> PairRow:
    source, port, target, parameter = key
    return PairRow(
        library=graph.name,
        source=source,
        port=port,
        target=target,
        parameter=parameter,
        giver=describe(graph.by_api[source]),
        taker=describe(graph.by_api[target]),
        label=label,
        split=split_of(graph.name, target),
    )


def write_pairs(rows: Sequence[PairRow], folder: Path) -> dict[str, int]:
    """Write `pairs.{train,valid,test}.jsonl` below a folder; return how many rows each holds."""
    parts: defaultdict[str, list[PairRow]] = defaultdict(list)
    for row in rows:
        parts[row.split].append(row)
    for split in SPLITS:
        jsonl.write(folder / f"pairs.{split}.jsonl", (row.to_row() for row in parts[split]))
    return {split: len(parts[split]) for split in SPLITS}


def read_pairs(folder: Path, splits: Sequence[Split] = SPLITS) -> list[PairRow]:
    """Return the pairs of some splits.

    Raises:
        DataError: a file is missing or broken, or a pair occurs twice.
    """
    rows: list[PairRow] = []
    for split in splits:
        path = folder / f"pairs.{split}.jsonl"
        if not path.exists():
            raise DataError(f"{path} is missing: write it with `novelapi graph LIB --pairs {folder}`")
        rows += [_validated(row, path, number) for number, row in enumerate(jsonl.read(path), 1)]
    twice = [key for key, number in Counter((row.library, *row.key) for row in rows).items() if number > 1]
    if twice:
        raise DataError(f"{folder}: the pair {' '.join(twice[0])} occurs twice; correct the files")
    return rows


def _validated(row: jsonl.Row, path: Path, number: int) -> PairRow:
    try:
        return PairRow.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(f"{path}, row {number}: {where}: {first['msg']}; correct the row") from error
