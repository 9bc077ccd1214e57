"""The error tree: every error a user can meet, with the exit code of the command line.

    NovelApiError                     1  something asked for failed
    ├── UsageError                    2  the request itself is wrong
    │   ├── UnknownNameError          2  no such library, model, condition ...: near matches are suggested
    │   ├── NothingNewError           2  the library has nothing new in the window that was asked for
    │   └── DataError                 2  a file that the user gave has broken, duplicate or missing content
    ├── PrerequisiteError             3  something must be installed or started first: the message says how
    ├── PartialError                  4  done in part
    └── TransientError                1  may succeed when tried again: index or endpoint did not answer
        ├── IndexUnavailableError     1
        └── EndpointError             1

A message is one line and ends with the remedy. Types are public API, messages are not.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable

FILE_SYSTEM = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
}
"""What a file system may answer to any write, in words."""


def explain_file_system(error: OSError) -> str | None:
    """Return reason and remedy of what a file system answered, or None where it is no such answer."""
    if error.errno not in FILE_SYSTEM:
        return None
    return f"{FILE_SYSTEM[error.errno]} ({error.filename}): free space, or set NOVELAPI_HOME to another folder"


class NovelApiError(Exception):
    """Base of all errors that the project raises on purpose."""

    exit_code = 1


class UsageError(NovelApiError):
    """The request is wrong: flag, version, date, combination."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that is in no catalogue; the message suggests near matches."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        """Build the message.

        Args:
            kind: what the name should have been, in words ("model").
            name: the name as the user gave it.
            known: all names that exist.
            hint: a remedy when nothing is near.
        """
        known = sorted(known)
        lowered = {item.lower(): item for item in reversed(known)}
        near = [lowered[match] for match in difflib.get_close_matches(name.lower(), list(lowered), n=3, cutoff=0.6)]
        if near:
            remedy = "did you mean " + " or ".join(near) + "?"
        else:
            remedy = hint or "known: " + ", ".join(known)
        super().__init__(f"unknown {kind} '{name}': {remedy}")
        self.kind = kind
        self.name = name
        self.near = tuple(near)


class NothingNewError(UsageError):
    """No API of the library is new between the two releases: there is nothing to build."""


class DataError(UsageError):
    """A file that the user gave is broken; the message names file and line."""


class PrerequisiteError(NovelApiError):
    """Something must be installed or started first; the message says what to run."""

    exit_code = 3


class PartialError(NovelApiError):
    """Part of what was asked for is done; the message says what is missing."""

    exit_code = 4


class TransientError(NovelApiError):
    """May succeed when tried again; the only errors that are ever retried."""


class IndexUnavailableError(TransientError):
    """The package index did not answer."""


class EndpointError(TransientError):
    """A model endpoint did not answer."""
