"""A flow run in a container: its own server for as long as it lives, none where none is described."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from novelapi.errors import DataError
from novelapi.layout import Layout
from workers.beside import read_spec, run_beside

CHECKOUT = Path(__file__).resolve().parents[3]
FAKE = CHECKOUT / "tests" / "fakes" / "vllm_program.py"
ASK = """
import json, os, sys, urllib.request
names = json.load(urllib.request.urlopen(os.environ["OPENAI_BASE_URL"] + "/models"))
sys.exit(7 if names["data"][0]["id"] == os.environ["NOVELAPI_SERVED_MODEL"] == "tiny" else 1)
"""


@pytest.fixture
def described(tmp_path):
    program = tmp_path / "vllm"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
    program.chmod(0o755)

    def describe(model="folder"):
        return json.dumps({"model": model, "name": "tiny", "program": str(program), "arguments": []})

    return describe


def beside(home, text, *command):
    names = {**os.environ, "NOVELAPI_HOME": str(home), "NOVELAPI_SERVE": text}
    done = [sys.executable, "-m", "workers.beside", *command]
    return subprocess.run(done, check=False, cwd=CHECKOUT, env=names, capture_output=True, text=True, timeout=120)


def test_the_command_reaches_the_server_that_its_description_names(described, tmp_path):
    assert beside(tmp_path, described(), sys.executable, "-c", ASK).returncode == 7
    assert not list(Layout(tmp_path).serving.glob("*.json"))


def test_a_refused_model_is_one_line_and_the_command_does_not_run(described, tmp_path):
    done = beside(tmp_path, described("missing"), sys.executable, "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no such model: correct the job variable `model`" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_description_no_server_is_started(tmp_path):
    assert run_beside([sys.executable, "-c", "raise SystemExit(5)"], read_spec(None), Layout(tmp_path)) == 5
    assert not Layout(tmp_path).serving.exists()


@pytest.mark.parametrize("text", ["{", '{"model": "a"}', '{"model": "a", "name": "b", "program": "c", "typo": 1}'])
def test_a_broken_description_names_the_block(text):
    with pytest.raises(DataError, match="correct the block vllm-server"):
        read_spec(text)
