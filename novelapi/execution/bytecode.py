"""Bytecode of installed libraries, written once: in the sandbox an environment is read-only and every import is new."""

from __future__ import annotations

import subprocess
from pathlib import Path

from novelapi.errors import NovelApiError
from novelapi.execution.interpreters import Interpreter

TEST_SUITES = r"/site-packages/.*/tests?/"
"""Folders that are left out; they are large and seldom imported."""
_SOME_DID_NOT_COMPILE = 1


def precompile(python: Interpreter, folder: Path) -> None:
    """Write the bytecode of everything that is installed in an environment but test suites.

    The bare interpreter does it, so no code of a library runs (the environment's own would execute `.pth` files).
    Files that do not compile (templates, syntax of other Pythons) stay without, as with any installer.

    Args:
        python: the interpreter that the environment is for.
        folder: the environment.

    Raises:
        NovelApiError: the interpreter ended before it was through.
    """
    packages = [str(path) for path in sorted(folder.glob("lib/python*/site-packages"))]
    command = [str(python.path), "-I", "-S", "-m", "compileall", "-qq", "-x", TEST_SUITES, *packages]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode not in {0, _SOME_DID_NOT_COMPILE}:
        said = " ".join(done.stderr.split())[-300:]
        raise NovelApiError(f"compiling {folder.name} ended with {done.returncode}: {said}; free space or run it again")
