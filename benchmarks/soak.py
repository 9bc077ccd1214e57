"""Many verdicts in one run: are all of them right, and is anything left behind?

Run as `python benchmarks/soak.py --verdicts 100000 [--kill 5]`. Completions whose verdict is known beforehand (right ones,
wrong ones, forgeries, leakers, some that die) are scored on two slots, over tasks of several libraries. A line per
twentieth of the run says what is there then: processes, mounts, control groups, open files, memory. With `--kill S` a
random process below this one (worker, warm parent, sandbox supervisor, sample) is killed every S seconds.
"""

import argparse
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

from executor import SUBJECTS, children_cpu, own_cpu, task_of

from novelapi.commands.scoring import environment_of
from novelapi.evaluation.scoring import Job, Sample, preload_of, score
from novelapi.execution.launcher import GROUP_PREFIX
from novelapi.execution.pool import Died, Pool, SlotOptions

WRONG = {
    "nothing": "def solve(*args):\n    return None\n",
    "raises": "def solve(*args):\n    raise ValueError('no')\n",
    "no syntax": "def solve(*args:\n    return\n",
    "no function": "x = 1\n",
    "leaves early": "import os\ndef solve(*args):\n    os._exit(0)\n",
    "leaves a child": "import os, time\ndef solve(*args):\n    if os.fork() == 0:\n        time.sleep(600)\n    return 7\n",
    "leaves a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\ndef solve(*args):\n    return 7\n",
    "leaves files": "def solve(*args):\n    for i in range(50):\n        open('/scratch/%d' % i, 'w').write('x' * 1000)\n    return 7\n",
    "prints": "def solve(*args):\n    print('x' * 100000)\n    return 7\n",
}  # fmt: skip
RARE = {
    "kills itself": "import os\ndef solve(*args):\n    os.kill(os.getpid(), 9)\n",
    "kills all": "import os\ndef solve(*args):\n    os.kill(-1, 9)\n",
    "never ends": "def solve(*args):\n    while True:\n        pass\n",
    "takes memory": "def solve(*args):\n    return len(bytearray(1 << 34))\n",
}


def samples_of(task, count, generator):
    """Return samples and whether each is right: 4 right ones in 10, one in 100 whose end is confirmed by a fresh process."""
    samples, right = [], []
    for number in range(count):
        good = generator.random() < 0.4
        if good:
            text = task.reference_solution
        elif generator.random() < 0.016:
            text = RARE[generator.choice(sorted(RARE))]
        else:
            text = WRONG[generator.choice(sorted(WRONG))]
        samples.append(Sample(index=number, text=f"# {generator.random()}\n{text}"))
        right.append(good)
    return tuple(samples), right


def below(pid):
    """Return the processes below one, by parent."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def memory_mb(pids):
    """Return the proportional share of memory: what several processes share counts once."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


OWNERS = set()
"""Every process that has been below this one: whose groups are counted."""


def groups():
    found = [*Path("/sys/fs/cgroup").glob(f"*/{GROUP_PREFIX}-*"), *Path("/sys/fs/cgroup").glob(f"{GROUP_PREFIX}-*")]
    return sum(1 for path in found if path.name.split("-")[-2] in OWNERS)


def present():
    """Return what is there now."""
    pids = below(os.getpid())
    OWNERS.update(str(pid) for pid in (os.getpid(), *pids))
    return {
        "processes": len(pids),
        "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
        "groups": groups(),
        "files": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "own MB": round(memory_mb([os.getpid()])),
        "slots MB": round(memory_mb(pids)),
    }


class Killer(threading.Thread):
    """Kills a random process below this one every few seconds."""

    def __init__(self, every_s, generator):
        super().__init__(daemon=True)
        self.every_s, self.generator, self.killed, self.done = every_s, generator, {}, threading.Event()

    def run(self):
        while not self.done.wait(self.every_s):
            pids = [pid for pid in below(os.getpid()) if pid != threading.get_native_id()]
            if not pids:
                continue
            pid = self.generator.choice(pids)
            try:
                name = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                kind = next((k for k in ("bwrap", "spawn_main", "zygote.py") if k.encode() in b" ".join(name)), "other")
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
            self.killed[kind] = self.killed.get(kind, 0) + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=["python", "numpy", "django"])
    parser.add_argument("--verdicts", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=50, help="completions of one job")
    parser.add_argument("--slots", type=int, default=os.cpu_count())
    parser.add_argument("--kill", type=float, default=0.0, metavar="S", help="kill a random process every S seconds")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after this time, whatever is left")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    tasks = [task_of(library) for library in options.libraries]
    envs = [environment_of(library, SUBJECTS[library][0]) for library in options.libraries]
    jobs, expected = [], []
    per_library = options.verdicts // options.samples // len(tasks)
    for task, env in zip(tasks, envs, strict=True):
        for _ in range(per_library):
            samples, right = samples_of(task, options.samples, generator)
            jobs.append(Job(task=task, env=env, samples=samples, preload=preload_of([task])))
            expected.append(right)
    before, started = present(), time.monotonic()
    print("before", before, flush=True)
    killer = Killer(options.kill, random.Random(options.seed)) if options.kill else None
    if killer:
        killer.start()
    wrong, unscored, verdicts, seen = [], 0, 0, set()
    with Pool(score, options.slots, SlotOptions()) as pool:
        for done, (index, found) in enumerate(pool.map(jobs), 1):
            seen.add(index)
            if isinstance(found, Died):
                unscored += options.samples
                continue
            for row, right in zip(found.rows, expected[index], strict=True):
                verdicts += 1
                unscored += row.outcome == "unscored"
                if row.outcome != "unscored" and (row.outcome == "pass") != right:
                    wrong.append((jobs[index].task.task_id, row.sample, row.outcome, row.label))
            if done % max(1, len(jobs) // 20) == 0:
                print(f"{verdicts} in {time.monotonic() - started:.0f} s, {len(wrong)} wrong, {unscored} unscored",
                      present(), flush=True)  # fmt: skip
            if time.monotonic() - started > 60 * options.minutes:
                break
        if killer:
            killer.done.set()
            killer.join()
    wall = time.monotonic() - started
    print("after ", present())
    ended_early = wall > 60 * options.minutes
    lost = 0 if ended_early else len(jobs) - len(seen)
    print(f"{verdicts} verdicts, {len(wrong)} wrong, {unscored} unscored, {lost} jobs lost; {wall:.0f} s "
          f"wall, {verdicts / wall:.0f} a second, {(own_cpu() + children_cpu()) / verdicts:.1f} CPU ms of workers each")  # fmt: skip
    if killer:
        print("killed", killer.killed)
    print(wrong[:10])
    sys.exit(bool(wrong) or lost > 0)


if __name__ == "__main__":
    main()
