"""Questions that no single pair of runs answers: new against changed APIs, and one comparison over several models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from novelapi.records.base import Record
from novelapi.reporting.contrasts import CONTROL, baseline_of
from novelapi.reporting.outcomes import PASS, Mask, Outcomes
from novelapi.reporting.rows import Rows
from novelapi.reporting.runs import Run
from novelapi.reporting.stats.clusters import Clusters, Floats
from novelapi.reporting.stats.families import holm
from novelapi.reporting.stats.interaction import Interaction, compare_sets
from novelapi.reporting.stats.mixed import Mixed, compare_over_models
from novelapi.reporting.stats.resampling import SEED

FEWEST_APIS = 5
"""A set with fewer APIs than this says nothing about its kind."""

INTERACTING = ("s", "e", "s_e", "full")
"""Conditions whose gain over the baseline is compared between kinds of API (published analysis, RQ1)."""

BEYOND = (("e", "s_e"),)
"""Pairs of conditions whose difference is compared likewise: what the signature adds to examples."""


class NoveltyGain(Record):
    """What a condition gains on changed APIs minus what it gains on new ones."""

    first: int
    """Position of the run that is subtracted."""

    second: int
    """Position of the run with more knowledge."""

    interaction: Interaction
    """`first`: new APIs, `second`: changed ones."""

    p_holm: float | None = None
    """Its p-value adjusted by Holm over the comparisons of one model and delivery."""

    family_size: int = 1
    """Number of comparisons in that family."""


class OverModels(Record):
    """A condition against the baseline over all models that answered the same tasks."""

    delivery: str
    """How knowledge was given."""

    condition: str
    """Which knowledge was given."""

    models: tuple[str, ...]
    """The models, sorted."""

    tasks: int
    """Tasks that all of them have scored under both conditions."""

    mixed: Mixed
    """Mean difference, its test, and the test of equal models."""

    p_holm: float
    """`mixed.p` adjusted by Holm over the conditions of a delivery."""

    family_size: int
    """Number of conditions in that family."""


def novelty_gains(rows: Rows, outcomes: Outcomes, seed: int = SEED) -> list[NoveltyGain]:
    """Compare what components gain on changed and on new APIs, where there are enough of both."""
    change = np.array([task.change for task in rows.tasks.values()])
    found: list[NoveltyGain] = []
    families: list[tuple[str, str]] = []
    for first, second in _pairs(rows.runs):
        scored = outcomes.scored[:, first] & outcomes.scored[:, second]
        sets = [_gains(outcomes, first, second, scored & (change == kind)) for kind in ("added", "modified")]
        if min(len(gains) for gains, _ in sets) >= FEWEST_APIS:
            found.append(NoveltyGain(first=first, second=second, interaction=compare_sets(*sets, seed=seed)))
            families.append((rows.runs[second].experiment, rows.runs[second].delivery))
    for family in dict.fromkeys(families):
        members = [i for i, name in enumerate(families) if name == family]
        p_values = holm([_p(found[i]) for i in members])
        for index, p in zip(members, p_values, strict=True):
            found[index] = found[index].model_copy(update={"p_holm": p, "family_size": len(members)})
    return found


def over_models(rows: Rows, outcomes: Outcomes, seed: int = SEED) -> list[OverModels]:
    """Compare each condition with the baseline over all models, on the tasks that they share."""
    cells: dict[tuple[str, str], dict[str, list[tuple[int, int]]]] = {}
    for index, run in enumerate(rows.runs):
        base = baseline_of(rows.runs, run)
        # The control is no model whose gain may enter a mean.
        if base is not None and base != index and run.model != CONTROL:
            cells.setdefault((run.delivery, run.condition), {}).setdefault(run.model, []).append((base, index))
    found: list[OverModels] = []
    for (delivery, condition), models in cells.items():
        outcomes_of = [_of_model(outcomes, models[model]) for model in sorted(models)]
        shared = np.logical_and.reduce([scored for _, scored in outcomes_of])
        if len(models) < 2 or not shared.any():
            continue
        net = outcomes.clusters(np.stack([difference for difference, _ in outcomes_of], axis=1), shared)
        mixed = compare_over_models(net, seed=seed)
        if mixed is not None:
            found.append(
                OverModels(
                    delivery=delivery, condition=condition, models=tuple(sorted(models)), tasks=int(shared.sum()),
                    mixed=mixed, p_holm=mixed.p, family_size=1,
                )
            )  # fmt: skip
    for delivery in dict.fromkeys(entry.delivery for entry in found):
        members = [i for i, entry in enumerate(found) if entry.delivery == delivery]
        for index, p in zip(members, holm([found[i].mixed.p for i in members]), strict=True):
            found[index] = found[index].model_copy(update={"p_holm": p, "family_size": len(members)})
    return found


def _pairs(runs: Sequence[Run]) -> Iterator[tuple[int, int]]:
    where = {(run.experiment, run.delivery, run.condition): index for index, run in enumerate(runs)}
    for index, run in enumerate(runs):
        base = baseline_of(runs, run)
        if base is not None and run.condition in INTERACTING:
            yield base, index
        for less, more in BEYOND:
            other = where.get((run.experiment, run.delivery, less))
            if run.condition == more and other is not None:
                yield other, index


def _p(gain: NoveltyGain) -> float:
    return 1.0 if gain.interaction.p is None else gain.interaction.p


def _gains(outcomes: Outcomes, first: int, second: int, mask: Mask) -> tuple[Clusters, Clusters]:
    before, after = outcomes.codes[:, first] == PASS, outcomes.codes[:, second] == PASS
    return (
        outcomes.clusters((after & ~before).astype(np.float64), mask),
        outcomes.clusters((before & ~after).astype(np.float64), mask),
    )


def _of_model(outcomes: Outcomes, pairs: Sequence[tuple[int, int]]) -> tuple[Floats, Mask]:
    """Join the groups of one model: difference of each task, and where there is one, shape (T,) each.

    Groups ask different tasks; should two ask the same, the first counts.
    """
    difference = np.zeros(len(outcomes.task_ids))
    scored = np.zeros(len(outcomes.task_ids), dtype=np.bool_)
    for first, second in pairs:
        added = outcomes.scored[:, first] & outcomes.scored[:, second] & ~scored
        before, after = outcomes.codes[:, first] == PASS, outcomes.codes[:, second] == PASS
        difference[added] = (after.astype(np.float64) - before)[added]
        scored |= added
    return difference, scored
