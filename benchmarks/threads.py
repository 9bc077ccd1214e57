"""Libraries with threads: are verdicts of forked samples those of fresh ones?

Run as `python benchmarks/threads.py [LIBRARY ...]`. For each library right answers, wrong ones and one without an end
are scored; then all of them once more without a warm parent. Printed: verdict and label both ways, threads of the warm
parent, whether the environment was demoted and why.
"""

import argparse
import sys
import time

from executor import SUBJECTS, THREADED, task_of

from novelapi.commands.scoring import environment_of
from novelapi.evaluation.scoring import Job, Sample, preload_of, score
from novelapi.execution.pool import Slot, SlotOptions

WRONG = "def solve(x):\n    return None\n"
ENDLESS = "def solve(x):\n    while True:\n        pass\n"


def scored(task, env, *, warm):
    """Return verdicts with labels, and what demoted the environment."""
    texts = [task.reference_solution] * 6 + [WRONG] * 3 + [ENDLESS]
    samples = tuple(Sample(index=number, text=f"# {number}\n{text}") for number, text in enumerate(texts))
    slot = Slot(SlotOptions(warm=warm))
    try:
        threads = slot.zygote(env, preload_of([task])).info["threads"]
        found = score(slot, Job(task=task, env=env, samples=samples, preload=preload_of([task])))
    finally:
        slot.close()
    rows = [(row.outcome, row.label) for row in found.rows]
    return rows, threads, found.broken or found.demoted


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=list(THREADED))
    different = []
    for library in parser.parse_args().libraries:
        started = time.monotonic()
        task = task_of(library)
        env = environment_of(library, (SUBJECTS | THREADED)[library][0])
        forked, threads, demoted = scored(task, env, warm=True)
        fresh, _, broken = scored(task, env, warm=False)
        print(f"{library}: {threads} threads in the warm parent, {sum(row[0] == 'pass' for row in forked)} of 6 right "
              f"answers pass, {'equal' if forked == fresh else 'DIFFERENT'} fresh, demoted: {demoted or broken or 'no'}, "
              f"{time.monotonic() - started:.0f} s", flush=True)  # fmt: skip
        if forked != fresh:
            different.append(library)
            print(forked, fresh, sep="\n")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
