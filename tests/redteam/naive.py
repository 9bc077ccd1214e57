"""A harness as many benchmarks have it: one process, a spy and assertions beside the completion, the exit status decides."""

import subprocess
import sys

HEAD = """import itertools
_calls, _real = [], itertools.pairwise
def _spy(*args):
    result = _real(*args)
    _calls.append((args, result))
    return result
itertools.pairwise = _spy
"""
TAIL = """
for _given, _wanted in (([1, 4, 9], [3, 5]), ([5], []), ([2, 2, 0, 7], [0, -2, 7])):
    assert solve(_given) == _wanted
assert _calls, "the target was never called"
"""


def passes(code):
    source = HEAD + code + TAIL
    done = subprocess.run(
        [sys.executable, "-"], input=source.encode("utf-8", "surrogatepass"), capture_output=True, check=False, timeout=60
    )  # fmt: skip
    return done.returncode == 0
