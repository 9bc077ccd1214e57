"""Measures a report at the size of the published verdict file: seconds, memory, size of the page.

    python -m benchmarks.report [--tasks 1690] [--apis 856] [--models 2] [--details-mb 60] [--repeat 1]

Rows are synthetic (34 cells a model, 114,920 rows by default); each report is written by processes of its own, so that
the peak of memory is its own. `--models 1 --tasks 42 --apis 20` has as many rows as the demo.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.synthetic_runs import CONDITIONS, write_experiment


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one report cost."""

    wall: float
    """Elapsed seconds."""

    own: float
    """Seconds of CPU of the first process."""

    second: float
    """Seconds of CPU of the second process, 0 where none was started."""

    peak: float
    """Megabytes: the sum of both peaks, which need not fall together."""


DELIVERIES = ("oracle", "rag", "sft")


def write_rows(home: Path, models: int, apis: int, tasks: int) -> int:
    """Write the grids and return the number of rows."""
    cells = 0
    for model in range(models):
        cells += len(
            write_experiment(
                home,
                group="grid",
                model=f"model{model}",
                apis=apis,
                tasks=tasks,
                deliveries=DELIVERIES,
                conditions=CONDITIONS,
                seed=0,
            )
        )
    return cells * tasks


def report_once(home: Path, out: Path, words: list[str], cache: Path) -> Measured:
    """Write one report in a process of its own, whose libraries are compiled once, as after any installation.

    Args:
        home: home of the runs.
        out: where to write.
        words: further words of the command.
        cache: folder of compiled libraries.
    """
    runs = sorted(str(folder) for folder in (home / "results").iterdir())
    program = (
        "import resource, sys\n"
        "from novelapi.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):\n"
        "    used = resource.getrusage(who)\n"
        "    print(used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
    )
    command = [sys.executable, "-c", program, "report", *runs, "--out", str(out), *words]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(cache)
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    wall = time.perf_counter() - started
    own, own_kb, second, second_kb = map(float, done.stdout.split()[-4:])
    return Measured(wall=wall, own=own, second=second, peak=(own_kb + second_kb) / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--models", type=int, default=2)
    parser.add_argument("--apis", type=int, default=856)
    parser.add_argument("--tasks", type=int, default=1690)
    parser.add_argument("--details-mb", type=float, default=60)
    parser.add_argument("--repeat", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        rows = write_rows(home, arguments.models, arguments.apis, arguments.tasks)
        words, cache = ["--details-mb", str(arguments.details_mb)], home / "compiled"
        write_rows(home / "warm", 1, 2, 2)
        report_once(home / "warm", home / "warm" / "out", words, cache)
        measured = [report_once(home, home / "out", words, cache) for _ in range(arguments.repeat)]
        size = (home / "out/report.html").stat().st_size
        results = sum(file.stat().st_size for file in (home / "results").rglob("results.jsonl"))
        wall, own, second = (
            statistics.median(getattr(m, name) for m in measured) for name in ("wall", "own", "second")
        )
        print(
            f"{rows:,} rows ({results / 1e6:.0f} MB): {wall:.1f} s, CPU {own:.1f} s and {second:.1f} s beside it, "
            f"peak {max(m.peak for m in measured):.0f} MB, page {size / 1e6:.1f} MB (median of {arguments.repeat}; "
            f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors)"
        )


if __name__ == "__main__":
    main()
