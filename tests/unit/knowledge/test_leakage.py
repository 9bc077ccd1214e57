"""The same call is recognised however it is written; another call is not."""

import pytest

from novelapi.knowledge.leakage import normalised_calls, overlap

PATHS = ["numpy.unstack", "numpy.lib.unstack"]

SAME = [
    "import numpy as np\nnp.unstack(np.arange(6), axis=1)",
    "import numpy\nnumpy.unstack(numpy.arange(6), axis=1)",
    "from numpy import unstack, arange\nunstack(arange(6), axis=1)",
    "import numpy as np\nx = np.arange(6)\nk = 1\nresult = np.unstack(x, axis=k)",  # through assignments
    "import numpy as np\nx, k = np.arange(6), 1\nprint(np.unstack(x , axis = k))",
    "import numpy as xp\nprint(xp.lib.unstack(xp.arange(6), axis=1))",  # another path of the same object
]
OTHER = [
    "import numpy as np\nnp.unstack(np.arange(6), axis=0)",
    "import numpy as np\nnp.unstack(np.arange(7), axis=1)",
    "import numpy as np\nnp.unstack(np.arange(6), 1)",  # positional: not the same text of the call
    "import numpy as np\nnp.stack(np.arange(6), axis=1)",
    "not python",
]


@pytest.mark.parametrize("code", SAME)
def test_equal_calls_have_equal_forms(code):
    assert normalised_calls(code, PATHS) == normalised_calls(SAME[0], PATHS) != frozenset()


@pytest.mark.parametrize("code", OTHER)
def test_other_calls_have_other_forms(code):
    assert not normalised_calls(code, PATHS) & normalised_calls(SAME[0], PATHS)


def test_inputs_of_a_task_are_bound():
    solution = "import numpy as np\ndef solve(x, axis):\n    return np.unstack(x, axis=axis)\n"
    bound = normalised_calls(solution, PATHS, {"x": "np.arange(6)", "axis": "1"})
    assert bound == normalised_calls(SAME[0], PATHS)


def test_order_of_keywords_does_not_matter():
    first = normalised_calls("from lib import f\nf(a=1, b=2)", ["lib.f"])
    assert first == normalised_calls("from lib import f\nf(b=2, a=1)", ["lib.f"])


def test_the_receiver_of_a_method_counts():
    one = normalised_calls("s = make(1)\ns.map(f, engine='x')", ["lib.Series.map"])
    assert one == normalised_calls("make(1).map(f, engine='x')", ["lib.Series.map"])
    assert one != normalised_calls("make(2).map(f, engine='x')", ["lib.Series.map"])


def test_names_that_change_are_not_resolved():
    code = "from lib import f\nx = 1\nx = 2\nf(x)"
    assert normalised_calls(code, ["lib.f"]) == normalised_calls("from lib import f\nf(y)", ["lib.f"])


@pytest.mark.parametrize(
    ("reference", "shown", "expected"),
    [
        ("f(x, 1)", ["f(x, 1)"], 1.0),
        ("f(x, 1)", ["g(y)", "f(x,\n  1)  # note"], 1.0),
        ("f(x, 1)", ["q"], 0.0),
        ("f(x)", ["f(y)"], 0.75),
        ("f(x)", [], None),
        ("", ["f(x)"], None),
    ],
)
def test_overlap(reference, shown, expected):
    assert overlap(reference, shown) == expected
