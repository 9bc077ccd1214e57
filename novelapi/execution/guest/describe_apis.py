"""Says what the running library knows about its APIs: docstrings, files, signatures, names of modules.

Request: {"setup", "paths": [...], "modules": [...], "classes": [...]}
Answer: {"apis": {path: {...}}, "modules": {name: [public names]}, "members": {class path: {name: docstring}}}
"""

import contextlib
import enum
import importlib
import inspect
import io
import json
import os
import sys
import warnings

from novelapi_targets import resolve, underlying

DOC_CAP = 60000


def main():
    request = json.load(sys.stdin)
    answer_fd = int(sys.argv[1])
    sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))]
    warnings.simplefilter("ignore")
    answer = {"apis": {}, "modules": {}, "members": {}}
    with contextlib.redirect_stdout(io.StringIO()):
        if request.get("setup"):
            exec(compile(request["setup"], "<setup>", "exec"), {"__name__": "__main__"})
        for path in request["paths"]:
            answer["apis"][path] = describe(path)
        for name in request["modules"]:
            answer["modules"][name] = public_names(name)
        for path in request["classes"]:
            answer["members"][path] = member_docs(path)
    with os.fdopen(answer_fd, "w") as stream:
        json.dump(answer, stream)
        stream.flush()
        os._exit(0)  # threads of the library must not keep the process alive


def describe(path):
    try:
        target = resolve(path)
    except LookupError as error:
        return {"error": str(error)}
    obj = target.obj
    inner = underlying(obj)
    record = {
        "doc": documentation(obj, inner),
        "init_doc": None,
        "type": type(obj).__name__,
        "module": text(getattr(inner, "__module__", None)),
        "qualname": text(getattr(inner, "__qualname__", None)),
        "file": None,
        "line": None,
        "signature": None,
        "inherited": False,
    }
    if isinstance(obj, type):
        own = obj.__dict__.get("__init__")
        record["init_doc"] = text(getattr(own, "__doc__", None)) if inspect.isfunction(own) else None
        record["values"] = enumerated(obj)
        record["bases"] = ["%s.%s" % (base.__module__, base.__qualname__) for base in obj.__mro__[1:]]
    if target.owner is not None:
        record["inherited"] = target.leaf not in vars(target.owner)
    try:
        record["file"] = inspect.getsourcefile(inner)
    except Exception:
        record["file"] = None  # compiled, or made at run time
    record["python"] = is_python(inner)
    code = getattr(inner, "__code__", None)
    if code is not None:
        record["file"], record["line"] = code.co_filename, code.co_firstlineno
    with contextlib.suppress(Exception):
        record["signature"] = str(inspect.signature(obj))
    return record


def enumerated(cls):
    """Return how the members of an enumeration are looked up by value; nothing for other classes."""
    if not issubclass(cls, enum.Enum):
        return []
    plain = (str, bytes, int, float, tuple, type(None))
    return [repr(item.value) if type(item.value) in plain else "%s.%s" % (cls.__name__, item.name) for item in cls][:6]


def is_python(obj):
    """Whether an object was made by Python source of its own: a function with code, a class with such a body."""
    if not isinstance(obj, type):
        return inspect.isfunction(getattr(obj, "__func__", obj))  # Cython's functions have code objects, too
    own = vars(obj)
    return any(inspect.isfunction(value) for value in own.values()) or "__weakref__" in own or "__slots__" in own


def documentation(obj, inner):
    """Return the object's own docstring; a class never borrows the one of a base class."""
    doc = None
    if isinstance(obj, type):
        doc = vars(obj).get("__doc__")
    else:
        with contextlib.suppress(Exception):
            doc = obj.__doc__
        if not isinstance(doc, str):
            with contextlib.suppress(Exception):
                doc = inner.__doc__
    for one in (obj,) if isinstance(obj, type) else (obj, inner):  # a method may have the one of the class above
        if not isinstance(doc, str):
            with contextlib.suppress(Exception):
                doc = inspect.getdoc(one)
    return inspect.cleandoc(doc)[:DOC_CAP] if isinstance(doc, str) else None


def text(value):
    return value if isinstance(value, str) else None


def public_names(name):
    try:
        module = importlib.import_module(name)
        return sorted(item for item in dir(module) if not item.startswith("_"))
    except Exception:
        return []


def member_docs(path):
    """Return the docstrings with examples of a class's public members: they show how its objects are made."""
    try:
        cls = resolve(path).obj
    except LookupError:
        return {}
    docs = {}
    for name in sorted(dir(cls)) if isinstance(cls, type) else ():
        if name.startswith("_"):
            continue
        try:
            member = inspect.getattr_static(cls, name)
        except AttributeError:
            continue
        doc = documentation(member, underlying(member))
        if doc and ">>>" in doc:
            docs[name] = doc
    return docs


if __name__ == "__main__":
    main()
