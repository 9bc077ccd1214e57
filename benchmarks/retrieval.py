"""Retrieval on built libraries: hit@5 of vectors, BM25 and both, CPU per query, and LanceDB against an exact ranking.

Run: python -m benchmarks.retrieval numpy scipy  (their stages 1 to 3 must be there)
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from novelapi import jsonl
from novelapi.adapters.lancedb_index import LanceIndex
from novelapi.knowledge.conditions import KnowledgeCondition
from novelapi.layout import Layout
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.task import Task
from novelapi.retrieval.delivery import task_query
from novelapi.retrieval.embedding import HashedNgrams
from novelapi.retrieval.index import rank_queries, search
from novelapi.retrieval.rag import corpus_of, prepare_rag
from novelapi.retrieval.ranking import MODES
from novelapi.retrieval.sweep import sweep
from novelapi.settings import load_settings

PUBLISHED_QUERIES = 1670 * 11


def main() -> None:
    layout = Layout(load_settings().home_dir)
    libraries = sys.argv[1:] or ["numpy"]
    bundles = [
        KnowledgeBundle.from_row(row)
        for name in libraries
        for row in jsonl.scan(layout.stage(name, "stage2_knowledge", "copy"))
    ]
    tasks = [
        Task.model_validate(row) for name in libraries for row in jsonl.scan(layout.stage(name, "stage3_tasks", "copy"))
    ]
    queries = {task.task_id: task_query(task) for task in tasks}
    embedder = HashedNgrams()
    spent = dict.fromkeys(MODES, 0.0)
    different = 0
    print(f"{len(bundles)} bundles, {len(tasks)} tasks")
    with tempfile.TemporaryDirectory() as folder:
        for condition in list(KnowledgeCondition)[1:]:
            index = LanceIndex(Path(folder) / "lance", condition)
            passages = corpus_of(bundles, condition)
            columns = []
            for mode in MODES:
                path = Path(folder) / f"{condition}.{mode}.jsonl"
                arm = prepare_rag(
                    passages, tasks, condition=condition, index=index, embedder=embedder, rankings=path, mode=mode
                )
                started = time.process_time()
                rank_queries(index, embedder, queries, mode)
                spent[mode] += time.process_time() - started
                scores = arm.scores(tasks)
                columns.append(f"{mode} {scores.hit[5]:.2f} / {scores.mrr:.2f} / {scores.ndcg[5]:.2f}")
            exact = rank_queries(index, embedder, queries, "vector", 10)
            different += sum(
                tuple(search(index, embedder, queries[row.query], "vector", 10)) != row.hits for row in exact
            )
            print(f"{condition:18} {arm.use.passages:5} passages   hit@5 / MRR / nDCG@5: " + "   ".join(columns))
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
    asked = len(queries) * 11
    for mode, seconds in spent.items():
        published = seconds / asked * PUBLISHED_QUERIES
        print(f"{mode}: {seconds:.2f} CPU s for {asked} queries, {published:.0f} s for {PUBLISHED_QUERIES}")
    print(f"LanceDB's top 10 differs from the exact ranking for {different} of {asked} queries")


if __name__ == "__main__":
    main()
