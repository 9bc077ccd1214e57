"""The files of a pack: `pack.json`, a section for `AGENTS.md`, a skill folder, `llms.txt`; all state the effect."""

from __future__ import annotations

import re
from pathlib import Path

from novelapi import jsonl
from novelapi.fingerprint import digest
from novelapi.inference.markdown import nested
from novelapi.packing.sections import RULE
from novelapi.records.pack import Effect, Pack, PackSection

BEGIN, END = "<!-- novelapi pack: begin -->", "<!-- novelapi pack: end -->"
"""Marks in AGENTS.md: what stands between them is replaced when a pack is written again."""


def write_pack(pack: Pack, folder: Path) -> list[Path]:
    """Write all files of a pack; an `AGENTS.md` that is there keeps everything but the pack's own section.

    Raises:
        NovelApiError: the disk is full or the folder cannot be written.
    """
    skill = folder / skill_name(pack)
    files = {
        folder / "pack.json": pack.model_dump_json(indent=1) + "\n",
        folder / "AGENTS.md": agents_text(pack, _existing(folder / "AGENTS.md")),
        folder / "llms.txt": llms_text(pack),
        skill / "SKILL.md": skill_text(pack),
        **{skill / "apis" / f"{_file_name(item)}.md": item.text + "\n" for item in pack.sections},
    }
    for path, text in files.items():
        jsonl.write_text(path, text)
    return list(files)


def body(pack: Pack) -> str:
    """Return what is read: the sections, with rules between them."""
    return RULE.join(section.text for section in pack.sections)


def agents_text(pack: Pack, before: str = "") -> str:
    """Return an AGENTS.md with the pack's section in it."""
    section = f"{BEGIN}\n# {_title(pack)}\n\n{effect_text(pack)}\n\n{nested(body(pack), 2)}\n{END}"
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if pattern.search(before):
        return pattern.sub(lambda _: section, before, count=1)
    return f"{before.rstrip()}\n\n{section}\n" if before.strip() else f"{section}\n"


def skill_text(pack: Pack) -> str:
    """Return SKILL.md: when to use it, and which file to open for which API."""
    lines = [
        f"- `{item.api}`: {purpose(item)} See [apis/{_file_name(item)}.md](apis/{_file_name(item)}.md)."
        for item in pack.sections
    ]
    head = (
        f"---\nname: {skill_name(pack)}\ndescription: What is new or changed in {_subject(pack)}. "
        f"Use it when code imports {pack.library} or calls one of the listed APIs.\n---\n"
    )
    return f"{head}\n# {_title(pack)}\n\n{effect_text(pack)}\n\n" + "\n".join(lines) + "\n"


def llms_text(pack: Pack) -> str:
    """Return llms.txt: a title, what it is, one line per API."""
    lines = [
        f"- [{item.api}]({skill_name(pack)}/apis/{_file_name(item)}.md): {purpose(item)}" for item in pack.sections
    ]
    return f"# {_title(pack)}\n\n> {effect_text(pack)}\n\n## APIs\n\n" + "\n".join(lines) + "\n"


def effect_text(pack: Pack) -> str:
    """Return what the pack does, with its intervals: measured where it was measured, else only promised."""
    base = f"For {pack.model}, {pack.tokens} tokens. pass@1 without it {pack.baseline:.1%}"
    promise = f"predicted {_interval(pack.predicted)}"
    if pack.basis == "alone":
        promise += " if each section were read alone, an upper figure"
    if pack.measured is None:
        return f"{base}; {promise}; not measured yet."
    measured = f"gain measured {_interval(pack.measured)} on {pack.measured.tasks} tasks that had no part in the choice"
    return f"{base}; {measured} ({promise})."


def _interval(effect: Effect) -> str:
    return f"{effect.gain:+.1%} [{effect.low:+.1%}, {effect.high:+.1%}]"


def _title(pack: Pack) -> str:
    return f"New in {_subject(pack)}"


def _subject(pack: Pack) -> str:
    return f"{pack.library} {pack.release}".strip()


def skill_name(pack: Pack) -> str:
    """Return the name of the skill: lower case, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", f"{pack.library}-new-apis".lower()).strip("-")


def _file_name(section: PackSection) -> str:
    """Return a file name that is unique also where file systems ignore capitals."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", section.api)[:100]
    return name if name == name.lower() else f"{name}-{digest(section.api, 6)}"


def purpose(section: PackSection) -> str:
    """Return the line below the name, where there is one."""
    found = section.text.split("\n\n")
    text = found[2] if len(found) > 2 and not found[2].startswith(("#", "`", "-")) else ""
    return text if not text or text.endswith((".", "...")) else f"{text}."


def _existing(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
