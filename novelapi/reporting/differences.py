"""Paired differences of pass@1 between runs, with intervals, tests and sensitivity to doubtful rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from novelapi.records.base import Record
from novelapi.reporting.contrasts import PRIMARY, Contrast, family_of, planned_contrasts
from novelapi.reporting.estimates import batched
from novelapi.reporting.outcomes import PASS, Mask, Outcomes
from novelapi.reporting.runs import Run
from novelapi.reporting.stats.clusters import Clusters
from novelapi.reporting.stats.equivalence import ALPHA, Equivalence, judge_equivalence
from novelapi.reporting.stats.families import holm
from novelapi.reporting.stats.intervals import LEVEL, Interval, difference_intervals_at
from novelapi.reporting.stats.permutation import sign_flip_p
from novelapi.reporting.stats.power import detectable_difference
from novelapi.reporting.stats.resampling import SEED

Subset = Literal["all", "low_overlap", "strong", "unscored_fail", "worst", "best"]
OVERLAP_THRESHOLD = 0.8

READINGS: dict[Subset, tuple[bool, bool]] = {
    "unscored_fail": (False, False),
    "worst": (True, False),
    "best": (False, True),
}
"""Whether a task without a verdict counts as solved in the first and in the second run."""

EXTREME: tuple[Subset, ...] = ("worst", "best")
"""Readings that bound the truth; nobody believes them, so they are not tested."""


class Difference(Record):
    """pass@1 of one run minus another, on the tasks that both have scored."""

    contrast: Contrast
    """What is compared."""

    subset: Subset
    """On which tasks: all that are scored in both runs; without those whose shown examples overlap with the reference;
    only proved verdicts; or all that were asked, an unscored one counted as failed, or as it hurts or helps most."""

    pairs: int
    """Tasks of the subset that are compared: the denominator."""

    unpaired: int
    """Tasks without a verdict in at least one of the two runs; they are in no denominator."""

    gains: int
    """Tasks that only the second run solves."""

    losses: int
    """Tasks that only the first run solves."""

    interval: Interval
    """The mean difference."""

    p: float | None = None
    """Two-sided clustered sign-flip test of no difference; null with fewer than two APIs, or for a bound."""

    p_holm: float | None = None
    """`p` adjusted within its family (Holm)."""

    family_size: int = 1
    """Number of tests in that family."""

    equivalence: Equivalence | None = None
    """Whether the two runs do the same within a margin; only on all tasks."""

    detectable: float | None = None
    """Smallest true difference that this many APIs would show with a power of 80 %; null where it cannot be told."""


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
    """Return the planned comparisons.

    The primary ones are repeated on tasks of low overlap, on proved verdicts, and under every reading of what is
    unscored. A subset that leaves nothing out, or nothing over, is not listed again.

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
        if contrast.family not in PRIMARY:
            continue
        for subset, mask in _subsets(outcomes, contrast, threshold).items():
            if 0 < (mask & scored).sum() < scored.sum():
                pairings.append(_pairing(outcomes, contrast, subset, mask & scored))
        asked = outcomes.asked[:, contrast.first] & outcomes.asked[:, contrast.second]
        if scored.any() and (asked & ~scored).any():
            pairings += [_pairing(outcomes, contrast, subset, asked) for subset in READINGS]
    differences = _estimate(pairings, seed)
    families = [family_of(runs, pairing.contrast, pairing.subset) for pairing in pairings]
    return _adjusted(differences, families)


def compare_pairs(outcomes: Outcomes, pairs: Sequence[tuple[int, int]], seed: int = SEED) -> list[Difference]:
    """Return the differences of any pairs of runs on the tasks that both have scored; all pairs are one family."""
    contrasts = [Contrast(family="pair", first=first, second=second) for first, second in pairs]
    pairings = [_pairing(outcomes, contrast, "all", _scored(outcomes, contrast)) for contrast in contrasts]
    return _adjusted(_estimate(pairings, seed), [("pair",)] * len(pairings))


def _scored(outcomes: Outcomes, contrast: Contrast) -> Mask:
    return outcomes.scored[:, contrast.first] & outcomes.scored[:, contrast.second]


def _subsets(outcomes: Outcomes, contrast: Contrast, threshold: float) -> dict[Subset, Mask]:
    pair = [contrast.first, contrast.second]
    return {
        "low_overlap": np.logical_not(np.any(outcomes.overlap[:, pair] > threshold, axis=1)),
        "strong": np.logical_and.reduce(outcomes.strong[:, pair], axis=1),
    }


def _pairing(outcomes: Outcomes, contrast: Contrast, subset: Subset, mask: Mask) -> _Pairing:
    lucky = READINGS.get(subset, (False, False))
    before, after = (
        (outcomes.codes[:, run] == PASS) | (is_lucky & ~outcomes.scored[:, run])
        for run, is_lucky in zip((contrast.first, contrast.second), lucky, strict=True)
    )
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
    levels = (LEVEL, 1 - 2 * ALPHA)  # the second is that of the two one-sided tests
    intervals = batched(
        lambda gains, losses: list(zip(*difference_intervals_at(gains, losses, levels, seed=seed), strict=True)),
        [pairing.gains for pairing in pairings],
        [pairing.losses for pairing in pairings],
    )
    tested = {index: nets[index] for index, pairing in enumerate(pairings) if pairing.subset not in EXTREME}
    p_values = dict(
        zip(tested, batched(lambda net: sign_flip_p(net, seed=seed).tolist(), list(tested.values())), strict=True)
    )
    return [
        Difference(
            contrast=pairing.contrast,
            subset=pairing.subset,
            pairs=pairing.pairs,
            unpaired=pairing.unpaired,
            gains=int(pairing.gains.sums.sum()),
            losses=int(pairing.losses.sums.sum()),
            interval=interval,
            p=_tested(pairing, p_values.get(index)),
            p_holm=_tested(pairing, p_values.get(index)),
            equivalence=judge_equivalence(narrower) if pairing.subset == "all" else None,
            detectable=detectable_difference(pairing.net)[0] if pairing.subset == "all" else None,
        )
        for index, (pairing, [(interval, narrower)]) in enumerate(zip(pairings, intervals, strict=True))
    ]


def _tested(pairing: _Pairing, p_values: Sequence[float] | None) -> float | None:
    return p_values[0] if p_values and len(pairing.gains) > 1 else None


def _adjusted(differences: Sequence[Difference], families: Sequence[tuple[str, ...]]) -> list[Difference]:
    """Adjust p-values within families."""
    adjusted = list(differences)
    for family in dict.fromkeys(families):
        members = [i for i, name in enumerate(families) if name == family and differences[i].p is not None]
        p_values = holm([differences[i].p or 0.0 for i in members])
        for index, p in zip(members, p_values, strict=True):
            adjusted[index] = differences[index].model_copy(update={"p_holm": p, "family_size": len(members)})
    return adjusted
