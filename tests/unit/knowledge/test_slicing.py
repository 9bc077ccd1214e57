"""A program holds what its last statement needs, and nothing else."""

import ast

import pytest

from novelapi.knowledge.names import use_of
from novelapi.knowledge.slicing import merged_imports, slice_program, spaced, steady
from novelapi.knowledge.snippets import Script, statements_of


def resolve(name):
    return {"np": "import numpy as np", "Table": "from lib import Table"}.get(name)


# statements of a script, the program of the last one (null: it needs something unknown)
TABLE = [
    ("x = 1\ny = 2\nf = len\nf([x])", "x = 1\nf = len\nf([x])\n"),
    ("import os, sys\nx = sys.path\nprint(x)", "import sys\n\nx = sys.path\nprint(x)\n"),  # imports are narrowed
    ("from a import b, c\nc(1)", "from a import c\n\nc(1)\n"),
    ("x = np.arange(3)\nnp.sum(x)", "import numpy as np\n\nx = np.arange(3)\nnp.sum(x)\n"),  # left out by convention
    ("x = [1]\nx.append(2)\nlen(x)", "x = [1]\nx.append(2)\nlen(x)\n"),  # changed in place
    ("x = [1]\nx[0] = 5\nlen(x)", "x = [1]\nx[0] = 5\nlen(x)\n"),
    ("x = 1\nx += 1\nabs(x)", "x = 1\nx += 1\nabs(x)\n"),
    ("x = 1\nplt.plot(x)\nabs(x)", "x = 1\nabs(x)\n"),  # nobody sees the picture
    ("x = 1\nassert x == 1\nabs(x)", "x = 1\nabs(x)\n"),
    ("y = unknown()\nabs(y)", None),
    ("def f(a):\n    return a\nx = 2\nf(x)", "def f(a):\n    return a\n\n\nx = 2\nf(x)\n"),
    ("x = 1\nx = 2\nabs(x)", "x = 2\nabs(x)\n"),  # the last definition counts
    (
        "from __future__ import annotations\nx: int = 1\nabs(x)",
        "from __future__ import annotations\n\nx: int = 1\nabs(x)\n",
    ),
    ("from __future__ import annotations\nimport a\na.b()", "import a\n\na.b()\n"),  # nothing is annotated
    ("t = [Table(i) for i in range(2)]\nlen(t)", "from lib import Table\n\nt = [Table(i) for i in range(2)]\nlen(t)\n"),
]


@pytest.mark.parametrize(("code", "expected"), TABLE)
def test_backward_slice(code, expected):
    statements = tuple(statements_of(code))
    script = Script(statements, "here", "docs")
    assert slice_program(script, len(statements), [len(statements) - 1], (), resolve) == expected


def test_a_displayed_call_is_not_taken_for_a_change():
    statements = (*statements_of("x = [3, 1]"), *statements_of("x.count(1)", shown=True), *statements_of("len(x)"))
    program = slice_program(Script(statements, "here", "doctest"), 3, [2], (), resolve)
    assert program == "x = [3, 1]\nlen(x)\n"


def test_too_long_a_program_is_no_example():
    code = "\n".join(f"x{n} = {n}" for n in range(60)) + "\nprint(" + ", ".join(f"x{n}" for n in range(60)) + ")"
    statements = tuple(statements_of(code))
    assert (
        slice_program(Script(statements, "here", "docs"), len(statements), [len(statements) - 1], (), resolve) is None
    )


# statement, binds, needs, changes
USES = [
    ("x = y", {"x"}, {"y"}, set()),
    ("x = x + 1", {"x"}, {"x"}, set()),
    ("for i in items: total += i", {"i", "total"}, {"items", "total"}, set()),
    ("with open(p) as f: data = f.read()", {"f", "data"}, {"p"}, set()),
    ("def f(a, b=c): return a + d", {"f"}, {"c", "d"}, set()),
    ("class A(B):\n    x = 1\n    def m(self): return helper(x)", {"A"}, {"B", "helper"}, set()),
    ("a.b.c = 1", set(), {"a"}, {"a"}),
    ("a.sort()", set(), {"a"}, {"a"}),
    ("y = [f(v) for v in z if v]", {"y"}, {"f", "z"}, set()),
    ("g = lambda q: q + r", {"g"}, {"r"}, set()),
    ("import a.b as c", {"c"}, set(), set()),
    ("x: int = y", {"x"}, {"y"}, set()),
    ("def f():\n    t = 1\n    return t", {"f"}, set(), set()),
]


@pytest.mark.parametrize(("code", "binds", "needs", "changes"), USES)
def test_names_of_a_statement(code, binds, needs, changes):
    use = use_of(ast.parse(code).body[0])
    assert (set(use.binds), set(use.needs), set(use.changes)) == (binds, needs, changes)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("rng = np.random.default_rng()", "rng = np.random.default_rng(0)"),
        ("rng = np.random.default_rng(3)", "rng = np.random.default_rng(3)"),
        ("import numpy as np\nx = np.random.rand(2)", "import numpy as np\n\nnp.random.seed(0)\nx = np.random.rand(2)"),
        ("np.random.seed(1)\nx = np.random.rand(2)", "np.random.seed(1)\nx = np.random.rand(2)"),
    ],
)
def test_random_sources_get_a_seed(program, expected):
    assert steady(program) == expected


def test_imports_from_one_module_are_joined():
    lines = ["from b import y", "import a", "from b import x", "from __future__ import annotations"]
    assert merged_imports(lines) == ["from __future__ import annotations", "from b import x, y", "import a"]


def test_definitions_stand_apart():
    assert spaced(["x = 1", "class A:\n    pass", "y = 2"]) == "x = 1\n\n\nclass A:\n    pass\n\n\ny = 2\n"
