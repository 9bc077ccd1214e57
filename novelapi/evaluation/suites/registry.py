"""The outside suites by name, and where their data lie."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from novelapi.errors import DataError, PrerequisiteError, UnknownNameError
from novelapi.evaluation.suites.base import Suite
from novelapi.evaluation.suites.choice import ChoiceSuite

SUITES = ("bfcl", "codeupdatearena", "gitchameleon", "nestful", "taskbench", "toolbench")
"""Names on the command line; each is a module of this package."""


def find_suite(name: str) -> Suite | ChoiceSuite:
    """Return a suite: one whose answers are run, or one whose answers are compared.

    Raises:
        UnknownNameError: there is none of this name.
    """
    if name not in SUITES:
        raise UnknownNameError("suite", name, SUITES)
    return import_module(f"novelapi.evaluation.suites.{name}").SUITE


def find_data(suite: Suite | ChoiceSuite, given: Path | None, configured: Path | None) -> Path:
    """Return the folder of a suite's data: the one that was named, or the suite's own folder in it.

    Of a selection suite one file may be named as well.

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
    if isinstance(suite, ChoiceSuite):
        found = suite.find(root)
        if found is not None:
            return found
        raise DataError(
            f"{root} holds no {' or '.join(suite.markers)}, neither do its folders {', '.join(suite.folders)}: "
            f"fetch {suite.source}, and give its folder with --data"
        )
    for folder in (root, root / suite.folder):
        if (folder / suite.marker).is_file():
            return folder
    raise DataError(
        f"{root} holds no {suite.marker}, neither does its folder {suite.folder}: fetch {suite.source}, "
        "and give its folder with --data"
    )
