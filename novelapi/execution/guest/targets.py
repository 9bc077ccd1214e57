"""Finds a target by its public path and puts a spy on every reference to it. Runs inside the sandbox."""

import ctypes
import gc
import importlib
import inspect
import sys
import types


class NotFound(Exception):
    """The path leads nowhere; `args[0]` says where it ended."""


class Target:
    """A target: its object, its owner and how it is reached."""

    def __init__(self, api, real, owner, name, raw, kind):
        self.api = api
        self.real = real  # what the public path evaluates to
        self.owner = owner  # module or class that holds it
        self.name = name
        self.raw = raw  # the entry in the owner's __dict__ (a descriptor for methods)
        self.kind = kind  # function | class | method | classmethod | staticmethod | property | object
        self.holder = owner  # class in the MRO that defines a method
        self.replacement = self  # what stands in its place; nothing yet
        self.places = None  # [(dict, key)] of module-level references
        self.aliases = {name}
        self.code = code_of(real)
        self.signature = None
        self.signature_known = False

    def bind(self, args, kwargs):
        """Return (ordered mapping, fits): the arguments by parameter name, defaults applied; by position without signature."""
        signature = self.get_signature()
        if signature is None:
            return dict(list(enumerate(args)) + list(kwargs.items())), True
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return dict(list(enumerate(args)) + list(kwargs.items())), False
        bound.apply_defaults()
        found = {}
        for name, value in bound.arguments.items():
            kind = signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                found.update(value)
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                found["*" + name] = value
            else:
                found[name] = value
        return found, True

    def get_signature(self):
        if not self.signature_known:
            self.signature_known = True
            self.signature = _signature(self)
        return self.signature


def _signature(target):
    try:
        signature = inspect.signature(target.real)
    except (ValueError, TypeError):
        return None
    if target.kind == "class" and tuple(signature.parameters) in (("args", "kwargs"), ()):
        # type's own generic signature says nothing
        for name in ("__init__", "__new__"):
            method = target.real.__dict__.get(name)
            if isinstance(method, (types.FunctionType, staticmethod)):
                try:
                    inner = inspect.signature(getattr(method, "__func__", method))
                except (ValueError, TypeError):
                    return None
                return inner.replace(parameters=list(inner.parameters.values())[1:])
    return signature


def code_of(function):
    """Return the code object of a Python function behind wrappers, or None."""
    seen = 0
    while hasattr(function, "__wrapped__") and seen < 20:
        function = function.__wrapped__
        seen += 1
    function = getattr(function, "__func__", function)
    return getattr(function, "__code__", None)


def resolve(api):
    """Find the object behind a public path by importing the longest module prefix."""
    parts = api.split(".")
    module, rest, error = None, parts, None
    for cut in range(len(parts), 0, -1):
        name = ".".join(parts[:cut])
        try:
            module = importlib.import_module(name)
        except ImportError as failed:
            error = failed
            continue
        rest = parts[cut:]
        break
    if module is None and hasattr(sys.modules["builtins"], parts[0]):
        module, rest = sys.modules["builtins"], parts
    if module is None:
        raise NotFound("%s: %s" % (api, error))
    if rest and rest[0] not in vars(module) and not hasattr(module, rest[0]):
        raise NotFound("%s: module %s has no attribute %s" % (api, module.__name__, rest[0]))
    owner, real = None, module
    for part in rest:
        owner = accessor_class(real)
        try:
            real = getattr(owner, part)
        except AttributeError as failed:
            raise NotFound("%s: %s" % (api, failed))
    if owner is None:
        raise NotFound("%s is a module" % api)
    return _describe(api, real, owner, rest[-1])


def accessor_class(owner):
    """Return the class behind an accessor that is a property (`polars.Expr.str`), by what it says it returns."""
    if not isinstance(owner, property):
        return owner
    said = getattr(owner.fget, "__annotations__", {}).get("return")
    found = vars(sys.modules[owner.fget.__module__]).get(said) if isinstance(said, str) else said
    return found if isinstance(found, type) else owner


def _describe(api, real, owner, name):
    if isinstance(owner, type):
        raw = inspect.getattr_static(owner, name)
        holder = owner
        for base in owner.__mro__:
            if name in vars(base):
                holder = base
                break
        if isinstance(raw, classmethod) or type(raw).__name__ == "classmethod_descriptor":
            kind = "classmethod"
        elif isinstance(raw, staticmethod):
            kind = "staticmethod"
        elif isinstance(raw, (property, types.GetSetDescriptorType, types.MemberDescriptorType)) or type(
            raw
        ).__name__ in ("cached_property",):
            kind = "property"
        elif isinstance(raw, type):
            kind = "class"
        elif callable(raw) and not isinstance(raw, (types.BuiltinFunctionType,)):
            kind = "method"
        elif isinstance(raw, types.BuiltinFunctionType):
            kind = "staticmethod"
        else:
            kind = "property" if hasattr(type(raw), "__get__") else "object"
        target = Target(api, real, owner, name, raw, kind)
        target.holder = holder
        return target
    if isinstance(real, type):
        kind = "class"
    elif isinstance(real, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        kind = "function"
    elif callable(real):
        kind = "object" if _has_public_state(real) else "function"
    else:
        raise NotFound("%s is not callable" % api)
    return Target(api, real, owner, name, real, kind)


def _has_public_state(real):
    """Callable objects such as ufuncs and dispatchers have attributes of their own that must go on working."""
    return not isinstance(real, types.FunctionType)


def locate(target):
    """Find every module-level reference to the target's object, once."""
    if target.places is None:
        places = []
        if target.kind in ("function", "class", "object") and not isinstance(target.owner, type):
            for module in list(sys.modules.values()):
                names = getattr(module, "__dict__", None)
                if type(names) is not dict:
                    continue
                for key, value in list(names.items()):
                    if value is target.real:
                        places.append((names, key))
                        target.aliases.add(key)
        target.places = places
    return target.places


def survey(target):
    """Describe how the target stands in its package: kind, and paths of namesakes.

    A namesake is another object of the same name; it tells a call of `np.outer` from one of `np.linalg.outer`.
    """
    leaf, root = target.name, target.api.split(".")[0]
    namesakes = []
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == root and isinstance(module, types.ModuleType) and leaf in vars(module):
            if vars(module)[leaf] is not target.real:
                namesakes.append("%s.%s" % (name, leaf))
    return {"kind": target.kind, "namesakes": sorted(namesakes)}


def put(target, replacement):
    """Put the replacement on every reference."""
    target.replacement = replacement
    if target.kind in ("function", "class", "object") and not isinstance(target.owner, type):
        for names, key in locate(target):
            names[key] = replacement
        return
    set_attribute(target.holder, target.name, replacement)


def set_attribute(cls, name, value):
    """Set a class attribute, also on classes that are implemented in C."""
    try:
        setattr(cls, name, value)
    except (TypeError, AttributeError):
        names = gc.get_referents(cls.__dict__)[0]
        names[name] = value
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))


def codes_of(found):
    """Return the code objects of targets: their own function, or the methods of their class."""
    codes = set()
    for target in found:
        if target.code is not None:
            codes.add(target.code)
        if target.kind == "class":
            for value in list(vars(target.real).values()):
                code = code_of(getattr(value, "__func__", value))
                if code is not None:
                    codes.add(code)
    return codes
