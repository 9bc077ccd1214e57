"""The outside suites by name, and where their data lie."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from novelapi.errors import DataError, PrerequisiteError, UnknownNameError
from novelapi.evaluation.suites.base import Suite

SUITES = ("codeupdatearena", "gitchameleon")
"""Names on the command line; each is a module of this package."""


def find_suite(name: str) -> Suite:
    """Return a suite.

    Raises:
        UnknownNameError: there is none of this name.
    """
    if name not in SUITES:
        raise UnknownNameError("suite", name, SUITES)
    return import_module(f"novelapi.evaluation.suites.{name}").SUITE


def find_data(suite: Suite, given: Path | None, configured: Path | None) -> Path:
    """Return the folder of a suite's data: the one that was named, or the suite's own folder in it.

    Args:
        suite: the suite.
        given: the folder of the command line.
        configured: the folder of the environment, used where none was given.

    Raises:
        PrerequisiteError: no folder is named anywhere.
        DataError: the folder does not hold the suite.
    """
    root = given or configured
    if root is None:
        raise PrerequisiteError(
            f"the data of {suite.name} are not part of this package: fetch {suite.source}, "
            "and give its folder with --data or NOVELAPI_SUITE_DATA"
        )
    for folder in (root, root / suite.folder):
        if (folder / suite.marker).is_file():
            return folder
    raise DataError(
        f"{root} holds no {suite.marker}, neither does its folder {suite.folder}: fetch {suite.source}, "
        "and give its folder with --data"
    )
