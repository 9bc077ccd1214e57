"""Runs the harness's own code once in the warm parent, so that its children need not. Runs inside the sandbox.

What code does when it runs for the first time (caches, specialised instructions, first objects of a size) dirties
memory; each child would pay for its own copy. Only the harness and constructors of plain values run here: nothing of a
task, no target, nothing that a completion could find.
"""

import json
import socket
import sys

import codec
import describe
import evidence
import perturb
import server
import transfer
from channel import Channel
from decoder import Decoder


def warm():
    """Send values of every kind that can exist here through the harness; returns what failed, as text."""
    failed = []
    for value in _values():
        try:
            _cross(value)
        except Exception as error:  # an old release may refuse any of it; then its children do that work themselves
            failed.append("%s: %s" % (type(value).__name__, evidence.text_of(error, 200)))
    _raise()
    return failed


def _values():
    yield [None, True, 3, 1.5, float("nan"), "text", b"bytes", (1, 2), {"key": [1]}, {1: 2}, {3}, 1j, range(2)]
    np, pd = sys.modules.get("numpy"), sys.modules.get("pandas")
    if np is not None and hasattr(np, "ndarray"):
        yield from (np.array([[1.0, 2.0]]), np.array([1, 2]), np.array([True]), np.array(["a"]), np.float64(1.0))
    if pd is not None and hasattr(pd, "DataFrame"):
        yield pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": ["x", "y"]}, index=["p", "q"])
        yield pd.DataFrame({"a": [1, 2]})
        yield pd.Series([1, 2], name="a")


def _cross(value):
    """Make the way of a value: out of the candidate, into the server, replaced, and back."""
    tree = json.loads(json.dumps(codec.Encoder().encode(value)))
    codec.canonical(tree)
    there = Decoder(allowed=("numpy", "pandas", "builtins")).decode(tree)
    describe.excerpt(there)
    for kind in perturb.KINDS:
        try:
            there = perturb.perturb(there, kind)
        except perturb.Same:
            continue
    back = json.loads(json.dumps(server.encode_result(there)))
    Decoder(extra=transfer.from_server, trusted=True).decode(back)


def _raise():
    """Compile, fail and describe the failure, and send that over a socket."""
    near, far = socket.socketpair()
    try:
        exec(compile("def solve(x):\n    return x.missing\n", evidence.COMPLETION, "exec"), namespace := {})
        namespace["solve"](None)
    except AttributeError as error:
        Channel(near).send({"op": "error", "error": evidence.error_of(error)})
        Channel(far).receive()
    finally:
        near.close()
        far.close()
