"""Changelogs: what the releases after the old one say about an API; nothing from outside the window."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from novelapi.knowledge.markup import inline
from novelapi.knowledge.material import Material
from novelapi.knowledge.targets import Target
from novelapi.knowledge.words import is_ordinary

MAX_ENTRIES = 6
"""Entries per API."""

MAX_CHARACTERS = 500
"""Length of one entry."""

_FILE = re.compile(r"change|history|news|release|whats_?new", re.IGNORECASE)
_FILE_VERSION = re.compile(r"(?:^|[^\d.])v?(\d+\.\d+(?:\.\d+)*)(?:-notes)?$")
_HEADING_VERSION = re.compile(
    r"^(?:#+\s*)?\W{0,4}(?:\w+\s+)?(?:[Vv]ersion|[Rr]elease|v)?\s*(\d+\.\d+(?:\.\d+)*(?:rc\d+|[ab]\d+)?)\b"
)
_UNDERLINE = re.compile(r"^([=\-~^\"'*#+`.])\1{2,}\s*$")
_VERSION_FIELD = re.compile(r"^\s*:version:\s*(\S+)")
_DIRECTIVE = re.compile(
    r"^(?P<indent>\s*)\.\. version(?P<what>added|changed|removed)::\s*(?P<version>\d[\w.]*)\s*(?P<text>.*)$"
)
_PULL_REQUEST = re.compile(r"^\W*(?:`?#\d+|gh-\d+)")


@dataclass(frozen=True)
class Entry:
    """One entry of a changelog."""

    version: str
    """The release that it belongs to."""
    text: str
    """Its prose."""
    heading: str
    """The heading above it."""
    file: str
    """Where it stands."""


@dataclass(frozen=True)
class Window:
    """The releases after the old one, up to the new one."""

    old: Version | None
    """The old release; null when there was none."""
    new: Version
    """The new release."""

    def holds(self, text: str) -> bool:
        """Say whether a version lies in (old, new]; what a pre-release said, its final release says too."""
        try:
            version = Version(text)
        except InvalidVersion:
            return False
        return not version.is_prerelease and (self.old is None or self.old < version) and version <= self.new


def window_of(material: Material) -> Window:
    """Return the window of a pair of releases."""
    return Window(Version(material.old_release) if material.old_release else None, Version(material.release))


def entries(material: Material) -> list[Entry]:
    """Return every changelog entry in the window, from the sdist and the wheel."""
    window = window_of(material)
    found: list[Entry] = []
    for folder in [*([material.sdist] if material.sdist is not None else []), *material.folders]:
        for path in sorted(folder.rglob("*")):
            parts = path.relative_to(folder).parts
            named = any(_FILE.search(part) for part in parts[-3:])
            if not named or path.suffix not in {".rst", ".md", ".txt"} or not path.is_file():
                continue
            if (
                "upcoming_changes" in parts
                or re.search(r"walkthrough|howto|process", path.name, re.IGNORECASE)
                or path.stat().st_size > 4_000_000
            ):
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            found += _entries(text, path, "/".join(parts), window)
    return found


def _entries(text: str, path: Path, origin: str, window: Window) -> Iterator[Entry]:
    match = _FILE_VERSION.search(path.stem)
    version = match.group(1) if match else ""
    heading = ""
    unit: list[str] = []
    lines = text.split("\n")

    def finished() -> Iterator[Entry]:
        body = " ".join(" ".join(unit).split())
        unit.clear()
        if body and window.holds(version) and not _PULL_REQUEST.match(body):
            yield Entry(version, body, heading, origin)

    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        is_heading = line.startswith("#") or bool(
            line.strip() and _UNDERLINE.match(following) and not line.startswith(" ")
        )
        field = _VERSION_FIELD.match(line)
        if is_heading or field:
            yield from finished()
            named = _HEADING_VERSION.match(line.strip()) if is_heading else field
            if named and not (match and is_heading):
                version = named.group(1)
            heading = "" if named else line.strip("# ")
        elif not line.strip() or re.match(r"^\s*[*\-•+]\s|^\s*\.\. change::", line):
            yield from finished()
            unit.append(re.sub(r"^\s*(?:[*\-•+]\s|\.\. change::.*)", "", line))
        elif not _UNDERLINE.match(line) and not re.match(r"^\s*:\w+:|^\.\. ", line):
            unit.append(line)
    yield from finished()


def about(target: Target, found: Sequence[Entry]) -> list[Entry]:
    """Return the entries that name an API, oldest first, each version's own words once."""
    patterns = _patterns(target)
    leaf = re.compile(rf"`[^`\s]*\b{re.escape(target.leaf)}(?:\(\))?`|\b{re.escape(target.leaf)}\(")
    owner = target.owner.rsplit(".", 1)[-1]
    short = any(path.count(".") == 1 for path in target.paths) and len(target.leaf) > 3
    distinctive = (short and not is_ordinary(target.leaf)) or bool(re.search(r"_|[a-z][A-Z]|\d", target.leaf))
    chosen: dict[str, Entry] = {}
    for entry in found:
        whole = f"{entry.heading} {entry.text}"
        named = any(pattern.search(whole) for pattern in patterns)
        if not named and leaf.search(whole):
            named = bool(re.search(rf"\b{re.escape(owner)}\b", whole)) if target.member else distinctive
        if named:
            text = _shortened(inline(f"{entry.heading}: {entry.text}" if entry.heading else entry.text))
            chosen.setdefault(text, Entry(entry.version, text, "", entry.file))
    rows = sorted(chosen.values(), key=lambda entry: (Version(entry.version), entry.file))
    return rows[:MAX_ENTRIES]


def _patterns(target: Target) -> list[re.Pattern[str]]:
    tails = {".".join(path.split(".")[-2:]) for path in target.paths}
    tails |= {tail.replace("numpy.", "np.", 1).replace("pandas.", "pd.", 1) for tail in tails}
    return [re.compile(rf"(?<!\w){re.escape(tail)}(?!\w)") for tail in sorted(tails)]


def _shortened(text: str) -> str:
    text = re.sub(r"\s*\(\s*(?:`?(?:gh-|#|:?issue:?|GH\s?)\d*`?[\s,]*)+\)", "", " ".join(text.split()))
    text = re.sub(r"\s+by @[\w-]+(?:,? (?:and )?@[\w-]+)*(?: in (?:PR )?#\d+)?|\s+PR #\d+ by.*$", "", text)
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS].rsplit(" ", 1)[0] + " ..."


def in_docstring(text: str, window: Window, origin: str) -> list[Entry]:
    """Return the version remarks of a docstring that lie in the window."""
    lines = text.split("\n")
    found: list[Entry] = []
    subject = ""
    for number, line in enumerate(lines):
        match = _DIRECTIVE.match(line)
        if match is None:
            header = re.match(r"^(\w[\w, ]*?)\s*(?::|$)", line)
            subject = header.group(1) if header and ":" in line else subject if line.startswith(" ") or not line else ""
            continue
        body = [match.group("text")]
        indent = len(match.group("indent"))
        for later in lines[number + 1 :]:
            if not later.strip() or len(later) - len(later.lstrip()) <= indent:
                break
            body.append(later.strip())
        said = " ".join(" ".join(body).split())
        where = f"`{subject}`: " if indent and subject else ""
        what = {"added": "added", "changed": "changed", "removed": "removed"}[match.group("what")]
        if window.holds(match.group("version")):
            remark = f"{where}{said or what}"
            found.append(Entry(match.group("version"), _shortened(inline(remark)), "", origin))
    return found
