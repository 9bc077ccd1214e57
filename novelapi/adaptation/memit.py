"""MEMIT: edits of several layers in one least-squares step each (Meng et al. 2023, equations 14 and 19 to 21).

A layer's update is Delta = R K^T (lambda C + K K^T)^-1, solved in float64: lambda C spans more than eight decades.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from novelapi.adaptation.artifact import Artifact, load, save
from novelapi.adaptation.batch_editor import Edit, LayerSettings, apply_deltas, artifact_of, prepare, run_batches
from novelapi.adaptation.extras import Network, Tensor, need
from novelapi.adaptation.handle import WeightHandle
from novelapi.adaptation.memory import require
from novelapi.adaptation.network import linear_of
from novelapi.adaptation.requests import TokenRequest
from novelapi.adaptation.statistics import Statistics
from novelapi.errors import NovelApiError, UsageError

SINGULAR = 1e-14
"""Ratio of pivots below which a system has no trustworthy solution in float64."""


class MemitSettings(LayerSettings):
    """Hyperparameters of MEMIT; the defaults are the published ones."""

    weight: float = Field(default=15000.0, gt=0)
    """lambda: weight of what the corpus knows against the edits."""


def solve_memit(moment: Tensor, keys: Tensor, residuals: Tensor, weight: float) -> Tensor:
    """Return R K^T (lambda C + K K^T)^-1 in float64.

    Args:
        moment: C (width x width).
        keys: K (width x n).
        residuals: R (hidden x n).
        weight: lambda.

    Raises:
        NovelApiError: the system is singular.
    """
    torch = need("torch")
    keys, residuals = keys.to(torch.float64), residuals.to(torch.float64)
    system = weight * moment.to(keys.device, torch.float64) + keys @ keys.T
    factor, failed = torch.linalg.cholesky_ex(system)
    pivots = factor.diagonal() ** 2
    if int(failed) or float(pivots.min()) < SINGULAR * float(pivots.max()):
        raise NovelApiError(
            f"the system of MEMIT is singular: the corpus does not span the {system.shape[0]} directions of the layer; "
            "collect the statistics over more tokens"
        )
    return residuals @ torch.cholesky_solve(keys, factor).T


class Memit:
    """The editor."""

    name = "memit"

    save = staticmethod(save)
    load = staticmethod(load)

    def __init__(self, settings: MemitSettings) -> None:
        """Remember the hyperparameters."""
        self.settings = settings

    def fit(
        self,
        model: Network,
        requests: Sequence[TokenRequest],
        seed: int = 0,
        stats: Statistics | None = None,
        *,
        work: Path | None = None,
    ) -> Artifact:
        """Compute the updates of all layers for one batch of requests; see `Editor.fit`.

        Nothing is drawn: `seed` is recorded, and decides the prefixes that the requests were encoded with.
        """
        settings = self.settings
        if stats is None:
            raise UsageError("MEMIT needs statistics of its layers: collect them first")
        kept, skipped, base_sha = prepare(model, requests, settings)
        stats.check(model, settings.layers, settings.module)
        module = linear_of(model, settings.layers[0], settings.module)
        require(4 * module.in_features**2 * 8, module.weight.device, f"MEMIT on width {module.in_features}")
        edit = Edit(
            model=model,
            settings=settings,
            base_sha=base_sha,
            work=work,
            solve=lambda layer, keys, residuals: solve_memit(stats.moment(layer), keys, residuals, settings.weight),
        )
        run_batches(edit, [kept])
        return artifact_of(edit, self.name, kept, seed, {"skipped": skipped, "corpus": stats.corpus_sha})

    def apply(self, model: Network, artifact: Artifact) -> WeightHandle:
        """Add the updates; see `Editor.apply`."""
        return apply_deltas(model, artifact, self.name)
