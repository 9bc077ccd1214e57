"""What the installers' own configuration says about the package index, so that we ask the index that they would ask."""

from __future__ import annotations

import configparser
import sys
from collections.abc import Iterable
from pathlib import Path

from novelapi.settings import Settings


def configured_index(settings: Settings) -> str | None:
    """Return the address of the simple API that the installers are told to use, or null for their own default.

    The environment comes first (uv's names, then pip's), then pip's configuration files, the most specific one last
    read, as pip does.
    """
    return settings.index_url or _from_files(_pip_files(settings))


def _pip_files(settings: Settings) -> list[Path]:
    """Return pip's configuration files, least specific first."""
    home = Path.home()
    usual = [
        Path("/etc/xdg/pip/pip.conf"),
        Path("/etc/pip.conf"),
        home / ".pip" / "pip.conf",
        home / ".config" / "pip" / "pip.conf",
        Path(sys.prefix) / "pip.conf",
    ]
    return [*usual, *([settings.pip_config_file] if settings.pip_config_file else [])]


def _from_files(paths: Iterable[Path]) -> str | None:
    found: str | None = None
    for path in paths:
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue  # pip itself reports its broken configuration; here it only means "no address in it"
        for section in ("global", "install"):
            found = parser.get(section, "index-url", fallback=found)
    return found
