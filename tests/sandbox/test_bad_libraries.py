"""Libraries that misbehave when they are imported, or are packaged in odd ways: named, bounded, and alone in that."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from novelapi.catalog import Library
from novelapi.discovery import verify
from novelapi.discovery.discover import discover
from novelapi.discovery.index import PackageIndex as Index
from novelapi.discovery.workspace import Workspace
from novelapi.errors import NovelApiError
from novelapi.execution.environments import Environments
from novelapi.execution.isolated import Limits
from novelapi.layout import Layout
from tests.fakes.package_index import PackageIndex

pytestmark = pytest.mark.sandbox

DOC = '"""Return the given number, made one larger, as it is documented."""'
OLD = f"def kept(x):\n    {DOC}\n    return x + 1\n"
NEW = OLD + f"\n\ndef fresh(x):\n    {DOC}\n    return x + 2\n"
MANY = "".join(f"\n\ndef fresh_{number}(x):\n    {DOC}\n    return x\n" for number in range(40))
IMPORTS = {
    "fails": ("raise RuntimeError('no driver of that name')", "no driver of that name"),
    "needs": ("import a_module_that_nobody_has", "a_module_that_nobody_has"),
    "leaves": ("raise SystemExit(3)", "SystemExit: 3"),
    "ends": ("import os\nos._exit(3)", "ended by itself"),
    "pretends": ("import os\nos._exit(0)", "closed its answer channel"),
    "crashes": ("import ctypes\nctypes.string_at(0)", "killed by a signal"),
    "waits": ("import time\ntime.sleep(10000)", "no answer within 2 s"),
    "spins": ("while True:\n    pass", "no answer within 2 s"),
    "stubborn": (
        "import time\nwhile True:\n    try:\n        time.sleep(1)\n    except BaseException:\n        pass",
        "ended by itself",
    ),
    "grows": ("held = bytes(1 << 36)", "MemoryError"),
    "graphics": ("import ctypes\nctypes.CDLL('libcuda.so.1')", "libcuda"),
    "display": ("import os\nif not os.environ.get('DISPLAY'):\n    raise RuntimeError('no display')", "no display"),
    "network": ("import urllib.request\nurllib.request.urlopen('http://192.0.2.1/', timeout=5)", "URLError"),
}
"""What a release does when it is imported, and what is said of it."""

BORROWED = f"""import functools
import json
{NEW}
try:
    import a_module_that_nobody_has

    def borrowed(x):
        {DOC}
except ImportError:
    borrowed = json.dumps


@functools.cache
def wrapped(x):
    {DOC}
    return x
"""
HARMLESS = {
    "prints": "import os, sys\nprint('hello')\nos.write(1, b'x' * 500_000)\nsys.stderr.write('oh')",
    "forks": "import os\nos.fork()",
    "reads": "import sys\nsys.stdin.read()",
    "changes": "import os, sys\nos.chdir('/')\nsys.path.clear()\nsys.stdout.close()",
    "threads": "import threading, time\nthreading.Thread(target=time.sleep, args=(10000,)).start()",
}
"""What a release may do when it is imported without being lost."""


class Fakes(PackageIndex):
    """An index with two releases of each library; `forged` names files that have other content than announced."""

    forged: frozenset[str] = frozenset()

    def library(self, name: str, old: dict[str, str], new: dict[str, str], **more) -> None:
        self.add(name, "1.0", old, "2024-01-10T00:00:00Z", **more)
        self.add(name, "2.0", new, "2024-06-10T00:00:00Z", **more)

    def answer(self, path: str) -> tuple[int, str, bytes]:
        status, kind, body = super().answer(path)
        return status, kind, body[:-1] + b"!" if path.rpartition("/")[2] in self.forged else body


@pytest.fixture(scope="module")
def index():
    index = Fakes()
    for name, (code, _) in IMPORTS.items():
        index.library(name, {f"{name}/__init__.py": OLD}, {f"{name}/__init__.py": f"{code}\n{NEW}"})
    for name, code in HARMLESS.items():
        index.library(name, {f"{name}/__init__.py": OLD}, {f"{name}/__init__.py": f"{code}\n{NEW}"})
    index.library("good", {"good.py": OLD}, {"good.py": NEW})
    index.library("othername", {"unlike/__init__.py": OLD}, {"unlike/__init__.py": NEW})
    index.library("spacecore", {"space/core/__init__.py": OLD}, {"space/core/__init__.py": NEW})
    index.library("partly", {"partly/a.py": OLD, "partly/b.py": OLD}, {
        "partly/__init__.py": "", "partly/a.py": NEW, "partly/b.py": f"import time\ntime.sleep(10000)\n{NEW}{MANY}",
    })  # fmt: skip
    index.library("fragile", {f"fragile/{name}.py": OLD for name in "abcdefgh"}, {
        "fragile/__init__.py": "", **{f"fragile/{name}.py": NEW for name in "abcdefg"},
        "fragile/h.py": f"import os\nos._exit(1)\n{NEW}",
    })  # fmt: skip
    index.library("costly", {"costly/a.py": OLD}, {
        "costly/__init__.py": "", "costly/a.py": f"import time\ntime.sleep(0.5)\nraise OSError('no driver')\n{NEW}{MANY}",
    })  # fmt: skip
    index.library("borrows", {"borrows.py": OLD}, {"borrows.py": BORROWED})
    index.library("forged", {"forged.py": OLD}, {"forged.py": NEW})
    index.forged = frozenset({"forged-2.0-py3-none-any.whl"})
    index.library("unbuilt", {"unbuilt.py": OLD}, {"unbuilt.py": NEW})
    del index.files["unbuilt-2.0-py3-none-any.whl"]
    index.start()
    yield index
    index.stop()


@pytest.fixture(scope="module")
def workspace(index, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    return Workspace(
        layout=Layout(home),
        index=Index(layout=Layout(home), address=index.url),
        environments=Environments(root=home / "envs", index_url=index.url),
    )


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    monkeypatch.setattr(verify, "PATH_S", 2)
    monkeypatch.setattr(verify, "LIMITS", Limits(wall_s=60, cpu_s=30, memory_mb=2048))


def find(workspace, name, **fields):
    """Return the candidates of a library, and what was said of its other new names."""
    library = Library(**{"name": name, "distribution": name, "imports": ()} | fields)
    found = discover(workspace, library, "1.0", "2.0")
    return [row.api for row in found.candidates], {row.api: f"{row.reason}: {row.detail}" for row in found.excluded}


@pytest.mark.parametrize(("name", "said"), [(name, said) for name, (_, said) in IMPORTS.items()])
def test_what_cannot_be_imported_is_told_by_name(workspace, name, said):
    before, started = _children(), time.monotonic()
    candidates, excluded = find(workspace, name)
    assert candidates == []
    assert said in excluded[f"{name}.fresh"], excluded
    assert time.monotonic() - started < 90
    assert _children() <= before


@pytest.mark.parametrize("name", HARMLESS)
def test_what_can_be_imported_is_found_whatever_else_it_does(workspace, name):
    before = _children()
    assert find(workspace, name)[0] == [f"{name}.fresh"]
    assert _children() <= before


def test_a_module_that_hangs_costs_only_itself(workspace):
    started = time.monotonic()
    candidates, excluded = find(workspace, "partly")
    assert candidates == ["partly.a.fresh"]
    assert all("no answer within 2 s" in excluded[f"partly.b.fresh_{number}"] for number in range(40))
    assert time.monotonic() - started < 40, "its time is given once, not to each of its names"


def test_a_module_that_fails_is_not_imported_for_each_of_its_names(workspace):
    started = time.monotonic()
    assert "no driver" in find(workspace, "costly")[1]["costly.a.fresh_39"]
    assert time.monotonic() - started < 15


def test_a_module_that_ends_the_process_costs_only_itself(workspace):
    candidates, excluded = find(workspace, "fragile")
    assert candidates == [f"fragile.{name}.fresh" for name in "abcdefg"]
    assert "ended by itself" in excluded["fragile.h.fresh"]


def test_a_distribution_may_have_another_name_than_its_package(workspace):
    assert find(workspace, "othername")[0] == ["unlike.fresh"]


def test_functions_of_others_and_their_wrappers_are_told_apart(workspace):
    candidates, excluded = find(workspace, "borrows")
    assert candidates == ["borrows.fresh", "borrows.wrapped"]
    assert excluded["borrows.borrowed"] == "foreign: it is json.dumps when it runs"


def test_a_package_may_share_its_namespace(workspace):
    assert find(workspace, "spacecore")[0] == ["space.core.fresh"]


def test_a_file_with_another_digest_is_refused_and_not_kept(workspace):
    with pytest.raises(NovelApiError, match=r"forged-2\.0-py3-none-any\.whl .*hash mismatch"):
        find(workspace, "forged")
    assert not list(Path(workspace.layout.home).rglob("forged-2.0*.whl"))


def test_a_release_without_a_wheel_is_never_built(workspace):
    with pytest.raises(NovelApiError, match=r"unbuilt==2\.0 cannot be installed here: .*no usable wheels"):
        find(workspace, "unbuilt")


def test_the_sources_of_a_release_without_a_wheel_are_read(workspace):
    assert find(workspace, "unbuilt", static=True)[0] == ["unbuilt.fresh"]


def test_the_others_go_on(workspace):
    assert find(workspace, "good")[0] == ["good.fresh"]


def _children() -> set[str]:
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())
