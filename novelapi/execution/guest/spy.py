"""Spies: what stands in for a target inside the candidate's process.

Modes: `record` calls the real object in process and reports the call; `remote` sends the call to the server process,
where the real object runs, and falls back to `record` for one call whose values cannot cross; `sentinel` answers with an
object that can do nothing. Calls that a library makes by itself go to the real object and are not reported.
"""

import functools
import inspect
import itertools
import sys
import threading
import types

import codec
import evidence
import targets

MAX_REPORTED = 200
_HEAP, _IMMUTABLE = 1 << 9, 1 << 8


class Replaced:
    """The sentinel: it allows everything and holds nothing, so that only a program that *uses* the result is changed."""

    __slots__ = ()

    def _same(self, *args, **kwargs):
        return self

    def _nothing(self, *args):
        return iter(())

    def _zero(self, *args):
        return 0

    def _false(self, *args):
        return False

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __setattr__(self, name, value):
        pass

    async def _awaited(self):
        return self

    def __await__(self):
        return self._awaited().__await__()

    __call__ = __getitem__ = __enter__ = __neg__ = __pos__ = __abs__ = __invert__ = __aenter__ = _same
    __iter__ = __reversed__ = _nothing
    __len__ = __int__ = __index__ = __hash__ = _zero
    __bool__ = __exit__ = __contains__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = _false

    def __float__(self):
        return 0.0

    def __setitem__(self, key, value):
        pass

    def __str__(self):
        return ""

    __repr__ = __str__


for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod".split():
    setattr(Replaced, "__%s__" % _name, Replaced._same)
    setattr(Replaced, "__r%s__" % _name, Replaced._same)


class Host:
    """What spies need of the driver: the channel, the mode, the namespace of the completion."""

    def __init__(self, channel, mode):
        self.channel = channel
        self.mode = mode
        self.lock = threading.RLock()
        self.running = (
            threading.Event()
        )  # cleared while the driver waits for the judge: threads left over then wait too
        self.inside = False  # the harness itself is encoding or decoding
        self.reported = 0
        self.callbacks = []
        self.input = None
        self.environment = {}
        self.requirements = {}
        self.namespace = {}


class Inside:
    """While the harness works, spies are transparent."""

    def __init__(self, host):
        self.host = host

    def __enter__(self):
        self.before, self.host.inside = self.host.inside, True

    def __exit__(self, *error):
        self.host.inside = self.before


class Spy:
    """Stands for one target."""

    def __init__(self, number, target, host):
        self.number = number
        self.target = target
        self.host = host

    # Who calls?

    def caller(self, depth):
        """Return (counts, line, position) of a call: made by the completion's code, or by a function it was handed to."""
        frame = sys._getframe(depth)
        place = self.place(frame)
        if place == "completion":
            return True, frame.f_lineno, evidence.positions(frame.f_code, frame.f_lasti)
        if not self.target.aliases.isdisjoint(frame.f_code.co_names):
            return False, None, None
        while frame is not None:
            if self.place(frame) == "completion":
                return True, frame.f_lineno, None
            frame = frame.f_back
        return False, None, None

    def place(self, frame):
        name = frame.f_code.co_filename
        if name == evidence.COMPLETION:
            return "completion"
        if (
            name.startswith("<")
            and frame.f_globals is self.host.namespace
            and name not in (evidence.CONTEXT, evidence.TEST)
        ):
            return "completion"  # exec or eval of a text by the completion
        return "other"

    # One call

    def call(self, real, args, kwargs, depth=3):
        if self.host.inside:
            return real(*args, **kwargs)
        counts, line, position = self.caller(depth)
        if not counts:
            return real(*args, **kwargs)
        mode = self.host.mode
        if mode == "sentinel":
            self.report(self.describe(args, kwargs, line, position), {"returned": True, "result": "sentinel"})
            return Replaced()
        if mode == "remote":
            found = self.remote(args, kwargs, line, position)
            if found is not None:
                return found[0]
        return self.local(real, args, kwargs, line, position)

    def local(self, real, args, kwargs, line, position):
        found = self.describe(args, kwargs, line, position)  # before the call, which may change its arguments
        try:
            result = real(*args, **kwargs)
        except BaseException as error:
            self.report(found, {"error": evidence.error_of(error, codes_of([self.target]))})
            raise
        with self.host.lock, Inside(self.host):
            text = excerpt(result)
        self.report(found, {"returned": True, "result": text})
        return result

    def describe(self, args, kwargs, line, position):
        if self.host.reported >= MAX_REPORTED:
            return None
        found = {"op": "called", "spy": self.number, "line": line, "position": position}
        with self.host.lock, Inside(self.host):
            required = self.host.requirements.get(self.number)
            found.update(describe(self.target, args, kwargs, required, self.host.environment))
        return found

    def report(self, found, rest):
        if found is None:
            return
        self.host.reported += 1
        found.update(rest)
        with self.host.lock:
            self.host.channel.send(found)

    def remote(self, args, kwargs, line, position):
        """Return a one-tuple with the result, or None if the values cannot cross."""
        args, kwargs = list(args), dict(kwargs)
        self.host.running.wait()
        try:
            with self.host.lock, Inside(self.host):
                drained = _drain_iterators(args, kwargs)
                encoder = codec.Encoder(extra=self.offer)
                message = {
                    "op": "call", "spy": self.number, "line": line, "position": position,
                    "args": [_encode_argument(encoder, value, drained) for value in args],
                    "kwargs": {str(name): _encode_argument(encoder, value, drained) for name, value in kwargs.items()},
                }  # fmt: skip
        except codec.Opaque:
            return (self.local(_real_of(self), args, kwargs, line, position),)
        with self.host.lock:
            self.host.channel.send(message)
            return self.serve(args, kwargs, line, position)

    def serve(self, args, kwargs, line, position):
        """Answer callbacks until the call is over."""
        while True:
            reply = self.host.channel.receive()
            op = reply["op"]
            if op == "callback":
                self.host.channel.send(self.run_callback(reply))
            elif op == "return":
                return (self.take(reply, args, kwargs),)
            elif op == "raise":
                with Inside(self.host):
                    error = codec.Decoder(extra=_trusted, trusted=True).decode(reply["error"])
                raise error
            else:  # "local": the server could not send the result
                return (self.local(_real_of(self), args, kwargs, line, position),)

    def take(self, reply, args, kwargs):
        """Return the result of a remote call; arguments that the target changed are changed here too."""
        with Inside(self.host):
            decoder = codec.Decoder(extra=_trusted, trusted=True)
            for key, tree in reply["mutated"]:
                _write_back(args[key] if type(key) is int else kwargs[key], decoder.decode(tree))
            if reply["same"] is not None:
                key = reply["same"]
                return args[key] if type(key) is int else kwargs[key]
            return decoder.decode(reply["value"])

    def offer(self, encoder, value, cls, depth):
        """Tag what is not plain: functions of libraries by name, others as callbacks."""
        path = reference_path(value)
        if path is not None:
            return {"$": "reference", "path": path}
        if callable(value) and not isinstance(value, type):
            self.host.callbacks.append(value)
            return {"$": "callback", "id": len(self.host.callbacks) - 1}
        return None

    def run_callback(self, message):
        function = self.host.callbacks[message["id"]]
        decoder = codec.Decoder(extra=_trusted, trusted=True)
        with Inside(self.host):
            args = [decoder.decode(item) for item in message["args"]]
            kwargs = {name: decoder.decode(item) for name, item in message["kwargs"].items()}
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            return {"op": "callback_result", "error": evidence.error_of(error), "exception": _exception_tree(error)}
        try:
            return {"op": "callback_result", "value": codec.Encoder(extra=self.offer, iterators=True).encode(result)}
        except codec.Opaque as failed:
            return {"op": "callback_result", "opaque": str(failed)}


def _real_of(spy):
    target = spy.target
    if target.kind == "class" and hasattr(spy, "construct"):
        return spy.construct
    return target.real


def _exception_tree(error):
    try:
        return codec.Encoder().encode(error)
    except codec.Opaque:
        return {"$": "exception", "type": "builtins.RuntimeError", "args": [evidence.text_of(error, 500)]}


def reference_path(value):
    """Return the path of a numpy ufunc or a builtin function by which the server may find it again."""
    np = sys.modules.get("numpy")
    if np is not None and type(value) is np.ufunc and getattr(np, value.__name__, None) is value:
        return "numpy." + value.__name__
    if type(value) is types.BuiltinFunctionType and value.__module__ in ("builtins", "_operator", "math"):
        return "%s.%s" % (value.__module__.replace("_operator", "operator"), value.__name__)
    return None


def _drain_iterators(args, kwargs):
    """Replace top-level iterators by lists that are marked, so that they can be both sent and used again."""
    drained = set()
    for holder, keys in ((args, range(len(args))), (kwargs, list(kwargs))):
        for key in keys:
            value = holder[key]
            if type(value) in codec.ITERATORS or type(value).__module__ == "itertools":
                items = list(itertools.islice(value, codec.MAX_ITERATOR + 1))
                if len(items) > codec.MAX_ITERATOR:
                    holder[key] = itertools.chain(items, value)
                    raise codec.Opaque("endless iterator")
                holder[key] = _Drained(items)
                drained.add(key)
    return drained


class _Drained:
    """An iterator over items that are known."""

    def __init__(self, items):
        self.items = items
        self.position = iter(items)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.position)


def _encode_argument(encoder, value, drained):
    if type(value) is _Drained:
        return {"$": "iterator", "items": [encoder.encode(item, 1) for item in value.items]}
    return encoder.encode(value)


def _trusted(decoder, tree):
    """Decode what only the server may send: any importable object, pickled."""
    import base64
    import pickle

    if tree["$"] == "pickle":
        return pickle.loads(base64.b64decode(tree["base64"]))
    if tree["$"] == "reference":
        return _find(tree["path"])
    if tree["$"] == "missing_exception":
        return RuntimeError(tree["message"])
    raise codec.Opaque("unknown tag %s" % tree["$"])


def _find(path):
    parts = path.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if module is not None:
            return functools.reduce(getattr, parts[cut:], module)
    raise codec.Opaque(path)


def _write_back(old, new):
    if type(old) is list:
        old[:] = new
    elif type(old) in (dict, set):
        old.clear()
        old.update(new)
    elif type(old) is bytearray:
        old[:] = new
    elif hasattr(old, "_update_inplace"):
        old._update_inplace(new)
    else:
        old[...] = new


def codes_of(found):
    """Return the code objects of targets: their own function, or the methods of their class."""
    codes = set()
    for target in found:
        if target.code is not None:
            codes.add(target.code)
        if target.kind == "class":
            for value in list(vars(target.real).values()):
                code = targets.code_of(getattr(value, "__func__", value))
                if code is not None:
                    codes.add(code)
    return codes


def excerpt(value, limit=200):
    """A short text of a value; never raises."""
    shape = getattr(value, "shape", None)
    if type(shape) is tuple and hasattr(value, "dtype") and shape and shape != (1,):
        head = "%s%s %s" % (type(value).__name__, list(shape), value.dtype)
        try:
            size = 1
            for length in shape:
                size *= length
            return (head + " " + repr(value.tolist()))[:limit] if size <= 30 else head
        except BaseException:
            return head
    try:
        text = repr(value)
    except BaseException as error:
        text = "<unprintable %s: %s>" % (type(value).__name__, type(error).__name__)
    return text if type(text) is str and len(text) <= limit else str(text)[:limit] + "..."


def describe(target, args, kwargs, required, environment):
    """Return the bound arguments as excerpts, whether they bind, and which required ones have the required value."""
    bound, fits = target.bind(args, kwargs)
    found = {
        "bound": fits,
        "arguments": {str(name): excerpt(value) for name, value in list(bound.items())[:30]},
        "required": {},
    }
    for name, expression in (required or {}).items():
        found["required"][name] = fits and _has(bound, name, expression, environment, target.get_signature() is None)
    return found


def _has(bound, name, expression, environment, positional):
    try:
        wanted = eval(expression, dict(environment))
    except Exception:
        return False
    if name in bound:
        return same(bound[name], wanted)
    return positional and any(same(value, wanted) for key, value in bound.items() if type(key) is int)


def same(left, right):
    """Whether an argument is the required one: equal plain data, or equal by the values' own judgement."""
    if left is right:
        return True
    try:
        if codec.Encoder().encode(left) == codec.Encoder().encode(right):
            return True
    except codec.Opaque:
        pass
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right))
    try:
        equal = left == right
        if type(equal) is bool:
            return equal
        return bool(equal.all()) if hasattr(equal, "all") and not hasattr(equal, "columns") else bool(equal)
    except Exception:
        return False


# What is put in place of a target


def install(number, target, host):
    """Put a spy on every reference to the target."""
    spy = Spy(number, target, host)
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
    return spy


def _dress(function, real):
    functools.update_wrapper(function, real, updated=())
    vars(function).pop("__wrapped__", None)
    if type(real) is types.FunctionType:
        function.__defaults__, function.__kwdefaults__ = None, None
        vars(function).update({k: v for k, v in vars(real).items() if k != "__wrapped__"})
    try:
        function.__signature__ = inspect.signature(real)
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

    return _dress(stand_in, real)


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
        if cls is target.owner:
            return spy.call(bound, args, kwargs)
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
            def __call__(self, *args, **kwargs):
                if self is not cls:
                    return meta.__call__(self, *args, **kwargs)
                return spy.call(spy.construct, args, kwargs)

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
