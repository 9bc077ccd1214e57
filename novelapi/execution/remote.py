"""The server process of real calls: forked when the first call comes, kept for the next completions of a task."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from novelapi.execution.limits import SampleLimits
from novelapi.execution.session import Message, Session
from novelapi.execution.zygote import Zygote, ZygoteError

MAX_TRIALS = 25
"""Completions after which a server is replaced."""
MAX_KNOWN_BYTES = 16 << 20
"""Size of the replies that are remembered for one task."""
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class RealCalls:
    """Makes real calls where no completion can reach; may serve several runs, and several completions of a task.

    It never runs a completion's code. A run that ended in the middle of a call leaves it in an unknown state: then it
    is closed, and forked anew for the next run. What calls leave behind in the library stays: whoever shares a server
    between completions has to prove that it did not matter (`evaluation.scoring`).

    Most right completions of a task make the same calls. What a server that had served nobody answered to a sequence
    of calls, from the first one of a trial on, is what any such server answers: it is remembered by that sequence, and
    the call is not made again. A trial that leaves the known sequence catches up on what was not made.
    """

    def __init__(self, zygote: Zygote) -> None:
        """Set the parent; nothing is started."""
        self.zygote = zygote
        self.session: Session | None = None
        self.served = 0
        """Trials that the server has served before this one."""
        self.doubtful = False
        """Whether calls of this trial reached a server that others had used."""
        self._sequence: str | None = None
        """Digest of all calls of this trial, while replies to them may be remembered."""
        self._known: dict[str, Message] = {}
        self._room = MAX_KNOWN_BYTES
        self._missed: list[Message] = []
        """Calls of this trial that were answered from memory, and that its server has not seen."""

    def begin(self, *, recall: bool) -> None:
        """Begin a trial; without it, and once the server was closed in it, nothing is answered from memory.

        Args:
            recall: whether calls may be answered from memory; a trial that is to show that a server answers alike again
                must make them.
        """
        self.doubtful = False
        self._sequence = "" if recall else None
        self._missed.clear()

    def rest(self) -> None:
        """Say that a trial is over and the server, if there is one, may serve another."""
        if self.session is not None:
            self.served += 1

    def recalled(self, request: Message) -> Message | None:
        """Return the reply to a call if the same sequence of calls was made before, else null: it has to be made."""
        if self._sequence is None:
            return None
        self._sequence = hashlib.sha256(f"{self._sequence}\n{_canonical(request)}".encode()).hexdigest()
        found = self._known.get(self._sequence)
        if found is not None:
            self._missed.append(request)
        return found

    def remember(self, reply: Message) -> None:
        """Keep the reply to the call that was asked for last, if its server had served this trial alone."""
        if self._sequence is None or self.doubtful:
            return
        size = len(json.dumps(reply))
        if size <= self._room:
            self._room -= size
            self._known[self._sequence] = reply

    def lose_track(self) -> None:
        """Say that what the server does now also depends on what the completion answers to it (a callback)."""
        self._sequence = None

    def open(
        self, opening: Message, limits: SampleLimits, apis: list[str], deadline: float, cpu_deadline_ms: float | None
    ) -> Session:
        """Return the server's session, once it has seen all calls of this trial.

        A run begins with the first call that says so (see guest/server.py).

        Raises:
            EndedError: it died while it started.
            ZygoteError: it refused to start.
        """
        if self.session is None:
            # The judge's clock bounds each trial; the kernel's own limit bounds the server's whole life.
            self.session = self.zygote.fork(replace(limits, cpu_s=limits.cpu_s * MAX_TRIALS), apis, role="server")
            self.session.send(opening, deadline)
            reply = self.session.receive(deadline, None)
            if reply["op"] != "ready":
                error = reply.get("error") or {}
                raise ZygoteError(
                    f"the server of real calls did not start: {error.get('type')}: {error.get('message')}"
                )
        self.doubtful = self.doubtful or self.served > 0
        missed, self._missed = self._missed, []
        for request in missed:
            self.session.send(request, deadline)
            if self.session.receive(deadline, cpu_deadline_ms)["op"] == "callback":
                raise ZygoteError("the server of real calls answers otherwise than before")
        return self.session

    def close(self) -> Session | None:
        """End the server, if there is one, and return its session for the accounts."""
        session, self.session, self.served = self.session, None, 0
        self._sequence = None  # what a new one would see of this trial is not all of it
        if session is not None:
            session.close()
        return session
