"""CPU per sample: this executor against a fresh interpreter per sample, and against the body alone.

Run as `python benchmarks/executor.py [LIBRARY ...]`. It builds the environments it needs. Variants are interleaved in
one run; figures are CPU milliseconds, medians of the rounds, everything included: judge, supervisor, warm parent,
candidate and server of real calls. A scored sample is what `evaluate` does for a right answer: the plain run, and the
repetition with the target's result replaced. All variants keep to one core, as the slots of a pool do.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from novelapi.commands.scoring import environment_of
from novelapi.evaluation.scoring import Job, Sample, preload_of, score
from novelapi.execution.harness import prepare
from novelapi.execution.pool import Slot, SlotOptions
from novelapi.records.task import Task
from novelapi.settings import load_settings

SUBJECTS = {
    "python": ("", "json.dumps", "import json\n", "def solve(x):", "return json.dumps(x, sort_keys=True)", ["{'b': 1, 'a': [2]}", "[]"]),
    "numpy": ("2.4.4", "numpy.unstack", "import numpy as np\n", "def solve(x):", "return [a.tolist() for a in np.unstack(x, axis=1)]", ["np.arange(6).reshape(2, 3)", "np.eye(2)"]),
    "pandas": ("3.0.2", "pandas.concat", "import pandas as pd\n", "def solve(x):", "return pd.concat([x, x], ignore_index=True)['a'].tolist()", ["pd.DataFrame({'a': [1, 2]})", "pd.DataFrame({'a': [5]})"]),
    "scipy": ("1.17.1", "scipy.stats.zscore", "import numpy as np\nimport scipy.stats\n", "def solve(x):", "return scipy.stats.zscore(x).round(6).tolist()", ["np.array([1., 2, 4])", "np.arange(5.)"]),
    "sqlalchemy": ("2.0.49", "sqlalchemy.select", "from sqlalchemy import select, table, column\n", "def solve(n):", "t = table('t', column(n))\n    return str(select(t.c[n]))", ["'a'", "'b'"]),
    "django": ("5.2.13", "django.utils.text.slugify", "from django.utils.text import slugify\n", "def solve(s):", "return slugify(s, allow_unicode=True)", ["'A b'", "'c  d'"]),
    "django forms": ("5.2.13", "django.forms.CharField", "import django\nfrom django.conf import settings\nif not settings.configured:\n    settings.configure(USE_I18N=False)\n    django.setup()\nfrom django import forms\n", "def solve(x):", "return forms.CharField(max_length=5).clean(x) + forms.CharField(strip=False).clean(x)", ["' ab '", "'abc'"]),
    "pydantic": ("2.13.3", "pydantic.TypeAdapter", "from pydantic import TypeAdapter\n", "def solve(x):", "return TypeAdapter(list[int]).validate_python(x)", ["['1']", "(2, 3)"]),
}  # fmt: skip
THREADED = {
    "torch": ("2.11.0", "torch.cat", "import torch\n", "def solve(x):", "return torch.cat([torch.tensor(x), torch.tensor(x)]).tolist()", ["[1.0, 2.0]", "[[3.0]]"]),
    "polars": ("1.35.2", "polars.concat", "import polars as pl\n", "def solve(x):", "both = pl.concat([pl.DataFrame({'a': x}), pl.DataFrame({'a': x})])\n    return both.group_by('a').agg(pl.len()).sort('a').rows()", ["[1, 2, 2]", "[3]"]),
    "numba": ("0.62.1", "numba.njit", "import numba\nimport numpy as np\n", "def solve(x):", "def total(a):\n        found = 0.0\n        for i in numba.prange(a.size):\n            found += a[i]\n        return found\n    return float(numba.njit(parallel=True)(total)(np.array(x)))", ["[1.0, 2.0]", "[3.0]"]),
}  # fmt: skip
"""Libraries that start threads, or may not be forked once used; measured where they are named."""
FRESH = """
import {root}
{context}
_calls = []
{body}
for _given in ({inputs},):
    assert solve(_given) is not None
"""


def task_of(library):
    release, api, context, signature, body, inputs = (SUBJECTS | THREADED)[library]
    return Task(
        task_id=f"{library}/benchmark", library=library.split()[0], release=release, api=api, description="-", context_code=context,
        entry_point="solve", signature=signature, reference_solution=f"{signature}\n    {body}\n",
        inputs=[{"args": [text]} for text in inputs],
    )  # fmt: skip


def median(figures):
    return sorted(figures)[len(figures) // 2]


def own_cpu():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return (usage.ru_utime + usage.ru_stime) * 1000


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1000


class Subject:
    """One library: its task, its warm parent, its figures."""

    def __init__(self, library, slot, folder):
        self.library, self.slot, self.task = library, slot, task_of(library)
        self.env = environment_of(self.task.library, self.task.release)
        self.figures = {"uncompiled": [], "fresh": [], "sample": [], "body": []}
        self.harness = None
        self.bare = self.env.python
        if library != "python":
            without = shutil.ignore_patterns("__pycache__")
            shutil.copytree(
                self.env.prefix, f"{folder}/{library}", symlinks=True, copy_function=os.link, ignore=without
            )
            self.bare = f"{folder}/{library}/bin/python"

    def zygote(self):
        preload = preload_of([self.task])
        if self.harness is None:
            self.harness = prepare(self.slot.zygote(self.env, preload), self.task)
            self.slot.learn(self.env, self.harness.modules)
        return self.slot.zygote(self.env, preload)

    def source(self):
        _, api, context, _, _, inputs = (SUBJECTS | THREADED)[self.library]
        return FRESH.format(
            root=api.split(".")[0], context=context, body=self.task.reference_solution, inputs=", ".join(inputs)
        )  # fmt: skip

    def fresh(self):
        """Run the body in an interpreter of its own, with the bytecode of `env build` and without any.

        An installer leaves none, and a sandbox that sees the environment read-only cannot keep what an import compiles:
        there each interpreter compiles the library again.
        """
        variables = {"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        for name, python in (("fresh", self.env.python), ("uncompiled", self.bare)):
            before = children_cpu()
            nothing_written = {"PYTHONDONTWRITEBYTECODE": "1"}
            subprocess.run([python, "-c", self.source()], check=True, env=variables | nothing_written)
            self.figures[name].append(children_cpu() - before)

    def body(self):
        code = self.source().split("_calls")[0] + (
            "\nimport time\n_code = compile('''_calls" + self.source().split("_calls")[1] + "''', 'x', 'exec')\n"
            "exec(_code)\n_t = time.process_time()\nfor _ in range(20): exec(_code)\nprint((time.process_time() - _t) * 50)\n"
        )
        done = subprocess.run([self.env.python, "-c", code], check=True, capture_output=True, text=True)
        self.figures["body"].append(float(done.stdout))

    def samples(self, count):
        """Score right answers that differ in a comment: all of it counts, also the confirmations in fresh processes."""
        zygote = self.zygote()
        texts = [f"# {time.monotonic_ns()} {number}\n{self.task.reference_solution}" for number in range(count)]
        samples = tuple(Sample(index=number, text=text) for number, text in enumerate(texts))
        job = Job(task=self.task, env=self.env, samples=samples, preload=preload_of([self.task]), harness=self.harness)
        before = own_cpu() + children_cpu() + zygote.group.cpu_ms()
        found = score(self.slot, job)
        used = own_cpu() + children_cpu() + zygote.group.cpu_ms() - before
        assert all(row.outcome == "pass" for row in found.rows), found
        self.figures["sample"].append(used / count)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", default=list(SUBJECTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=20, help="completions of a task, as a model is asked for them")
    options = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    slot = Slot(SlotOptions())
    environments = load_settings().envs_dir
    environments.mkdir(parents=True, exist_ok=True)
    folder = tempfile.TemporaryDirectory(dir=environments, prefix="bare-")
    subjects = [Subject(library, slot, folder.name) for library in options.libraries]
    for subject in subjects:
        subject.zygote()
    for _ in range(options.rounds):
        for subject in subjects:
            subject.fresh()
            subject.body()
            subject.samples(options.samples)
    load = os.getloadavg()[0]
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {load:.1f}, {time.strftime('%Y-%m-%d')}")
    print("| library | fresh, nothing compiled | fresh | sample | ratios | body alone | sample - body | integrity |")
    print("|---|---|---|---|---|---|---|---|")
    for subject in subjects:
        names = ("uncompiled", "fresh", "sample", "body")
        uncompiled, fresh, sample, body = (median(subject.figures[name]) for name in names)
        print(
            f"| {subject.library} | {uncompiled:.0f} | {fresh:.0f} | {sample:.1f} | {uncompiled / sample:.0f}x, "
            f"{fresh / sample:.0f}x | {body:.2f} | {sample - body:.1f} | {subject.harness.integrity} |"
        )
    slot.close()
    folder.cleanup()


if __name__ == "__main__":
    main()
