"""How well BM25 finds the APIs that a ToolBench query needs in the pool of all APIs of the query files.

    python benchmarks/selection.py DIR

DIR holds the query files (docs/selection.md). A document is the tool's name, the API's name, its description and the
names of its parameters; words are split at changes of case and put into lower case; a query is a set of terms. BM25 with
idf log(1 + (N - df + .5) / (df + .5)), k1 1.5, b .75. Prints NDCG, recall and the share of queries all of whose APIs
are among the first k, as `novelapi.selection.measures` defines them.
"""

import math
import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from novelapi.evaluation.suites.choice import read_rows
from novelapi.evaluation.suites.registry import find_data, find_suite
from novelapi.selection.measures import mean_ranking, score_ranking

K1, B = 1.5, 0.75
CUTOFFS = (1, 3, 5, 10, 20)
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def words(text):
    return [word.lower() for word in WORD.findall(text)]


def document(api):
    parameters = [*(api.get("required_parameters") or []), *(api.get("optional_parameters") or [])]
    parts = [api["tool_name"], api["api_name"], api.get("api_description") or "", *(str(p["name"]) for p in parameters)]
    return Counter(words(" ".join(parts)))


def main(root):
    suite = find_suite("toolbench")
    folder = find_data(suite, root, None)
    started = time.process_time()
    pool = {}
    for path in suite.files(folder):
        for row in read_rows(path):
            for api in row["api_list"]:
                pool.setdefault(f"{api['tool_name']} / {api['api_name']}", document(api))
    postings = defaultdict(list)
    for name, counts in pool.items():
        for term, count in counts.items():
            postings[term].append((name, count))
    mean = sum(counts.total() for counts in pool.values()) / len(pool)
    norms = {name: K1 * (1 - B + B * counts.total() / mean) for name, counts in pool.items()}
    scores = []
    for task in suite.read(folder).tasks.values():
        gains = defaultdict(float)
        for term in sorted(set(words(task.query))):
            found = postings.get(term, ())
            rarity = math.log(1 + (len(pool) - len(found) + 0.5) / (len(found) + 0.5))
            for name, count in found:
                gains[name] += rarity * count * (K1 + 1) / (count + norms[name])
        ranking = sorted(gains, key=lambda name: (-gains[name], name))
        scores.append(score_ranking(ranking, {call.name for call in task.wanted}, CUTOFFS))
    found = mean_ranking(scores, CUTOFFS)
    print(f"{len(scores)} queries, {len(pool)} APIs, {time.process_time() - started:.1f} s CPU")
    for name in ("ndcg", "recall", "complete"):
        print(f"{name:9}", "  ".join(f"@{k} {value:.4f}" for k, value in getattr(found, name).items()))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
