"""Resolving dotted paths to live objects, for every guest program that needs it."""

import importlib
import inspect


class Target:
    """The object behind a public path, and the class that owns it where it is a member."""

    def __init__(self, path, obj, owner):
        self.path = path
        self.leaf = path.rsplit(".", 1)[-1]
        self.obj = obj
        self.owner = owner


def resolve(path):
    """Return the Target of a dotted path.

    The longest importable prefix is a module; what follows are attributes. Members of classes are taken from the class
    dictionaries, so that descriptors (class methods, properties) come out as they were written.

    Raises:
        LookupError: the path leads to nothing; the message says where it ends.
    """
    parts = path.split(".")
    obj, rest, failure = None, parts, None
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        try:
            obj, rest = importlib.import_module(name), parts[end:]
            break
        except ModuleNotFoundError as error:
            if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
                failure = error
                if end == 1:
                    raise LookupError("cannot import %s: %s" % (name, error)) from error
        except Exception as error:
            failure = error
            if end == 1:
                raise LookupError("cannot import %s: %s: %s" % (name, type(error).__name__, error)) from error
    if obj is None:
        raise LookupError("cannot import %s: %s" % (parts[0], failure))
    owner = None
    for name in rest:
        if isinstance(obj, type):
            owner = obj
            try:
                obj = static_member(obj, name)
            except AttributeError as error:
                raise LookupError("%s has no %s" % (owner.__name__, name)) from error
        else:
            owner = None
            try:
                obj = getattr(obj, name)
            except AttributeError as error:
                raise LookupError(str(error)) from error
    return Target(path, obj, owner)


def static_member(cls, name):
    """Return a member as it stands in the dictionaries of the class, its bases or its metaclass."""
    return inspect.getattr_static(cls, name)


def underlying(obj):
    """Return the function inside a class method, static method, property or wrapper."""
    if isinstance(obj, (classmethod, staticmethod)):
        obj = obj.__func__
    if isinstance(obj, property):
        obj = obj.fget
    function = getattr(obj, "func", None)
    if type(obj).__name__ in ("cached_property", "hybridproperty", "memoized_property") and function is not None:
        obj = function
    try:
        return inspect.unwrap(obj)
    except ValueError:
        return obj
