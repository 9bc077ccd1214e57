"""A plain wheel holds the core alone: the verbs that compose stages say what to install, all others work."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The wheel as hatchling builds it, unpacked where nothing of the checkout is importable."""
    folder = tmp_path_factory.mktemp("wheel")
    code = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    pytest.importorskip("hatchling", reason="hatchling is not installed (dependency group dev)")
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    site = folder / "site"
    with zipfile.ZipFile(folder / done.stdout.split()[-1]) as wheel:
        wheel.extractall(site)
    return site


# -S keeps the environment's own site-packages, and with them the editable checkout, out: only its packages are added,
# after the wheel, so that the metadata of the wheel is what counts.
START = """
import importlib.metadata, sys
sys.path[:0] = [sys.argv.pop(1)]
packages = sys.argv.pop(1)
sys.path.append(packages)
find = importlib.metadata.entry_points
import novelapi.cli as cli
assert cli.__file__.startswith(sys.path[0]), cli.__file__
sys.argv[0] = "novelapi"
cli.main()
"""


def novelapi(site, *args):
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    command = [sys.executable, "-I", "-S", "-c", START, str(site), packages, *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=site, timeout=120)


@pytest.mark.parametrize("args", [["build", "numpy"], ["run", "--library", "numpy"], ["demo"], ["deploy"]])
def test_a_verb_that_composes_stages_says_what_to_install(installed, args):
    done = novelapi(installed, *args)
    assert done.returncode == 3, done.stderr
    assert "install from a checkout with the extra flows" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_other_verbs_work(installed):
    done = novelapi(installed, "list", "conditions")
    assert done.returncode == 0, done.stderr
    assert "baseline" in done.stdout


def test_the_wheel_holds_the_core_and_no_entry_point_of_the_checkout(installed):
    tops = {path.name for path in installed.iterdir()}
    assert {name for name in tops if not name.endswith(".dist-info")} == {"novelapi"}
    (entries,) = installed.glob("*.dist-info/entry_points.txt")
    assert "novelapi.commands" not in entries.read_text()
