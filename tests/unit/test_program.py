"""What the source of a completion says."""

import ast

import pytest

from novelapi.evaluation import program, reach

API = "numpy.linalg.vecdot"

REACHES = [
    ("attribute", "import numpy as np\ndef solve(x): return np.linalg.vecdot(x, x)", True),
    ("from import", "from numpy.linalg import vecdot\ndef solve(x): return vecdot(x, x)", True),
    ("renamed", "from numpy.linalg import vecdot as v\ndef solve(x): return v(x, x)", True),
    ("alias by assignment", "import numpy as np\nf = np.linalg.vecdot\ndef solve(x): return f(x, x)", True),
    ("local alias", "import numpy as np\ndef solve(x):\n    f = np.linalg.vecdot\n    return f(x, x)", True),
    ("getattr", "import numpy as np\ndef solve(x): return getattr(np.linalg, 'vecdot')(x, x)", True),
    ("partial", "import numpy as np, functools\ndef solve(x): return functools.partial(np.linalg.vecdot, x)(x)", True),
    ("handed over", "import numpy as np\ndef solve(x): return list(map(np.linalg.vecdot, x, x))", True),
    ("another path of the package", "import numpy as np\ndef solve(x): return np.vecdot(x, x)", True),
    ("a namesake", "import numpy as np\ndef solve(x): return np.ma.vecdot(x, x)", False),
    ("another name", "import numpy as np\ndef solve(x): return np.vdot(x, x)", False),
    ("another package", "import other\ndef solve(x): return other.vecdot(x, x)", False),
    ("only mentioned", "import numpy as np\ndef solve(x): return np.linalg.vecdot", False),
    ("after a return", "import numpy as np\ndef solve(x):\n    return 0\n    np.linalg.vecdot(x, x)", False),
    ("under a constant false", "import numpy as np\ndef solve(x):\n    if False:\n        np.linalg.vecdot(x, x)\n    return 0", False),
    ("under `while 0`", "import numpy as np\ndef solve(x):\n    while 0:\n        np.linalg.vecdot(x, x)\n    return 0", False),
    ("after `if True: return`", "import numpy as np\ndef solve(x):\n    if True:\n        return 0\n    np.linalg.vecdot(x, x)", False),
    ("else of a constant false", "import numpy as np\ndef solve(x):\n    if 0:\n        pass\n    else:\n        return np.linalg.vecdot(x, x)", True),
    ("in a text", "import numpy as np\ndef solve(x):\n    return 'np.linalg.vecdot(x, x)'", False),
    ("in a nested function", "import numpy as np\ndef solve(x):\n    def g(): return np.linalg.vecdot(x, x)\n    return g()", True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code", "expected"), REACHES, ids=[row[0] for row in REACHES])
def test_reaches_target(name, code, expected):
    goal = program.Goal(api=API, namesakes=frozenset({"numpy.ma.vecdot"}))
    assert reach.reaches_target(ast.parse(code), None, goal) is expected


def test_context_imports_count():
    context = ast.parse("import numpy as np")
    code = ast.parse("def solve(x): return np.linalg.vecdot(x, x)")
    assert reach.reaches_target(code, context, program.Goal(api=API))


def test_the_leaf_on_any_receiver_counts_for_a_method():
    code = ast.parse("def solve(x): return x.view().vecdot(x)")
    assert reach.reaches_target(code, None, program.Goal(api="numpy.Array.vecdot", method=True))
    assert not reach.reaches_target(code, None, program.Goal(api="numpy.vecdot"))


STUBS = [
    ("pass", "def solve(x):\n    pass", True),
    ("dots", "def solve(x): ...", True),
    ("docstring only", 'def solve(x):\n    """Do it."""', True),
    ("not implemented", "def solve(x):\n    raise NotImplementedError", True),
    ("not implemented with text", "def solve(x):\n    raise NotImplementedError('later')", True),
    ("comments only", "# nothing here", True),
    ("a text only", "'nothing here'", True),
    ("returns nothing", "def solve(x):\n    return None", False),
    ("another error", "def solve(x):\n    raise ValueError", False),
    ("entry point missing", "def other(x):\n    pass\nx = 1", False),
    ("the last definition counts", "def solve(x):\n    return 1\ndef solve(x):\n    pass", True),
]


@pytest.mark.parametrize(("name", "code", "expected"), STUBS, ids=[row[0] for row in STUBS])
def test_is_stub(name, code, expected):
    assert program.is_stub(ast.parse(code), "solve") is expected


DATA = [
    ("parameter", "def solve(x): return f(x, 1)", {0}, set()),
    ("computed", "def solve(x):\n    y = x + 1\n    return f(y, axis=0)", {0}, set()),
    ("keyword", "def solve(x): return f(1, data=x)", set(), {"data"}),
    ("loop variable", "def solve(x):\n    for row in x:\n        f(row)", {0}, set()),
    ("comprehension", "def solve(x): return [f(row, 2) for row in x]", {0}, set()),
    ("unpacked", "def solve(x):\n    a, b = x\n    return f('c', b)", {1}, set()),
    ("through a helper", "def help(v): return f(v, 3)\ndef solve(x): return help(x)", {0}, set()),
    ("constant", "def solve(x):\n    y = [1]\n    return f(y)", set(), set()),
    ("with statement", "def solve(x):\n    with open(x) as g:\n        return f(g)", {0}, set()),
]


@pytest.mark.parametrize(("name", "code", "positions", "keywords"), DATA, ids=[row[0] for row in DATA])
def test_data_arguments(name, code, positions, keywords):
    tree = ast.parse(code)
    call = next(
        n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "f"
    )
    assert program.data_arguments(call, tree, "solve")[:2] == (positions, keywords)
