"""Two ends of a link hold the same value: what only broadcasts to it does not."""

from __future__ import annotations

import json
import subprocess
import sys

from novelapi.execution.sandbox import GUEST

CASES = [
    ("np.array([1.0, 2.0])", "np.array([1.0, 2.0])", True),
    ("np.array([1.0, 1.0])", "1.0", False),
    ("np.array([[1.0], [1.0]])", "np.array([1.0, 1.0])", False),
    ("np.float64(2.0)", "2.0", True),
    ("np.array([1.0, 2.0])", "[1.0, 2.0]", True),
    ("np.array([1.0, 2.0])", "[1.0, [2.0]]", False),
    ("[1, 2]", "[1, 2]", True),
    ("[1, 2]", "[2, 1]", False),
]


def test_arrays_of_other_shapes_are_never_equal():
    pairs = ", ".join(f"[{left}, {right}]" for left, right, _ in CASES)
    code = (
        f"import sys; sys.path.insert(0, {str(GUEST)!r})\n"
        "import json, links, numpy as np\n"
        f"print(json.dumps([bool(links.equal(*pair)) for pair in ({pairs},)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [equal for _, _, equal in CASES]
