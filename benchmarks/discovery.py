"""Discovery against the published method: release resolution, signatures, and CPU time.

    python benchmarks/discovery.py cells RELEASES.json       old releases of all published (library, date) cells
    python benchmarks/discovery.py signatures FILE.jsonl     run-time signatures of published names
    python benchmarks/discovery.py speed numpy=2.1.0=2.4.4   CPU seconds beside two environments and two walks
    python benchmarks/discovery.py grid                      surfaces and differences of all libraries and cutoffs

`speed` measures children in one run, interleaved, medians of five: ours cold (no recorded surface, wheels at hand),
ours with recorded surfaces, and the published method re-stated: two environments (`venv` and `pip install` of the
wheel at hand, as published; with uv from its cache for comparison) and two walks that import everything and ask
`inspect`. `grid` reads what is recorded and downloads what is not; run it twice for warm times.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

from novelapi import catalog
from novelapi.catalog import find_library
from novelapi.discovery.apis import ApiTable
from novelapi.discovery.diff import Differ
from novelapi.discovery.releases import latest_before
from novelapi.discovery.signatures import write_signature
from novelapi.discovery.verify import Inspector
from novelapi.discovery.workspace import Workspace
from novelapi.errors import NovelApiError
from novelapi.settings import load_settings

REPEATS = 5

WALK = """
import importlib, inspect, json, pkgutil, sys, warnings
warnings.simplefilter("ignore")
root = importlib.import_module(sys.argv[1])
modules, found = [root], {}
for item in pkgutil.walk_packages(root.__path__, root.__name__ + ".", onerror=lambda name: None):
    if any(part in item.name for part in ("._", ".tests", ".testing", ".test", ".compat", ".conftest", ".setup")):
        continue
    try:
        modules.append(importlib.import_module(item.name))
    except BaseException:
        continue
for module in modules:
    for name in dir(module):
        value = None if name.startswith("_") else getattr(module, name, None)
        if callable(value):
            try:
                signature = str(inspect.signature(value.__init__ if isinstance(value, type) else value))
            except (TypeError, ValueError):
                signature = "()"
            try:
                source = inspect.getsourcefile(value)
            except TypeError:
                source = None
            found[module.__name__ + "." + name] = [signature, inspect.getdoc(value), source]
print(len(json.dumps(found)))
"""


def cells(path: Path, workspace: Workspace) -> int:
    """Compare old releases with a published table; return the number of differences."""
    table = json.loads(path.read_text())
    total, wrong = 0, []
    for name, row in sorted(table["old_versions"].items()):
        releases = workspace.releases(find_library(name).distribution)
        for model, expected in sorted(row.items()):
            found = latest_before(releases, date.fromisoformat(table["boundaries"][model]))
            total += 1
            if (found.version if found else None) != expected:
                wrong.append(f"{name} {model}: {found.version if found else None}, published {expected}")
    print(f"{total - len(wrong)} of {total} cells as published", *wrong, sep="\n  ")
    return len(wrong)


def signatures(path: Path, workspace: Workspace) -> int:
    """Compare run-time signatures with published ones; return the number of differences."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    same, wrong = 0, []
    for key in sorted({(row["library"], row["new_version"]) for row in rows}):
        library = find_library(key[0])
        env = workspace.environment(library, key[1], documentation=True)
        surface = workspace.surface(library, key[1])
        own = [row for row in rows if (row["library"], row["new_version"]) == key]
        inspector = Inspector(env=env, layout=workspace.layout, prelude=library.prelude, roots=surface.roots)
        seen = inspector.observe(sorted(row["api_name"] for row in own))
        for row in own:
            found = seen[row["api_name"]]
            ours = write_signature(found.params or ()) if found.ok else str(found.error)
            if shape(ours) == shape(row["signature"]):
                same += 1
            else:
                wrong.append(f"{row['api_name']}: {ours}\n    published {row['signature']}")
    print(f"{same} of {len(rows)} signatures as published", *wrong, sep="\n  ")
    return len(wrong)


def shape(signature: str) -> list[tuple[str, str | None]]:
    """Return names, kinds and whether there is a default, without `self`, annotations and results."""
    import ast

    head = signature.rpartition(" -> ")[0] if " -> " in signature else signature
    try:
        node = ast.parse(f"def f{head}: ...").body[0]
    except SyntaxError:  # a default whose repr is no expression
        return [
            (part.split(":")[0].split("=")[0].strip(), None) for part in head.strip("()").split(", ") if ":" in part
        ]
    assert isinstance(node, ast.FunctionDef)
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + [ast.unparse(item) for item in arguments.defaults]
    found = [(item.arg, default) for item, default in zip(plain, defaults, strict=True)]
    found += [(f"*{arguments.vararg.arg}", None)] if arguments.vararg else []
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    found += [(item.arg, ast.unparse(default) if default else None) for item, default in keywords]
    found += [(f"**{arguments.kwarg.arg}", None)] if arguments.kwarg else []
    return [item for item in found if item[0] not in ("self", "cls")]


def compare_surfaces(name: str, old: str, new: str, home: str) -> None:
    """Read both surfaces and the difference: the child process of `speed`."""
    workspace = Workspace.open(load_settings().model_copy(update={"home": Path(home)}), offline=True)
    library = find_library(name)
    before, after = (ApiTable(workspace.surface(library, item), library.private_prefixes) for item in (old, new))
    print(sum(row.relation == "none" for row in Differ(before, after).differences()))


def speed(name: str, old: str, new: str, workspace: Workspace) -> None:
    """Print the CPU seconds of both methods for one library."""
    library = find_library(name)
    for version in (old, new):
        workspace.surface(library, version)  # downloads
        workspace.environment(library, version)  # fills the installer's cache
    home = workspace.layout.home
    recorded = [workspace.layout.surface(library.distribution, version) for version in (old, new)]
    own = [sys.executable, __file__, "child", f"{name}={old}={new}", str(home)]
    times: dict[str, list[float]] = {"cold": [], "recorded": [], "pip": [], "uv": []}
    for _ in range(REPEATS):
        for path in recorded:
            path.unlink(missing_ok=True)
        times["cold"].append(cpu_of(lambda: run(own)))
        times["recorded"].append(cpu_of(lambda: run(own)))
        times["pip"].append(cpu_of(lambda: published(library, (old, new), workspace, with_pip=True)))
        times["uv"].append(cpu_of(lambda: published(library, (old, new), workspace, with_pip=False)))
    middle = {key: sorted(values)[len(values) // 2] for key, values in times.items()}
    print(f"{name} {old} -> {new}, CPU seconds: " + ", ".join(f"{key} {value:.2f}" for key, value in middle.items()))
    for installer in ("pip", "uv"):
        cold, recorded = middle["cold"] / middle[installer], middle["recorded"] / middle[installer]
        print(f"    beside the published method with {installer}: cold {cold:.2f}, recorded {recorded:.2f}")


def run(command: list[str]) -> None:
    """Run a child to its end."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ})


def published(library: catalog.Library, versions: tuple[str, str], workspace: Workspace, *, with_pip: bool) -> None:
    """Install both releases into fresh environments and walk them."""
    uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
    for version in versions:
        env = workspace.environment(library, version)
        pins = list(lock_of(env.prefix))
        with tempfile.TemporaryDirectory() as folder:
            python = f"{folder}/bin/python"
            if with_pip:
                wheel = workspace.downloads.fetch_wheel(workspace.release(library, version))
                run([base_of(f"{env.prefix}/bin/python"), "-m", "venv", folder])
                run([python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel)])
                pins = [pin for pin in pins if not pin.lower().startswith(f"{library.distribution.lower()}==")]
            else:
                run([uv, "venv", "-q", "--python", env.python_version, folder])
            if pins:
                run([uv, "pip", "install", "-q", "--no-deps", "--python", python, *pins])
            run([python, "-c", WALK, library.imports[0]])


def base_of(python: str) -> str:
    """Return the interpreter behind that of an environment."""
    code = "import sys; print(sys._base_executable)"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def lock_of(prefix: str) -> Iterator[str]:
    """Yield the distributions of an environment as pins."""
    for path in sorted(Path(prefix).glob("lib/python*/site-packages/*.dist-info")):
        name, _, version = path.name.removesuffix(".dist-info").rpartition("-")
        yield f"{name}=={version}"


def cpu_of(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of the children that some work starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def grid(workspace: Workspace) -> int:
    """Read surfaces and differences of every library for every cutoff; return the number of libraries that failed."""
    started, failed, pairs = time.monotonic(), 0, 0
    cutoffs = sorted({model.cutoff for model in catalog.models().values() if model.cutoff is not None})
    for library in catalog.libraries().values():
        before = time.monotonic()
        try:
            new = workspace.newest(library)
            after = ApiTable(workspace.surface(library, new), library.private_prefixes)
            olds = {
                found.version
                for cutoff in cutoffs
                if (found := latest_before(workspace.releases(library.distribution), cutoff))
            }
            for old in sorted(olds - {new}):
                table = ApiTable(workspace.surface(library, old), library.private_prefixes)
                pairs += 1 + 0 * sum(1 for _ in Differ(table, after).differences())
        except NovelApiError as error:
            failed += 1
            print(f"{library.name}: {error}")
            continue
        print(f"{library.name}: {len(olds)} old releases, {time.monotonic() - before:.1f} s", flush=True)
    print(f"{pairs} pairs in {time.monotonic() - started:.0f} s, {failed} libraries failed")
    return failed


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cells", "signatures", "speed", "grid", "child"))
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    if options.what == "child":
        name, old, new = options.arguments[0].split("=")
        compare_surfaces(name, old, new, options.arguments[1])
        return
    workspace = Workspace.open(load_settings())
    if options.what == "speed":
        for window in options.arguments:
            speed(*window.split("="), workspace=workspace)
        return
    if options.what == "grid":
        sys.exit(bool(grid(workspace)))
    check = cells if options.what == "cells" else signatures
    sys.exit(bool(check(Path(options.arguments[0]), workspace)))


if __name__ == "__main__":
    main()
