"""Right completions that were failed once, or that no other table covers: all must pass, forked and fresh."""

import pytest

from novelapi.evaluation.scoring import Job, Sample, preload_of, score
from tests.sandbox.labels import libraries
from tests.sandbox.tasks import FRACTION, STRPTIME, task

pytestmark = pytest.mark.sandbox

DEQUE = task(
    "deque", "collections.deque", "def solve(xs, n):", "return list(collections.deque(xs, maxlen=n))",
    [["[1, 2, 3]", "2"], ["[4, 5]", "1"]], context="import collections\n",
)  # fmt: skip
COUNTER = task(
    "counter", "collections.Counter", "def solve(s):", "return collections.Counter(s).most_common(1)[0]",
    [["'aab'"], ["'xyzzy'"]], context="import collections\n",
)  # fmt: skip
ENCODER = task(
    "encoder", "json.JSONEncoder", "def solve(x):", "return json.JSONEncoder(sort_keys=True).encode(x)",
    [["{'b': 1, 'a': 2}"], ["{'z': [1]}"]], context="import json\n",
)  # fmt: skip
DATETIME = task(
    "datetime", "datetime.datetime", "def solve(a):", "return datetime.datetime(*a).isoformat()",
    [["[2024, 1, 2]"], ["[1999, 12, 31, 5]"]], context="import datetime\n",
)  # fmt: skip
WEEK = task(
    "week", "datetime.date.isocalendar", "def solve(t):", "return list(datetime.date.fromisoformat(t).isocalendar())",
    [["'2024-12-30'"], ["'2021-01-03'"]], context="import datetime\n",
)  # fmt: skip
SPREAD = task(
    "spread", "statistics.NormalDist.from_samples", "def solve(xs):",
    "return round(statistics.NormalDist.from_samples(xs).stdev, 6)", [["[1, 2, 4]"], ["[5.0, 7.5]"]], context="import statistics\n",
)  # fmt: skip
ROWS = [
    (DEQUE, "subclass of a class in C", "class Last(collections.deque):\n    def __init__(self, n):\n        super().__init__(maxlen=n)\ndef solve(xs, n):\n    d = Last(n)\n    d.extend(xs)\n    return list(d)"),
    (DEQUE, "subclass with an abstract base", "import abc\nclass Last(collections.deque, abc.ABC):\n    pass\ndef solve(xs, n):\n    return list(Last(xs, n))"),
    (DEQUE, "match on the class", "def solve(xs, n):\n    match collections.deque(xs, n):\n        case collections.deque() as d:\n            return list(d)"),
    (DEQUE, "generic alias", "Buffer = collections.deque[int]\ndef solve(xs, n):\n    return list(Buffer(xs, n))"),
    (DEQUE, "empty, filled later", "from collections import deque\nfrom dataclasses import dataclass, field\n@dataclass\nclass Last:\n    items: deque = field(default_factory=deque)\ndef solve(xs, n):\n    last = Last()\n    for x in xs:\n        last.items.append(x)\n        if len(last.items) > n:\n            last.items.popleft()\n    return list(last.items)"),
    (DEQUE, "singledispatch on the class", "import functools\nfrom collections import deque\n@functools.singledispatch\ndef out(d):\n    return d\n@out.register\ndef _(d: deque):\n    return list(d)\ndef solve(xs, n):\n    return out(deque(xs, n))"),
    (COUNTER, "empty, filled later", "def solve(s):\n    c = collections.Counter()\n    for x in s:\n        c[x] += 1\n    return c.most_common(1)[0]"),
    (COUNTER, "subclass", "class C(collections.Counter):\n    def top(self):\n        return self.most_common(1)[0]\ndef solve(s):\n    return C(s).top()"),
    (COUNTER, "copy of the class", "import copy\nmake = copy.deepcopy({'f': collections.Counter})['f']\ndef solve(s):\n    return copy.copy(make)(s).most_common(1)[0]"),
    (ENCODER, "subclass", "class E(json.JSONEncoder):\n    def default(self, o):\n        return super().default(o)\ndef solve(x):\n    return E(sort_keys=True).encode(x)"),
    (ENCODER, "subclass that the library makes an instance of", "class E(json.JSONEncoder):\n    def default(self, o):\n        return str(o)\ndef solve(x):\n    return json.dumps(x, cls=E, sort_keys=True)"),
    (DATETIME, "exact type", "from datetime import datetime\ndef solve(a):\n    d = datetime(*a)\n    return d.isoformat() if type(d) is datetime else None"),
    (DATETIME, "pickled", "import pickle\ndef solve(a):\n    return pickle.loads(pickle.dumps(datetime.datetime(*a))).isoformat()"),
    (DATETIME, "the class pickled", "import pickle\ndef solve(a):\n    return pickle.loads(pickle.dumps(datetime.datetime))(*a).isoformat()"),
    (WEEK, "fields of a tuple that pickles as a plain one", "def solve(t):\n    c = datetime.date.fromisoformat(t).isocalendar()\n    return [c.year, c.week, c.weekday]"),
    (SPREAD, "called twice, one result used", "def solve(xs):\n    statistics.NormalDist.from_samples(xs)\n    return round(statistics.NormalDist.from_samples(xs).stdev, 6)"),
    (SPREAD, "pool that maps it over copies", "from concurrent.futures import ThreadPoolExecutor\ndef solve(xs):\n    with ThreadPoolExecutor(2) as pool:\n        return round(list(pool.map(statistics.NormalDist.from_samples, [xs] * 3))[2].stdev, 6)"),
    (SPREAD, "class pattern with fields", "from statistics import NormalDist\ndef solve(xs):\n    match NormalDist.from_samples(xs):\n        case NormalDist(stdev=s):\n            return round(s, 6)"),
    (FRACTION, "subclass", "class F(fractions.Fraction):\n    pass\ndef solve(a, b):\n    return str(F(a, b))"),
    (STRPTIME, "subclass", "class D(datetime.date):\n    pass\ndef solve(text):\n    return D.fromisoformat(text).toordinal()"),
    (STRPTIME, "CRLF", "def solve(text):\r\n\td = datetime.date.fromisoformat(text)\r\n\treturn d.toordinal()\r\n"),
]  # fmt: skip

NUMPY = [
    (libraries.VECDOT, "out", "def solve(a, b):\n    out = np.zeros(a.shape[:-1], np.result_type(a, b))\n    np.vecdot(a, b, out=out)\n    return out if out.ndim else out[()]"),
    (libraries.VECDOT, "out in a tuple", "def solve(a, b):\n    out = np.zeros(a.shape[:-1], np.result_type(a, b))\n    np.vecdot(a, b, out=(out,))\n    return out if out.ndim else out[()]"),
    (libraries.VECDOT, "ufunc copied and pickled", "import copy, pickle\ndef solve(a, b):\n    f = copy.deepcopy([copy.copy(np.vecdot)])[0]\n    return pickle.loads(pickle.dumps(f))(a, b)"),
]  # fmt: skip
LOADTXT = libraries.task(
    "numpy", "loadtxt", "numpy.loadtxt", "def solve(text):", "return np.loadtxt(text.split(), delimiter=',').tolist()",
    [["'1,2\\n3,4'"], ["'5,6\\n7,8\\n9,1'"]], context=libraries.NP,
)  # fmt: skip
WEEKS = libraries.task(
    "pandas", "isocalendar", "pandas.Series.dt.isocalendar", "def solve(s):",
    "return s.dt.isocalendar().week.astype(int).tolist()", [["pd.Series(pd.to_datetime(['2024-12-30', '2021-01-03']))"]],
    context=libraries.PD,
)  # fmt: skip
TOCSV = libraries.task(
    "pandas", "to_csv", "pandas.DataFrame.to_csv", "def solve(df):", "return df.to_csv(index=False)",
    [["pd.DataFrame({'a': [1, 2]})"], ["pd.DataFrame({'b': [3.5]})"]], context=libraries.PD,
)  # fmt: skip
STRIP = libraries.task(
    "polars", "strip_prefix", "polars.Expr.str.strip_prefix", "def solve(xs, p):",
    "return pl.DataFrame({'a': xs}).select(pl.col('a').str.strip_prefix(p))['a'].to_list()",
    [["['x_a', 'b']", "'x_'"], ["['cc', 'c']", "'c'"]], context="import polars as pl\n",
)  # fmt: skip
NUMPY += [
    (STRIP, "an accessor that is a property", "def solve(xs, p):\n    e = pl.col('a').str\n    return pl.DataFrame({'a': xs}).select(e.strip_prefix(p)).to_series().to_list()"),
    (WEEKS, "an accessor that makes an instance of its base", "def solve(s):\n    return [int(w) for w in s.dt.tz_localize('UTC').dt.isocalendar()['week']]"),
    (LOADTXT, "a file", "import os, tempfile\ndef solve(text):\n    with tempfile.TemporaryDirectory() as d:\n        p = os.path.join(d, 'x.csv')\n        with open(p, 'w') as f:\n            f.write(text)\n        return np.loadtxt(p, delimiter=',').tolist()"),
    (TOCSV, "a new file in the working folder", "def solve(df):\n    df.to_csv('x.csv', index=False)\n    with open('x.csv') as f:\n        return f.read()"),
    (LOADTXT, "a path in the working folder", "import pathlib\ndef solve(text):\n    p = pathlib.Path('x.csv')\n    p.write_text(text)\n    return np.loadtxt(p, delimiter=',').tolist()"),
]  # fmt: skip


def check(slot, env, given, code):
    """Score forked and fresh; both must pass."""
    samples = (Sample(index=0, text=code),)
    forked = score(slot, Job(task=given, env=env, samples=samples, preload=preload_of([given])))
    assert forked.broken is None, forked.broken
    fresh = score(slot, Job(task=given, env=env, samples=samples, harness=forked.harness))
    for row in (forked.rows[0], fresh.rows[0]):
        assert (row.outcome, row.label) == ("pass", None), (row.executor, row.reason, row.evidence)


@pytest.mark.parametrize(("given", "why", "code"), ROWS, ids=[f"{row[0].task_id}: {row[1]}" for row in ROWS])
def test_passes(slot, python_env, given, why, code):
    check(slot, python_env, given, code)


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize(("given", "why", "code"), NUMPY, ids=[f"{row[0].task_id}: {row[1]}" for row in NUMPY])
def test_passes_with_a_library(slot, given, why, code):
    check(slot, libraries.environment(given.library), given, code)
