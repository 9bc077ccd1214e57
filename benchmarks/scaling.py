"""Verdicts per second on one core and on all: does the executor scale?

Run as `python benchmarks/scaling.py [LIBRARY ...] [--rounds 5]`. The whole tree of processes is bound to one core with
one slot, then to all cores with one slot each; the two alternate in one run. Workers, environments and imports are
there before the clock starts; each job prepares its task. The figure is rate(n) / (n * rate(1)).

Cores of a virtual machine may be threads of one core, or share it with others: a loop in a bare process per core, in the
same rounds, shows how the machine itself scales, and the idle share of the cores whether the executor left any unused.
"""

import argparse
import multiprocessing
import os
import time
from pathlib import Path

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


def loop(core, seconds, found):
    """Count on one core."""
    os.sched_setaffinity(0, {core})
    until, count = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        for number in range(1000):
            count += number & 1
    found.put(count)


def loops(cores, seconds=1.0):
    """Return how far bare processes count in all, one on each core."""
    context = multiprocessing.get_context("spawn")
    found = context.SimpleQueue()
    processes = [context.Process(target=loop, args=(core, seconds, found)) for core in cores]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return sum(found.get() for _ in processes)


def idle_s(cores):
    """Return the seconds that cores have been idle for."""
    rows = {line.split()[0]: line.split()[1:] for line in Path("/proc/stat").read_text().splitlines()}
    return sum(int(rows[f"cpu{core}"][3]) for core in cores) / os.sysconf("SC_CLK_TCK")


def rate(cores, jobs, warm):
    """Return verdicts per second of a pool that has been warmed up, on these cores, and the idle share of them."""
    os.sched_setaffinity(0, cores)
    with Pool(score, len(cores), SlotOptions()) as pool:
        assert not any(isinstance(found, Died) for _, found in pool.map(warm))
        idle, started = idle_s(cores), time.monotonic()
        verdicts = sum(len(found.rows) for _, found in pool.map(jobs))
        seconds = time.monotonic() - started
        return verdicts / seconds, (idle_s(cores) - idle) / seconds / len(cores)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=["python", "numpy", "pandas", "django"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=30, help="jobs of a library and core")
    parser.add_argument("--samples", type=int, default=20, help="completions of a job")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    print("| library | one core: verdicts a second | all | of linear | idle | bare loop, of linear |")
    print("|---|---|---|---|---|---|")
    for library in options.libraries:
        one, many, idle, of_linear, bare = [], [], [], [], []
        for _ in range(options.rounds):
            found = {}
            for n in (1, len(cores)):
                warm = jobs_of(library, 2 * n, 4)
                found[n] = rate(set(cores[:n]), jobs_of(library, options.jobs * n, options.samples), warm)
                os.sched_setaffinity(0, cores)
            one.append(found[1][0])
            many.append(found[len(cores)][0])
            idle.append(found[len(cores)][1])
            of_linear.append(many[-1] / (len(cores) * one[-1]))
            bare.append(loops(cores) / (len(cores) * loops(cores[:1])))
        print(
            f"| {library} | {median(one):.1f} | {median(many):.1f} | {median(of_linear):.2f} | {median(idle):.0%} | "
            f"{median(bare):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
