"""What further stages leave beside the rows of `tests.synthetic_runs`: rankings, token counts, opinions, fits, a graph."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

from novelapi import jsonl
from novelapi.discovery.surface.model import ApiObject, Surface
from novelapi.graph.model import Edge, Evidence, Input, Node, Output, Port, make_graph
from novelapi.layout import Layout
from novelapi.records.verdict import LABELS


def add_rankings(cell: Path, instance: Path, *, hit: float, seed: int = 0) -> None:
    """Write rankings of which the share `hit` begins with the target."""
    generator = random.Random(f"{seed}-{cell.name}")
    rows = []
    for task in jsonl.read(instance):
        others = [{"api": f"{task['library']}.other{number}"} for number in range(6)]
        target = [{"api": task["api"]}] if generator.random() < hit else []
        rows.append({"task_id": task["task_id"], "hits": [*others[:2], *target, *others[2:]]})
    jsonl.write(cell / "rankings.jsonl", rows)


def add_tokens(cell: Path, prompt: int, answer: int) -> None:
    """Write equal token counts beside every answer of a cell."""
    rows = [
        {**row, "prompt_tokens": prompt, "completion_tokens": answer} for row in jsonl.read(cell / "predictions.jsonl")
    ]
    jsonl.write(cell / "predictions.jsonl", rows)


def change_spec(cell: Path, **values: object) -> None:
    """Add to what the manifest of a cell says."""
    path = cell / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["spec"] |= values
    jsonl.write_text(path, json.dumps(manifest))


def add_opinion(cell: Path, kappa: float = 0.62) -> None:
    """Record the agreement of a second opinion in the manifest of a cell."""
    per_label = {label: round(kappa - 0.05 * place, 2) for place, label in enumerate(LABELS[:-1])}
    per_label |= {LABELS[-1]: None}
    change_spec(cell, second_opinion={"pairs": 31, "observed": 0.71, "kappa": kappa, "per_label": per_label})


def add_fits(experiment: Path, efficacies: Sequence[float]) -> None:
    """Record one fit per efficacy, each method named once."""
    methods = ("sft", "raft", "grace", "memit", "alphaedit", "alphaedit_lora")
    rows = [
        {
            "delivery": methods[place % len(methods)], "served": "weights", "requests": 31, "skipped": 0, "efficacy": efficacy,
            "locality": 0.9, "divergence": 0.002, "pass_train": round(0.9 * efficacy, 3),
            "pass_baseline": round(0.1 * efficacy, 3), "fit_peak_kb": 2048,
        }
        for place, efficacy in enumerate(efficacies)
    ]  # fmt: skip
    jsonl.write(experiment / "adaptation.jsonl", rows)


def add_graph(home: Path, apis: Sequence[str], edges: Sequence[tuple[str, str]], model: str = "copy") -> Path:
    """Write a parameter graph in which all given APIs are novel and the edges strong."""
    nodes = [
        Node(api=api, novel=True, outputs=(Output(port=Port(), type="ndarray"),), inputs=(Input(name="x"),))
        for api in apis
    ]
    evidence = (Evidence(tier="observed", detail="a(b(x))"),)
    joined = [
        Edge(source=source, port=Port(), target=target, parameter="x", label="strong", score=1.0, evidence=evidence)
        for source, target in edges
    ]
    library = apis[0].split(".", maxsplit=1)[0]
    path = Layout(home).graph(library, model)
    make_graph(library, nodes, joined, release="2.4.4").save(path)
    return path


def add_surface(home: Path, apis: Sequence[str], release: str = "2.4.4") -> None:
    """Write a surface of one module that holds the given functions."""
    library = apis[0].split(".", maxsplit=1)[0]
    Surface(
        distribution=library,
        version=release,
        sources={},
        roots=(library,),
        objects={api: ApiObject(canonical=api, kind="function") for api in apis},
        names={library: {api.removeprefix(f"{library}."): (api, "all") for api in apis}},
    ).save(Layout(home).surface(library, release))
