"""Verdicts per second on one core and on all: does the executor scale?

Run as `python benchmarks/scaling.py [LIBRARY ...] [--rounds 5]`. The whole tree of processes is bound to one core with
one slot, then to all cores with one slot each; the two alternate in one run. Workers, environments and imports are
there before the clock starts; each job prepares its task. The figure is rate(n) / (n * rate(1)).
"""

import argparse
import os
import time

from executor import SUBJECTS, median, task_of

from novelapi.commands.scoring import environment_of
from novelapi.evaluation.scoring import Job, Sample, preload_of, score
from novelapi.execution.pool import Died, Pool, SlotOptions


def jobs_of(library, count, samples):
    """Return jobs of right answers that differ in a comment: equal work, whoever does it."""
    task, env = task_of(library), environment_of(library, SUBJECTS[library][0])
    texts = [f"# {time.monotonic_ns()} {number}\n{task.reference_solution}" for number in range(count * samples)]
    rows = [Sample(index=number, text=text) for number, text in enumerate(texts)]
    parts = [tuple(rows[start : start + samples]) for start in range(0, len(rows), samples)]
    return [Job(task=task, env=env, samples=part, preload=preload_of([task])) for part in parts]


def rate(cores, jobs, warm):
    """Return verdicts per second of a pool that has been warmed up, on these cores."""
    os.sched_setaffinity(0, cores)
    with Pool(score, len(cores), SlotOptions()) as pool:
        assert not any(isinstance(found, Died) for _, found in pool.map(warm))
        started = time.monotonic()
        verdicts = sum(len(found.rows) for _, found in pool.map(jobs))
        return verdicts / (time.monotonic() - started)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=["python", "numpy", "pandas", "django"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=6, help="jobs of a library and core")
    parser.add_argument("--samples", type=int, default=20, help="completions of a job")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    print("| library | one core: verdicts a second | all | of linear |")
    print("|---|---|---|---|")
    for library in options.libraries:
        rates = {1: [], len(cores): []}
        for _ in range(options.rounds):
            for n, found in rates.items():
                warm = jobs_of(library, 2 * n, 4)
                found.append(rate(set(cores[:n]), jobs_of(library, options.jobs * n, options.samples), warm))
        os.sched_setaffinity(0, cores)
        pairs = [many / (len(cores) * one) for one, many in zip(rates[1], rates[len(cores)], strict=True)]
        print(
            f"| {library} | {median(rates[1]):.1f} | {median(rates[len(cores)]):.1f} | {median(pairs):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
