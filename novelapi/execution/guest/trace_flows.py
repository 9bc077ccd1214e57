"""Runs small programs and notes which result of the library's calls became which argument of a later call.

Request: {"preload": [modules], "roots": [top-level packages], "limits": {"cpu_s", "wall_s", "memory_mb"}, "seed",
          "programs": [{"id", "code"}]}
Answer: {"results": {id: {"calls", "flows": [{"source", "port", "target", "parameter", "line"}], "errors", "failure"}},
         "cpu_s": CPU seconds of all of them}

Every call, attribute and subscript that the program's own code makes passes through the recorder; calls that the
library makes by itself do not. An argument counts if it *is* (identity) an earlier result, an attribute, key or position
of one, or a receiver that an earlier call changed; plain constants never count. A statement that fails is skipped.
"""

import ast
import contextlib
import gc
import importlib
import inspect
import io
import json
import os
import pickle
import resource
import select
import signal
import sys
import time
import types
import warnings

import novelapi_confine

TRIVIAL = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), type, types.ModuleType)
TRIVIAL += (types.FunctionType, types.BuiltinFunctionType, types.MethodType, slice, range)
CALLS = 400
FLOWS = 400
SHOWN = 4000
GRACE_S = 2


def main():
    request = json.load(sys.stdin)
    answer_fd = int(sys.argv[1])
    os.set_inheritable(answer_fd, False)
    sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))]
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(io.StringIO()):
        for name in request["preload"]:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a fork would write to every object and so copy every page
    results = {program["id"]: forked(program, request) for program in request["programs"]}
    with os.fdopen(answer_fd, "w") as stream:
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        json.dump({"results": results, "cpu_s": sum(item.ru_utime + item.ru_stime for item in used)}, stream)
        stream.flush()
        os._exit(0)


def forked(program, request):
    """Run one program in a fork of its own; return what it noted."""
    read_end, write_end = os.pipe()
    folder = os.path.join(os.getcwd(), "run")
    os.makedirs(folder, exist_ok=True)
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read_end)
            child(program, request, folder, write_end)
        finally:
            os._exit(70)
    os.close(write_end)
    data, deadline, over = bytearray(), time.monotonic() + request["limits"]["wall_s"], False
    while True:
        ready, _, _ = select.select([read_end], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            over = True
            break
        chunk = os.read(read_end, 1 << 16)
        if not chunk:
            break
        data += chunk
    os.close(read_end)
    novelapi_confine.end(pid, folder)
    try:
        return json.loads(data)
    except ValueError:
        return {"calls": 0, "flows": [], "errors": 0, "failure": "timeout" if over else "died"}


def child(program, request, folder, write_end):
    novelapi_confine.enter(folder, request["limits"], request["seed"], grace_s=GRACE_S)
    signal.signal(signal.SIGXCPU, out_of_time)
    novelapi_confine.leave(execute(program["code"], request["roots"]), write_end)


class OutOfTime(BaseException):
    """The program has used up its CPU time."""


def out_of_time(number, frame):
    raise OutOfTime


def execute(code, roots):
    """Run a program statement by statement; return its flows, also those of one that runs out of time."""
    recorder = Recorder(roots)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    module.__dict__.update(_flow_call=recorder.call, _flow_get=recorder.get, _flow_item=recorder.item)
    sys.stdout = sys.stderr = io.StringIO()
    errors, failure = 0, None
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return {"calls": 0, "flows": [], "errors": 0, "failure": "no Python"}
    try:
        for node in tree.body:
            body = ast.fix_missing_locations(ast.Module([Instrument().visit(node)], []))
            try:
                exec(compile(body, "example.py", "exec", dont_inherit=True), module.__dict__)
            except OutOfTime:
                raise
            except BaseException:
                errors += 1
    except OutOfTime:
        failure = "out of time"
    return {"calls": recorder.count, "flows": recorder.flows, "errors": errors, "failure": failure}


class Instrument(ast.NodeTransformer):
    def visit_Call(self, node):
        plain = isinstance(node.func, ast.Name) and node.func.id in ("super", "locals", "globals", "vars", "dir")
        line = node.lineno
        node = self.generic_visit(node)
        if plain:
            return node
        head = [ast.Constant(line), node.func]
        return ast.copy_location(ast.Call(ast.Name("_flow_call", ast.Load()), head + node.args, node.keywords), node)

    def visit_Attribute(self, node):
        node = self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or node.attr.startswith("__"):
            return node
        call = ast.Call(ast.Name("_flow_get", ast.Load()), [node.value, ast.Constant(node.attr)], [])
        return ast.copy_location(call, node)

    def visit_Subscript(self, node):
        constant = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, (int, str))
        node = self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or not constant:
            return node
        return ast.copy_location(ast.Call(ast.Name("_flow_item", ast.Load()), [node.value, node.slice], []), node)

    def visit_ClassDef(self, node):
        return node

    def visit_AnnAssign(self, node):
        if node.value is not None:
            node.value = self.visit(node.value)
        return node


class Recorder:
    """Knows which objects came out of which calls; holds them, so that an identity is never used twice."""

    def __init__(self, roots):
        self.roots = tuple(roots)
        self.known = {}
        self.held = []
        self.flows = []
        self.count = 0

    def call(self, line, function, *args, **kwargs):
        name = identify(function, self.roots)
        if name is None or self.count >= CALLS:
            return function(*args, **kwargs)
        self.count += 1
        receiver = receiver_of(function)
        taken = []
        if receiver is not None:
            taken += self.taken(receiver, "self")
        for parameter, value in bound(function, args, kwargs):
            taken += self.taken(value, parameter)
        before = shown(receiver)
        result = function(*args, **kwargs)
        for (source, port), parameter in taken:
            if len(self.flows) < FLOWS:
                row = {"source": source, "port": port, "target": name, "parameter": parameter, "line": line}
                self.flows.append(row)
        if result is None and receiver is not None and before is not None and shown(receiver) != before:
            self.keep(receiver, name, ["receiver", ""])
        self.keep(result, name, ["whole", ""])
        if isinstance(result, tuple) and len(result) <= 8:
            fields = getattr(result, "_fields", ())
            for place, item in enumerate(result):
                port = ["attribute", fields[place]] if place < len(fields) else ["item", str(place)]
                self.keep(item, name, port)
        return result

    def get(self, obj, name):
        value = getattr(obj, name)
        self.part(obj, value, ["attribute", name])
        return value

    def item(self, obj, key):
        value = obj[key]
        self.part(obj, value, ["key", key] if isinstance(key, str) else ["item", str(key)])
        return value

    def part(self, obj, value, port):
        source = self.known.get(id(obj))
        if source is not None and source[1][0] == "whole" and id(value) not in self.known:
            self.keep(value, source[0], port)

    def keep(self, value, name, port):
        if not isinstance(value, TRIVIAL):
            self.known[id(value)] = (name, port)
            self.held.append(value)

    def taken(self, value, parameter):
        source = self.known.get(id(value))
        return [(source, parameter)] if source is not None else []


def identify(function, roots):
    """Return the defining path of something callable of the library, or null."""
    receiver = receiver_of(function)
    plain = getattr(function, "__func__", function)
    name = getattr(plain, "__qualname__", None) or getattr(plain, "__name__", None)
    module = getattr(plain, "__module__", None)
    if receiver is not None:
        cls = receiver if isinstance(receiver, type) else type(receiver)
        leaf = getattr(plain, "__name__", None)
        for base in cls.__mro__:
            if leaf in vars(base):
                module, name = base.__module__, base.__qualname__ + "." + leaf
                break
    if not isinstance(name, str) or not isinstance(module, str):
        kind = type(function)
        name, module = getattr(function, "__name__", None), kind.__module__
    if not isinstance(name, str) or not isinstance(module, str) or "<" in name:
        return None
    return module + ":" + name if module.partition(".")[0] in roots else None


def receiver_of(function):
    found = getattr(function, "__self__", None)
    return None if isinstance(found, types.ModuleType) else found


def bound(function, args, kwargs):
    """Return parameters with what they are given; a parameter without a known name has its position."""
    try:
        filled = inspect.signature(function).bind(*args, **kwargs)
        kinds = filled.signature.parameters
    except Exception:
        return [*((str(place), value) for place, value in enumerate(args)), *kwargs.items()]
    found = []
    for name, value in filled.arguments.items():
        if kinds[name].kind is inspect.Parameter.VAR_POSITIONAL:
            found += [(name, item) for item in value]
        elif kinds[name].kind is inspect.Parameter.VAR_KEYWORD:
            found += list(value.items())
        else:
            found.append((name, value))
    return found


def shown(value):
    """Return a picture of an object's state, null where it cannot be had.

    Its pickle where it has one: the text of a table takes a hundred times as long.
    """
    if value is None or isinstance(value, type):
        return None
    try:
        return pickle.dumps(value, 4)
    except Exception:
        pass
    try:
        return repr(value)[:SHOWN] + repr(getattr(value, "__dict__", ""))[:SHOWN]
    except Exception:
        return None


if __name__ == "__main__":
    main()
