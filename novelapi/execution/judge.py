"""The judge: owns inputs, expected values, assertions and the clock; the completion runs elsewhere.

One conversation per run: `candidate` -> ready, `load` -> loaded, then per input a fresh nonce that the answer must
carry. In remote mode the calls of the target are relayed to a server process, and the record of them is made from what
the server says. What the candidate sends is data from a stranger: it is decoded, bounded, compared, never executed.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any, Literal

from pydantic import ValidationError

from novelapi.execution import values
from novelapi.execution.answers import Answer, Run, verdict_on
from novelapi.execution.limits import SampleLimits
from novelapi.execution.remote import RealCalls
from novelapi.execution.replacement import Replacement
from novelapi.execution.session import EndedError, Message, Session
from novelapi.execution.zygote import Zygote, ZygoteError
from novelapi.records.task import Task, TaskInput
from novelapi.records.verdict import CallRecord, ErrorEvidence

Mode = Literal["plain", "record", "remote", "sentinel"]

RECORDED = (
    "arguments", "bound", "required", "links", "returned", "result", "error", "late", "callback", "subclass",
)  # fmt: skip
"""What the guest says of a call."""


class ProtocolError(Exception):
    """The candidate sent something that is not of the protocol."""


class Conversation:
    """One run: the candidate, and the server of real calls once it is needed."""

    def __init__(
        self,
        zygote: Zygote,
        task: Task,
        mode: Mode,
        limits: SampleLimits,
        stub: Replacement | None = None,
        *,
        survey: bool = False,
        real: RealCalls | None = None,
    ) -> None:
        """Set what is run; nothing is started."""
        self.owns_server = real is None
        self.real = real or RealCalls(zygote)
        self.survey = survey
        self.zygote = zygote
        self.task = task
        self.mode: Mode = mode
        self.limits = limits
        self.stub = stub
        self.run = Run()
        self.apis = [call.api for call in task.calls] if mode != "plain" else []
        self.input: int | None = None
        self.told_run = False
        self.told_input: int | None = None
        """What the server of real calls was told of."""
        self.candidate: Session | None = None
        self._set_clocks()

    def _set_clocks(self) -> None:
        started = self.zygote.group.cpu_ms()
        self.cpu_started = started
        self.cpu_deadline = None if started is None else started + 1000 * self.limits.cpu_s
        self.deadline = time.monotonic() + self.limits.wall_s

    # The whole run

    def go(self, code: str, stop: values.Comparison | None = None, *, keep: bool = False) -> Run:
        """Run the code on all inputs; with `stop`, end after the first input whose answer is not the expected one.

        With `keep` a candidate that answered everything stays: ask it `again`, then `close`.
        """
        self._guarded(lambda: self._first(code, stop), keep)
        return self.run

    def again(self, stub: Replacement | None, *, mode: Mode | None = None) -> Run:
        """Give the kept candidate all inputs once more, with another replacement of the target's results; end it.

        Args:
            stub: how results are replaced (mode `remote`), or null.
            mode: what stands in for the targets now; null for what it was.
        """
        self.mode = mode or self.mode
        self.run = Run(stage="run")
        self.stub = stub
        self.told_run, self.told_input = False, None
        self._set_clocks()
        self._guarded(lambda: self._inputs(None), keep=False)
        return self.run

    def close(self) -> None:
        """End a kept candidate."""
        candidate, self.candidate = self.candidate, None
        if candidate is not None:
            candidate.close()

    def _first(self, code: str, stop: values.Comparison | None) -> None:
        self.candidate = self.zygote.fork(self.limits, self.apis)
        if self._start() and self._load(code):
            self._inputs(stop)
            if self.survey:
                self.run.modules = frozenset(map(str, self._ask({"op": "modules"}).get("names") or ()))

    def _guarded(self, talk: Callable[[], None], keep: bool) -> None:
        """Talk with the candidate; whatever ends the conversation becomes part of the run."""
        began = time.monotonic()
        self.zygote.group.reset_peak()
        try:
            talk()
        except EndedError as ended:
            self.run.ended, self.run.ended_detail = ended.reason, ended.detail
        except ProtocolError as error:
            self.run.ended, self.run.ended_detail = "protocol", str(error)
        except ZygoteError as error:
            self.run.infra = str(error)
        finally:
            self._finish(began, keep)

    def _finish(self, began: float, keep: bool) -> None:
        run = self.run
        closed: list[Session] = []
        keep = keep and run.ended is None and run.infra is None and run.stage == "done"
        try:
            if self.candidate is not None:
                run.output = self.candidate.output()
                if not keep:
                    closed.append(self.candidate)
                    self.close()
        except ZygoteError as error:
            run.infra = run.infra or str(error)
        try:
            if (self.owns_server and not keep) or run.ended is not None or run.infra is not None:
                server = self.real.close()
                closed += [server] if server is not None else []
        except ZygoteError as error:
            run.infra = run.infra or str(error)
        for session in closed:
            if session.ended is not None:
                run.cpu_ms += session.ended["cpu_ms"]
                run.peak_kb = max(run.peak_kb, session.ended["peak_kb"])
        used = self.zygote.group.cpu_ms()
        if used is not None and self.cpu_started is not None:
            run.cpu_ms = used - self.cpu_started
        run.wall_ms = (time.monotonic() - began) * 1000

    def _start(self) -> bool:
        reply = self._ask(self._opening("candidate"))
        if reply["op"] == "ready":
            self.run.surveys = reply.get("surveys") or []
            return True
        self.run.infra = f"{reply.get('stage')}: {_text(reply)}"
        return False

    def _opening(self, role: str) -> Message:
        task = self.task
        return {
            "op": role,
            "specs": [{"api": call.api, "required": call.required} for call in task.calls],
            "context": task.context_code,
            "signature": task.signature,
            "links": [link.model_dump() for link in task.links],
            "mode": self.mode,
            "stub": self._stub,
            "seed": task.seed or 0,
            "survey": self.survey,
        }

    @property
    def _stub(self) -> Message | None:
        return self.stub.for_guest() if self.stub is not None else None

    def _load(self, code: str) -> bool:
        entry = task_entry(self.task)
        reply = self._ask({"op": "load", "code": code, "entry": entry})
        if reply["op"] == "loaded":
            self.run.stage = "run"
            return True
        self.run.stage = reply.get("stage") if reply.get("stage") in ("compile", "load", "entry") else "load"  # type: ignore[assignment]
        self.run.error = _error(reply.get("error"))
        return False

    def _inputs(self, stop: values.Comparison | None) -> None:
        if self.task.kind == "script":
            self._script()
            return
        for index, given in enumerate(self.task.inputs):
            self.input = index
            answer = self._input(index, given)
            self.run.answers.append(answer)
            if stop is not None and self.task.expected is not None:
                if verdict_on(answer, self.task.expected[index], stop) is not None:
                    break
        self.run.stage = "done"

    def _input(self, index: int, given: TaskInput) -> Answer:
        nonce = secrets.token_hex(16)
        reply = self._ask(
            {
                "op": "input", "index": index, "nonce": nonce, "args": list(given.args), "kwargs": dict(given.kwargs),
                "observe": self.task.observe, "entry": task_entry(self.task), "mode": self.mode,
            }
        )  # fmt: skip
        if reply["op"] == "error":
            return Answer(error=_error(reply.get("error")))
        if reply["op"] != "answer" or reply.get("nonce") != nonce:
            raise ProtocolError("an answer without the right nonce")
        if "error" in reply:
            return Answer(error=_error(reply["error"]))
        if "value" in reply:
            return Answer(value=reply["value"])
        kind = reply.get("kind")
        return Answer(opaque=str(reply.get("opaque"))[:500], kind=kind if isinstance(kind, str) else None)

    def _script(self) -> None:
        nonce = secrets.token_hex(16)
        reply = self._ask({"op": "script", "test": self.task.test_code, "nonce": nonce})
        if reply["op"] == "error":
            self.run.answers.append(Answer(error=_error(reply.get("error"))))
        elif reply["op"] != "answer" or reply.get("nonce") != nonce:
            raise ProtocolError("an answer without the right nonce")
        else:
            self.run.answers.append(Answer(value=None))
        self.run.stage = "done"

    # Messages

    def _ask(self, request: Message) -> Message:
        """Send one request to the candidate and serve its calls until the answer comes."""
        assert self.candidate is not None
        self.candidate.send(request, self.deadline)
        while True:
            message = self.candidate.receive(self.deadline, self.cpu_deadline)
            if message["op"] == "call":
                self._relay(message)
            elif message["op"] == "called":
                self._record(message, message, "local")
            else:
                return message

    def _relay(self, message: Message) -> None:
        """Pass a call to the server, callbacks back to the candidate, and the result to the candidate."""
        assert self.candidate is not None
        if self.mode != "remote":
            raise ProtocolError("a remote call in a local run")
        request = self._invocation(message)
        reply = self.real.recalled(request)
        if reply is None:
            reply = self._called(request)
            self.real.remember(reply)
        if reply["op"] != "local":
            self._record(message, reply["record"], "remote")
            self.run.stubbed = self.run.stubbed or bool(reply["record"].get("stubbed"))
        self.candidate.send({key: item for key, item in reply.items() if key != "record"}, self.deadline)

    def _called(self, request: Message) -> Message:
        """Let the server make a call; its callbacks go to the candidate."""
        assert self.candidate is not None
        opening = self._opening("server")
        server = self.real.open(opening, self.limits, self.apis, self.deadline, self.cpu_deadline)
        server.send(request, self.deadline)
        while True:
            reply = server.receive(self.deadline, self.cpu_deadline)
            if reply["op"] != "callback":
                return reply
            self.real.lose_track()
            self.candidate.send(reply, self.deadline)
            server.send(self._callback_result(), self.deadline)

    def _callback_result(self) -> Message:
        assert self.candidate is not None
        while True:
            message = self.candidate.receive(self.deadline, self.cpu_deadline)
            if message["op"] == "call":
                self._relay(message)
            elif message["op"] == "called":
                self._record(message, message, "local")
            elif message["op"] == "callback_result":
                return message
            else:
                raise ProtocolError("an answer in the middle of a callback")

    def _invocation(self, message: Message) -> Message:
        """Make the request of a call, and say in it what is new to the server: a run, an input."""
        try:
            request = {"op": "invoke", "spy": self._spy(message), "args": message["args"], "kwargs": message["kwargs"]}
        except KeyError as error:
            raise ProtocolError("a call without arguments") from error
        if not self.told_run:
            request["run"] = {"stub": self._stub}
            self.told_run = True
        if self.told_input != self.input and self.input is not None:
            given = self.task.inputs[self.input]
            request["input"] = {"args": list(given.args), "kwargs": dict(given.kwargs)}
            self.told_input = self.input
        return request

    def _spy(self, message: Message) -> int:
        number = message.get("spy")
        if type(number) is not int or not 0 <= number < len(self.task.calls):
            raise ProtocolError("a call of an unknown spy")
        return number

    def _record(self, message: Message, record: Message, where: Literal["local", "remote"]) -> None:
        api = self.task.calls[self._spy(message)].api
        known = {name: record[name] for name in RECORDED if name in record}
        try:
            self.run.calls.append(
                CallRecord(
                    api=api, input=self.input, origin="completion", where=where,
                    line=message.get("line"), position=message.get("position"), **known,
                )
            )  # fmt: skip
        except ValidationError as error:
            raise ProtocolError("a malformed record of a call") from error


def task_entry(task: Task) -> str:
    """Return the name of the function to call, or nothing for a script."""
    return task.entry_point if task.kind == "function" else ""


def _error(data: Any) -> ErrorEvidence:
    """Read what the guest says of an exception."""
    try:
        return ErrorEvidence.model_validate(data)
    except ValidationError as error:
        raise ProtocolError("malformed evidence of an exception") from error


def _text(reply: Message) -> str:
    error = reply.get("error")
    if isinstance(error, dict):
        return f"{error.get('type')}: {error.get('message')}"[:500]
    return str(reply)[:500]


def run_code(
    zygote: Zygote,
    task: Task,
    code: str,
    *,
    mode: Mode,
    limits: SampleLimits,
    stub: Replacement | None = None,
    stop: values.Comparison | None = None,
    survey: bool = False,
    real: RealCalls | None = None,
) -> Run:
    """Run code against a task once.

    Args:
        zygote: the warm parent of the task's environment.
        task: inputs, context, targets.
        code: the completion, already extracted.
        mode: what stands in for the targets.
        limits: what the run may use.
        stub: how results of targets are replaced (mode `remote`), or null.
        stop: comparison by which the run ends at the first wrong answer; null runs all inputs.
        survey: whether to look the targets up in all modules of their packages (`Run.surveys`).
        real: server of real calls that several runs of the same code share; null for one of its own.
    """
    return Conversation(zygote, task, mode, limits, stub, survey=survey, real=real).go(code, stop)
