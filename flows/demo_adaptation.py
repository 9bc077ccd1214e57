"""The adaptation matrix on a tiny model: `python -m flows.demo_adaptation`."""

from __future__ import annotations

import sys
from datetime import date
from typing import Any

from flows import summary
from flows.session import emit, prefect_session
from novelapi.errors import NovelApiError
from novelapi.layout import Layout
from novelapi.records.manifest import Manifest
from novelapi.settings import load_settings

LIBRARY, CUTOFF = "numpy", date(2023, 12, 1)
BUILD_LIMIT = 80
"""Candidates that are built where `novelapi demo` has not built them all already."""
OPTIONS: dict[str, Any] = {
    "group": LIBRARY,
    "source": "copy",
    "cutoff": CUTOFF,
    "recipes": "tiny",
    "train": 40,
    "test": 12,
    "others": 6,
    "window": 4096,
    "answer": 128,
    "batch": 40,
}


def build_limit(layout: Layout) -> int | None:
    """Return how many candidates are built: all where they are built already, else as many as the demo needs.

    A build that was limited, such as that of an earlier run of this demo, stays limited: with more candidates the tasks
    would be other ones, and every fit would be done again.
    """
    stages = ("stage1_discovery", "stage2_knowledge", "stage3_tasks", "stage4_filtered")
    paths = [layout.stage_manifest(LIBRARY, stage, "copy") for stage in stages]
    if not all(path.exists() for path in paths):
        return BUILD_LIMIT
    specs = [Manifest.model_validate_json(path.read_text(encoding="utf-8")).spec for path in paths]
    return None if all(spec.get("limit") is None for spec in specs) else BUILD_LIMIT


def main() -> int:
    """Build the tiny base, run every method on it, print the table.

    Returns:
        The exit code.
    """
    from novelapi.adaptation.tiny import TinySettings, build_tiny

    layout = Layout(load_settings().home_dir)
    try:
        base = build_tiny(layout.home / "models" / "tiny", TinySettings())
        with prefect_session(dry=False):
            from flows.adaptation import run_adaptation

            done = run_adaptation(base=str(base), limit=build_limit(layout), **OPTIONS)
        emit(done, summary.adaptation, as_json="--json" in sys.argv)
    except NovelApiError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
