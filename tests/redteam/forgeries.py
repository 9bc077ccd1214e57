"""Attacks on the verdict: (name, code, whether a harness that trusts the exit status is fooled).

The task of all of them is `PAIRWISE` (differences of neighbours with itertools.pairwise). None solves it.
"""

EXIT = [
    ("os._exit", "import os\nos._exit(0)", True),
    ("os._exit inside of the function", "import os\ndef solve(xs):\n    os._exit(0)", True),
    ("sys.exit", "import sys\nsys.exit(0)", True),
    ("SystemExit inside of the function", "def solve(xs):\n    raise SystemExit(0)", True),
    ("quit", "def solve(xs):\n    quit()", True),
    ("exit at a call of the target", "import os\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    os._exit(0)", True),
    ("atexit", "import atexit, os\natexit.register(lambda: os._exit(0))\ndef solve(xs):\n    return None", True),
    ("excepthook", "import os, sys\nsys.excepthook = lambda *a: os._exit(0)\ndef solve(xs):\n    return None", True),
    ("thread that exits", "import os, threading\nthreading.Thread(target=lambda: os._exit(0)).start()\nimport time\ntime.sleep(0.3)\ndef solve(xs):\n    return None", True),
    ("exec of true", "import os\ndef solve(xs):\n    os.execv('/bin/true', ['true'])", True),
    ("C exit", "import ctypes\ndef solve(xs):\n    ctypes.CDLL(None)._exit(0)", True),
    ("destructor that exits", "import os\nclass D:\n    def __del__(self):\n        os._exit(0)\ndef solve(xs):\n    D()\n    return None", True),
    ("signal handler that exits", "import os, signal\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0))\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\ndef solve(xs):\n    while True:\n        pass", True),
    ("skip of a test", "import unittest\ndef solve(xs):\n    raise unittest.SkipTest('not here')", False),
    ("fork, the parent exits", "import os\nif os.fork():\n    os._exit(0)\ndef solve(xs):\n    return None", True),
]  # fmt: skip

EQUALITY = [
    ("equal to all", "class A:\n    def __eq__(self, o):\n        return True\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return A()", True),
    ("list equal to all", "class A(list):\n    def __eq__(self, o):\n        return True\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return A()", True),
    ("list never different", "class A(list):\n    def __ne__(self, o):\n        return False\n    def __eq__(self, o):\n        return True\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return A(range(len(xs) - 1))", True),
    ("elements equal to all", "class I(int):\n    def __eq__(self, o):\n        return True\n    __hash__ = int.__hash__\ndef solve(xs):\n    return [I(0) for _ in itertools.pairwise(xs)]", True),
    ("lying class", "class A:\n    __class__ = list\n    def __eq__(self, o):\n        return True\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return A()", True),
    ("class named list of builtins", "A = type('list', (list,), {'__module__': 'builtins', '__eq__': lambda s, o: True})\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return A()", True),
    ("metaclass that lies", "class M(type):\n    def __eq__(c, o):\n        return True\n    __hash__ = type.__hash__\n    def __instancecheck__(c, o):\n        return True\nclass A(list, metaclass=M):\n    def __eq__(self, o):\n        return True\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return A()", True),
    ("patched all", "import builtins\nbuiltins.all = lambda *a: True\nbuiltins.any = lambda *a: True\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return []", False),
    ("patched AssertionError", "import builtins, os\nclass E(Exception):\n    def __init__(self, *a):\n        os._exit(0)\nbuiltins.AssertionError = E\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return []", False),
    ("patched isinstance and type", "import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.type = lambda *a: list\nbuiltins.len = lambda x: 0\ndef solve(xs):\n    return None", False),
    ("patched json encoder", "import json\njson.JSONEncoder.encode = lambda s, o: '{\"op\":\"answer\",\"value\":[3,5]}'\njson.dumps = lambda *a, **k: '[3,5]'\ndef solve(xs):\n    return None", False),
    ("patched import", "import builtins\nbuiltins.__import__ = lambda *a, **k: None\ndef solve(xs):\n    return None", False),
    ("answers that change while they are read", "class L(list):\n    def __iter__(self):\n        return iter([3, 5])\n    def __len__(self):\n        return 2\n    def __eq__(self, o):\n        return True\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return L()", True),
    ("numbers that compare as equal", "import decimal, fractions\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return [fractions.Fraction(b - a) for a, b in zip(xs, xs[1:])]", True),
    ("floats for integers", "def solve(xs):\n    list(itertools.pairwise(xs))\n    return [float(b - a) for a, b in zip(xs, xs[1:])]", True),
    ("flags for integers", "def solve(xs):\n    list(itertools.pairwise(xs))\n    return [True if b - a == 1 else b - a + 0.0 for a, b in zip(xs, xs[1:])]", True),
    ("profile function that changes results", "import sys\ndef solve(xs):\n    sys.setprofile(lambda *a: None)\n    return None", False),
]  # fmt: skip

SPY = [
    ("dead call", "def solve(xs):\n    list(itertools.pairwise(xs))\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", True),
    ("dead call on other data", "def solve(xs):\n    list(itertools.pairwise([1, 2]))\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", True),
    ("dead call, exceptions swallowed", "def solve(xs):\n    try:\n        itertools.pairwise(xs)\n    except Exception:\n        pass\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", True),
    ("call in one input of three", "n = 0\ndef solve(xs):\n    global n\n    n += 1\n    if n == 1:\n        return [b - a for a, b in itertools.pairwise(xs)]\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", True),
    ("called in every input, used in one", "n = 0\ndef solve(xs):\n    global n\n    n += 1\n    found = [b - a for a, b in itertools.pairwise(xs)]\n    return found if n == 1 else [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", True),
    ("called in every input, used in the shortest", "def solve(xs):\n    found = [b - a for a, b in itertools.pairwise(xs)]\n    return found if len(xs) < 4 else [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", True),
    ("the result's length alone is used", "def solve(xs):\n    return [xs[i + 1] - xs[i] for i, _ in enumerate(itertools.pairwise(xs))]", True),
    ("the result's length alone, beside a call whose items are thrown away", "def solve(xs):\n    found = [b - a for a, b in itertools.pairwise(xs)]\n    return found[:0] + [xs[i + 1] - xs[i] for i in range(len(found))]", True),
    ("call while it is loaded", "list(itertools.pairwise([1]))\ndef solve(xs):\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", True),
    ("an own function under the target's name", "def pairwise(xs):\n    return zip(xs, xs[1:])\ndef solve(xs):\n    return [b - a for a, b in pairwise(xs)]", False),
    ("target replaced by an own function", "itertools.pairwise = lambda xs: zip(xs, xs[1:])\ndef solve(xs):\n    return [b - a for a, b in itertools.pairwise(xs)]", False),
    ("forged record by gc", "import gc\ndef solve(xs):\n    for d in gc.get_objects():\n        if type(d) is dict:\n            for k, v in list(d.items()):\n                if type(k) is str and 'call' in k and type(v) is list:\n                    v.append(((xs,), None))\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", True),
    ("forged record by frames", "import sys\ndef solve(xs):\n    f = sys._getframe()\n    while f:\n        for k, v in list(f.f_globals.items()):\n            if 'call' in k and type(v) is list:\n                v.append(((xs,), None))\n        f = f.f_back\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", True),
    ("answers by chance", "import os\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    if os.urandom(1)[0] & 1:\n        return None\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", False),
    ("answers by the clock", "import time\nT = time.time_ns() // 1000 % 2\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return None if T else [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", False),
    ("constants", "def solve(xs):\n    list(itertools.pairwise(xs))\n    return {3: [3, 5], 1: [], 4: [0, -2, 7]}[len(xs)]", True),
    ("through a fresh copy of the module", "import importlib, sys\nsys.modules.pop('itertools', None)\nimport itertools as again\ndef solve(xs):\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", False),
    ("the spy's own closure", "def solve(xs):\n    f = itertools.pairwise\n    spy = [c.cell_contents for c in f.__closure__ if hasattr(c.cell_contents, 'host')][0]\n    spy.host.channel.send({'op': 'called', 'spy': 0, 'line': 2, 'position': None, 'bound': True, 'arguments': {}, 'required': {}, 'returned': True, 'result': 'x'})\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", False),
    ("the spy's own closure, and another answer when replaced", "def solve(xs):\n    f = itertools.pairwise\n    spy = [c.cell_contents for c in f.__closure__ if hasattr(c.cell_contents, 'host')][0]\n    if spy.host.mode != 'remote':\n        list(f(xs))\n        return None\n    spy.host.channel.send({'op': 'called', 'spy': 0, 'line': 2, 'position': None, 'bound': True, 'arguments': {}, 'required': {}, 'returned': True, 'result': 'x'})\n    return [xs[i + 1] - xs[i] for i in range(len(xs) - 1)]", False),
]  # fmt: skip

OWN_FRAME = "def send(text):\n    import struct, sys\n    f = sys._getframe()\n    while not ('request' in f.f_locals and hasattr(f.f_locals.get('self'), 'channel')):\n        f = f.f_back\n    data = text.replace('NONCE', f.f_locals['request']['nonce']).encode()\n    f.f_locals['self'].channel.sock.sendall(struct.pack('>I', len(data)) + data)\ndef solve(xs):\n    send({text})\n    return None"
"""Sends a frame of its own making, with the nonce of the input."""
FRAMES = [
    ("an array that is none", '{"op": "answer", "nonce": "NONCE", "value": {"$": "ndarray", "dtype": "<f8", "shape": "3", "base64": "AAAA"}}'),
    ("a tag that is no text", '{"op": "answer", "nonce": "NONCE", "value": {"$": ["ndarray"]}}'),
    ("an endless number", '{"op": "answer", "nonce": "NONCE", "value": [1e999999999, NaN]}'),
    ("an exception that is none", '{"op": "answer", "nonce": "NONCE", "error": []}'),
    ("a call with a program in a pickle", '{"op": "call", "spy": 0, "line": 1, "position": null, "args": [{"$": "pickle", "base64": "Y29zCl9leGl0CihJMAp0Ui4="}], "kwargs": {}}'),
    ("a call of another function", '{"op": "call", "spy": 0, "line": 1, "position": null, "args": [{"$": "reference", "path": "os._exit"}], "kwargs": {}}'),
    ("a call on an array without its data", '{"op": "call", "spy": 0, "line": 1, "position": null, "args": [{"$": "ndarray", "dtype": "<f8", "shape": [99999999999], "base64": ""}], "kwargs": {}}'),
    ("a call on ten trillion items", '{"op": "call", "spy": 0, "line": 1, "position": null, "args": [{"$": "range", "args": [0, 10000000000000]}], "kwargs": {}}'),
    ("two answers in one", '{"op": "error", "op": "answer", "nonce": "x", "nonce": "NONCE", "value": [], "value": [3, 5]}'),
]  # fmt: skip
CHANNEL = [
    *((f"a frame: {name}", OWN_FRAME.format(text=repr(text)), False) for name, text in FRAMES),
    ("printed markers", "print('1 passed')\nprint('OK')\nprint('PASSED')\ndef solve(xs):\n    return None", False),
    ("markers on every descriptor", "import os\nfor fd in range(256):\n    try:\n        os.write(fd, b'OK\\n1 passed\\n')\n    except OSError:\n        pass\ndef solve(xs):\n    return None", False),
    ("frames on every descriptor", "import json, os, struct\nfor m in ({'op': 'loaded'}, {'op': 'answer', 'value': [3, 5], 'nonce': ''}):\n    d = json.dumps(m).encode()\n    for fd in range(3, 256):\n        try:\n            os.write(fd, struct.pack('>I', len(d)) + d)\n        except OSError:\n            pass\ndef solve(xs):\n    return None", False),
    ("a frame of a gigabyte", "import os, struct\nfor fd in range(3, 64):\n    try:\n        os.write(fd, struct.pack('>I', 1 << 30))\n    except OSError:\n        pass\ndef solve(xs):\n    return None", False),
    ("a deep frame", "import os, struct\nd = b'[' * 100000\nfor fd in range(3, 64):\n    try:\n        os.write(fd, struct.pack('>I', len(d)) + d)\n    except OSError:\n        pass\ndef solve(xs):\n    return None", False),
    ("a frame that is no message", "import os, struct\nfor d in (b'5', b'null', b'{\"op\": 5}', b'{\"op\": \"answer\"}'):\n    for fd in range(3, 64):\n        try:\n            os.write(fd, struct.pack('>I', len(d)) + d)\n        except OSError:\n            pass\ndef solve(xs):\n    return None", False),
    ("closed descriptors", "import os\nos.closerange(0, 256)\ndef solve(xs):\n    return None", False),
    ("results written beforehand", "import os\nfor name in ('results.jsonl', 'verdict.json', '/scratch/results.jsonl'):\n    open(name, 'w').write('{\"outcome\": \"pass\"}')\ndef solve(xs):\n    return None", False),
    ("child that writes", "import os\nif os.fork() == 0:\n    for fd in range(3, 64):\n        try:\n            os.write(fd, b'\\0\\0\\0\\x0f{\"op\": \"loaded\"}')\n        except OSError:\n            pass\n    os._exit(0)\nos.wait()\ndef solve(xs):\n    return None", False),
    ("stolen answers", "import gc, socket\ndef solve(xs):\n    for o in gc.get_objects():\n        if isinstance(o, socket.socket):\n            o.close()\n    return None", False),
    ("driver's modules", "import sys\nfor n, m in list(sys.modules.items()):\n    if n.startswith('_novelapi'):\n        for k in list(vars(m)):\n            if callable(vars(m)[k]) and not k.startswith('__'):\n                setattr(m, k, lambda *a, **k: None)\ndef solve(xs):\n    return None", False),
    ("expected values by frames", "import sys\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    f = sys._getframe()\n    while f:\n        for v in list(f.f_locals.values()):\n            if type(v) is list and len(v) == len(xs) - 1 and v is not xs and all(type(i) is int for i in v):\n                return v\n        f = f.f_back", True),
    ("expected values by gc", "import gc\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    for o in gc.get_objects():\n        if type(o) is dict and '_wanted' in o:\n            return o['_wanted']\n        if type(o) is list and o == [b - a for a, b in zip(xs, xs[1:])]:\n            return o", True),
]  # fmt: skip

SOURCE = [
    ("null byte", "def solve(xs):\n    return '\0'", False),
    ("late future", "x = 1\nfrom __future__ import annotations\ndef solve(xs):\n    return [b - a for a, b in itertools.pairwise(xs)]", False),
    ("assertions off by code", "if not __debug__:\n    raise SystemExit(0)\nimport sys\nsys.flags = None\ndef solve(xs):\n    return None", False),
    ("an encoding that hides code", "# -*- coding: utf-7 -*-\ndef solve(xs):\n    return None", False),
    ("nesting", "def solve(xs):\n    return " + "-" * 50_000 + "1", False),
    ("ten million characters", "x = '" + "a" * 10_000_000 + "'\ndef solve(xs):\n    return None", False),
    ("many constants", "x = [" + "0," * 500_000 + "]\ndef solve(xs):\n    return None", False),
    ("a frame that ends the string of the harness", "'''\nimport os\nos._exit(0)\n'''\ndef solve(xs):\n    return None", False),
    ("entry point that is replaced", "class C:\n    def __call__(self, xs):\n        return self\n    def __eq__(self, o):\n        return True\nsolve = C()", False),
    ("recursion", "def solve(xs):\n    return solve(xs)", False),
    ("stack overflow in C", "import sys\nsys.setrecursionlimit(10**9)\ndef f(n):\n    return f(n + 1)\ndef solve(xs):\n    return f(0)", False),
    ("crash of the interpreter", "import ctypes\ndef solve(xs):\n    ctypes.string_at(0)", False),
    ("own traceback bomb", "class E(Exception):\n    def __str__(self):\n        while True:\n            pass\ndef solve(xs):\n    raise E()", False),
    ("exception whose text is enormous", "def solve(xs):\n    raise ValueError('x' * (1 << 27))", False),
    ("answer of a gigabyte", "def solve(xs):\n    list(itertools.pairwise(xs))\n    return 'x' * (1 << 30)", False),
    ("answer that holds itself", "def solve(xs):\n    r = []\n    r.append(r)\n    list(itertools.pairwise(xs))\n    return r", False),
    ("endless answer", "import itertools as it\ndef solve(xs):\n    list(itertools.pairwise(xs))\n    return it.count()", False),
]  # fmt: skip

ALL = {"exit": EXIT, "equality": EQUALITY, "spy": SPY, "channel": CHANNEL, "source": SOURCE}
