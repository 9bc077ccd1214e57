"""A second process that works off jobs while the first goes on: a report's details and figures beside its numbers.

    with Aside() as aside:
        job = aside.begin(function, argument)
        ...
        value = aside.result(job)

Jobs run one after the other, in the order in which they were begun. Functions, arguments and values travel as pickles
in a folder of their own, so neither process ever waits for the other to read. The process is started by name and not
forked (polars and BLAS keep threads), and not by `multiprocessing` (which would run the caller's main module again).
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, ParamSpec, Self, TypeVar

from novelapi.errors import NovelApiError

Given = ParamSpec("Given")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Job(Generic[Value]):
    """A job that was begun."""

    number: int
    """Its place in the order."""


class Here:
    """No second process: each job is done when it is begun."""

    def __init__(self) -> None:
        """Begin without jobs."""
        self._values: list[Any] = []

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Do nothing."""

    def begin(self, function: Callable[Given, Value], *args: Given.args, **kwargs: Given.kwargs) -> Job[Value]:
        """Do a job."""
        self._values.append(function(*args, **kwargs))
        return Job[Value](len(self._values) - 1)

    def result(self, job: Job[Value]) -> Value:
        """Return its value."""
        return self._values[job.number]


class Aside:
    """The second process."""

    def __init__(self) -> None:
        """Start it; it is ready after a moment, and jobs can be begun at once."""
        self._folder = tempfile.TemporaryDirectory(prefix="novelapi-report-")
        self._begun = self._ended = 0
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, self._folder.name],  # -P: nothing is imported from where we are
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        """Return the process."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def begin(self, function: Callable[Given, Value], *args: Given.args, **kwargs: Given.kwargs) -> Job[Value]:
        """Give it something to do; function and arguments are copied at once.

        Args:
            function: a function of a module.
            args: its arguments.
            kwargs: its arguments by name.
        """
        job = Job[Value](self._begun)
        self._begun += 1
        _write(_job_file(Path(self._folder.name), job.number), (function, args, kwargs))
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._lost() from error
        return job

    def result(self, job: Job[Value]) -> Value:
        """Wait for a job and return its value, once.

        Raises:
            NovelApiError: the process has ended, as when memory ran out; or the job raised it.
            OSError: the job raised it.
        """
        assert self._process.stdout is not None
        while self._ended <= job.number:
            if not self._process.stdout.readline():
                raise self._lost()
            self._ended += 1
        path = _value_file(Path(self._folder.name), job.number)
        is_value, value = pickle.loads(path.read_bytes())  # noqa: S301  written by our own process
        path.unlink()
        if not is_value:
            raise value
        return value

    def _lost(self) -> NovelApiError:
        code = self._process.wait()
        return NovelApiError(
            f"the process that collects details and draws figures ended (code {code}); its messages stand above. "
            "Free memory, or lower --details-mb"
        )


def _job_file(folder: Path, number: int) -> Path:
    return folder / f"{number}.job"


def _value_file(folder: Path, number: int) -> Path:
    return folder / f"{number}.value"


def _write(path: Path, value: Any) -> None:
    with path.open("wb") as file:
        pickle.dump(value, file, protocol=pickle.HIGHEST_PROTOCOL)


def main(folder: Path) -> None:
    """Work off the jobs of a folder, one per line of standard input; answer each with a line."""
    gc.disable()  # the process ends soon
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides when to end
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a job prints is no answer
    for number, _ in enumerate(sys.stdin):
        path = _job_file(folder, number)
        function, args, kwargs = pickle.loads(path.read_bytes())  # noqa: S301  written by the process that started us
        path.unlink()
        try:
            outcome = (True, function(*args, **kwargs))
        except (NovelApiError, OSError) as error:
            outcome = (False, error)
        _write(_value_file(folder, number), outcome)
        answers.write("\n")
        answers.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
