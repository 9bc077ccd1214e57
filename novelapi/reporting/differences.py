"""Paired differences of pass@1 between runs, with intervals, tests and sensitivity to doubtful rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from novelapi.records.base import Record
from novelapi.reporting.contrasts import Contrast, planned_contrasts
from novelapi.reporting.estimates import batched
from novelapi.reporting.outcomes import PASS, Mask, Outcomes
from novelapi.reporting.runs import Run
from novelapi.reporting.stats.clusters import Clusters
from novelapi.reporting.stats.families import holm
from novelapi.reporting.stats.intervals import Interval, difference_intervals
from novelapi.reporting.stats.permutation import sign_flip_p
from novelapi.reporting.stats.resampling import SEED

Subset = Literal["all", "low_overlap", "strong"]
OVERLAP_THRESHOLD = 0.8


class Difference(Record):
    """pass@1 of one run minus another, on the tasks that both have scored."""

    contrast: Contrast
    """What is compared."""

    subset: Subset
    """On which tasks: all; without those whose shown examples overlap with the reference; only proved verdicts."""

    pairs: int
    """Tasks of the subset that are scored in both runs: the denominator."""

    unpaired: int
    """Tasks without a verdict in at least one of the two runs; they are in no denominator."""

    gains: int
    """Tasks that only the second run solves."""

    losses: int
    """Tasks that only the first run solves."""

    interval: Interval
    """The mean difference."""

    p: float | None = None
    """Two-sided clustered sign-flip test of no difference; null with fewer than two APIs."""

    p_holm: float | None = None
    """`p` adjusted within its family (Holm)."""

    family_size: int = 1
    """Number of tests in that family."""


@dataclass(frozen=True, kw_only=True)
class _Pairing:
    contrast: Contrast
    subset: Subset
    pairs: int
    unpaired: int
    gains: Clusters
    losses: Clusters

    @property
    def net(self) -> Clusters:
        return Clusters(names=self.gains.names, sums=self.gains.sums - self.losses.sums, counts=self.gains.counts)


def estimate_differences(
    outcomes: Outcomes, runs: Sequence[Run], *, threshold: float = OVERLAP_THRESHOLD, seed: int = SEED
) -> list[Difference]:
    """Return the planned comparisons on all tasks, on tasks of low overlap and on proved verdicts.

    A subset that leaves nothing out, or nothing over, is not listed again.

    Args:
        outcomes: the matrix of outcomes.
        runs: its columns.
        threshold: overlap of reference and shown examples above which a task leaves the subset `low_overlap`.
        seed: seed of replicates and permutations.
    """
    pairings: list[_Pairing] = []
    for contrast in planned_contrasts(runs):
        scored = _scored(outcomes, contrast)
        pairings.append(_pairing(outcomes, contrast, "all", scored))
        for subset, mask in _subsets(outcomes, contrast, threshold).items():
            if 0 < (mask & scored).sum() < scored.sum():
                pairings.append(_pairing(outcomes, contrast, subset, mask & scored))
    differences = _estimate(pairings, seed)
    return _adjusted(differences, [_family(runs, pairing) for pairing in pairings])


def compare_pair(outcomes: Outcomes, first: int, second: int, seed: int = SEED) -> Difference:
    """Return the difference of any two runs on the tasks that both have scored."""
    contrast = Contrast(family="pair", first=first, second=second)
    return _estimate([_pairing(outcomes, contrast, "all", _scored(outcomes, contrast))], seed)[0]


def _scored(outcomes: Outcomes, contrast: Contrast) -> Mask:
    return outcomes.scored[:, contrast.first] & outcomes.scored[:, contrast.second]


def _subsets(outcomes: Outcomes, contrast: Contrast, threshold: float) -> dict[Subset, Mask]:
    pair = [contrast.first, contrast.second]
    return {
        "low_overlap": np.logical_not(np.any(outcomes.overlap[:, pair] > threshold, axis=1)),
        "strong": np.logical_and.reduce(outcomes.strong[:, pair], axis=1),
    }


def _pairing(outcomes: Outcomes, contrast: Contrast, subset: Subset, mask: Mask) -> _Pairing:
    before = outcomes.codes[:, contrast.first] == PASS
    after = outcomes.codes[:, contrast.second] == PASS
    asked = outcomes.asked[:, contrast.first] | outcomes.asked[:, contrast.second]
    return _Pairing(
        contrast=contrast,
        subset=subset,
        pairs=int(mask.sum()),
        unpaired=int((asked & ~_scored(outcomes, contrast)).sum()),
        gains=outcomes.clusters((after & ~before).astype(np.float64), mask),
        losses=outcomes.clusters((before & ~after).astype(np.float64), mask),
    )


def _estimate(pairings: Sequence[_Pairing], seed: int) -> list[Difference]:
    nets = [pairing.net for pairing in pairings]
    intervals = batched(
        lambda gains, losses: difference_intervals(gains, losses, seed=seed),
        [pairing.gains for pairing in pairings],
        [pairing.losses for pairing in pairings],
    )
    p_values = batched(lambda net: sign_flip_p(net, seed=seed).tolist(), nets)
    return [
        Difference(
            contrast=pairing.contrast,
            subset=pairing.subset,
            pairs=pairing.pairs,
            unpaired=pairing.unpaired,
            gains=int(pairing.gains.sums.sum()),
            losses=int(pairing.losses.sums.sum()),
            interval=interval[0],
            p=p[0] if len(pairing.gains) > 1 else None,
            p_holm=p[0] if len(pairing.gains) > 1 else None,
        )
        for pairing, interval, p in zip(pairings, intervals, p_values, strict=True)
    ]


def _family(runs: Sequence[Run], pairing: _Pairing) -> tuple[str, ...]:
    run = runs[pairing.contrast.second]
    return (pairing.contrast.family, pairing.subset, run.experiment, run.delivery)


def _adjusted(differences: Sequence[Difference], families: Sequence[tuple[str, ...]]) -> list[Difference]:
    """Adjust p-values within families."""
    adjusted = list(differences)
    for family in dict.fromkeys(families):
        members = [i for i, name in enumerate(families) if name == family and differences[i].p is not None]
        p_values = holm([differences[i].p or 0.0 for i in members])
        for index, p in zip(members, p_values, strict=True):
            adjusted[index] = differences[index].model_copy(update={"p_holm": p, "family_size": len(members)})
    return adjusted
