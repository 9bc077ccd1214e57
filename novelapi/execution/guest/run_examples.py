"""Runs many small programs: the library is imported once, each program in a fork of its own, bounded in everything.

Request: {"preload": [modules], "targets": {api: {"parameters": [names that a position can reach]}},
          "limits": {"cpu_s", "wall_s", "memory_mb", "output", "roots"}, "seed", "jobs",
          "programs": [{"id", "code", "targets": [api, ...]}]}
Answer: {"results": {id: {"ok", "error", "output", "calls", "objects", "cpu_ms"}}, "unresolved": {api: reason}}

The calls of the targets are observed at the call sites of the program itself: what the library calls by itself does
not count. See `instrument`.
"""

import ast
import contextlib
import importlib
import io
import json
import linecache
import os
import selectors
import sys
import time
import traceback
import types
import warnings

import novelapi_confine
from novelapi_observer import Spy, instrument
from novelapi_targets import resolve

NAME = "example.py"


def main():
    request = json.load(sys.stdin)
    answer_fd = int(sys.argv[1])
    os.set_inheritable(answer_fd, False)
    sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))]
    warnings.simplefilter("ignore")
    targets, unresolved = prepare(request)
    results = {}
    lanes = lanes_of(request["programs"])
    serve(lanes, targets, request, results)
    with os.fdopen(answer_fd, "w") as stream:
        json.dump({"results": results, "unresolved": unresolved}, stream)
        stream.flush()
        os._exit(0)


def prepare(request):
    """Import, never use: a library that was only imported survives forks."""
    targets, unresolved = {}, {}
    with contextlib.redirect_stdout(io.StringIO()):
        for name in request["preload"]:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        for api, details in request["targets"].items():
            try:
                target = resolve(api)
            except LookupError as error:
                unresolved[api] = str(error)
                continue
            target.parameters = details.get("parameters", [])
            targets[api] = target
    return targets, unresolved


def lanes_of(programs):
    """Group the programs by their targets: those of one target run one after the other, in order."""
    lanes = {}
    for program in programs:
        lanes.setdefault(tuple(program["targets"]) or program["id"], []).append(program)
    return list(lanes.values())


def serve(lanes, targets, request, results):
    """Keep a few children busy; a lane whose programs ran out of time twice is not tried any further."""
    waiting, active = list(lanes), []
    with selectors.DefaultSelector() as selector:
        while waiting or active:
            while waiting and len(active) < request["jobs"]:
                lane = Lane(waiting.pop(0))
                if advance(lane, targets, request, results, selector):
                    active.append(lane)
            now = time.monotonic()
            ready = {key.fileobj for key, _ in selector.select(max(0.0, min(lane.deadline for lane in active) - now))}
            for lane in list(active):
                over = time.monotonic() >= lane.deadline
                if not over and (lane.fd not in ready or not lane.read()):
                    continue
                selector.unregister(lane.fd)
                result = lane.finish(over, request["limits"])
                results[lane.program["id"]] = result
                lane.exhausted += not result["ok"] and (over or result["cpu_ms"] >= 800 * request["limits"]["cpu_s"])
                if not advance(lane, targets, request, results, selector):
                    active.remove(lane)


def advance(lane, targets, request, results, selector):
    """Start the next program of a lane; return whether there was one."""
    while lane.programs:
        program = lane.programs.pop(0)
        if lane.exhausted >= 2:
            results[program["id"]] = failure("TimeLimit", "not tried: two programs of this API ran out of time", 0)
            continue
        lane.start(program, targets, request)
        selector.register(lane.fd, selectors.EVENT_READ)
        return True
    return False


class Lane:
    """Programs that run one after the other, each in a fork of its own."""

    count = 0

    def __init__(self, programs):
        self.programs = list(programs)
        self.exhausted = 0

    def start(self, program, targets, request):
        Lane.count += 1
        self.program, self.data = program, bytearray()
        self.folder = os.path.join(os.getcwd(), "run%d" % Lane.count)
        os.mkdir(self.folder)
        self.fd, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                child(program, targets, request, self.folder, write_end)
            finally:
                os._exit(70)
        os.close(write_end)
        self.deadline = time.monotonic() + request["limits"]["wall_s"]

    def read(self):
        """Read what is there; return whether the child has closed its end."""
        chunk = os.read(self.fd, 1 << 16)
        self.data += chunk
        return not chunk

    def finish(self, over, limits):
        """Kill the whole group of the child whatever happened, and return what came of it."""
        os.close(self.fd)
        status, usage = novelapi_confine.end(self.pid, self.folder)
        cpu_ms = int(1000 * (usage.ru_utime + usage.ru_stime))
        if over:
            return failure("TimeLimit", "longer than %s s" % limits["wall_s"], cpu_ms)
        try:
            result = json.loads(self.data)
        except ValueError:
            return failure("Died", "ended without an answer (status %d)" % status, cpu_ms)
        result["cpu_ms"] = cpu_ms
        return result


def failure(kind, message, cpu_ms):
    error = {"type": kind, "message": message, "line": None}
    return {"ok": False, "error": error, "output": "", "calls": [], "objects": {}, "cpu_ms": cpu_ms}


def child(program, targets, request, folder, write_end):
    novelapi_confine.enter(folder, request["limits"], request["seed"])
    own = [targets[api] for api in program["targets"] if api in targets]
    novelapi_confine.leave(execute(program, own, request["limits"]), write_end)


def execute(program, targets, limits):
    """Run one program as an interactive session would: bare expressions at the top level show their value."""
    out = Capped(limits["output"])
    spy = Spy(targets)
    try:
        tree = instrument(ast.parse(program["code"], NAME), {target.leaf for target in targets})
        code = compile(tree, NAME, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return failure(type(error).__name__, str(error), 0)
    linecache.cache[NAME] = (len(program["code"]), None, program["code"].splitlines(True), NAME)
    module = types.ModuleType("__main__")
    module.__file__ = NAME
    sys.modules["__main__"] = module

    def show(value):
        if value is not None:
            out.write(repr(value) + "\n")

    module.__dict__.update(_novelapi_show=show, _novelapi_call=spy.call, _novelapi_get=spy.get)
    sys.stdout, sys.stderr = out, io.StringIO()
    error = None
    try:
        exec(code, module.__dict__)
    except BaseException as caught:
        error = describe_error(caught)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    return {
        "ok": error is None,
        "error": error,
        "output": out.getvalue(),
        "calls": spy.calls,
        "objects": objects(module.__dict__, limits.get("roots", [])),
        "cpu_ms": 0,
    }


def objects(namespace, roots):
    """Return which variables, and which of their attributes, hold objects of the library, with their classes' names."""
    variables = of_library(namespace, "", roots)
    attributes = {}
    for name in variables:
        with contextlib.suppress(AttributeError):  # an object without a dictionary of its own
            own = object.__getattribute__(namespace[name], "__dict__")
            attributes.update(of_library(own, name + ".", roots))
    return {**dict(list(variables.items())[:30]), **dict(list(attributes.items())[:30])}


def of_library(values, prefix, roots):
    found = {}
    for name, value in values.items():
        if not str(name).isidentifier() or name.startswith("_"):
            continue
        if isinstance(value, (type, types.ModuleType, types.FunctionType)):
            continue
        names = [cls.__name__ for cls in type(value).__mro__ if str(cls.__module__).split(".", 1)[0] in roots]
        if names:
            found[prefix + name] = names[:12]
    return found


def describe_error(caught):
    """Return type, message and line in the program of an exception that ended it."""
    line = None
    for frame, number in traceback.walk_tb(caught.__traceback__):
        if frame.f_code.co_filename == NAME:
            line = number
    try:
        message = str(caught)[:600]
    except Exception:
        message = ""
    return {"type": type(caught).__name__, "message": message, "line": line}


class Capped(io.StringIO):
    """Keeps the first characters that are written and drops the rest."""

    def __init__(self, cap):
        super().__init__()
        self.left = cap

    def write(self, text):
        super().write(text[: max(0, self.left)])
        self.left -= len(text)
        return len(text)


if __name__ == "__main__":
    main()
