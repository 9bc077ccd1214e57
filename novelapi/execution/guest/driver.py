"""What a forked child does: it is either the candidate (context, completion, inputs) or the server of real calls.

The judge leads: it sends one request and waits for one answer; while a request runs, the candidate may send calls.
Nothing here knows an expected value.
"""

import inspect
import linecache
import sys
import types

import codec
import evidence
import plain
import server
import spy
import standins
import targets
from channel import Channel, Closed

_exec, _compile, _eval = exec, compile, eval


class Failed(Exception):
    """A request ended with an exception of the code under test."""

    def __init__(self, stage, error):
        self.stage = stage
        self.error = error


def run(sock, limit_memory):
    """Serve one conversation; returns when the judge hangs up.

    `limit_memory` is called once, when everything that is ours was imported and before a completion is compiled or a
    call of one is made.
    """
    channel = Channel(sock)
    try:
        start = channel.receive()
        if start["op"] == "server":
            serve(channel, start, limit_memory)
        else:
            Candidate(channel, start).serve(limit_memory)
    except Closed:
        pass


def make_module(name):
    """An empty module that the code runs in; found by pickling and string annotations under its name."""
    module = types.ModuleType(name)
    module.__file__ = evidence.COMPLETION
    sys.modules[name] = module
    return module


def execute(text, filename, namespace, stage):
    """Compile and run one unit of code.

    Raises Failed with the stage: `compile` for what the compiler refuses, else the given one.
    """
    try:
        code = _compile(text, filename, "exec", 0, True)
    except BaseException as error:
        raise Failed("compile", error)
    lines = text.splitlines(True)
    linecache.cache[filename] = (len(text), None, lines, filename)
    try:
        _exec(code, namespace)
    except Closed:
        raise
    except BaseException as error:
        raise Failed(stage, error)


PRIMED = {}


def prime(api):
    """Find a target and all references to it in the warm parent, once: the children inherit what was found."""
    if api not in PRIMED:
        try:
            target = targets.resolve(api)
        except Exception as error:  # importing a library may raise anything; the child meets it again and reports it
            PRIMED[api] = None
            return "%s: %s" % (type(error).__name__, error)
        targets.locate(target)
        target.get_signature()
        PRIMED[api] = target
    return None


def find_targets(specs):
    return [PRIMED.get(spec["api"]) or targets.resolve(spec["api"]) for spec in specs]


def serve(channel, start, limit_memory):
    """Be the server of real calls."""
    namespace = make_module("solution").__dict__
    try:
        found = find_targets(start["specs"])
        execute(start["context"], evidence.CONTEXT, namespace, "context")
    except targets.NotFound as error:
        channel.send({"op": "failed", "stage": "target", "error": evidence.error_of(error)})
        return
    except Failed as failed:
        channel.send({"op": "failed", "stage": failed.stage, "error": evidence.error_of(failed.error)})
        return
    requirements = {number: spec["required"] for number, spec in enumerate(start["specs"])}
    parameters = server.parameters_of(start["signature"], namespace)
    server.reseed(start["seed"])
    worker = server.Server(channel, found, namespace, requirements, parameters, start)
    limit_memory()
    channel.send({"op": "ready"})
    worker.serve()


class Candidate:
    """The process that runs a completion."""

    def __init__(self, channel, start):
        self.channel = channel
        self.start = start
        self.namespace = make_module("solution").__dict__
        self.host = spy.Host(channel, start["mode"], start["links"])
        self.host.namespace = self.namespace
        self.codes = frozenset()

    def serve(self, limit_memory):
        surveys = self.prepare()
        if surveys is None:
            return
        limit_memory()
        self.channel.send({"op": "ready", "surveys": surveys})
        handlers = {"load": self.load, "input": self.input, "script": self.script, "modules": self.modules}
        while True:
            request = self.channel.receive()
            self.host.running.set()
            try:
                answer = handlers[request["op"]](request)
            except Failed as failed:
                answer = {"op": "error", "stage": failed.stage, "error": evidence.error_of(failed.error, self.codes)}
            self.host.running.clear()
            with self.host.lock:
                self.channel.send(answer)

    def prepare(self):
        """Install the spies and run the context; returns what the targets are, or None if that failed."""
        start = self.start
        stage = "target"
        try:
            # A plain run has no targets: it may be made in a release that does not have them.
            found = find_targets(start["specs"]) if start["mode"] != "plain" else []
            self.codes = frozenset(targets.codes_of(found))
            evidence.OWNERS[:] = [target.owner for target in found if isinstance(target.owner, type)]
            surveys = [targets.survey(target) for target in found] if start.get("survey") else []
            for number, target in enumerate(found):
                standins.install(spy.Spy(number, target, self.host))
            server.reseed(start["seed"])
            self.host.inside = True  # calls that the context makes are not the completion's
            execute(start["context"], evidence.CONTEXT, self.namespace, "context")
            self.host.inside = False
        except targets.NotFound as error:
            self.channel.send({"op": "failed", "stage": stage, "error": evidence.error_of(error)})
            return None
        except Failed as failed:
            self.channel.send({"op": "failed", "stage": failed.stage, "error": evidence.error_of(failed.error)})
            return None
        self.host.requirements = {number: spec["required"] for number, spec in enumerate(start["specs"])}
        self.context_names = dict(self.namespace)
        self.host.environment = dict(self.namespace)
        return surveys

    def load(self, request):
        execute(request["code"], evidence.COMPLETION, self.namespace, "load")
        if request["entry"] and not callable(self.namespace.get(request["entry"])):
            raise Failed("entry", NameError("the completion defines no function '%s'" % request["entry"]))
        return {"op": "loaded"}

    def input(self, request):
        """Evaluate the arguments in the context's namespace, call the entry point, encode the answer."""
        self.host.input, self.host.mode = request["index"], request["mode"]
        self.host.links.forget()
        server.reseed(self.start["seed"])
        self.host.inside = True
        try:
            args = [_eval(text, dict(self.context_names)) for text in request["args"]]
            kwargs = {name: _eval(text, dict(self.context_names)) for name, text in request["kwargs"].items()}
            self.host.environment = dict(self.context_names)
            # The server does this for remote calls; it is only needed where a required value names a parameter.
            if self.host.mode != "remote" and any(self.host.requirements.values()):
                parameters = server.parameters_of(self.start["signature"], self.context_names)
                self.host.environment.update(server.bind_input(parameters, request, self.context_names))
        except Exception as error:
            raise Failed("input", error)
        self.host.inside = False
        server.reseed(self.start["seed"])
        answer = {"op": "answer", "nonce": request["nonce"]}
        try:
            result = self.namespace[request["entry"]](*args, **kwargs)
        except Closed:
            raise
        except BaseException as error:
            answer["error"] = evidence.error_of(error, self.codes)
            return answer
        return self.observed(answer, result, request["observe"])

    def observed(self, answer, result, observe):
        self.host.inside = True
        if observe:
            try:
                result = _eval(observe, dict(self.context_names, result=result))
            except Exception as error:
                answer["opaque"] = "the answer cannot be observed: %s" % evidence.text_of(error, 300)
                answer["observe_error"] = evidence.error_of(error, self.codes)
                self.host.inside = False
                return answer
        try:
            answer["value"] = codec.Encoder().encode(result)
        except plain.Opaque as failed:
            answer["opaque"] = "the answer is not plain data: %s" % failed
            answer["kind"] = kind_of(result)
        except Exception as error:
            answer["opaque"] = "the answer cannot be read: %s" % evidence.text_of(error, 300)
        self.host.inside = False
        return answer

    def script(self, request):
        """Run a test in the completion's namespace."""
        execute(request["test"], evidence.TEST, self.namespace, "test")
        return {"op": "answer", "nonce": request["nonce"], "value": None}

    def modules(self, request):
        return {"op": "modules", "names": sorted(name for name in sys.modules if name != "solution")}


def kind_of(value):
    """Name what has to be awaited or iterated before it does anything."""
    if inspect.iscoroutine(value):
        return "coroutine"
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return "generator"
    return "object"
