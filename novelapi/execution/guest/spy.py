"""Spies: what stands in for a target inside the candidate's process.

Modes: `record` calls the real object in process and reports the call; `remote` sends the call to the server process,
where the real object runs, and falls back to `record` for one call whose values cannot cross; `sentinel` answers with an
object that can do nothing. Calls that a library makes by itself go to the real object and are not reported.
"""

import fcntl
import os
import sys
import threading

import codec
import describe
import evidence
import links
import plain
import targets
import transfer
from decoder import Decoder
from sentinel import Replaced

MAX_REPORTED = 200


class Host:
    """What spies need of the driver: the channel, the mode, the namespace of the completion."""

    def __init__(self, channel, mode, linked=()):
        self.channel = channel
        self.mode = mode
        self.links = links.Links(linked)
        self.lock = threading.RLock()
        self.between = Between()
        self.running = (
            threading.Event()
        )  # cleared while the driver waits for the judge: threads left over then wait too
        self._own = threading.local()
        self.reported = 0
        self.callbacks = []
        self.input = None
        self.environment = {}
        self.requirements = {}
        self.namespace = {}

    @property
    def inside(self):
        """Whether the harness itself is at work in this thread: encoding, decoding, describing."""
        return getattr(self._own, "inside", False)

    @inside.setter
    def inside(self, value):
        self._own.inside = value


class Between:
    """A lock between the processes that a completion forks: they share one channel. Entered under the threads' lock."""

    def __init__(self):
        self.fd = os.memfd_create("between")
        self.depth = 0

    def __enter__(self):
        if self.depth == 0:
            fcntl.lockf(self.fd, fcntl.LOCK_EX)
        self.depth += 1

    def __exit__(self, *error):
        self.depth -= 1
        if self.depth == 0:
            fcntl.lockf(self.fd, fcntl.LOCK_UN)


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
        self.own = frozenset(targets.codes_of([target])) if target.kind == "class" else frozenset()

    # Who calls?

    def caller(self, depth, own=False):
        """Return (counts, line, position) of a call: made by the completion's code, or by a function it was handed to.

        A class of the completion's `own` can only have been handed, also to a function that names the target.
        """
        frame = sys._getframe(depth)
        place = self.place(frame)
        if place == "completion":
            return True, frame.f_lineno, evidence.positions(frame.f_code, frame.f_lasti)
        if not own and self.named_in(frame):
            return False, None, None
        while frame is not None:
            if self.place(frame) == "completion":
                return True, frame.f_lineno, None
            frame = frame.f_back
        # A thread starts with a function that it was handed; whatever calls the target by its own name was told apart above.
        return threading.current_thread() is not threading.main_thread(), None, None

    def named_in(self, frame):
        """Whether a function of a library names the target itself, also in a module that was imported later."""
        names, known = frame.f_code.co_names, frame.f_globals
        if frame.f_code in self.own:  # a class method of the target that makes an instance by `cls(...)`
            return True
        if not self.target.aliases.isdisjoint(names):
            return True
        standing = (self.target.real, self.target.replacement)
        return any(known[name] is one for name in names if name in known for one in standing)

    def place(self, frame):
        """Whether a frame runs code of the completion: its own text, or what it compiled or put together at run time."""
        name, names = frame.f_code.co_filename, frame.f_globals
        if name == evidence.COMPLETION:
            return "completion"
        if name in (evidence.CONTEXT, evidence.TEST) or name.startswith((evidence.GUEST, "<frozen")):
            return "other"
        if names is self.host.namespace:
            return "completion"
        module = sys.modules.get(names.get("__name__"))
        return "completion" if module is None or vars(module) is not names else "other"

    # One call

    def call(self, real, args, kwargs, depth=3, remote=True, own=False):
        if self.host.inside:
            return real(*args, **kwargs)
        counts, line, position = self.caller(depth, own)
        if not counts:
            return real(*args, **kwargs)
        mode = self.host.mode
        if mode == "sentinel":
            found = self.describe(args, kwargs, line, position)
            if found is None or describe.asked_for(found):
                self.report(found, {"returned": True, "result": "sentinel"})
                return Replaced()
        if mode == "remote" and remote:
            found = self.remote(args, kwargs, line, position)
            if found is not None:
                return found[0]
        return self.local(real, args, kwargs, line, position)

    def local(self, real, args, kwargs, line, position):
        found = self.describe(args, kwargs, line, position)  # before the call, which may change its arguments
        try:
            result = real(*args, **kwargs)
        except BaseException as error:
            self.report(found, {"error": evidence.error_of(error, targets.codes_of([self.target]))})
            raise
        with self.host.lock, Inside(self.host):
            text = describe.excerpt(result)
            self.host.links.give(self.number, result)
        self.report(found, {"returned": True, "result": text})
        return result

    def describe(self, args, kwargs, line, position):
        if self.host.reported >= MAX_REPORTED:
            return None
        found = {"op": "called", "spy": self.number, "line": line, "position": position}
        with self.host.lock, Inside(self.host):
            required = self.host.requirements.get(self.number)
            found.update(describe.describe(self.target, args, kwargs, required, self.host.environment))
            found["links"] = self.host.links.taken(self.target, self.number, args, kwargs)
        return found

    def report(self, found, rest):
        if found is None:
            return
        self.host.reported += 1
        found.update(rest)
        with self.host.lock, self.host.between:
            self.host.channel.send(found)

    def subclassed(self, name):
        """Report that the completion made a class of its own out of the target."""
        if self.host.inside:
            return
        counts, line, position = self.caller(3)
        if counts:
            found = {"op": "called", "spy": self.number, "line": line, "position": position, "bound": True}
            self.report(
                dict(found, arguments={}, required={}, subclass=True), {"returned": True, "result": "class %s" % name}
            )

    def remote(self, args, kwargs, line, position):
        """Return a one-tuple with the result, or None if the values cannot cross."""
        args, kwargs = list(args), dict(kwargs)
        self.host.running.wait()
        try:
            with self.host.lock, Inside(self.host):
                transfer.drain_iterators(args, kwargs)
                encoder = codec.Encoder(extra=self.offer)
                message = {
                    "op": "call", "spy": self.number, "line": line, "position": position,
                    "args": [transfer.encode_argument(encoder, value) for value in args],
                    "kwargs": {str(name): transfer.encode_argument(encoder, value) for name, value in kwargs.items()},
                }  # fmt: skip
        except plain.Opaque:
            return (self.local(_real_of(self), args, kwargs, line, position),)
        with self.host.lock, self.host.between:
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
                    error = Decoder(extra=transfer.from_server, trusted=True).decode(reply["error"])
                raise error
            else:  # "local": the server could not send the result
                return (self.local(_real_of(self), args, kwargs, line, position),)

    def take(self, reply, args, kwargs):
        """Return the result of a remote call; arguments that the target changed are changed here too."""
        with Inside(self.host):
            decoder = Decoder(extra=transfer.from_server, trusted=True)
            for key, tree in reply["mutated"]:
                transfer.write_back(transfer.argument(args, kwargs, key), decoder.decode(tree))
            if reply["same"] is not None:
                result = transfer.argument(args, kwargs, reply["same"])
            else:
                result = decoder.decode(reply["value"])
            self.host.links.give(self.number, result)
            return result

    def offer(self, encoder, value, cls, depth):
        """Tag what is not plain: functions of libraries by name, others as callbacks."""
        path = transfer.reference_path(value)
        if path is not None:
            return {"$": "reference", "path": path}
        if callable(value) and not isinstance(value, type):
            self.host.callbacks.append(value)
            return {"$": "callback", "id": len(self.host.callbacks) - 1}
        return None

    def run_callback(self, message):
        function = self.host.callbacks[message["id"]]
        decoder = Decoder(extra=transfer.from_server, trusted=True)
        with Inside(self.host):
            args = [decoder.decode(item) for item in message["args"]]
            kwargs = {name: decoder.decode(item) for name, item in message["kwargs"].items()}
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            return {
                "op": "callback_result",
                "error": evidence.error_of(error),
                "exception": transfer.exception_tree(error),
            }
        try:
            return {"op": "callback_result", "value": codec.Encoder(extra=self.offer, iterators=True).encode(result)}
        except plain.Opaque as failed:
            return {"op": "callback_result", "opaque": str(failed)}


def _real_of(spy):
    target = spy.target
    if target.kind == "class" and hasattr(spy, "construct"):
        return spy.construct
    return target.real
