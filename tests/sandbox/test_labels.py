"""The rules of the labels, each seen on a real failure in the sandbox."""

import pytest

from tests.sandbox import tasks as T
from tests.sandbox.labels import libraries, rules

pytestmark = pytest.mark.sandbox

ROWS = [
    # (task, outcome or label, why, code)
    (T.PAIRWISE, "pass", "attribute", "def solve(xs):\n    return [b - a for a, b in itertools.pairwise(xs)]"),
    (T.PAIRWISE, "pass", "from import", "from itertools import pairwise\ndef solve(xs):\n    return [b - a for a, b in pairwise(xs)]"),
    (T.PAIRWISE, "pass", "getattr and an iterator", "def solve(xs):\n    return [b - a for a, b in getattr(itertools, 'pair' + 'wise')(iter(xs))]"),
    (T.PAIRWISE, "pass", "partial", "import functools\ndef solve(xs):\n    return [b - a for a, b in functools.partial(itertools.pairwise, xs)()]"),
    (T.PAIRWISE, "pass", "handed to another function", "def solve(xs):\n    return [[b - a for a, b in p] for p in map(itertools.pairwise, [xs])][0]"),
    (T.PAIRWISE, "pass", "in a thread", "import threading\ndef solve(xs):\n    out = []\n    t = threading.Thread(target=lambda: out.extend(itertools.pairwise(xs)))\n    t.start()\n    t.join()\n    return [b - a for a, b in out]"),
    (T.PAIRWISE, "pass", "noisy", "import sys\ndef solve(xs):\n    print('PASS' * 1000)\n    print('x', file=sys.stderr)\n    return [b - a for a, b in itertools.pairwise(xs)]"),
    (T.PAIRWISE, "pass", "early return for a trivial input", "def solve(xs):\n    if len(xs) < 2:\n        return []\n    return [b - a for a, b in itertools.pairwise(xs)]"),
    (T.PAIRWISE, "pass", "main block", "def solve(xs):\n    return [b - a for a, b in itertools.pairwise(xs)]\nif __name__ == '__main__':\n    raise SystemExit(3)"),
    (T.PAIRWISE, "pass", "future import", "from __future__ import annotations\ndef solve(xs: Foo) -> Bar:\n    return [b - a for a, b in itertools.pairwise(xs)]"),
    (T.PAIRWISE, "pass", "lambda", "solve = lambda xs: [b - a for a, b in itertools.pairwise(xs)]"),
    (T.PAIRWISE, "pass", "body only", "    return [b - a for a, b in itertools.pairwise(xs)]"),
    (T.PAIRWISE, "WrongSyntax", "unclosed", "def solve(xs:\n    pass"),
    (T.PAIRWISE, "WrongSyntax", "stub", "def solve(xs):\n    pass"),
    (T.PAIRWISE, "WrongSyntax", "documented stub", "def solve(xs):\n    '''Differences.'''"),
    (T.PAIRWISE, "WrongSyntax", "prose", "I would use a loop here."),
    (T.PAIRWISE, "WrongSyntax", "nothing", ""),
    (T.PAIRWISE, "WrongSyntax", "null byte", "def solve(xs):\n    return '\0'"),
    (T.PAIRWISE, "WrongImport", "no import of the leaf", "def solve(xs):\n    return [b - a for a, b in pairwise(xs)]"),
    (T.PAIRWISE, "WrongImport", "leaf from a wrong module", "from functools import pairwise\ndef solve(xs):\n    return [b - a for a, b in pairwise(xs)]"),
    (T.PAIRWISE, "WrongImport", "leaf from a module that is not installed", "from more_itertools import pairwise\ndef solve(xs):\n    return [b - a for a, b in pairwise(xs)]"),
    (T.PAIRWISE, "WrongImport", "leaf on a wrong module", "import functools\ndef solve(xs):\n    return [b - a for a, b in functools.pairwise(xs)]"),
    (T.PAIRWISE, "WrongImport", "the package's alias is missing", "def solve(xs):\n    return [b - a for a, b in it.pairwise(xs)]"),
    (T.PAIRWISE, "WrongAPISelection", "hand-rolled", "def solve(xs):\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]"),
    (T.PAIRWISE, "WrongAPISelection", "hallucinated name", "def solve(xs):\n    return [b - a for a, b in itertools.pair_up(xs)]"),
    (T.PAIRWISE, "WrongAPISelection", "misspelt import", "from itertools import pairwse\ndef solve(xs):\n    return pairwse(xs)"),
    (T.PAIRWISE, "WrongAPISelection", "another API", "def solve(xs):\n    return [b - a for a, b in zip(xs, itertools.islice(xs, 1, None))]"),
    (T.PAIRWISE, "WrongAPISelection", "call after a return", "def solve(xs):\n    return None\n    itertools.pairwise(xs)"),
    (T.PAIRWISE, "WrongAPISelection", "exits without a call", "import os\ndef solve(xs):\n    os._exit(0)"),
    (T.PAIRWISE, "WrongAPISelection", "entry point missing, no call", "def other(xs):\n    return 1"),
    (T.PAIRWISE, "WrongLogic", "entry point missing, but a call", "def other(xs):\n    return [b - a for a, b in itertools.pairwise(xs)]"),
    (T.PAIRWISE, "WrongLogic", "foreign import fails before the call", "import no_such_module\ndef solve(xs):\n    return [b - a for a, b in itertools.pairwise(xs)]"),
    (T.PAIRWISE, "WrongLogic", "undefined local before the call", "def solve(xs):\n    ys = undefined + xs\n    return [b - a for a, b in itertools.pairwise(ys)]"),
    (T.PAIRWISE, "WrongLogic", "wrong answer", "def solve(xs):\n    return [a - b for a, b in itertools.pairwise(xs)]"),
    (T.PAIRWISE, "WrongLogic", "another type of answer", "def solve(xs):\n    return tuple(b - a for a, b in itertools.pairwise(xs))"),
    (T.PAIRWISE, "WrongLogic", "dead call", "def solve(xs):\n    list(itertools.pairwise(xs))\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]"),
    (T.PAIRWISE, "WrongLogic", "crash after the call", "def solve(xs):\n    list(itertools.pairwise(xs))\n    return 1 / 0"),
    (T.PAIRWISE, "WrongLogic", "exit after the call", "import os\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    os._exit(0)"),
    (T.PAIRWISE, "WrongLogic", "a generator that was never run", "def solve(xs):\n    for a, b in itertools.pairwise(xs):\n        yield b - a"),
    (T.PAIRWISE, "WrongLogic", "a coroutine that was never run", "async def solve(xs):\n    return [b - a for a, b in itertools.pairwise(xs)]"),
    (T.PAIRWISE, "WrongParam", "too many arguments", "def solve(xs):\n    return [b - a for a, b in itertools.pairwise(xs, 2)]"),
    (T.PAIRWISE, "WrongParam", "unknown keyword", "def solve(xs):\n    return [b - a for a, b in itertools.pairwise(iterable=xs)]"),
    (T.PAIRWISE, "WrongShapeDtype", "not iterable", "def solve(xs):\n    return [b - a for a, b in itertools.pairwise(len(xs))]"),
    (T.FMEAN, "pass", "positional", "def solve(xs, ws):\n    return statistics.fmean(xs, ws)"),
    (T.FMEAN, "pass", "other containers", "def solve(xs, ws):\n    return statistics.fmean((x for x in xs), weights=tuple(ws))"),
    (T.FMEAN, "WrongLogic", "without the option", "def solve(xs, ws):\n    return statistics.fmean(xs)"),
    (T.FMEAN, "WrongLogic", "right answer without the option", "def solve(xs, ws):\n    t = sum(ws)\n    return statistics.fmean([x * w * len(xs) / t for x, w in zip(xs, ws)])"),
    (T.FMEAN, "WrongParam", "misspelt keyword", "def solve(xs, ws):\n    return statistics.fmean(xs, weight=ws)"),
    (T.FMEAN, "WrongParam", "missing argument", "def solve(xs, ws):\n    return statistics.fmean(weights=ws)"),
    (T.FMEAN, "WrongShapeDtype", "another length", "def solve(xs, ws):\n    return statistics.fmean(xs, ws[:1])"),
    (T.FMEAN, "WrongParam", "an option without weight", "def solve(xs, ws):\n    return statistics.fmean([x for x in xs if x > 1000], weights=[])"),
    (T.FMEAN, "WrongShapeDtype", "texts for numbers", "def solve(xs, ws):\n    return statistics.fmean([str(x) for x in xs], weights=ws)"),
    (T.FMEAN, "WrongAPISelection", "a sibling that refuses", "def solve(xs, ws):\n    return statistics.mean(xs, weights=ws)"),
    (T.FMEAN, "WrongLogic", "refusal caught, then right", "def solve(xs, ws):\n    try:\n        statistics.fmean(xs, weight=ws)\n    except TypeError:\n        pass\n    return statistics.fmean(xs, ws) + 1"),
    (T.FMEAN, "WrongParam", "refusal caught, no result ever", "def solve(xs, ws):\n    try:\n        return statistics.fmean(xs, weight=ws)\n    except TypeError:\n        return None"),
    (T.REMOVEPREFIX, "pass", "method", "def solve(s, p):\n    return s.removeprefix(p)"),
    (T.REMOVEPREFIX, "pass", "through the class", "def solve(s, p):\n    return str.removeprefix(s, p)"),
    (T.REMOVEPREFIX, "pass", "through a bound method", "def solve(s, p):\n    f = s.removeprefix\n    return f(p)"),
    (T.REMOVEPREFIX, "WrongAPISelection", "hand-rolled", "def solve(s, p):\n    return s[len(p):] if s.startswith(p) else s"),
    (T.REMOVEPREFIX, "WrongAPISelection", "misspelt on the receiver", "def solve(s, p):\n    return s.removeprefx(p)"),
    (T.REMOVEPREFIX, "WrongAPISelection", "the leaf on an unrelated type", "def solve(s, p):\n    return list(s).removeprefix(p)"),
    (T.REMOVEPREFIX, "WrongParam", "too many arguments", "def solve(s, p):\n    return s.removeprefix(p, 1)"),
    (T.REMOVEPREFIX, "WrongShapeDtype", "a list for a text", "def solve(s, p):\n    return s.removeprefix(list(p))"),
    (T.REDUCE, "pass", "another callback", "import operator\ndef solve(xs):\n    return functools.reduce(operator.mul, xs, 1)"),
    (T.REDUCE, "pass", "callback with state", "def solve(xs):\n    n = []\n    def f(a, b):\n        n.append(b)\n        return a * b\n    return functools.reduce(f, xs, 1)"),
    (T.REDUCE, "WrongLogic", "error in the callback's body", "def solve(xs):\n    return functools.reduce(lambda a, b: a * c, xs, 1)"),
    (T.REDUCE, "WrongLogic", "error from calling the callback", "def solve(xs):\n    return functools.reduce(lambda a: a, xs, 1)"),
    (T.REDUCE, "WrongParam", "no callback", "def solve(xs):\n    return functools.reduce(5, xs, 1)"),
    (T.REDUCE, "WrongParam", "exchanged arguments", "def solve(xs):\n    return functools.reduce(xs, lambda a, b: a * b, 1)"),
    (T.REDUCE, "WrongAPISelection", "a loop", "def solve(xs):\n    r = 1\n    for x in xs:\n        r *= x\n    return r"),
    (T.FRACTION, "pass", "another way to build it", "def solve(a, b):\n    return str(fractions.Fraction(f'{a}/{b}'))"),
    (T.FRACTION, "WrongImport", "misspelt module, right leaf", "from fraction import Fraction\ndef solve(a, b):\n    return str(Fraction(a, b))"),
    (T.FRACTION, "WrongAPISelection", "constants", "def solve(a, b):\n    return '1/2' if a == 2 else '1/3'"),
    (T.FRACTION, "WrongShapeDtype", "texts for numbers", "def solve(a, b):\n    return str(fractions.Fraction(str(a), b))"),
    (T.DUMPS, "pass", "equal", "def solve(value):\n    return json.dumps(value, sort_keys=True)"),
    (T.DUMPS, "WrongLogic", "option left out", "def solve(value):\n    return json.dumps(value)"),
    (T.DUMPS, "WrongLogic", "sorted by hand", "def solve(value):\n    return json.dumps(dict(sorted(value.items())))"),
    (T.DUMPS, "WrongShapeDtype", "data that cannot be written", "def solve(value):\n    return json.dumps(set(value), sort_keys=True)"),
    (T.DUMPS, "WrongParam", "unknown option", "def solve(value):\n    return json.dumps(value, sort=True)"),
    (T.STRPTIME, "pass", "class method", "def solve(text):\n    return datetime.date.fromisoformat(text).toordinal()"),
    (T.STRPTIME, "WrongAPISelection", "a sibling class", "def solve(text):\n    return datetime.datetime.strptime(text, '%Y-%m-%d').date().toordinal()"),
    (T.STRPTIME, "WrongShapeDtype", "a list for a text", "def solve(text):\n    return datetime.date.fromisoformat(text.split('-')).toordinal()"),
    (T.BISECT, "pass", "callback by operator", "import operator\ndef solve(rows, value):\n    return bisect.bisect_left(rows, value, key=operator.itemgetter('n'))"),
    (T.BISECT, "WrongLogic", "error in the callback", "def solve(rows, value):\n    return bisect.bisect_left(rows, value, key=lambda row: row['m'])"),
    (T.BISECT, "WrongParam", "an option that the data make mandatory", "def solve(rows, value):\n    return bisect.bisect_left(rows, value)"),
    (T.ASYNC, "pass", "async", T.ASYNC.reference_solution),
    (T.ASYNC, "WrongAPISelection", "one after the other", "def solve(xs):\n    return [x * 2 for x in xs]"),
    (T.RAISES, "pass", "the documented exception", "def solve(text):\n    return str(ipaddress.ip_address(text))"),
    (T.RAISES, "WrongLogic", "swallowed", "def solve(text):\n    try:\n        return str(ipaddress.ip_address(text))\n    except ValueError:\n        return None"),
]  # fmt: skip


ROWS += rules.ROWS


@pytest.mark.parametrize(("task", "expected", "why", "code"), ROWS, ids=[f"{row[0].task_id}: {row[2]}" for row in ROWS])
def test_label(score_one, task, expected, why, code):
    row, _ = score_one(task, code)
    assert (row.label or row.outcome) == expected, row.reason


@pytest.mark.parametrize(
    "task",
    [T.PAIRWISE, T.FMEAN, T.REMOVEPREFIX, T.REDUCE, T.FRACTION, T.DUMPS, T.STRPTIME, T.BISECT],
    ids=lambda task: task.task_id,
)
def test_plain_calls_are_proved(score_one, task):
    row, harness = score_one(task, task.reference_solution)
    assert harness.integrity == "strong", harness.integrity_reason
    assert (row.outcome, row.integrity) == ("pass", "strong")
    assert all(call.where == "remote" for call in row.calls)


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "expected", "why", "code"), libraries.ROWS, ids=[f"{row[0].task_id}: {row[2]}" for row in libraries.ROWS]
)
def test_label_of_a_library(score_one, task, expected, why, code):
    row, _ = score_one(task, code, libraries.environment(task.library))
    assert (row.label or row.outcome) == expected, row.reason
