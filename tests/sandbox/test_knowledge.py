"""Stage 2 on a small package: executed, offline, resumable, the same bytes twice."""

import sys
import textwrap
import venv
from dataclasses import replace
from pathlib import Path

import pytest

from novelapi import jsonl
from novelapi.knowledge import stage
from novelapi.knowledge.material import Material, describe
from novelapi.knowledge.trials import Program, run_programs
from novelapi.layout import Layout
from novelapi.records.api import Candidate, Change, Parameter
from novelapi.records.bundle import KnowledgeBundle
from novelapi.records.environment import Environment

pytestmark = pytest.mark.sandbox

PACKAGE = {
    "site/minilib/__init__.py": '''
        """A small library."""
        from minilib._core import Box, scale, spin, hidden


        __all__ = ["Box", "scale", "spin", "hidden"]
    ''',
    "site/minilib/_core.py": '''
        import random


        class Box:
            """A box of numbers that can be sorted.

            >>> box = Box([3, 1])
            >>> box
            Box([3, 1])
            """

            def __init__(self, items):
                self.items = list(items)

            def __repr__(self):
                return f"Box({self.items})"

            def sort(self, reverse=False):
                """Sort the numbers of the box in place."""
                self.items.sort(reverse=reverse)


        def scale(values, factor=2, *, offset=0):
            """Multiply numbers by a factor, then add an offset.

            Parameters
            ----------
            values : list of int
                The numbers.
            factor : int
                What they are multiplied by.
            offset : int
                What is added.

                .. versionadded:: 2.0

            Examples
            --------
            >>> import minilib
            >>> minilib.scale([1, 2], 3)
            [3, 6]
            """
            return _times(values, factor, offset)


        def _times(values, factor, offset):
            """Documentation of a helper."""
            return [factor * value + offset for value in values]  # one by one


        def spin(sides):
            """Return a random number below the number of sides, never the same one twice in a row."""
            return random.random() * sides


        def hidden(secret):
            """Nobody can know what this asks for, so that nothing runs: it always refuses its argument."""
            raise ValueError(secret)
    ''',
    "sdist/CHANGES.md": """
        # Changes

        ## 3.0
        * `minilib.scale` will be faster.

        ## 2.0
        * `minilib.scale` takes an offset.

        ## 1.0
        * `minilib.scale` is there.
    """,
    "sdist/tests/test_box.py": """
        import minilib


        def test_sort():
            box = minilib.Box([3, 1, 2])
            box.sort(reverse=True)
            assert box.items == [3, 2, 1]
    """,
}


def candidate(api, kind, signature, parameters, new=()):
    changes = tuple(Change(kind="parameter_added", parameter=name) for name in new) or (Change(kind="added"),)
    leaf = api.removeprefix("minilib.")
    return Candidate(
        api=api,
        library="minilib",
        release="2.0",
        old_release="1.0",
        paths=(api,),
        canonical=f"minilib._core:{leaf}",
        kind=kind,
        change="modified" if new else "added",
        changes=changes,
        signature=signature,
        parameters=tuple(parameters),
    )


def parameter(name, kind="positional_or_keyword", default=None):
    return Parameter(name=name, kind=kind, default=default)


CANDIDATES = [
    candidate("minilib.Box", "class", "(items)", [parameter("items")]),
    candidate("minilib.Box.sort", "method", "(reverse=False)", [parameter("reverse", default="False")]),
    candidate(
        "minilib.scale",
        "function",
        "(values, factor=2, *, offset=0)",
        [parameter("values"), parameter("factor", default="2"), parameter("offset", "keyword_only", "0")],
        new=["offset"],
    ),
    candidate("minilib.spin", "function", "(sides)", [parameter("sides")]),
    candidate("minilib.hidden", "function", "(secret)", [parameter("secret")]),
]


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    root = tmp_path_factory.mktemp("minilib")
    for name, text in PACKAGE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip())
    prefix = root / "env"
    venv.create(prefix, with_pip=False)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    packages = prefix / "lib" / f"python{version}" / "site-packages"
    (root / "site" / "minilib").rename(packages / "minilib")
    env = Environment(
        key="minilib-2.0",
        library="minilib",
        release="2.0",
        python=str(prefix / "bin" / "python"),
        prefix=str(prefix),
        base_prefix=str(Path(sys.base_prefix).resolve()),
        python_version=version,
    )
    return Material(
        library="minilib",
        release="2.0",
        old_release="1.0",
        env=env,
        packages=packages,
        roots=("minilib",),
        sdist=root / "sdist",
        licence="MIT",
    )


@pytest.fixture(scope="module")
def result(material, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    found = stage.write_knowledge(CANDIDATES, material, Layout(home), model="m")
    rows = {row["api"]: KnowledgeBundle.from_row(row) for row in jsonl.scan(home / found.path)}
    return found, rows, (home / found.path).read_bytes()


def test_every_candidate_has_a_bundle_and_losses_have_reasons(result):
    found, rows, _ = result
    assert sorted(rows) == sorted(item.api for item in CANDIDATES)
    assert found.counts["bundles"] == found.counts["m_prose"] == found.counts["m_code"] == 5
    assert found.counts["e_executed"] == 4
    assert found.reasons == {"e: all programs failed, mostly ValueError": 1}


def test_outputs_are_recorded_anew(result):
    _, rows, _ = result
    shown = {item.code: item.output for item in rows["minilib.scale"].exemplars}
    assert shown["import minilib\n\nminilib.scale([1, 2], 3)\n"] == "[3, 6]"


def test_an_example_uses_the_change_with_a_visible_effect(result):
    _, rows, _ = result
    first = rows["minilib.scale"].exemplars[0]
    assert first.uses_change
    assert "offset=" in first.code
    assert first.output not in {None, "[3, 6]"}


def test_methods_that_change_their_object_show_it(result):
    _, rows, _ = result
    assert any(item.output == "Box([3, 2, 1])" for item in rows["minilib.Box.sort"].exemplars)


def test_random_outputs_are_not_recorded(result):
    _, rows, _ = result
    assert {item.output for item in rows["minilib.spin"].exemplars} == {None}


def test_changelog_is_bounded_by_the_window(result):
    _, rows, _ = result
    assert rows["minilib.scale"].changelog == ("2.0: `offset`: added", "2.0: This function takes an offset.")


def test_code_has_helpers_and_no_documentation(result):
    _, rows, _ = result
    code = rows["minilib.scale"].m_code
    assert "def _times(values, factor, offset):\n    return [factor" in code
    assert "# one by one" in code
    assert "Documentation" not in code


def test_a_second_run_gives_the_same_bytes(result, material, tmp_path):
    _, _, data = result
    again = stage.write_knowledge(CANDIDATES, material, Layout(tmp_path), model="m")
    assert (tmp_path / again.path).read_bytes() == data


@pytest.mark.parametrize("kept", [1, 3])
def test_a_killed_run_resumes_to_the_same_bytes(result, material, tmp_path, monkeypatch, kept):
    found, _, data = result
    monkeypatch.setattr(stage, "CHUNK", 2)
    path = tmp_path / found.path
    path.parent.mkdir(parents=True)
    lines = data.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[-kept:]) + lines[0][:40])  # a torn last line
    stage.write_knowledge(CANDIDATES, material, Layout(tmp_path), model="m")
    assert path.read_bytes() == data


def test_what_the_running_library_says(material):
    facts = describe(material, ["minilib.scale", "minilib.Box.sort", "minilib.absent"], ["minilib"], ["minilib.Box"])
    assert facts.apis["minilib.scale"]["line"] == 23
    assert facts.apis["minilib.Box.sort"]["signature"] == "(self, reverse=False)"
    assert "no attribute" in facts.apis["minilib.absent"]["error"]
    assert facts.modules["minilib"] >= {"Box", "scale"}


def test_enumerations_say_how_their_members_are_looked_up(python_env, material):
    facts = describe(replace(material, env=python_env), ["http.HTTPMethod", "json.JSONEncoder"], [], [])
    assert facts.apis["http.HTTPMethod"]["values"][:2] == ["'CONNECT'", "'DELETE'"]
    assert facts.apis["json.JSONEncoder"]["values"] == []


HELD = """import json
class Holder:
    def __init__(self):
        self.coder, self._own, self.n = json.JSONEncoder(), json.JSONEncoder(), 1
    @property
    def never(self):
        raise RuntimeError
holder = Holder()
holder.__class__.__module__ = "json"
coder = json.JSONDecoder()
"""


def test_objects_are_seen_in_variables_and_their_attributes(python_env):
    trial = run_programs(python_env, [Program(id="0", code=HELD, targets=())], roots=("json",))["0"]
    assert trial.ok, trial.error_message
    assert trial.objects == {"holder": ("Holder",), "coder": ("JSONDecoder",), "holder.coder": ("JSONEncoder",)}


# code, targets, ok, error type, good calls
TRIALS = [
    ("import json\njson.dumps([1])", "json.dumps", True, None, 1),
    ("from json import dumps as d\nd([1])", "json.dumps", True, None, 1),
    ("import json\nx = json.dumps", "json.dumps", True, None, 0),  # named, not called
    ("import json\njson.dumps(object())", "json.dumps", False, "TypeError", 0),
    ("import json\njson.JSONEncoder().encode(1)", "json.JSONEncoder.encode", True, None, 1),
    ("import json\nclass E(json.JSONEncoder): pass\nE()", "json.JSONEncoder", True, None, 1),
    ("import json, io\njson.dump(1, io.StringIO())", "json.JSONEncoder", True, None, 0),  # made by the library itself
    ("import urllib.request as u\nu.urlopen('http://192.0.2.1')", "json.dumps", False, "URLError", 0),
    ("import os\nos._exit(0)", "json.dumps", False, "Died", 0),
    ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "json.dumps", False, "Died", 0),
    ("raise SystemExit(0)", "json.dumps", False, "SystemExit", 0),
    ("open('/etc/passwd-', 'w')", "json.dumps", False, "OSError", 0),
]


def test_trials(python_env):
    programs = [Program(id=str(n), code=row[0], targets=(row[1],)) for n, row in enumerate(TRIALS)]
    trials = run_programs(python_env, programs, roots=("json",))
    for number, (code, _, ok, error, calls) in enumerate(TRIALS):
        trial = trials[str(number)]
        assert (trial.ok, trial.error_type, len(trial.good_calls)) == (ok, error, calls), code


def test_one_program_that_kills_the_batch_does_not_take_the_others_along(python_env):
    codes = ["import os\nos.kill(os.getppid(), 9)", "1 + 1", "'a' * 2"]
    trials = run_programs(python_env, [Program(id=str(n), code=code, targets=()) for n, code in enumerate(codes)])
    assert [trials[str(n)].ok for n in range(3)] == [False, True, True]
    assert [trials[str(n)].output for n in (1, 2)] == ["2\n", "'aa'\n"]


UNSET = """import ctypes
malloc = ctypes.CDLL(None).malloc
malloc.restype = ctypes.c_void_p
print(ctypes.string_at(malloc(1 << 16), 1 << 16)[4096:4112])
"""


def test_memory_that_nobody_has_set_is_the_same_with_one_seed_and_not_with_another(python_env):
    shown = [
        run_programs(python_env, [Program(id="0", code=UNSET, targets=())], hash_seed=seed)["0"].output
        for seed in (0, 0, 1, 1)
    ]
    assert shown == [f"{bytes([byte] * 16)!r}\n" for byte in (0, 0, 0xFE, 0xFE)]
