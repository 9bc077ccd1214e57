"""The server process of real calls: one per trial of a completion, forked when the first call comes."""

from __future__ import annotations

from novelapi.execution.limits import SampleLimits
from novelapi.execution.session import Message, Session
from novelapi.execution.zygote import Zygote, ZygoteError


class RealCalls:
    """Makes real calls where no completion can reach; may serve several runs of the same completion.

    It never runs a completion's code. A run that ended in the middle of a call leaves it in an unknown state: then it
    is closed, and forked anew for the next run.
    """

    def __init__(self, zygote: Zygote) -> None:
        """Set the parent; nothing is started."""
        self.zygote = zygote
        self.session: Session | None = None

    def open(self, opening: Message, limits: SampleLimits, apis: list[str], deadline: float) -> Session:
        """Return the server's session, ready for a run.

        Raises:
            EndedError: it died while it started.
            ZygoteError: it refused to start.
        """
        if self.session is None:
            self.session = self.zygote.fork(limits, apis, role="server")
            self.session.send(opening, deadline)
        else:
            self.session.send({"op": "begin", "stub": opening["stub"]}, deadline)
        reply = self.session.receive(deadline, None)
        if reply["op"] != "ready":
            error = reply.get("error") or {}
            raise ZygoteError(f"the server of real calls did not start: {error.get('type')}: {error.get('message')}")
        return self.session

    def close(self) -> Session | None:
        """End the server, if there is one, and return its session for the accounts."""
        session, self.session = self.session, None
        if session is not None:
            session.close()
        return session
