"""The funnel: what the four stages kept and lost, read from their manifests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import Field

from novelapi.layout import Layout
from novelapi.records.base import Record
from novelapi.reporting.rows import Rows
from novelapi.reporting.runs import read_manifest


class StageWords(Record):
    """How a stage is presented."""

    title: str
    """Name for readers."""

    kept: str
    """Name of the count of what it handed on."""

    unit: str
    """What that is."""

    losses: str
    """What its reasons are about."""


STAGES = {
    "stage1_discovery": StageWords(
        title="Discovery", kept="candidates", unit="APIs that are new or changed", losses="Names left out"
    ),
    "stage2_knowledge": StageWords(
        title="Knowledge", kept="bundles", unit="APIs with a knowledge bundle", losses="Components without content"
    ),
    "stage3_tasks": StageWords(
        title="Tasks",
        kept="tasks",
        unit="tasks whose reference passes and whose mutants fail",
        losses="APIs without a task",
    ),
    "stage3_linked": StageWords(
        title="Tasks of several APIs",
        kept="tasks",
        unit="tasks whose reference passes and whose mutants fail",
        losses="Subsets without a task",
    ),
    "stage4_filtered": StageWords(
        title="Gates", kept="accepted", unit="tasks that are new to the model", losses="Tasks refused"
    ),
}


class FunnelStage(Record):
    """One stage of one library, as seen from one model."""

    library: str
    """Library in the catalogue."""

    model: str
    """Model whose cutoff decides what is new."""

    stage: str
    """Name of the stage, such as `stage1_discovery`."""

    words: StageWords
    """How it is presented."""

    kept: int | None
    """Units that the stage handed on; null while it is not finished."""

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
            together = {
                "library": ", ".join(part.library for part in parts),
                "kept": None if any(part.kept is None for part in parts) else sum(part.kept or 0 for part in parts),
                "counts": _added(part.counts for part in parts),
                "reasons": _ordered(_added(part.reasons for part in parts)),
            }
            totals.append(parts[0].model_copy(update=together))
    return totals


def _read_library(layout: Layout, library: str, model: str) -> list[FunnelStage]:
    stages: list[FunnelStage] = []
    for stage, words in STAGES.items():
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
                words=words,
                kept=numbers.pop(words.kept, None),
                counts=numbers,
                reasons=_ordered(reasons if isinstance(reasons, dict) else {}),
            )
        )
    return stages


def _added(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, count in part.items():
            total[name] = total.get(name, 0) + count
    return total


def _ordered(reasons: dict[str, int]) -> dict[str, int]:
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
