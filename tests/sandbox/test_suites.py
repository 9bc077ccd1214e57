"""Outside suites: the reference passes with what its task needs, and not without."""

import json

import pytest

from novelapi.errors import DataError
from novelapi.evaluation.suites import codeupdatearena
from novelapi.execution.environments import python_environment

pytestmark = pytest.mark.sandbox
ROW = {
    "update": {
        "update_id": "sin", "package": "math", "function_path": "math.sin",
        "imports": ["import math", "old_sin = math.sin", "setattr(math, 'old_sin', old_sin)"],
        "implementation": "def sin(x, unit='radians'):\n    return old_sin(x if unit == 'radians' else math.radians(x))\n",
    },
    "prog_syn_examples": [
        {
            "imports": ["import math", "old_sin = math.sin"],
            "ref_solution": "def f(x):\n    return round(math.sin(x, unit='degrees'), 6)",
            "unit_tests": ["def test_f():\n    assert f(90) == 1.0"],
        },
        {
            "imports": ["import math"],
            "ref_solution": "def f(x):\n    return 2.0",
            "unit_tests": ["def test_f():\n    assert f(90) == 1.0"],
        },
    ],
}  # fmt: skip


def test_a_reference_needs_its_update(tmp_path):
    path = tmp_path / "arena.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    examples = list(codeupdatearena.read(path))
    good, bad = codeupdatearena.run(examples, lambda _: python_environment(), lambda _: None)
    assert good.updated is None
    assert good.plain is not None
    assert "unit" in good.plain or "TypeError" in good.plain
    assert bad.updated is not None
    assert "AssertionError" in bad.updated


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(DataError, match=r"arena\.jsonl"):
        list(codeupdatearena.read(path))
