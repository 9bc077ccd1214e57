"""A candidate that is asked twice, and a server of real calls that several completions share: no verdict changes."""

import os
from pathlib import Path

import pytest

from novelapi.evaluation import outcome
from novelapi.evaluation.scoring import Job, Sample, score
from novelapi.execution import trial
from novelapi.execution.environments import python_environment
from novelapi.execution.harness import prepare
from novelapi.execution.pool import Slot, SlotOptions
from novelapi.execution.remote import MAX_TRIALS, RealCalls
from novelapi.execution.zygote import Zygote
from tests.sandbox.tasks import PAIRWISE, task

pytestmark = pytest.mark.sandbox
STATEFUL = task(
    "stateful", "threading.stack_size", "def solve(n):", "return threading.stack_size(n)",
    [["65536"], ["131072"]], context="import threading\n",
)  # fmt: skip
"""The target returns what the call before it has set: what one completion leaves behind, another one sees."""
OWN = "rounds = {}\ndef solve(xs):\n    n = rounds[tuple(xs)] = rounds.get(tuple(xs), 0) + 1\n"
SECOND_ROUND = [
    ("own answer, then garbage", OWN + "    list(itertools.pairwise(xs))\n    return [b - a for a, b in zip(xs, xs[1:])] if n == 1 else [n]"),
    ("own answer, then the raw result", OWN + "    r = list(itertools.pairwise(xs))\n    return [b - a for a, b in zip(xs, xs[1:])] if n == 1 else [list(p) for p in r]"),
    ("own answer, then an exit", OWN + "    import os\n    list(itertools.pairwise(xs))\n    if n > 1:\n        os._exit(0)\n    return [b - a for a, b in zip(xs, xs[1:])]"),
    ("own answer, then an exception", OWN + "    list(itertools.pairwise(xs))\n    if n > 1:\n        raise ValueError\n    return [b - a for a, b in zip(xs, xs[1:])]"),
    ("own answer, then silence", OWN + "    list(itertools.pairwise(xs))\n    while n > 1:\n        pass\n    return [b - a for a, b in zip(xs, xs[1:])]"),
    ("own answer both times", OWN + "    list(itertools.pairwise(xs))\n    return [b - a for a, b in zip(xs, xs[1:])]"),
]  # fmt: skip
REMEMBERING = [
    ("cache", "import functools\n@functools.cache\ndef steps(xs):\n    return tuple(itertools.pairwise(xs))\ndef solve(xs):\n    return [b - a for a, b in steps(tuple(xs))]"),
    ("growing list", "seen = []\ndef solve(xs):\n    seen.append(xs)\n    if len(seen) > 3:\n        return []\n    return [b - a for a, b in itertools.pairwise(xs)]"),
    ("one-time set-up", "pairs = None\ndef solve(xs):\n    global pairs\n    if pairs is None:\n        pairs = itertools.pairwise\n    return [b - a for a, b in pairs(xs)]"),
]  # fmt: skip


@pytest.fixture(scope="module")
def zygote():
    found = Zygote(python_environment(), ("itertools", "threading"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def harness(zygote):
    return prepare(zygote, PAIRWISE)


def row(zygote, harness, code):
    seen = trial.observe(zygote, PAIRWISE, harness, code, "fork")
    assert seen.infra is None, seen.infra
    return outcome.row(PAIRWISE, harness, seen, sample=0, text=code)


@pytest.mark.parametrize(("name", "code"), SECOND_ROUND, ids=[name for name, _ in SECOND_ROUND])
def test_who_can_tell_the_second_round_wins_nothing(zygote, harness, name, code):
    found = row(zygote, harness, code)
    assert found.outcome == "fail", found.evidence


@pytest.mark.parametrize(("name", "code"), REMEMBERING, ids=[name for name, _ in REMEMBERING])
def test_who_remembers_the_first_round_loses_nothing(zygote, harness, name, code):
    found = row(zygote, harness, code)
    assert (found.outcome, found.integrity) == ("pass", "strong"), found.reason


def test_an_honest_answer_takes_two_processes(monkeypatch, zygote, harness):
    before = zygote.served
    assert row(zygote, harness, f"# own\n{PAIRWISE.reference_solution}").outcome == "pass"
    assert zygote.served - before == 2  # candidate and server


def test_no_candidate_is_left(zygote, harness):
    for text in (PAIRWISE.reference_solution, SECOND_ROUND[0][1], "def solve(xs):\n    return 1\n"):
        row(zygote, harness, text)
    assert not zygote.sessions


def scored(task, texts, preload=("itertools", "threading")):
    slot = Slot(SlotOptions())
    try:
        samples = tuple(Sample(index=number, text=text) for number, text in enumerate(texts))
        found = score(slot, Job(task=task, env=python_environment(), samples=samples, preload=preload))
    finally:
        slot.close()
    assert found.broken is None, found.broken
    return [item.outcome for item in found.rows]


HONEST = [f"# {number}\n{STATEFUL.reference_solution}" for number in range(4)]
LIVES_ON_OTHERS = "first = True\ndef solve(n):\n    global first\n    r = threading.stack_size(n)\n    if first:\n        r, first = r - 131072, False\n    return r\n"


def test_what_others_left_behind_fails_nobody():
    assert scored(STATEFUL, HONEST) == ["pass"] * 4


ASKS_OTHERS = "def solve(n):\n    threading.stack_size(0)\n    return threading.stack_size(n)\n"


def test_what_a_used_server_answered_is_not_remembered(zygote):
    harness, real, kept = prepare(zygote, STATEFUL), RealCalls(zygote), []
    for code in (HONEST[0], ASKS_OTHERS):
        real.begin(recall=True)
        trial.observe(zygote, STATEFUL, harness, code, "fork", real=real)
        kept.append(dict(real._known))
        real.rest()
    real.close()
    assert real.doubtful
    assert kept[0]
    assert kept[0] == kept[1]


@pytest.mark.parametrize("order", [[0, 1, -1, 2], [0, -1], [-1, 0]])
def test_what_others_left_behind_helps_nobody(order):
    texts = [LIVES_ON_OTHERS if number < 0 else HONEST[number] for number in order]
    assert scored(STATEFUL, texts) == ["fail" if number < 0 else "pass" for number in order]


SETTING = task(
    "setting", "calendar.weekheader", "def solve(d):", "calendar.setfirstweekday(d)\n    return calendar.weekheader(2)",
    [["3"], ["5"], ["2"], ["3"]], context="import calendar\n",
    calls=[{"api": "calendar.setfirstweekday", "result_flows": False}, {"api": "calendar.weekheader"}],
)  # fmt: skip
"""One target only sets something up for the other."""
FORGETS = "first = True\ndef solve(d):\n    global first\n    if not first:\n        calendar.setfirstweekday(d)\n    first = False\n    return calendar.weekheader(2)\n"


def test_what_others_set_up_helps_nobody():
    texts = [f"# 0\n{SETTING.reference_solution}", FORGETS, f"# 1\n{SETTING.reference_solution}"]
    assert scored(SETTING, texts, ("calendar",)) == ["pass", "fail", "pass"]


@pytest.fixture
def made(monkeypatch):
    """Numbers of the servers that were open when a call was made, in order; remembered calls are not made."""
    found = []
    real = RealCalls.open

    def counted(self, *args):
        session = real(self, *args)
        found.append(session.number)
        return session

    monkeypatch.setattr(RealCalls, "open", counted)
    return found


MANY = MAX_TRIALS + 10
OTHER_CALL = (
    "def solve(xs):\n    list(itertools.pairwise([{number}]))\n    return [b - a for a, b in itertools.pairwise(xs)]\n"
)


def test_completions_that_make_other_calls_share_a_server(made):
    assert scored(PAIRWISE, [OTHER_CALL.format(number=number) for number in range(MANY)]) == ["pass"] * MANY
    assert len(made) > 2 * MANY
    assert len(set(made)) < 14  # the preparation's own, one per 25 completions and its proof, those of fresh runs


def test_completions_that_make_the_same_calls_have_them_made_once(made):
    assert scored(PAIRWISE, [PAIRWISE.reference_solution]) == ["pass"]
    once = len(made)
    assert once > 0
    made.clear()
    texts = [f"# {number}\n{PAIRWISE.reference_solution}" for number in range(20)]
    assert scored(PAIRWISE, texts) == ["pass"] * 20
    assert len(made) <= once + 12  # one of the twenty may be drawn to run fresh


TWICE = "first = True\ndef solve(n):\n    global first\n    r = threading.stack_size(n)\n    if not first:\n        r = r if threading.stack_size(n // 2) == n else -1\n    first = False\n    return r\n"


@pytest.mark.parametrize("known", [0, 1, 2])
def test_who_leaves_the_known_calls_finds_what_they_did(known):
    """The last call, which nobody made before, returns what the remembered one before it has set."""
    assert scored(STATEFUL, [*HONEST[:known], TWICE]) == ["pass"] * (known + 1)


LAST_OF_THREE = "def solve(n):\n    threading.stack_size(0)\n    threading.stack_size(n + 32768)\n    return threading.stack_size(n) - 32768 - n\n"


def test_what_was_remembered_counts_for_the_same_calls_from_the_start_alone():
    """Equal calls with others before them are other calls."""
    texts = [HONEST[0], LAST_OF_THREE, HONEST[1], LAST_OF_THREE]
    assert scored(STATEFUL, texts) == ["pass", "fail", "pass", "fail"]


def test_a_warm_parent_puts_its_memory_into_huge_pages_and_a_fresh_one_does_not(zygote):
    if tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) < (6, 1):
        pytest.skip("MADV_COLLAPSE needs Linux 6.1")
    if not Path("/sys/kernel/mm/transparent_hugepage/enabled").exists():
        pytest.skip("this kernel has no huge pages")
    assert zygote.info["huge_pages"] > 0
    fresh = Zygote(python_environment(), ())
    try:
        assert fresh.info["huge_pages"] == 0
    finally:
        fresh.close()


HELD = task(
    "held", "hashlib.new", "def solve(text):", "return hashlib.new('sha256', text.encode()).hexdigest()",
    [["'a'"], ["'b'"]], context="import hashlib\n",
)  # fmt: skip
"""The target's result has no plain form: the task is weak, and its second round gets results that can do nothing."""
OWN_HASH = (
    "seen = {}\ndef solve(text):\n    hashlib.new('sha256', text.encode())\n    seen[text] = seen.get(text, 0) + 1\n"
)
HELD_ROUNDS = [
    ("honest", HELD.reference_solution, "pass", 1),
    ("thrown away", OWN_HASH + "    return hashlib.sha256(text.encode()).hexdigest()\n", "fail", None),
    ("used for one input of two", "def solve(text):\n    h = hashlib.new('sha256', text.encode())\n    return (h if text == 'a' else hashlib.sha256(text.encode())).hexdigest()\n", "fail", None),
    ("own answer, then an exception", OWN_HASH + "    if seen[text] > 1:\n        raise ValueError\n    return hashlib.sha256(text.encode()).hexdigest()\n", "fail", None),
    ("cache", "import functools\n@functools.cache\ndef solve(text):\n    return hashlib.new('sha256', text.encode()).hexdigest()\n", "pass", 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code", "outcome_", "processes"), HELD_ROUNDS, ids=[row[0] for row in HELD_ROUNDS])
def test_a_weak_task_asks_the_same_process_first(zygote, name, code, outcome_, processes):
    harness = prepare(zygote, HELD)
    assert (harness.integrity, harness.stub) == ("weak", "sentinel")
    before = zygote.served
    seen = trial.observe(zygote, HELD, harness, code, "fork")
    found = outcome.row(HELD, harness, seen, sample=0, text=code)
    assert found.outcome == outcome_, found.reason
    assert processes is None or zygote.served - before == processes
