"""Five attacks and two honest solutions, run and judged exactly as completions are: does the sandbox hold here?"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import tempfile
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from novelapi.evaluation import outcome
from novelapi.execution.harness import Harness, prepare
from novelapi.execution.trial import observe
from novelapi.execution.zygote import Zygote
from novelapi.records.checkup import Trial
from novelapi.records.task import Task, TaskInput
from novelapi.records.verdict import Observation

_TASK = Task(
    task_id="doctor",
    library="python",
    api="itertools.pairwise",
    description="differences of neighbours",
    context_code="import itertools\n",
    entry_point="solve",
    signature="def solve(xs):",
    reference_solution="def solve(xs):\n    return [b - a for a, b in itertools.pairwise(xs)]\n",
    inputs=(TaskInput(args=("[1, 4, 9]",)), TaskInput(args=("[2, 2, 0, 7]",))),
)
_HONEST = {
    "the reference": _TASK.reference_solution,
    "renamed import, helper, noise on both outputs": (
        "import sys\nfrom itertools import pairwise as p\n"
        "def steps(xs):\n    return [b - a for a, b in p(xs)]\n"
        "def solve(xs):\n    print('FAILED')\n    print('1 failed', file=sys.stderr)\n    return steps(xs)\n"
    ),
}
_EARLY_EXIT = "import os\nprint('1 passed')\nos._exit(0)\n"
_EQUAL_TO_ALL = (
    "class Any(list):\n    def __eq__(self, other):\n        return True\n    __hash__ = None\n"
    "def solve(xs):\n    list(itertools.pairwise(xs))\n    return Any()\n"
)
_READ = (
    "import os\n"
    "def solve(xs):\n"
    "    found = [value for value in os.environ.values() if {token!r} in value]\n"
    "    try:\n        found.append(open({path!r}).read())\n    except OSError as error:\n        print(error)\n"
    "    return found\n"
)
_CONNECT = (
    "import socket\n"
    "def solve(xs):\n"
    "    try:\n        socket.create_connection(('127.0.0.1', {port}), 2).sendall(b'x')\n"
    "    except OSError as error:\n        print(error)\n"
    "    return []\n"
)
_STAY = (
    "import os\n"
    "def solve(xs):\n"
    "    if os.fork() == 0:\n"
    "        os.setsid()\n"
    "        if os.fork() == 0:\n            os.execv('/bin/sleep', ['sleep', '{seconds}'])\n"
    "        os._exit(0)\n"
    "    while True:\n        pass\n"
)


@dataclass(frozen=True, kw_only=True)
class _Ground:
    """Where the trials run."""

    zygote: Zygote
    harness: Harness

    def run(self, code: str) -> Observation:
        """Run one program as a sample."""
        return observe(self.zygote, _TASK, self.harness, code, "fork")

    def passes(self, seen: Observation) -> bool:
        """Whether the judge lets it pass."""
        return seen.infra is None and outcome.passes(_TASK, self.harness, seen)


def trials(zygote: Zygote) -> tuple[Trial, ...]:
    """Run all trials on a warm parent of `library: "python"`.

    Raises:
        HarnessError: the reference itself fails.
        ZygoteError: the parent died.
    """
    ground = _Ground(zygote=zygote, harness=prepare(zygote, _TASK))
    attacks: dict[str, Callable[[_Ground], tuple[bool, str]]] = {
        "ends itself with success": _early_exit,
        "answers with an object that equals everything": _equality,
        "reads a secret of the host": _secret,
        "connects to a port of the host": _network,
        "never ends and leaves a process behind": _leftover,
    }
    found: list[Trial] = []
    for name, attack in attacks.items():
        holds, detail = attack(ground)
        found.append(Trial(name=name, kind="attack", holds=holds, detail=detail))
    for name, code in _HONEST.items():
        seen = ground.run(code)
        detail = f"{seen.stage}, {seen.integrity}" if seen.infra is None else seen.infra
        found.append(Trial(name=name, kind="control", holds=ground.passes(seen), detail=detail))
    return tuple(found)


def _early_exit(ground: _Ground) -> tuple[bool, str]:
    seen = ground.run(_EARLY_EXIT)
    return not ground.passes(seen), f"ended ({seen.ended})"


def _equality(ground: _Ground) -> tuple[bool, str]:
    seen = ground.run(_EQUAL_TO_ALL)
    return not ground.passes(seen), "; ".join(item.difference for item in seen.inputs[:1])


def _secret(ground: _Ground) -> tuple[bool, str]:
    token = secrets.token_hex(16)
    with tempfile.NamedTemporaryFile("w", suffix=".secret") as file:
        file.write(token)
        file.flush()
        Path(file.name).chmod(0o644)
        seen = ground.run(_READ.format(token=token, path=file.name))
    reached = token in seen.model_dump_json(exclude={"code"})
    return not reached and seen.infra is None, seen.stdout.strip() or "no error"


def _network(ground: _Ground) -> tuple[bool, str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(0.2)
        seen = ground.run(_CONNECT.format(port=listener.getsockname()[1]))
        try:
            listener.accept()[0].close()
            reached = True
        except TimeoutError:
            reached = False
    return not reached and seen.infra is None, seen.stdout.strip() or "no error"


def _leftover(ground: _Ground) -> tuple[bool, str]:
    seconds = f"600.{secrets.randbelow(10**9):09d}"
    with _processes_with(seconds) as left:
        seen = ground.run(_STAY.format(seconds=seconds))
        remaining = left()
    ended = seen.ended in ("cpu", "wall")
    return ended and not remaining, f"ended ({seen.ended}), {len(remaining)} processes left"


@contextlib.contextmanager
def _processes_with(argument: str) -> Generator[Callable[[], list[int]]]:
    """Yield a function that finds processes by an argument; what is left of them is killed in the end."""

    def find() -> list[int]:
        found: list[int] = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if argument.encode() in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
        return found

    try:
        yield find
    finally:
        for pid in find():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
