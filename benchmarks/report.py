"""Measures a report at the size of the published verdict file: seconds, memory, size of the page.

    python -m benchmarks.report [--tasks 1690] [--apis 856] [--models 2] [--details-mb 60] [--repeat 1]

Rows are synthetic (34 cells a model, 114,920 rows by default); each report is written by a process of its own, so that
its peak memory is its own.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.synthetic_runs import CONDITIONS, write_experiment

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


def report_once(home: Path, out: Path, words: list[str]) -> tuple[float, float, float]:
    """Write one report; return elapsed seconds, CPU seconds and the peak of its memory in MB."""
    runs = sorted(str(folder) for folder in (home / "results").iterdir())
    program = (
        "import resource, sys\n"
        "from novelapi.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
    )
    command = [sys.executable, "-c", program, "report", *runs, "--out", str(out), *words]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    cpu, peak = map(float, done.stdout.split()[-2:])
    return time.perf_counter() - started, cpu, peak / 1024


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
        measured = [
            report_once(home, home / "out", ["--details-mb", str(arguments.details_mb)])
            for _ in range(arguments.repeat)
        ]
        size = (home / "out/report.html").stat().st_size
        results = sum(file.stat().st_size for file in home.rglob("results.jsonl"))
        print(
            f"{rows:,} rows ({results / 1e6:.0f} MB): {statistics.median(m[0] for m in measured):.1f} s, "
            f"{statistics.median(m[1] for m in measured):.1f} s of CPU, peak {max(m[2] for m in measured):.0f} MB, "
            f"page {size / 1e6:.1f} MB "
            f"(median of {arguments.repeat})"
        )


if __name__ == "__main__":
    main()
