"""What a verb prints when it is done, in words."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TYPE_CHECKING

from novelapi.layout import Layout
from novelapi.settings import load_settings

if TYPE_CHECKING:
    from flows._runs import AdaptationDone, GridDone, InstanceBuild, LibraryBuild, Work
    from flows.preview import GridPreview, LibraryPreview
    from novelapi.records.stage import StageResult

SHOW_SEED = 20260912
"""Seed of the tasks that are shown."""

TITLES = {
    "stage1_discovery": "1 discovery",
    "stage2_knowledge": "2 knowledge",
    "stage3_tasks": "3 tasks",
    "stage3_linked": "3 several",
    "stage4_filtered": "4 gates",
}


def libraries(built: list[LibraryBuild]) -> str:
    """Return the funnels of some libraries."""
    return "\n".join([*map(funnel, built), *map(_stage_files, built), executed([build.work for build in built], [])])


def instance(built: InstanceBuild) -> str:
    """Return the funnels of a group and where its pooled tasks lie."""
    home = Layout(load_settings().home_dir).home
    pooled = f"instance  {home / built.instance.path}\n"
    return "\n".join([*map(funnel, built.libraries), pooled, executed([built.work], [])])


def grid(done: GridDone, show_tasks: int) -> str:
    """Return funnel, pass@1 per condition and the paths of a grid."""
    home = Layout(load_settings().home_dir).home
    parts = [funnel(build) for build in done.instance.libraries]
    parts.append(scores(done))
    if show_tasks:
        parts.append(old_errors(done, show_tasks))
    parts.append(executed([done.instance.work], [done.cells.work]))
    parts.append(f"report  {home / done.report.page.path}\nrun     {done.url}\n")
    return "\n".join(parts)


def adaptation(done: AdaptationDone) -> str:
    """Return the table of an adaptation run: was the edit made, what else moved, did it transfer."""
    home = Layout(load_settings().home_dir).home
    heads = ("method", "edits", "efficacy", "train pass", "locality", "KL", "held-out", "with full")
    lines = ["".join(f"{head:>15}" for head in heads)]
    for row in done.table:
        edits = f"{row['requests']} (-{row['skipped']})" if row["skipped"] else str(row["requests"])
        shares = [_percent(row[key]) for key in ("efficacy", "pass_train", "locality")]
        ends = [_percent(row[key]) for key in ("pass_baseline", "pass_full")]
        name = row["delivery"] if row["condition"] is None else f"{row['delivery']}-{row['condition']}"
        cells = (name, edits, *shares, f"{row['divergence']:.4f}", *ends)
        lines.append("".join(f"{cell:>15}" for cell in cells))
    lines += [
        "",
        executed([done.work], [done.cells.work]),
        f"report  {home / done.report.page.path}",
        f"run     {done.url}",
    ]
    return "\n".join(lines) + "\n"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def funnel(build: LibraryBuild) -> str:
    """Return what each stage kept and why it dropped the rest."""
    old = build.old or "no prior release"
    lines = [f"{build.library} {old} -> {build.new}, model {build.model}"]
    for stage in build.stages:
        kept = ", ".join(f"{number} {name}" for name, number in stage.counts.items())
        lines.append(f"  {TITLES.get(stage.stage, stage.stage):12} {kept}{_losses(stage)}")
    return "\n".join(lines) + "\n"


def executed(stages: Iterable[Work], cells: Iterable[Work]) -> str:
    """Return how much was really done, counted from the states of the task runs."""
    stage_runs, cell_runs = list(stages), list(cells)
    line = _count(sum(work.executed for work in stage_runs), "stage task")
    if cell_runs:
        line += f", {_count(sum(work.executed for work in cell_runs), 'cell')}"
    cached = sum(work.cached for work in [*stage_runs, *cell_runs])
    return f"{line} executed ({cached} from the cache)\n"


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


def _losses(stage: StageResult) -> str:
    if not stage.reasons:
        return ""
    ranked = sorted(stage.reasons.items(), key=lambda item: (-item[1], item[0]))
    return "\n" + "\n".join(f"  {'':12} - {number} {why}" for why, number in ranked)


def _stage_files(build: LibraryBuild) -> str:
    home = Layout(load_settings().home_dir).home
    return "\n".join(f"{TITLES.get(stage.stage, stage.stage):12}  {home / stage.path}" for stage in build.stages) + "\n"


def scores(done: GridDone) -> str:
    """Return pass@1 per cell."""
    lines = ["pass@1"]
    for cell in done.cells.cells:
        passed, failed = cell.counts.get("pass", 0), cell.counts.get("fail", 0)
        share = passed / (passed + failed) if passed + failed else 0.0
        name = cell.path.split("/")[-2]
        lines.append(f"  {name:28} {share:5.2f}  {passed} of {passed + failed}{_unscored(cell.counts)}")
    return "\n".join(lines) + "\n"


def _unscored(counts: dict[str, int]) -> str:
    return f", {counts['unscored']} unscored" if counts.get("unscored") else ""


def old_errors(done: GridDone, number: int) -> str:
    """Return what the references of some accepted tasks raise in the old release; drawn by a fixed seed."""
    from novelapi.jsonl import scan
    from novelapi.records.gate import FilteredTask

    home = Layout(load_settings().home_dir).home
    rows = [
        FilteredTask.model_validate(row)
        for build in done.instance.libraries
        for row in scan(home / build.stages[-1].path)
    ]
    accepted = [row for row in rows if row.accepted]
    drawn = random.Random(SHOW_SEED).sample(accepted, min(number, len(accepted)))  # noqa: S311 - a choice to look at
    lines = [f"{len(drawn)} of {len(accepted)} tasks: what the reference does in the old release"]
    for row in sorted(drawn, key=lambda row: row.task.task_id):
        evidence = next(gate for gate in row.gates if gate.gate == "C0")
        lines.append(f"  {row.task.task_id:36} {evidence.detail.get('old_error', evidence.reason)}")
    return "\n".join(lines) + "\n"


def preview_libraries(plans: list[LibraryPreview]) -> str:
    """Return which stages would run."""
    lines: list[str] = []
    for plan in plans:
        lines.append(f"{plan.library} {plan.old or 'no prior release'} -> {plan.new}")
        lines += [f"  {TITLES[stage]:12} finished" for stage in plan.finished]
        lines += [f"  {TITLES[stage]:12} would run" for stage in plan.missing]
    return "\n".join(lines) + "\n"


def preview_grid(plan: GridPreview) -> str:
    """Return how much a grid would ask of the model."""
    calls = "an unknown number of" if plan.calls is None else str(plan.calls)
    return f"{preview_libraries(plan.libraries)}{plan.cells} cells, at most {calls} completions\n{_planned(plan)}"


def _planned(plan: GridPreview) -> str:
    """Return requests, tokens and price of a grid, where its tasks are known."""
    usage = plan.usage
    if usage is None:
        return ""
    price = f", {usage.usd:.2f} USD" if usage.usd else ""
    refused = f", {usage.failed} prompts too long" if usage.failed else ""
    return (
        f"{usage.calls} requests to send, {usage.cached} recorded already{refused}: "
        f"at most {usage.prompt_tokens} prompt and {usage.completion_tokens} answer tokens{price}\n"
    )
