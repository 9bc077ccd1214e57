"""How many candidates become accepted tasks, library by library, and where the others are lost.

    python benchmarks/generation.py numpy=2023-12-01 scipy=2024-09-01     run stages 1 to 4 and print the table
    python benchmarks/generation.py --table                               print it from what was recorded

Results are recorded below NOVELAPI_HOME like those of `novelapi build`, with the embedded baseline as model. Finished
stages are not run again. The table and the reasons of loss are those of `docs/coverage.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

from novelapi import jsonl
from novelapi.adapters.copy_model import CopyModel
from novelapi.catalog import find_library
from novelapi.discovery import requests as discovery
from novelapi.errors import NovelApiError
from novelapi.filters.stage import filter_tasks
from novelapi.generation.stage import generate
from novelapi.knowledge.requests import extract
from novelapi.layout import Layout
from novelapi.records.request import LibraryRequest
from novelapi.settings import load_settings

MODEL = "copy"
HEADER = """# Coverage: from candidates to accepted tasks

Written by `python benchmarks/generation.py --table --out docs/coverage.md` from recorded stages; the model is the
embedded baseline, so gate C2 drops what mere copying solves and C3 only marks.

- *usable*: candidates whose novelty a call can show: an added API, or a new parameter that the old release refuses.
  Exceptions and warnings (raised, not called), parameters such as `device` that change nothing on one machine, and what
  the catalogue sets apart (assertions of test suites, answers that name the machine, drawings) are not.
- *E*: candidates with an example that ran offline in the new release; *change in E*: usable modified APIs with an
  executed example that passes what is new.
- *M_code*: candidates with Python source; the others are compiled.
- *tasks* are those of stage 3, *accepted* those that pass the gates C0 to C3; *APIs* have an accepted task.

"""
FOOTER = """
## The classes of loss

1. *The example does not use the change*: the API takes a new parameter, but no documented or synthesised call passes it
   in a way that shows. Mostly `rng=` where results were random before, `axes=` beside footprints whose rank must agree,
   and objects that only store the setting.
2. *No example whose call can be cut out*, *the result is no plain data*: the call needs an object that only a long
   set-up makes, or it returns one without attributes, views or a text that mean anything.
3. *The result only repeats the arguments*, *inputs cannot be varied*, *too few inputs with different answers*: a record
   of what was passed, or a function that gives one answer. Asking for those would test nothing.

A draft is also lost when a mutant passes, when an option has no visible effect, when a description would name the API,
when the documentation does not say what it does, and when a call costs more than half a second of CPU.
"""
COLUMNS = (
    "library", "old", "new", "candidates", "usable", "E", "change in E", "M_prose", "M_code", "tasks", "accepted",
    "APIs", "of usable", "of all", "easy", "medium", "hard", "modified", "strong",
)  # fmt: skip


def build(name: str, cutoff: date, layout: Layout, jobs: int) -> None:
    """Run the four stages of one library."""
    request = LibraryRequest(library=find_library(name).name, model=MODEL, cutoff=cutoff, jobs=jobs)
    pair = discovery.find_versions(request, layout)
    request = request.model_copy(update={"old": pair.old, "new": pair.new, "cutoff": None})
    for stage in (discovery.discover, extract, generate):
        found = stage(request, layout)
        sys.stderr.write(f"{name} {found.stage}: {json.dumps(found.counts)}\n")
    found = filter_tasks(request, layout, CopyModel())
    sys.stderr.write(f"{name} {found.stage}: {json.dumps(found.counts)} {json.dumps(found.reasons)}\n")


def rows(layout: Layout) -> list[dict[str, Any]]:
    """Return one row per library of which all stages are recorded."""
    found: list[dict[str, Any]] = []
    for folder in sorted((layout.home / "raw").iterdir()):
        path = layout.stage(folder.name, "stage4_filtered", MODEL)
        if path.exists() and layout.stage(folder.name, "stage3_rejected", MODEL).exists():
            found.append(row(folder.name, layout))
    return found


def row(name: str, layout: Layout) -> dict[str, Any]:
    """Return the funnel of one library."""
    candidates = list(jsonl.scan(layout.stage(name, "stage1_discovery", MODEL)))
    bundles = {item["api"]: item for item in jsonl.scan(layout.stage(name, "stage2_knowledge", MODEL))}
    tasks = list(jsonl.scan(layout.stage(name, "stage4_filtered", MODEL)))
    accepted = [item["task"] for item in tasks if item["accepted"]]
    usable = {item["api"] for item in candidates if "no_usable_change" not in item["tags"]}
    covered = {item["api"] for item in accepted}
    examples = {api: [e for e in item["E"] if e["status"] == "executed"] for api, item in bundles.items()}
    modified = [item["api"] for item in candidates if item["change"] == "modified" and item["api"] in usable]
    lost: Counter[str] = Counter()
    own: dict[str, list[dict[str, Any]]] = {}
    for item in jsonl.scan(layout.stage(name, "stage3_rejected", MODEL)):
        own.setdefault(item["api"], []).append(item)
    gates = {item["task"]["api"]: item["gates"][-1] for item in tasks if not item["accepted"]}
    for api in sorted(usable - covered):
        if api in gates:
            lost[f"{gates[api]['gate']}: {gates[api]['reason']}"] += 1
        elif own.get(api):
            lost[max(own[api], key=lambda item: (item["count"], item["reason"]))["reason"]] += 1
        else:
            lost["no draft"] += 1
    return {
        "library": name,
        "old": candidates[0]["old_release"] or "none",
        "new": candidates[0]["release"],
        "candidates": len(candidates),
        "usable": len(usable),
        "E": share(sum(bool(examples.get(item["api"])) for item in candidates), len(candidates)),
        "change in E": share(
            sum(any(e["uses_change"] for e in examples.get(api, ())) for api in modified), len(modified)
        ),
        "M_prose": share(sum(bool(item["M_prose"]) for item in bundles.values()), len(bundles)),
        "M_code": share(sum(bool(item["M_code"]) for item in bundles.values()), len(bundles)),
        "tasks": len(tasks),
        "accepted": len(accepted),
        "APIs": len(covered),
        "of usable": share(len(covered & usable), len(usable)),
        "of all": share(len(covered), len(candidates)),
        **{level: sum(item["difficulty"] == level for item in accepted) for level in ("easy", "medium", "hard")},
        "modified": sum(item["change"] == "modified" for item in accepted),
        "strong": sum(item["integrity"] == "strong" for item in accepted),
        "lost": dict(lost.most_common()),
    }


def share(part: int, whole: int) -> str:
    """Return a share in per cent."""
    return f"{100 * part / whole:.0f} %" if whole else "-"


def table(found: list[dict[str, Any]]) -> str:
    """Return the rows as Markdown, and below them the reasons of loss of each library, the largest three in bold."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(str(item[name]) for name in COLUMNS) + " |" for item in found]
    lines += ["", "Usable candidates without an accepted task, by reason:", ""]
    for item in found:
        reasons = [
            f"**{why} {count}**" if place < 3 else f"{why} {count}"
            for place, (why, count) in enumerate(item["lost"].items())
        ]
        lines.append(f"- {item['library']}: {'; '.join(reasons) or 'none'}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("windows", nargs="*", metavar="LIB=CUTOFF")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    layout = Layout(load_settings().home)
    for window in options.windows:
        name, _, cutoff = window.partition("=")
        try:
            build(name, date.fromisoformat(cutoff), layout, options.jobs)
        except NovelApiError as error:
            sys.stderr.write(f"{name}: {error}\n")
    text = table(rows(layout))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(HEADER + text + FOOTER, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
