"""Hand-written tasks over the standard library, for the tests of verdicts and labels."""

from novelapi.records.task import Task


def task(name, api, signature, body, inputs, *, context="", calls=None, **more):
    return Task(
        task_id=name,
        library="python",
        api=api,
        description="see the reference",
        context_code=context,
        entry_point="solve",
        signature=signature,
        reference_solution=f"{signature}\n    {body}\n",
        inputs=[{"args": list(args)} for args in inputs],
        calls=calls or {"api": api},
        **more,
    )


PAIRWISE = task(
    "pairwise", "itertools.pairwise", "def solve(xs):", "return [b - a for a, b in itertools.pairwise(xs)]",
    [["[1, 4, 9]"], ["[5]"], ["[2, 2, 0, 7]"]], context="import itertools\n",
)  # fmt: skip
FMEAN = task(
    "fmean", "statistics.fmean", "def solve(xs, ws):", "return statistics.fmean(xs, weights=ws)",
    [["[1, 4, 9]", "[1, 1, 2]"], ["[5.0, 3]", "[0.5, 2]"]], context="import statistics\n",
    calls={"api": "statistics.fmean", "required": {"weights": "ws"}},
)  # fmt: skip
REMOVEPREFIX = task(
    "removeprefix", "str.removeprefix", "def solve(s, p):", "return s.removeprefix(p)",
    [["'test_x'", "'test_'"], ["'abc'", "'x'"]],
)  # fmt: skip
REDUCE = task(
    "reduce", "functools.reduce", "def solve(xs):", "return functools.reduce(lambda a, b: a * b, xs, 1)",
    [["[1, 2, 3]"], ["[2, 5]"]], context="import functools\n",
)  # fmt: skip
FRACTION = task(
    "fraction", "fractions.Fraction", "def solve(a, b):", "return str(fractions.Fraction(a, b))",
    [["2", "4"], ["3", "9"]], context="import fractions\n",
)  # fmt: skip
DUMPS = task(
    "dumps", "json.dumps", "def solve(value):", "return json.dumps(value, sort_keys=True)",
    [["{'b': 1, 'a': [2]}"], ["{'z': None, 'y': True}"]], context="import json\n",
    calls={"api": "json.dumps", "required": {"sort_keys": "True"}},
)  # fmt: skip
STRPTIME = task(
    "fromisoformat", "datetime.date.fromisoformat", "def solve(text):", "return datetime.date.fromisoformat(text).toordinal()",
    [["'2024-02-29'"], ["'1999-12-31'"]], context="import datetime\n",
)  # fmt: skip
BISECT = task(
    "bisect", "bisect.bisect_left", "def solve(rows, value):", "return bisect.bisect_left(rows, value, key=lambda row: row['n'])",
    [["[{'n': 1}, {'n': 4}, {'n': 9}]", "4"], ["[{'n': 1}, {'n': 4}, {'n': 9}]", "5"]], context="import bisect\n",
    calls={"api": "bisect.bisect_left", "required": {}},
)  # fmt: skip
ASYNC = task(
    "gather", "asyncio.gather", "def solve(xs):",
    "async def one(x):\n        return x * 2\n    async def all_of():\n        return await asyncio.gather(*[one(x) for x in xs])\n    return asyncio.run(all_of())",
    [["[1, 2]"], ["[3, 4, 5]"]], context="import asyncio\n",
)  # fmt: skip
RAISES = task(
    "raises", "ipaddress.ip_address", "def solve(text):", "return str(ipaddress.ip_address(text))",
    [["'127.0.0.1'"], ["'256.1.1.1'"]], context="import ipaddress\n",
    expected=["127.0.0.1", {"$": "raises", "type": "ValueError"}],
)  # fmt: skip
