"""The server process: makes the real calls of a strong task where no completion can reach. Runs inside the sandbox.

It executes the task's own context, never a completion's code. Values come in through the untrusted decoder; results go
out plain, by reference, or pickled (which is safe in that direction).
"""

import asyncio
import base64
import builtins
import inspect
import itertools
import math
import operator
import os
import pickle
import sys

import codec
import describe
import evidence
import links
import perturb
import plain
import targets
import transfer
from decoder import Decoder

REFERENCES = {
    "%s.%s" % (module.__name__, name): getattr(module, name)
    for module, names in (
        (
            builtins,
            "abs all any len max min sum sorted round repr str int float bool complex list tuple set dict frozenset divmod pow ord chr hash",
        ),
        (
            operator,
            "add sub mul truediv floordiv mod neg pos abs eq ne lt le gt ge and_ or_ xor not_ contains concat pow",
        ),
        (math, "sqrt exp log log2 log10 sin cos tan floor ceil fabs gcd isfinite isnan"),
    )
    for name in names.split()
}

MAX_EARLIER = 20  # other results of a target that are kept to replace one by


class CallbackFailed(Exception):
    """A callback of the candidate raised; carries the exception that the library should see."""


class CallbackOpaque(BaseException):
    """An argument of a callback has no plain form: the call has to be made where the callback is."""


class Server:
    """Serves the calls of one sample."""

    def __init__(self, channel, found, namespace, requirements, parameters, start):
        self.channel = channel
        self.targets = found
        self.namespace = namespace
        self.requirements = requirements
        self.parameters = parameters
        self.stub = start["stub"]
        self.seed = start["seed"]
        self.links = links.Links(start["links"])
        self.environment = dict(namespace)
        self.codes = targets.codes_of(found)
        self.allowed = {target.api.split(".")[0] for target in found} | {"numpy", "pandas", "builtins"}
        self.callbacks = 0
        self.earlier = {}
        self.alone = not os.listdir(".")  # in a sandbox the working folder is empty, and the server's own

    def serve(self):
        while True:
            self.handle(self.channel.receive())

    def handle(self, message):
        op = message["op"]
        if op != "invoke":
            raise channel_error(op)
        if "run" in message:  # the first call of a run
            self.environment, self.stub = dict(self.namespace), message["run"]["stub"]
            self.links.forget()
            self.earlier.clear()
            reseed(self.seed)
        if "input" in message:  # the first call on an input
            self.environment = dict(self.namespace)
            self.links.forget()
            if any(self.requirements.values()):
                self.environment.update(bind_input(self.parameters, message["input"], self.namespace))
            reseed(self.seed)
        self.channel.send(self.invoke(message))

    def invoke(self, message):
        target = self.targets[message["spy"]]
        decoder = Decoder(extra=self.decode_special, allowed=self.allowed)
        try:
            args = [decoder.decode(tree) for tree in message["args"]]
            kwargs = {name: decoder.decode(tree) for name, tree in message["kwargs"].items()}
        except (plain.Opaque, AttributeError, KeyError, TypeError, ValueError, ImportError, IndexError) as failed:
            return {"op": "local", "why": "%s: %s" % (type(failed).__name__, failed)}
        record = describe.describe(target, args, kwargs, self.requirements.get(message["spy"]), self.environment)
        record["links"] = self.links.taken(target, message["spy"], args, kwargs)
        try:
            result = target.real(*args, **kwargs)
            if inspect.isawaitable(result):
                result = asyncio.run(_wait(result))
        except CallbackOpaque as failed:
            return {"op": "local", "why": str(failed)}
        except BaseException as error:
            return self.raised(record, error)
        if self.alone and os.listdir("."):  # what it wrote is here, out of the completion's reach
            clear()
            return {"op": "local", "why": "the call leaves files"}
        record.update(returned=True, result=describe.excerpt(result))
        return self.returned(message, record, result, args, kwargs)

    def raised(self, record, error):
        record["error"] = evidence.error_of(error, self.codes)
        record["callback"] = isinstance(error, CallbackFailed) or "callback" in getattr(error, "_novelapi", ())
        return {"op": "raise", "record": record, "error": exception_tree(error)}

    def returned(self, message, record, result, args, kwargs):
        same = None
        for key, value, _ in _places(message, args, kwargs):
            if value is result and type(value) not in (int, str, bool, float, tuple, type(None)):
                same = key
        replaces = self.replaces(message["spy"], record)
        try:
            if replaces:
                try:
                    result, same, record["stubbed"] = self.replaced(message["spy"], result), None, True
                except perturb.Same:
                    pass
            value = None if same is not None else self.encode(result, record)
        except (plain.Opaque, CallbackOpaque) as failed:
            return {"op": "local", "why": str(failed)}
        untouched = replaces and not record.get("stubbed")  # what stays as it was proves nothing
        if not untouched and not codec.is_iterator(type(result)):
            self.links.give(message["spy"], result)
        mutated = self.mutated(message, args, kwargs)
        if replaces and mutated:  # the other result of a function that works in place: its arguments stay as they were
            mutated, record["stubbed"] = [], True
        return {"op": "return", "record": record, "mutated": mutated, "same": same, "value": value}

    def replaces(self, spy, record):
        """Whether the result of a call is replaced in this run: {"kind", "spy": one target, or null for all}."""
        return self.stub is not None and self.stub["spy"] in (None, spy) and describe.asked_for(record)

    def encode(self, result, record):
        """Encode a result; a lazy one is consumed here, and what it raises on the way is raised where the candidate gets there."""
        if not codec.is_iterator(type(result)):
            return encode_result(result)
        items, encoder = [], codec.Encoder(extra=_offer, iterators=True)
        try:
            for item in result:
                items.append(encoder.encode(item, 1))
                if len(items) > plain.MAX_ITERATOR:
                    raise plain.Opaque("endless iterator")
        except (plain.Opaque, CallbackOpaque):
            raise
        except BaseException as error:
            record["late"] = evidence.error_of(error, self.codes)
            record["callback"] = isinstance(error, CallbackFailed) or "callback" in getattr(error, "_novelapi", ())
            return {"$": "lazy", "items": items, "error": exception_tree(error)}
        return {"$": "iterator", "items": items}

    def replaced(self, spy, result):
        """Return another result of the same structure; an iterator's items are changed."""
        kind = self.stub["kind"]
        if codec.is_iterator(type(result)):
            items = list(itertools.islice(result, plain.MAX_ITERATOR))
            return iter(perturb.perturb(items, kind) if kind in perturb.KINDS else items)
        if kind in perturb.KINDS:
            return perturb.sound(perturb.perturb(result, kind))
        return self.before(spy, result, kind)

    def before(self, spy, result, kind):
        """Return the latest result of an earlier call that is not equal: the same call may be made several times."""
        known, form = self.earlier.setdefault(spy, []), codec.canonical(encode_result(result))
        others = [value for value, other in known if other != form and type(value) is type(result)]
        known[:] = [*[pair for pair in known if pair[1] != form][-MAX_EARLIER:], (result, form)]
        if not others:
            raise perturb.Same(kind)
        return others[-1]

    def mutated(self, message, args, kwargs):
        """Return [key, tree] of each argument that the target changed."""
        found = []
        for key, value, before in _places(message, args, kwargs):
            if type(before) is dict and before.get("$") in ("iterator", "callback", "reference", "tuple", "type"):
                continue
            if type(before) in (dict, list):
                try:
                    after = codec.Encoder().encode(value)
                except plain.Opaque:
                    continue
                if codec.canonical(after) != codec.canonical(before):
                    found.append([key, after])
        return found

    def decode_special(self, decoder, tree):
        if tree["$"] == "reference":
            return self.find(tree["path"])
        if tree["$"] == "callback":
            return self.make_callback(tree["id"])
        raise plain.Opaque("tag %s" % tree["$"])

    def find(self, path):
        """A numpy ufunc or one of a few builtins, by name: nothing that could run code of the candidate's choice."""
        if path in REFERENCES:
            return REFERENCES[path]
        np = sys.modules.get("numpy")
        if np is not None and path.startswith("numpy.") and path.count(".") == 1:
            found = getattr(np, path[6:], None)
            if isinstance(found, np.ufunc):
                return found
        raise plain.Opaque(path)

    def make_callback(self, number):
        def callback(*args, **kwargs):
            self.callbacks += 1
            try:
                message = {
                    "op": "callback", "id": number,
                    "args": [encode_result(item) for item in args],
                    "kwargs": {name: encode_result(item) for name, item in kwargs.items()},
                }  # fmt: skip
            except plain.Opaque as failed:
                raise CallbackOpaque(str(failed))
            self.channel.send(message)
            while True:
                message = self.channel.receive()
                if message["op"] == "callback_result":
                    break
                self.handle(message)
            if "value" in message:
                return Decoder(extra=self.decode_special, allowed=self.allowed).decode(message["value"])
            if "opaque" in message:
                error = TypeError("callback returned a value without plain form: %s" % message["opaque"])
            else:
                try:
                    error = Decoder(allowed=self.allowed).decode(message["exception"])
                except (plain.Opaque, TypeError, AttributeError):
                    error = CallbackFailed(message["error"]["message"])
            error._novelapi = ("callback",)
            raise error

        return callback


def clear():
    """Empty the working folder: no other call may find what this one wrote."""
    for folder, folders, files in os.walk(".", topdown=False):
        for name in [*files, *folders]:
            path = os.path.join(folder, name)
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)


def _places(message, args, kwargs):
    """Return [key, value, tree it came in as] of each argument, and of each item of a tuple (`out=(array,)`)."""
    found = [(key, value, message["args"][key]) for key, value in enumerate(args)]
    found += [(key, value, message["kwargs"][key]) for key, value in kwargs.items()]
    for key, value, before in list(found):
        if type(value) is tuple and type(before) is dict and before.get("$") == "tuple":
            found += [([key, number], item, before["items"][number]) for number, item in enumerate(value)]
    return found


def reseed(seed):
    """Set the random sources of `random` and numpy."""
    if "random" in sys.modules:
        sys.modules["random"].seed(seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(seed & 0xFFFFFFFF)


def channel_error(op):
    return ValueError("unknown request %r" % (op,))


async def _wait(awaitable):
    return await awaitable


def encode_result(value):
    """Encode for the candidate: plain, by reference, or pickled."""
    return codec.Encoder(extra=_offer, iterators=True).encode(value)


def _offer(encoder, value, cls, depth):
    if codec.is_iterator(cls):
        return None
    path = transfer.reference_path(value) if callable(value) else None
    if path is not None:
        return {"$": "reference", "path": path}
    try:
        data = pickle.dumps(value)
        if type(pickle.loads(data)) is not cls:  # a subclass of tuple that pickles as one (`date.isocalendar`)
            raise plain.Opaque("another type when unpickled")
        return {"$": "pickle", "base64": base64.b64encode(data).decode("ascii")}
    except plain.Opaque:
        raise
    except Exception as failed:  # pickling runs any code of any class; whatever it raises, the value cannot cross
        raise plain.Opaque("%s: %s" % (plain.qualified(cls), failed))


def exception_tree(error):
    try:
        pickle.loads(pickle.dumps(error))
        return {"$": "pickle", "base64": base64.b64encode(pickle.dumps(error)).decode("ascii")}
    except Exception:
        cls = type(error)
        if sys.modules.get(cls.__module__) is not None and issubclass(cls, Exception):
            return {"$": "missing_exception", "message": evidence.text_of(error, 2000)}
        return {"$": "missing_exception", "message": "%s: %s" % (plain.qualified(cls), evidence.text_of(error, 2000))}


def bind_input(parameters, message, namespace):
    """Evaluate the arguments of an input and bind them to the names of the entry point's parameters."""
    args = [eval(text, dict(namespace)) for text in message["args"]]
    kwargs = {name: eval(text, dict(namespace)) for name, text in message["kwargs"].items()}
    if parameters is None:
        return {}
    try:
        bound = parameters.bind(*args, **kwargs)
    except TypeError:
        return {}
    bound.apply_defaults()
    return dict(bound.arguments)


def parameters_of(signature, namespace):
    """Return the inspect.Signature of a `def` line, or None."""
    text = signature.strip()
    if not text:
        return None
    scope = dict(namespace)
    try:
        exec(compile(text.rstrip(":") + ":\n    pass", "<signature>", "exec"), scope)
    except Exception:
        return None
    name = text.split("(")[0].replace("async", "").replace("def", "").strip()
    function = scope.get(name)
    return inspect.signature(function) if callable(function) else None
