"""The server process of real calls: forked when the first call comes, kept for the next completions of a task."""

from __future__ import annotations

from dataclasses import replace

from novelapi.execution.limits import SampleLimits
from novelapi.execution.session import Message, Session
from novelapi.execution.zygote import Zygote, ZygoteError

MAX_TRIALS = 25
"""Completions after which a server is replaced."""


class RealCalls:
    """Makes real calls where no completion can reach; may serve several runs, and several completions of a task.

    It never runs a completion's code. A run that ended in the middle of a call leaves it in an unknown state: then it
    is closed, and forked anew for the next run. What calls leave behind in the library stays: whoever shares a server
    between completions has to prove that it did not matter (`evaluation.scoring`).
    """

    def __init__(self, zygote: Zygote) -> None:
        """Set the parent; nothing is started."""
        self.zygote = zygote
        self.session: Session | None = None
        self.served = 0
        """Trials that the server has served before this one."""

    def rest(self) -> None:
        """Say that a trial is over and the server, if there is one, may serve another."""
        if self.session is not None:
            self.served += 1

    def open(self, opening: Message, limits: SampleLimits, apis: list[str], deadline: float) -> Session:
        """Return the server's session; a run begins with the first call that says so (see guest/server.py).

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
        return self.session

    def close(self) -> Session | None:
        """End the server, if there is one, and return its session for the accounts."""
        session, self.session, self.served = self.session, None, 0
        if session is not None:
            session.close()
        return session
