"""Tells what dotted paths lead to in this environment. Standard library only, grammar of Python 3.8.

Request: {"prelude": code or null, "paths": [dotted path, ...], "roots": [package, ...], "path_s": seconds for one path,
"modules": {module: [name that is known without asking, ...]}}.
Answer: {"prelude_error": text or null, "paths": {path: observation}}; public functions and classes of `modules` that
are not known are observed too.
An observation is {"ok": false, "stage": "import" or "attribute", "error": text} or {"ok": true, "kind", "module",
"type", "qualname", "same_as": first path that leads to the same object, "at_home", "params": [[name, kind, default, annotation],
...] or null, "from": what gave the signature, "doc", "returns", "warning"}.
"""

import ast
import functools
import importlib
import inspect
import json
import os
import re
import signal
import sys
import types
import warnings

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: 0,
    inspect.Parameter.POSITIONAL_OR_KEYWORD: 1,
    inspect.Parameter.VAR_POSITIONAL: 2,
    inspect.Parameter.KEYWORD_ONLY: 3,
    inspect.Parameter.VAR_KEYWORD: 4,
}
HUNG_CAP = 4
"""Imports that may run out of time; after that only what is already imported is asked."""

STUBBORN = 5
"""Seconds after which a module that goes on although its time is up ends the process."""

DOC_CAP = 60000
EMPTY = inspect.Parameter.empty


class OutOfTime(BaseException):
    """The time of a path is up: no subclass of Exception, since libraries catch those."""


class Clock:
    """Gives each path its seconds, and remembers the modules whose import used them up or failed twice."""

    def __init__(self):
        self.seconds = 60
        self.pid = os.getpid()
        self.raised = 0
        self.hung = {}
        self.failed = {}

    def start(self):
        self.raised = 0
        signal.setitimer(signal.ITIMER_REAL, self.seconds, 1)

    def stop(self):
        signal.setitimer(signal.ITIMER_REAL, 0)
        if os.getpid() != self.pid:
            os._exit(0)  # a child that the library forked when it was imported

    def ring(self, number, frame):
        self.raised += 1
        if self.raised > STUBBORN:
            os._exit(75)  # it catches everything and goes on
        raise OutOfTime("no answer within %s s" % self.seconds)

    def load(self, name):
        """Import a module; one that ran out of time or failed twice, and what comes after too many, is not tried."""
        if name in self.hung:
            raise OutOfTime(self.hung[name])
        if len(self.hung) >= HUNG_CAP and name not in sys.modules:
            raise OutOfTime("not tried: the imports of %s took too long" % ", ".join(sorted(self.hung)))
        failures = self.failed.get(name, [])
        if len(failures) == 2:  # the first may be owed to the order of imports
            raise failures[-1].with_traceback(None)
        try:
            return importlib.import_module(name)
        except OutOfTime as error:
            self.hung[name] = str(error)
            raise
        except Exception as error:
            self.failed[name] = [*failures, error]
            raise


CLOCK = Clock()


def describe_error(error):
    text = " ".join(str(error).split())
    kind = "TimeoutError" if isinstance(error, OutOfTime) else type(error).__name__
    return (kind + (": " + mask(text) if text else ""))[:600]


def mask(text):
    return ADDRESS.sub("", text).replace(sys.prefix, "<environment>")


def shown(value):
    """Return an annotation or a default as text without addresses."""
    if isinstance(value, str):
        return value
    if isinstance(value, type) and value.__module__ == "builtins":
        return value.__qualname__
    if isinstance(value, type):
        return value.__module__ + "." + value.__qualname__
    return safe_repr(value)


def safe_repr(value):
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
        home = getattr(value, "__module__", None)
        return home + "." + value.__qualname__ if home and home != "builtins" else value.__qualname__
    try:
        return mask(repr(value))[:300]
    except Exception:
        return "<" + type(value).__name__ + ">"


def parameters(signature, skip):
    rows = []
    for parameter in list(signature.parameters.values())[skip:]:
        default = None if parameter.default is EMPTY else safe_repr(parameter.default)
        annotation = None if parameter.annotation is EMPTY else shown(parameter.annotation)
        rows.append([parameter.name, KINDS[parameter.kind], default, annotation])
    return rows


def generic(rows):
    return bool(rows) and all(row[1] in (2, 4) for row in rows)


def try_signature(thing, skip, origin):
    try:
        signature = inspect.signature(thing)
    except Exception:
        return None
    rows = parameters(signature, skip)
    returns = signature.return_annotation
    return rows, origin, None if returns is inspect.Signature.empty else shown(returns)


def class_signature(cls):
    """Return the signature of a call: what inspect says, unless that is generic and a constructor says more."""
    found = try_signature(cls, 0, "inspect")
    if found is not None and not generic(found[0]):
        return found
    for name in ("__init__", "__new__"):
        method = inspect.getattr_static(cls, name, None)
        method = getattr(method, "__func__", method)
        if isinstance(method, types.FunctionType):
            other = try_signature(method, 1, name)
            if other is not None and not generic(other[0]):
                return other
    return found


SPLIT = re.compile(r"^\s*(?:[\w.]+\s*=\s*)?(?:[\w.]+\.)?(\w+)\s*(\(.*?\))(?:\s*->\s*(.+?))?\s*:?\s*$", re.S)


def doc_signature(doc, leaf):
    """Read `name(x, /, *, axis=0)` from the first lines of a docstring, as compiled functions have it."""
    lines = (doc or "").strip().split("\n")
    for count in range(1, 5):
        match = SPLIT.match(" ".join(lines[:count]))
        if match and match.group(1) == leaf:
            break
    else:
        return None
    text = match.group(2).replace("[, ", ", ").replace("[,", ",").replace("]", "")
    source = "def f" + text + ": pass"
    try:
        arguments = ast.parse(source).body[0].args
    except (SyntaxError, ValueError):
        return None
    return written_parameters(arguments, source), "doc", match.group(3)


def written_parameters(arguments, source):
    """Return the parameters of a syntax tree in the form of `parameters`."""

    def text(node):
        return None if node is None else ast.get_source_segment(source, node)

    positional = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    rows = []
    for number, (item, default) in enumerate(zip(positional, defaults)):
        rows.append([item.arg, 0 if number < len(arguments.posonlyargs) else 1, text(default), text(item.annotation)])
    if arguments.vararg:
        rows.append([arguments.vararg.arg, 2, None, None])
    for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        rows.append([item.arg, 3, text(default), text(item.annotation)])
    if arguments.kwarg:
        rows.append([arguments.kwarg.arg, 4, None, None])
    return rows


def signature_of(raw, reached, leaf, kind):
    if kind == "class":
        return class_signature(reached)
    if kind == "property":
        return None
    skip = 0
    thing = reached
    if kind == "method":
        thing = raw
        skip = 1
    found = try_signature(thing, skip, "inspect")
    if found is None:
        found = doc_signature(getattr(thing, "__doc__", None), leaf)
    return found


FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType)
DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)


def kind_of(raw, reached, owner_is_class):
    if isinstance(reached, type) and not owner_is_class:
        return "class"
    if owner_is_class:
        if isinstance(raw, staticmethod):
            return "staticmethod"
        if isinstance(raw, (classmethod, types.ClassMethodDescriptorType)):
            return "classmethod"
        if isinstance(
            raw, (property, functools.cached_property, types.GetSetDescriptorType, types.MemberDescriptorType)
        ):
            return "property"
        if isinstance(raw, FUNCTIONS + DESCRIPTORS):
            return "method"
        if isinstance(reached, type):
            return "class"
        if type(raw).__name__ in (
            "cached_property",
            "lazyproperty",
            "classproperty",
            "memoized_property",
            "hybridproperty",
        ):
            return "property"
        if hasattr(type(raw), "__get__") and callable(reached) and not isinstance(raw, type):
            return "method" if not isinstance(reached, types.MethodType) else "classmethod"
        return "property" if hasattr(type(raw), "__get__") else "value"
    if isinstance(reached, types.ModuleType):
        return "module"
    if isinstance(reached, FUNCTIONS):
        return "function"
    if callable(reached) and type(reached).__module__ not in ("typing", "types", "typing_extensions"):
        return "callable"
    return "value"


def import_longest(path):
    """Import the longest prefix of a path that is a module; return it and the remaining parts."""
    parts = path.split(".")
    module = CLOCK.load(parts[0])
    used = 1
    while used < len(parts):
        name = ".".join(parts[: used + 1])
        if parts[used] in vars(module) and name not in sys.modules:
            break  # an attribute wins over a submodule that nobody has imported
        try:
            following = CLOCK.load(name)
        except ModuleNotFoundError as error:
            if error.name != name and not (error.name or "").startswith(parts[0]):
                raise  # a dependency is missing
            break
        module = following
        used += 1
    return module, parts[used:]


def reach(path):
    module, rest = import_longest(path)
    raw = reached = module
    owner = None
    for part in rest:
        owner = reached
        if isinstance(owner, type):
            raw = inspect.getattr_static(owner, part, None)
            reached = getattr(owner, part)
        else:
            raw = reached = getattr(owner, part)
    return raw, reached, owner


def observe(path, seen):
    stage = "import"
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import_longest(path)
            stage = "attribute"
            del caught[:]
            raw, reached, owner = reach(path)
            told = [item for item in caught if issubclass(item.category, (DeprecationWarning, FutureWarning))]
            warning = " ".join(str(told[0].message).split())[:300] if told else None
    except BaseException as error:
        return {"ok": False, "stage": stage, "error": describe_error(error)}
    leaf = path.rpartition(".")[2]
    owner_is_class = isinstance(owner, type)
    try:
        kind = kind_of(raw, reached, owner_is_class)
        found = signature_of(raw, reached, leaf, kind)
        doc = inspect.getdoc(raw if owner_is_class else reached)
    except BaseException as error:
        return {"ok": False, "stage": "inspect", "error": describe_error(error)}
    try:  # a proxy may refuse even its own name
        return told_of(path, seen, raw, reached, kind, found, doc, warning)
    except BaseException as error:
        return {"ok": False, "stage": "inspect", "error": describe_error(error)}


def told_of(path, seen, raw, reached, kind, found, doc, warning):
    same = (
        getattr(reached, "__func__", reached)
        if kind in ("method", "classmethod")
        else (raw if kind == "property" else reached)
    )
    first = seen.setdefault(id(same), (path, same))[0]
    if kind == "callable" and doc is not None and doc == inspect.getdoc(type(reached)):
        doc = None  # an instance without a docstring of its own
    return {
        "ok": True,
        "kind": kind,
        "module": text_or_none(getattr(same, "__module__", None)),
        "type": type(reached).__module__ + "." + type(reached).__qualname__,
        "qualname": text_or_none(getattr(same, "__qualname__", getattr(same, "__name__", None))),
        "same_as": first,
        "at_home": is_at_home(same),
        "params": found[0] if found else None,
        "from": found[1] if found else None,
        "returns": found[2] if found else None,
        "doc": doc[:DOC_CAP] if isinstance(doc, str) else None,
        "warning": warning,
    }


def is_at_home(obj):
    """Whether the module that an object names as its own has it under its own name."""
    found = sys.modules.get(text_or_none(getattr(obj, "__module__", None)))
    for part in (text_or_none(getattr(obj, "__qualname__", None)) or "").split("."):
        found = getattr(found, part, None)
    return found is obj


def text_or_none(value):
    return value if isinstance(value, str) else None


def unknown_names(module, known, roots):
    """Return the paths of a module's functions and classes that belong to the library and are not known."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loaded = CLOCK.load(module)
            found = []
            for name in sorted(set(dir(loaded)) - set(known)):
                value = None if name.startswith("_") else getattr(loaded, name, None)
                home = text_or_none(getattr(value, "__module__", None)) or ""
                if callable(value) and home.split(".")[0] in roots:
                    found.append(module + "." + name)
            return found
    except BaseException:
        return []  # a path below it is observed and tells why


def main():
    answer_fd = int(sys.argv[1])
    request = json.load(sys.stdin)
    sys.setrecursionlimit(5000)
    prelude_error = None
    warnings.simplefilter("ignore")
    CLOCK.seconds = request["path_s"]
    signal.signal(signal.SIGALRM, CLOCK.ring)
    if request.get("prelude"):
        CLOCK.start()
        try:
            exec(compile(request["prelude"], "<prelude>", "exec"), {"__name__": "__prelude__"})
        except BaseException as error:
            prelude_error = describe_error(error)
        CLOCK.stop()
    seen = {}
    roots = set(request.get("roots", ()))
    paths = list(request["paths"])
    for module, known in request.get("modules", {}).items():
        CLOCK.start()
        paths += unknown_names(module, known, roots)
        CLOCK.stop()
    found = {}
    for path in dict.fromkeys(paths):
        CLOCK.start()
        found[path] = observe(path, seen)
        CLOCK.stop()
    answer = {"prelude_error": prelude_error, "paths": found}
    data = json.dumps(answer).encode()
    with os.fdopen(answer_fd, "wb") as sink:
        sink.write(data)
    os._exit(0)  # threads and exit handlers of the library are of no interest


if __name__ == "__main__":
    main()
