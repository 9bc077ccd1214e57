"""Retrieval on built libraries: hit@5 of vectors, BM25 and both, LanceDB against an exact ranking, and the full size.

Run: python -m benchmarks.retrieval numpy scipy                 (their stages 1 to 3 must be there)
     python -m benchmarks.retrieval --full numpy flask          (1,670 tasks x 11 conditions, timed)
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from novelapi import jsonl
from novelapi.adapters.lancedb_index import LanceIndex
from novelapi.inference.markdown import blocks
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.knowledge.render import render
from novelapi.layout import Layout
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.task import Task
from novelapi.retrieval.delivery import task_query
from novelapi.retrieval.embedding import HashedNgrams
from novelapi.retrieval.index import rank_queries, search
from novelapi.retrieval.passages import Passage, make_passages
from novelapi.retrieval.rag import corpus_of, prepare_rag
from novelapi.retrieval.ranking import MODES
from novelapi.retrieval.sweep import sweep
from novelapi.settings import load_settings

TASKS = 1670
"""Tasks of the published grid."""
APIS = 2000
"""APIs of the corpus at full size: more than the published tasks are about, since all candidates are distractors."""
CONDITIONS = list(KnowledgeCondition)[1:]


def read(libraries: list[str]) -> tuple[list[KnowledgeBundle], list[Task]]:
    layout = Layout(load_settings().home_dir)

    def rows(stage: str) -> list[dict]:
        return [row for name in libraries for row in jsonl.scan(layout.stage(name, stage, "copy"))]

    bundles = [KnowledgeBundle.from_row(row) for row in rows("stage2_knowledge")]
    return bundles, [Task.model_validate(row) for row in rows("stage3_tasks")]


def compare(bundles: list[KnowledgeBundle], tasks: list[Task]) -> None:
    """Print how well targets are found, whether LanceDB is exact, and whether passages keep their bytes."""
    queries = {task.task_id: task_query(task) for task in tasks}
    embedder = HashedNgrams()
    different = asked = 0
    print(f"{len(bundles)} bundles, {len(tasks)} tasks")
    with tempfile.TemporaryDirectory() as folder:
        for condition in CONDITIONS:
            index = LanceIndex(Path(folder) / "lance", condition)
            passages = corpus_of(bundles, condition)
            columns = []
            for mode in MODES:
                path = Path(folder) / f"{condition}.{mode}.jsonl"
                arm = prepare_rag(
                    passages, tasks, condition=condition, index=index, embedder=embedder, rankings=path, mode=mode
                )
                scores = arm.scores(tasks)
                columns.append(f"{mode} {scores.hit[5]:.2f} / {scores.mrr:.2f} / {scores.ndcg[5]:.2f}")
            exact = rank_queries(index, embedder, queries, "vector", 10)
            asked += len(exact)
            different += sum(
                tuple(search(index, embedder, queries[row.query], "vector", 10)) != row.hits for row in exact
            )
            print(f"{condition:18} {arm.use.passages:5} passages   hit@5 / MRR / nDCG@5: " + "   ".join(columns))
            if condition == KnowledgeCondition.FULL:
                look_up(index, embedder, bundles)
        full = prepare_rag(
            corpus_of(bundles, KnowledgeCondition.FULL),
            tasks,
            condition="full",
            index=LanceIndex(Path(folder) / "lance", "full"),
            embedder=embedder,
            rankings=Path(folder) / "deep.jsonl",
            depth=100,
        )
        targets = {task.task_id: task.api for task in tasks}
        print("sweep of `full`, hybrid: distractors, k, target shown, tokens")
        for point in sweep(
            list(full.rankings.values()), targets, full.passages, distractors=(0, 50, 10_000), ks=(1, 3, 5)
        ):
            print(f"  {point.distractors:5} {point.k:2} {point.hit:.2f} {point.tokens:7.0f}")
    print(f"LanceDB's top 10 differs from the exact ranking for {different} of {asked} queries")
    whole, cut = keep_bytes(bundles)
    print(f"{whole} blocks of passages stand byte for byte in their bundle, {cut} do not")


def look_up(index: LanceIndex, embedder: HashedNgrams, bundles: list[KnowledgeBundle]) -> None:
    """Print for how many APIs a query of the bare name, and of `Class.method`, finds that API first."""
    passages, _ = index.read()
    api_of = {passage.id: passage.api for passage in passages}
    names = {bundle.api: bundle.api.rpartition(".")[2] for bundle in bundles}
    leaves = {api: name for api, name in names.items() if list(names.values()).count(name) == 1}
    paths = {api: api.split(".", 1)[-1] for api in names}
    paths = {api: path for api, path in paths.items() if sum(other.endswith(f".{path}") for other in names) == 1}
    for kind, asked in (("leaf", leaves), ("path", paths)):
        for mode in MODES:
            first = {api: search(index, embedder, text, mode, 1) for api, text in asked.items()}
            found = sum(bool(hits) and api_of[hits[0].passage] == api for api, hits in first.items())
            print(f"  identifier queries ({kind}), {mode}: {found} of {len(asked)} find their API first")


def keep_bytes(bundles: list[KnowledgeBundle]) -> tuple[int, int]:
    """Count blocks of passages that are in the rendered bundle byte for byte, and those that are not.

    Of code that was cut at lines the fence is added anew; its body has to be there.
    """
    whole = cut = 0
    for bundle in bundles:
        text = render(bundle, KnowledgeCondition.FULL)
        for passage in make_passages(bundle.api, bundle.library, text):
            kept = [
                block in text or block.partition("\n")[2].rpartition("\n")[0] in text for block in blocks(passage.text)
            ]
            whole, cut = whole + sum(kept), cut + len(kept) - sum(kept)
    return whole, cut


def full_size(bundles: list[KnowledgeBundle], tasks: list[Task]) -> None:
    """Time all rankings of a grid of the published size; the bundles and tasks are repeated under other names."""
    embedder = HashedNgrams()
    repeated = [Task.model_validate({**task.to_row(), "task_id": f"{task.task_id}-{n}"}) for n, task in _cycle(tasks)]
    queries = {task.task_id: f"{task_query(task)} variant {number}" for number, task in enumerate(repeated[:TASKS])}
    spent = {"vector": 0.0, "hybrid": 0.0, "build": 0.0}
    wall = time.perf_counter()
    for condition in CONDITIONS:
        passages: list[Passage] = []
        for number, bundle in _cycle(bundles):
            text = render(bundle, condition)
            passages += make_passages(f"{bundle.api}_{number}", bundle.library, text.replace("the", f"the {number}", 1))
            if number * len(bundles) >= APIS:
                break
        with tempfile.TemporaryDirectory() as folder:
            index = LanceIndex(Path(folder), condition)
            started = time.process_time()
            index.build(passages, embedder.embed([item.text for item in passages], "passage"), "benchmark")
            spent["build"] += time.process_time() - started
            for mode in ("vector", "hybrid"):
                started = time.process_time()
                rank_queries(index, embedder, queries, mode)
                spent[mode] += time.process_time() - started
        print(f"{condition:18} {len(passages):6} passages  " + "  ".join(f"{k} {v:.1f}" for k, v in spent.items()))
    print(f"{len(queries)} queries x {len(CONDITIONS)} conditions: ", end="")
    print(", ".join(f"{name} {seconds:.1f} CPU s" for name, seconds in spent.items()), end="")
    print(f"; {time.perf_counter() - wall:.0f} s in all")


def _cycle(rows: list) -> list[tuple[int, object]]:
    times = -(-max(TASKS, APIS) // len(rows))
    return [(number, row) for number in range(times) for row in rows]


def main() -> None:
    full = "--full" in sys.argv
    libraries = [name for name in sys.argv[1:] if not name.startswith("--")] or ["numpy"]
    bundles, tasks = read(libraries)
    full_size(bundles, tasks) if full else compare(bundles, tasks)


if __name__ == "__main__":
    main()
