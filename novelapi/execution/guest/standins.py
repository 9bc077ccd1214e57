"""What is put in place of a target: functions, descriptors, proxies. Runs inside the sandbox."""

import abc
import copyreg
import ctypes
import functools
import inspect
import sys
import types

import targets

_OB_TYPE = object.__basicsize__ - ctypes.sizeof(ctypes.c_void_p)  # where an object holds its type (CPython)
_OWN = frozenset(["__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__", "__mro_entries__"])
SOLUTION = "solution"  # name of the module that a completion runs in


def install(spy):
    """Put a spy on every reference to its target."""
    target = spy.target
    real, kind = target.real, target.kind
    if kind == "class":
        _install_class(spy)
    elif kind == "object":
        targets.put(target, Proxy(spy))
    elif kind == "property":
        targets.set_attribute(target.holder, target.name, _spy_property(spy))
    elif kind == "classmethod":
        targets.put(target, classmethod(_spy_classmethod(spy)))
    elif kind == "staticmethod":
        targets.put(target, staticmethod(_spy_function(spy, real)))
    elif kind == "method":
        targets.put(target, _spy_method(spy))
    else:
        targets.put(target, _spy_function(spy, real))


def real_of(found):
    """Return the object that a proxy stands for, or the object itself."""
    if type(found) in (Proxy, ClassProxy):
        return object.__getattribute__(found, "_spy").target.real
    return found


def _dress(function, real, signature=None):
    functools.update_wrapper(function, real, updated=())
    vars(function).pop("__wrapped__", None)
    if type(real) is types.FunctionType:
        function.__defaults__, function.__kwdefaults__ = None, None
        vars(function).update({k: v for k, v in vars(real).items() if k != "__wrapped__"})
    try:
        function.__signature__ = signature or inspect.signature(real)
    except (ValueError, TypeError):
        pass
    return function


def _spy_function(spy, real):
    if inspect.iscoroutinefunction(real):

        async def stand_in(*args, **kwargs):
            return await _awaited(spy.call(real, args, kwargs))
    else:

        def stand_in(*args, **kwargs):
            return spy.call(real, args, kwargs)

    return _dress(stand_in, real, spy.target.get_signature())


async def _awaited(value):
    return await value if inspect.isawaitable(value) else value


def _receives(target, instance):
    """Whether a method's instance is one of the target's owner; `Series.dt` is made as one of its several bases."""
    owner = target.owner
    if isinstance(instance, owner):
        return True
    return "__new__" in vars(owner) and len(owner.__bases__) > 1 and type(instance) is target.holder in owner.__bases__


def _spy_method(spy):
    target = spy.target
    raw = vars(target.holder)[target.name] if target.name in vars(target.holder) else target.raw

    def stand_in(*args, **kwargs):
        if args and _receives(target, args[0]):
            return spy.call(raw, args, kwargs)
        return raw(*args, **kwargs)

    if inspect.iscoroutinefunction(raw):

        async def stand_in_async(*args, **kwargs):
            return await _awaited(spy.call(raw, args, kwargs))

        return _dress(stand_in_async, raw)
    return _dress(stand_in, raw)


def _spy_classmethod(spy):
    target = spy.target
    raw = vars(target.holder)[target.name]

    def stand_in(cls, *args, **kwargs):
        bound = raw.__get__(None, cls)
        if issubclass(cls, target.owner):
            return spy.call(bound, args, kwargs, remote=cls is target.owner)
        return bound(*args, **kwargs)

    return _dress(stand_in, target.real)


def _spy_property(spy):
    target = spy.target
    raw = vars(target.holder)[target.name]

    def getter(instance):
        if not isinstance(instance, target.owner):
            return raw.__get__(instance, type(instance))
        return spy.call(lambda value: raw.__get__(value, type(value)), (instance,), {})

    setter = getattr(type(raw), "__set__", None)
    stand_in = property(getter, (lambda instance, value: raw.__set__(instance, value)) if setter else None)
    stand_in.__doc__ = getattr(raw, "__doc__", None)
    return stand_in


class _Plain(abc.ABCMeta):
    """`type`, in a form that goes together with abstract base classes: a class of both needs one metaclass."""

    def __instancecheck__(cls, instance):
        return (abc.ABCMeta if "_abc_impl" in vars(cls) else type).__instancecheck__(cls, instance)

    def __subclasscheck__(cls, other):
        return (abc.ABCMeta if "_abc_impl" in vars(cls) else type).__subclasscheck__(cls, other)


def _install_class(spy):
    target = spy.target
    cls = target.real
    spy.construct = functools.partial(type(cls).__call__, cls)
    spy.meta = _metaclass(spy)
    # The interpreter calls some builtin classes past their metaclass (tp_vectorcall).
    if cls.__module__ != "builtins" and _set_metaclass(cls, spy.meta):
        return
    spy.construct = cls
    targets.put(target, ClassProxy(spy))


def _metaclass(spy):
    """Make the metaclass that sees calls of a target, and the classes that a completion derives from it."""
    cls = spy.target.real
    meta = type(cls)

    class Meta(_Plain if meta is type else meta):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            if self.__module__ == SOLUTION:
                spy.subclassed(self.__name__)

        def __call__(self, *args, **kwargs):
            if self is cls:
                return spy.call(spy.construct, args, kwargs)
            if self.__module__ == SOLUTION:
                return spy.call(functools.partial(meta.__call__, self), args, kwargs, remote=False, own=True)
            return meta.__call__(self, *args, **kwargs)

    Meta.__name__, Meta.__qualname__, Meta.__module__ = meta.__name__, meta.__qualname__, meta.__module__
    if meta is type:  # a class in C has no `__module__` of its own and would find the metaclass's
        Meta.__module__ = vars(type)["__module__"]
    return Meta


def _set_metaclass(cls, meta):
    """Give a class another metaclass; return whether that went well.

    Python refuses to take `type` itself away from a class, although the layout is the same: there the field is set.
    """
    try:
        cls.__class__ = meta
    except TypeError:
        if type(cls) is not type:
            return False
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(meta))
        ctypes.c_void_p.from_address(id(cls) + _OB_TYPE).value = id(meta)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
    return True


class Proxy:
    """A callable object (ufunc, dispatcher) whose calls are seen and whose attributes go on working."""

    def __init__(self, spy):
        object.__setattr__(self, "_spy", spy)

    def __call__(self, *args, **kwargs):
        spy = object.__getattribute__(self, "_spy")
        return spy.call(spy.target.real, args, kwargs)

    def __getattribute__(self, name):
        spy = object.__getattribute__(self, "_spy")
        if name == "__class__":
            return type(spy.target.real)
        if name in _OWN and hasattr(type(self), name):
            return object.__getattribute__(self, name)
        return getattr(spy.target.real, name)

    def __setattr__(self, name, value):
        setattr(object.__getattribute__(self, "_spy").target.real, name, value)

    def __repr__(self):
        return repr(object.__getattribute__(self, "_spy").target.real)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        """Pickle as the real object does: by name, where this one is found again."""
        real = object.__getattribute__(self, "_spy").target.real
        if isinstance(real, type):
            return real.__qualname__
        known = copyreg.dispatch_table.get(type(real))
        return real.__reduce_ex__(protocol) if known is None else known(real)

    def __hash__(self):
        return hash(object.__getattribute__(self, "_spy").target.real)

    def __eq__(self, other):
        real = object.__getattribute__(self, "_spy").target.real
        return other is self or other is real or real == other


class ClassProxy(Proxy):
    """Stands for a class that is implemented in C and whose metaclass cannot be changed."""

    def __call__(self, *args, **kwargs):
        spy = object.__getattribute__(self, "_spy")
        return spy.call(spy.target.real, args, kwargs)

    def __instancecheck__(self, instance):
        return isinstance(instance, object.__getattribute__(self, "_spy").target.real)

    def __subclasscheck__(self, cls):
        return issubclass(cls, object.__getattribute__(self, "_spy").target.real)

    def __mro_entries__(self, bases):
        """Return what a class is derived from: for one of the completion, a class between that is seen when it is called."""
        spy = object.__getattribute__(self, "_spy")
        real = spy.target.real
        if sys._getframe(1).f_globals.get("__name__") != SOLUTION:
            return (real,)
        return (spy.meta(real.__name__, (real,), {"__module__": real.__module__, "__slots__": ()}),)

    def __or__(self, other):
        return object.__getattribute__(self, "_spy").target.real | other

    def __ror__(self, other):
        return other | object.__getattribute__(self, "_spy").target.real

    def __getitem__(self, item):
        found = object.__getattribute__(self, "_spy").target.real[item]
        return types.GenericAlias(self, found.__args__) if type(found) is types.GenericAlias else found
