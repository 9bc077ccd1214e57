"""The funnel: what the four stages kept and lost, read from their manifests."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from novelapi.layout import Layout
from novelapi.records.base import Record
from novelapi.reporting.rows import Rows
from novelapi.reporting.runs import read_manifest

STAGES = {
    "stage1_discovery": ("Discovery", "candidates", "APIs that are new or changed"),
    "stage2_knowledge": ("Knowledge", "bundles", "APIs with a knowledge bundle"),
    "stage3_tasks": ("Tasks", "tasks", "tasks whose reference passes and whose mutants fail"),
    "stage4_filtered": ("Gates", "accepted", "tasks that are new to the model"),
}
"""Stage, its title, the count of what it kept, and what that is."""


class FunnelStage(Record):
    """One stage of one library, as seen from one model."""

    library: str
    """Library in the catalogue."""

    model: str
    """Model whose cutoff decides what is new."""

    stage: str
    """Name of the stage, such as `stage1_discovery`."""

    title: str
    """Name for readers."""

    unit: str
    """What is counted, in words."""

    kept: int
    """Units that the stage handed on."""

    counts: dict[str, int] = Field(default_factory=dict)
    """All other counts of the stage."""

    reasons: dict[str, int] = Field(default_factory=dict)
    """Losses by reason, most frequent first."""


def read_funnel(rows: Rows) -> list[FunnelStage]:
    """Read the stages behind the tasks of a report; libraries without manifests are left out."""
    homes = sorted({home for run in rows.runs if (home := Layout.home_of(run.folder)) is not None})
    models = sorted({run.model for run in rows.runs if run.model})
    libraries = sorted({task.library for task in rows.tasks.values()})
    stages: list[FunnelStage] = []
    for home in homes:
        for library in libraries:
            for model in models:
                stages += _read_library(Layout(home), library, model)
    return stages


def funnel_total(stages: Sequence[FunnelStage]) -> list[FunnelStage]:
    """Add up the stages of all libraries of the first model that has any."""
    if not stages:
        return []
    model = stages[0].model
    mine = [stage for stage in stages if stage.model == model]
    totals: list[FunnelStage] = []
    for name in STAGES:
        parts = [stage for stage in mine if stage.stage == name]
        if parts:
            reasons: dict[str, int] = {}
            for part in parts:
                for reason, count in part.reasons.items():
                    reasons[reason] = reasons.get(reason, 0) + count
            together = {
                "library": ", ".join(part.library for part in parts),
                "kept": sum(part.kept for part in parts),
                "counts": {},
                "reasons": _ordered(reasons),
            }
            totals.append(parts[0].model_copy(update=together))
    return totals


def _read_library(layout: Layout, library: str, model: str) -> list[FunnelStage]:
    stages: list[FunnelStage] = []
    for stage, (title, key, unit) in STAGES.items():
        path = layout.stage_manifest(library, stage, model)
        if not path.exists():
            continue
        counts = dict(read_manifest(path).counts)
        reasons = counts.pop("reasons", None)
        numbers = {name: value for name, value in counts.items() if isinstance(value, int)}
        stages.append(
            FunnelStage(
                library=library,
                model=model,
                stage=stage,
                title=title,
                unit=unit,
                kept=numbers.pop(key, 0),
                counts=numbers,
                reasons=_ordered(reasons if isinstance(reasons, dict) else {}),
            )
        )
    return stages


def _ordered(reasons: dict[str, int]) -> dict[str, int]:
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
