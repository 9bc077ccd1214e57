"""What a wheel says about itself: name, version, needs, and a digest of its content."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from novelapi.errors import DataError
from novelapi.fingerprint import digest


@dataclass(frozen=True, kw_only=True)
class WheelMetadata:
    """The metadata of a wheel."""

    name: str
    """Name of the distribution, as it spells it."""
    version: str
    """Normalised version."""
    requires_python: str | None
    """Versions of Python that it admits."""
    requirements: tuple[str, ...]
    """Distributions that it needs, those of its extras left out."""
    licence: str
    """SPDX expression, or `NOASSERTION`."""
    content: str
    """Digest of its files by name; times and compression do not count."""


def wheel_metadata(path: Path) -> WheelMetadata:
    """Read the metadata of a wheel.

    Raises:
        DataError: it is no wheel, or its metadata are broken.
    """
    try:
        _, version, _, _ = parse_wheel_filename(path.name)
        with zipfile.ZipFile(path) as archive:
            names = sorted(archive.namelist())
            (member,) = [name for name in names if name.count("/") == 1 and name.endswith(".dist-info/METADATA")]
            header = HeaderParser().parsestr(archive.read(member).decode("utf-8"))
            sums = [
                [name, hashlib.sha256(archive.read(name)).hexdigest()]
                for name in names
                if not name.endswith(("/", ".dist-info/RECORD"))
            ]
        wanted = tuple(str(item) for item in map(Requirement, header.get_all("Requires-Dist", [])) if _always(item))
    except (InvalidWheelFilename, zipfile.BadZipFile, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is no wheel ({error}): give a wheel (*.whl) or the folder of a project") from error
    except (ValueError, InvalidRequirement) as error:
        raise DataError(f"the metadata of {path} are broken ({error}): build the wheel again") from error
    return WheelMetadata(
        name=header["Name"],
        version=str(version),
        requires_python=header["Requires-Python"],
        requirements=wanted,
        licence=header["License-Expression"] or "NOASSERTION",
        content=digest(sums),
    )


def _always(requirement: Requirement) -> bool:
    """Whether a requirement holds without any extra."""
    marker = requirement.marker
    return marker is None or "extra" not in str(marker) or marker.evaluate({"extra": ""})
