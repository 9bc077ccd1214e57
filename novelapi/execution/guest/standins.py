"""What is put in place of a target: functions, descriptors, proxies. Runs inside the sandbox."""

import functools
import inspect
import types

import targets

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8
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


def _spy_method(spy):
    target = spy.target
    raw = vars(target.holder)[target.name] if target.name in vars(target.holder) else target.raw

    def stand_in(*args, **kwargs):
        if args and isinstance(args[0], target.owner):
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


def _install_class(spy):
    target = spy.target
    cls = target.real
    if cls.__flags__ & _HEAP and not cls.__flags__ & _IMMUTABLE:
        meta = type(cls)

        class Meta(meta):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                if self.__module__ == SOLUTION:
                    spy.subclassed(self.__name__)

            def __call__(self, *args, **kwargs):
                if self is cls:
                    return spy.call(spy.construct, args, kwargs)
                if self.__module__ == SOLUTION:
                    return spy.call(functools.partial(meta.__call__, self), args, kwargs, remote=False)
                return meta.__call__(self, *args, **kwargs)

        Meta.__name__, Meta.__qualname__, Meta.__module__ = meta.__name__, meta.__qualname__, meta.__module__
        spy.construct = functools.partial(meta.__call__, cls)
        try:
            cls.__class__ = Meta
            return
        except TypeError:
            pass
    spy.construct = cls
    targets.put(target, ClassProxy(spy))


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
        return getattr(spy.target.real, name)

    def __setattr__(self, name, value):
        setattr(object.__getattribute__(self, "_spy").target.real, name, value)

    def __repr__(self):
        return repr(object.__getattribute__(self, "_spy").target.real)

    def __reduce__(self):
        return object.__getattribute__(self, "_spy").target.real.__reduce__()

    def __hash__(self):
        return hash(object.__getattribute__(self, "_spy").target.real)

    def __eq__(self, other):
        real = object.__getattribute__(self, "_spy").target.real
        return other is self or other is real or real == other


class ClassProxy(Proxy):
    """Stands for a class that is implemented in C and cannot be changed."""

    def __call__(self, *args, **kwargs):
        spy = object.__getattribute__(self, "_spy")
        return spy.call(spy.target.real, args, kwargs)

    def __instancecheck__(self, instance):
        return isinstance(instance, object.__getattribute__(self, "_spy").target.real)

    def __subclasscheck__(self, cls):
        return issubclass(cls, object.__getattribute__(self, "_spy").target.real)

    def __mro_entries__(self, bases):
        return (object.__getattribute__(self, "_spy").target.real,)

    def __or__(self, other):
        return object.__getattribute__(self, "_spy").target.real | other

    def __ror__(self, other):
        return other | object.__getattribute__(self, "_spy").target.real

    def __getitem__(self, item):
        return object.__getattribute__(self, "_spy").target.real[item]
