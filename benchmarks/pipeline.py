"""What each stage costs: CPU seconds and peak memory, one process per stage, without Prefect.

    python benchmarks/pipeline.py numpy --cutoff 2023-12-01          the four stages and one cell
    python benchmarks/pipeline.py scipy --cutoff 2024-09-01 --home /tmp/bench

Wall and CPU seconds are those of the stage's process and of all that it waited for, sandboxes included. The peak is the
highest resident set of any single process of ours, found by looking at the whole tree every 50 ms and asking the kernel
for each one's high-water mark. Finished stages are done again; downloads, surfaces and environments are kept, so run it
twice and read the second table. The exit code is 1 when a process went over the limit of 1.5 GB.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import threading
import time
from datetime import date
from pathlib import Path

LIMIT_KB = 1_500_000
STAGES = ("1 discovery", "2 knowledge", "3 tasks", "4 gates", "cell full")


def descendants(pid: int) -> set[int]:
    """Return the process and all below it, found through parent ids."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue  # it ended meanwhile
    found = {pid}
    while new := {child for child, parent in parents.items() if parent in found} - found:
        found |= new
    return found


def peak_kb(pid: int) -> int:
    """Return the kernel's high-water mark of one process, 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


class Watch:
    """Looks at the tree of a process until it ends."""

    def __init__(self, pid: int) -> None:
        self.peak, self.processes = 0, 0
        self._pid, self._stop = pid, threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._stop.wait(0.05):
            tree = descendants(self._pid)
            self.processes = max(self.processes, len(tree))
            self.peak = max([self.peak, *map(peak_kb, tree)])

    def end(self) -> None:
        self._stop.set()
        self._thread.join()


def run_stage(number: int, options: argparse.Namespace) -> str:
    """Run one stage in this process; return what came out of it."""
    from novelapi.discovery import requests as discovery
    from novelapi.layout import Layout
    from novelapi.records.request import LibraryRequest
    from novelapi.settings import load_settings

    layout = Layout(load_settings().home_dir)
    request = LibraryRequest(library=options.library, model="copy", cutoff=options.cutoff, jobs=options.jobs)
    pair = discovery.find_versions(request, layout)
    request = request.model_copy(update={"old": pair.old, "new": pair.new})
    if number == 1:
        return str(discovery.discover(request, layout).counts)
    if number == 2:
        from novelapi.knowledge.requests import extract

        return str(extract(request, layout).counts)
    if number == 3:
        from novelapi.generation.stage import generate

        return str(generate(request, layout).counts)
    from novelapi.adapters.open import open_model
    from novelapi.filters.stage import filter_tasks

    model = open_model("copy")
    if number == 4:
        return str(filter_tasks(request, layout, model).counts)
    from novelapi.filters.instance import build_instance
    from novelapi.fingerprint import file_digest
    from novelapi.grid.cells import run_cell
    from novelapi.records.cell import Cell
    from novelapi.records.stage import StageResult

    stages = {}
    for name in ("stage2_knowledge", "stage4_filtered"):
        path = layout.stage(request.library, name, "copy")
        relative = path.relative_to(layout.home).as_posix()
        stages[name] = StageResult(stage=name, path=relative, sha256=file_digest(path))
    pooled = build_instance(request.library, "copy", [request.library], [stages["stage4_filtered"]], layout)
    cell = Cell(
        experiment=f"benchmark-{request.library}",
        group=request.library,
        model="copy",
        model_revision=model.revision,
        condition="full",
        delivery="oracle",
        instance_sha=pooled.sha256,
        bundles_sha=stages["stage2_knowledge"].sha256,
    )
    return str(run_cell(cell, layout, model, jobs=options.jobs).counts)


def forget(number: int, options: argparse.Namespace) -> None:
    """Remove the rows of a stage, so that it is done again."""
    import shutil

    from novelapi.layout import Layout
    from novelapi.settings import load_settings

    layout = Layout(load_settings().home_dir)
    if number == 5:
        shutil.rmtree(layout.experiment(f"benchmark-{options.library}"), ignore_errors=True)
        return
    name = ("stage1_discovery", "stage2_knowledge", "stage3_tasks", "stage4_filtered")[number - 1]
    layout.stage(options.library, name, "copy").unlink(missing_ok=True)
    layout.stage_manifest(options.library, name, "copy").unlink(missing_ok=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", default="numpy")
    parser.add_argument("--cutoff", type=date.fromisoformat, default=date(2023, 12, 1))
    parser.add_argument("--home", type=Path, help="run folder (default: NOVELAPI_HOME, else ./data)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.home:
        os.environ["NOVELAPI_HOME"] = str(options.home)
    if options.child:
        forget(options.child, options)
        print(run_stage(options.child, options))
        return 0
    print(f"{'stage':12} {'wall s':>8} {'CPU s':>8} {'peak MB':>8} {'processes':>9}   result")
    highest = 0
    for number, title in enumerate(STAGES, 1):
        arguments = [options.library, "--cutoff", str(options.cutoff), "--jobs", str(options.jobs)]
        command = [sys.executable, __file__, *arguments, "--child", str(number)]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            watch = Watch(process.pid)
            out, _ = process.communicate()
            watch.end()
        if process.returncode:
            return 1
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        highest = max(highest, watch.peak)
        wall = time.monotonic() - began
        print(
            f"{title:12} {wall:8.1f} {cpu:8.1f} {watch.peak / 1000:8.0f} {watch.processes:9}   {out.strip()}",
            flush=True,
        )
    print(f"highest resident set of one process: {highest / 1000:.0f} MB (limit {LIMIT_KB / 1000:.0f} MB)")
    return int(highest > LIMIT_KB)


if __name__ == "__main__":
    sys.exit(main())
