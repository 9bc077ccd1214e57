"""The graph of a library as a file: built from finished stages 1 and 2; the observed flows are kept."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from novelapi import jsonl
from novelapi.catalog import find_library
from novelapi.discovery.apis import ApiTable
from novelapi.discovery.requests import environment_for, workspace_of
from novelapi.discovery.stage import STAGE, read_candidates
from novelapi.discovery.surface.model import Surface
from novelapi.errors import UsageError
from novelapi.execution.sandbox import GUEST
from novelapi.fingerprint import digest, file_digest
from novelapi.graph.build import build_graph, bundle_programs, documented_programs, gold_programs
from novelapi.graph.flow import Flow, Text
from novelapi.graph.library import LibraryNodes, library_nodes
from novelapi.graph.model import GRAPH_VERSION, Port
from novelapi.graph.observe import CPU_S, OBSERVERS, Observed, observe
from novelapi.layout import Layout
from novelapi.records.base import Record
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.request import LibraryRequest
from novelapi.records.task import Task

Progress = Callable[[str], None]


class GraphResult(Record):
    """A graph that was built, and what it cost."""

    path: str
    """File below the home folder."""

    digest: str
    """Identity of the graph."""

    counts: dict[str, int]
    """APIs, edges by label and by tier."""

    left_out: dict[str, int]
    """What was not joined or not read, by reason."""

    cpu_s: float
    """CPU seconds of reading and joining."""

    observe_cpu_s: float = 0.0
    """CPU seconds of the programs that ran now; 0 where their flows were recorded before."""


def build_library_graph(
    request: LibraryRequest, layout: Layout, *, run: bool = True, progress: Progress = lambda _: None
) -> GraphResult:
    """Build the graph of a library and write it.

    Args:
        request: library, model and resolved releases.
        layout: where everything lies.
        run: whether examples and gold solutions are run for the observed tier; without it their recorded flows are
            used where they are there.
        progress: is told what happens.

    Raises:
        UsageError: stage 1 or 2 has not been run for this release.
        NovelApiError: the environment cannot be built.
        PrerequisiteError: the sandbox is missing.
    """
    entry = find_library(request.library)
    release = request.new or ""
    candidates = read_candidates(layout.stage(entry.name, STAGE, request.model))
    bundles = read_knowledge(layout, entry.name, request.model)
    if not candidates or {row.release for row in candidates} != {release}:
        raise UsageError(
            f"stage 1 of {entry.name} {release} is not there for {request.model}: run `novelapi build {entry.name} "
            f"--stages 1 2 --model {request.model}` with the same cutoff first"
        )
    started = time.process_time()
    progress("reading the surface")
    surface = workspace_of(layout).surface(entry, release)
    table = ApiTable(surface, entry.private_prefixes)
    nodes = library_nodes(surface, table, {row.api for row in candidates})
    read = [*documented_programs(table), *bundle_programs(bundles)]
    programs = [*read, *gold_programs(read_gold(layout, entry.name, request.model))]
    spent = time.process_time() - started
    progress(f"running {len(programs)} programs")
    seen = observed_flows(nodes, programs, surface, layout, request, run=run)
    started = time.process_time()
    progress("joining")
    graph = build_graph(surface, nodes, read=read, observed=seen.flows, counts=seen.counts)
    path = layout.graph(entry.name, request.model)
    graph.save(path)
    return GraphResult(
        path=path.relative_to(layout.home).as_posix(),
        digest=graph.digest,
        counts=graph.counts(),
        left_out=graph.left_out,
        cpu_s=round(spent + time.process_time() - started, 3),
        observe_cpu_s=round(seen.cpu_s, 3),
    )


def read_knowledge(layout: Layout, library: str, model: str) -> list[KnowledgeBundle]:
    """Return the bundles of stage 2, none where it has not been run."""
    return [KnowledgeBundle.from_row(row) for row in jsonl.scan(layout.stage(library, "stage2_knowledge", model))]


def read_gold(layout: Layout, library: str, model: str) -> list[Task]:
    """Return the accepted tasks of stage 4, none where it has not been run."""
    rows = jsonl.scan(layout.stage(library, "stage4_filtered", model))
    return [Task.model_validate(row["task"]) for row in rows if row["accepted"]]


def observed_flows(
    nodes: LibraryNodes,
    programs: Sequence[Text],
    surface: Surface,
    layout: Layout,
    request: LibraryRequest,
    *,
    run: bool,
) -> Observed:
    """Return the flows of programs, from their record where the same programs ran before."""
    tracers = [file_digest(GUEST / name) for name in OBSERVERS]
    spec = [GRAPH_VERSION, CPU_S, tracers, surface.sources, [vars(item) for item in programs]]
    path = layout.flows(f"{surface.distribution}-{surface.version}", digest(spec))
    recorded = _read_flows(path)
    if recorded is not None:
        return recorded
    if not run:
        return Observed(counts=Counter({"programs that were not run": len(programs)}))
    env = environment_for(request.library, surface.version, layout)
    found = observe(env, programs, nodes, surface.roots)
    rows = [[item.source, [item.port.kind, item.port.name], item.target, item.parameter, item.where, item.statement]
            for item in found.flows]  # fmt: skip
    jsonl.write_text(path, json.dumps({"counts": dict(found.counts), "flows": rows}, ensure_ascii=False))
    return found


def _read_flows(path: Path) -> Observed | None:
    if not path.exists():
        return None
    body = json.loads(path.read_bytes())
    flows = [
        Flow(
            source=source,
            port=Port(kind=kind, name=name),
            target=target,
            parameter=parameter,
            where=where,
            statement=statement,
        )
        for source, (kind, name), target, parameter, where, statement in body["flows"]
    ]
    return Observed(flows=flows, counts=Counter(body["counts"]))
