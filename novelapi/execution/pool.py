"""Slots: worker processes, each with its own warm parents and its own judge, fed one job at a time.

A job is a function of (slot, payload) at the top level of a module; its result must be picklable. A slot that dies is
replaced and its job is given to another one; a job that kills two slots is reported, not repeated for ever.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from novelapi.execution import cgroups
from novelapi.execution.launcher import GROUP_PREFIX, Backend, Launcher, LocalLauncher
from novelapi.execution.zygote import Zygote, ZygoteError, isolation_record
from novelapi.records.environment import Environment

P = TypeVar("P")
R = TypeVar("R")

RECYCLE_AFTER = 2000
"""Children after which a warm parent is replaced."""
LESSONS = 3
"""How often the list of modules that an environment's parents import may grow."""


@dataclass(frozen=True, kw_only=True)
class SlotOptions:
    """How the slots of a pool run code."""

    isolate: bool = True
    """False only with the flag --unsafe."""
    warm: bool = True
    """False lets every sample import the library by itself: the fresh-process backend."""
    backend: Backend | None = None
    """Where parents run; null for this host, in bubblewrap unless `isolate` is false."""


class Slot:
    """What a job gets: warm parents by environment."""

    def __init__(self, options: SlotOptions) -> None:
        """Start with no parent."""
        self.options = options
        self._zygotes: dict[tuple[str, tuple[str, ...], int], Zygote] = {}
        self._learned: dict[str, frozenset[str]] = {}
        self._lessons: Counter[str] = Counter()
        self.demoted: dict[str, str] = {}
        """Environments whose samples run fresh, with the reason."""
        self.isolation: dict[str, Any] = {}
        self._opened: Launcher | None = None

    @property
    def launcher(self) -> Launcher:
        """What starts the parents; opened when the first one is asked for."""
        if self._opened is None:
            backend = self.options.backend
            self._opened = backend.open() if backend else LocalLauncher(isolate=self.options.isolate)
        return self._opened

    def zygote(self, env: Environment, preload: Sequence[str] = (), hash_seed: int = 0) -> Zygote:
        """Return a parent of an environment, warm unless the environment is demoted; others' parents are ended first.

        Raises:
            ZygoteError: it does not start.
            PrerequisiteError: the sandbox is not to be had.
        """
        modules: tuple[str, ...] = ()
        if self.is_warm(env):
            modules = tuple(sorted({*preload, *self._learned.get(env.key, ())}))
        key = (env.key, modules, hash_seed)
        known = self._zygotes.get(key)
        if known is not None and known.alive and known.served < RECYCLE_AFTER and not known.grown:
            return known
        if known is not None:
            self._zygotes.pop(key).close()
        for other in [other for other in self._zygotes if other[0] != env.key or len(self._zygotes) >= 2]:
            self._zygotes.pop(other).close()
        self._zygotes[key] = Zygote(env, modules, hash_seed=hash_seed, launcher=self.launcher)
        self.isolation = isolation_record(self._zygotes[key])
        return self._zygotes[key]

    def is_warm(self, env: Environment) -> bool:
        """Whether samples of an environment are forked from a parent that imported the library."""
        return self.options.warm and env.key not in self.demoted

    def learn(self, env: Environment, modules: Sequence[str]) -> None:
        """Let later parents of an environment import what a reference was seen to import; a few times, then no more."""
        known = self._learned.get(env.key, frozenset())
        if set(modules) - known and self._lessons[env.key] < LESSONS:
            self._lessons[env.key] += 1
            self._learned[env.key] = known | set(modules)

    def demote(self, env: Environment, reason: str) -> None:
        """Run the samples of an environment fresh from now on."""
        self.demoted.setdefault(env.key, reason)

    @contextlib.contextmanager
    def fresh(self, env: Environment, hash_seed: int = 0) -> Generator[Zygote]:
        """Yield a parent that imported nothing: its children are fresh processes as far as any library is concerned."""
        zygote = Zygote(env, (), hash_seed=hash_seed, launcher=self.launcher)
        try:
            yield zygote
        finally:
            zygote.close()

    def forget(self, env: Environment) -> None:
        """End the parents of an environment, after a fault."""
        for key in [key for key in self._zygotes if key[0] == env.key]:
            self._zygotes.pop(key).close()

    def close(self) -> None:
        """End all parents and free what their launcher holds."""
        for zygote in self._zygotes.values():
            zygote.close()
        self._zygotes.clear()
        if self._opened is not None:
            self._opened.close()
            self._opened = None


@dataclass(frozen=True, kw_only=True)
class Died:
    """The result of a job whose slots died under it."""

    reason: str


Work = Callable[[Slot, P], R]


class Pool(Generic[P, R]):
    """Runs jobs on slots. With one slot everything happens in this process."""

    def __init__(self, work: Work[P, R], slots: int = 1, options: SlotOptions | None = None) -> None:
        """Set what is run; slots start with the first job.

        Args:
            work: function of (slot, payload), importable by name.
            slots: number of worker processes; 1 runs in this process.
            options: isolation and backend.
        """
        self.work = work
        self.slots = slots
        self.options = options or SlotOptions()
        self._inline: Slot | None = None
        self._members: list[_Member] = []
        self._lost = False
        """Whether a worker died: nobody removed its control groups."""

    def map(self, payloads: Sequence[P]) -> Iterator[tuple[int, R | Died]]:
        """Yield (index, result) as jobs finish; jobs start in the given order."""
        if self.slots <= 1 or len(payloads) <= 1:
            if self._inline is None:
                cgroups.sweep(GROUP_PREFIX)
                self._inline = Slot(self.options)
            for index, payload in enumerate(payloads):
                yield index, _attempt(self.work, self._inline, payload)
            return
        cgroups.sweep(GROUP_PREFIX)
        yield from self._map_on_members(payloads)

    def _map_on_members(self, payloads: Sequence[P]) -> Iterator[tuple[int, R | Died]]:
        waiting = deque(range(len(payloads)))
        deaths: dict[int, int] = {}
        while waiting or any(member.job is not None for member in self._members):
            while len(self._members) < min(self.slots, len(payloads)):
                self._members.append(self._new_member())
            for member in self._members:
                if member.job is None and waiting:
                    member.give(waiting.popleft(), payloads)
            busy = {member.channel: member for member in self._members if member.job is not None}
            for channel in wait(list(busy)):
                member = busy[channel]  # type: ignore[index]
                index = member.job
                assert index is not None
                try:
                    result = member.take()
                except (EOFError, OSError):
                    self._members.remove(member)
                    member.close()
                    self._lost = True
                    deaths[index] = deaths.get(index, 0) + 1
                    if deaths[index] < 2:
                        waiting.appendleft(index)
                        continue
                    result = Died(reason="two slots died while they ran this job")
                if isinstance(result, BaseException):
                    raise result
                yield index, result

    def _new_member(self) -> _Member:
        taken = {member.number for member in self._members}
        number = next(number for number in range(self.slots) if number not in taken)
        return _Member(self.work, self.options, number, cores_of(number, self.slots))

    def isolation(self) -> dict[str, Any]:
        """Return what held the code, for the manifest (known once a job has run in this process or was asked for)."""
        if self._inline is not None:
            return self._inline.isolation
        for member in self._members:
            return member.isolation
        return {}

    def close(self) -> None:
        """End all slots."""
        if self._inline is not None:
            self._inline.close()
            self._inline = None
        for member in self._members:
            member.close()
        self._members.clear()
        if self._lost:
            cgroups.sweep(GROUP_PREFIX)

    def __enter__(self) -> Self:
        """Return the pool itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """End all slots."""
        self.close()


def cores_of(number: int, slots: int) -> frozenset[int]:
    """Return the cores that one slot of several keeps to; empty where there are fewer cores than slots.

    Of a slot's processes (judge, warm parent, candidate, server) one runs at a time. Left to itself the scheduler wakes
    each on another core, with cold caches, and two slots meet on one core while the other idles.
    """
    cores = sorted(os.sched_getaffinity(0))
    return frozenset(cores[number::slots]) if slots <= len(cores) else frozenset()


def _attempt(work: Work[P, R], slot: Slot, payload: P) -> R | Died:
    """Run one job; a warm parent that died is replaced once."""
    try:
        return work(slot, payload)
    except ZygoteError:
        slot.close()
    try:
        return work(slot, payload)
    except ZygoteError as error:
        return Died(reason=str(error))


class _Member:
    """The parent's end of one worker process."""

    def __init__(self, work: Work[Any, Any], options: SlotOptions, number: int, cores: frozenset[int]) -> None:
        self.number = number
        context = multiprocessing.get_context("spawn")
        self.channel, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work, options, cores), daemon=True)
        self.process.start()
        theirs.close()
        self.job: int | None = None
        self.isolation: dict[str, Any] = {}

    def give(self, index: int, payloads: Sequence[Any]) -> None:
        self.job = index
        with contextlib.suppress(OSError):  # a dead worker is noticed when its channel is read
            self.channel.send(payloads[index])

    def take(self) -> Any:
        self.isolation, result = self.channel.recv()
        self.job = None
        return result

    def close(self) -> None:
        self.channel.close()
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


def _serve(channel: Connection, work: Work[Any, Any], options: SlotOptions, cores: frozenset[int]) -> None:
    """Be a worker: take jobs until the parent hangs up."""
    if cores:
        os.sched_setaffinity(0, cores)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    slot = Slot(options)
    try:
        while True:
            try:
                payload = channel.recv()
            except EOFError:
                return
            try:
                result: Any = _attempt(work, slot, payload)
            except Exception as error:  # noqa: BLE001 - the boundary of one job: the parent raises it again
                result = error
            try:
                channel.send((slot.isolation, result))
            except BrokenPipeError:
                return  # the parent has gone
    finally:
        slot.close()
