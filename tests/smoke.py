"""`python -m tests.smoke`: every module is imported and every verb is asked for its help; no network, no data."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time

import typer
from typer.testing import CliRunner

PACKAGES = ("novelapi", "tasks", "blocks", "flows", "workers", "deployments")
GUEST = "novelapi.execution.guest."  # programs of the sandbox: they run there and are never imported here
PROGRAMS = ("__main__",)


def modules() -> list[str]:
    """Return every importable module of the checkout."""
    found = [
        info.name
        for package in PACKAGES
        for info in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
    ]
    return [name for name in found if not name.startswith(GUEST) and name.rpartition(".")[2] not in PROGRAMS]


def verbs(command: typer.core.TyperGroup, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the command lines of all verbs, sub-verbs included."""
    found = [path]
    for name, item in getattr(command, "commands", {}).items():
        found += verbs(item, (*path, name))
    return found


def main() -> int:
    """Return 0 if everything imports and every verb explains itself."""
    began = time.monotonic()
    names = modules()
    for name in names:
        importlib.import_module(name)
    from novelapi import cli

    cli.load_checkout()
    lines = verbs(typer.main.get_command(cli.app))
    failed = [
        " ".join(line)
        for line in lines
        if (result := CliRunner().invoke(cli.app, [*line, "--help"])).exit_code or "Usage" not in result.output
    ]
    for line in failed:
        sys.stderr.write(f"novelapi {line} --help failed\n")
    sys.stdout.write(
        f"smoke: {len(names)} modules, {len(lines) - len(failed)} of {len(lines)} command lines, "
        f"{time.monotonic() - began:.1f} s\n"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
