"""AlphaEdit, closed form: updates projected onto the directions that the corpus leaves free (Fang et al. 2025).

Delta^T = (P (K K^T + Kp Kp^T) + L2 I)^-1 P K R^T with P = U0 U0^T and Kp the keys of earlier batches. In the basis U0
the system is symmetric, positive definite and only as large as the free space:
Delta = R k^T (k k^T + kp kp^T + L2 I)^-1 U0^T with k = U0^T K, kp = U0^T Kp, so that Delta P = Delta by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from novelapi.adaptation.artifact import Artifact, load, save
from novelapi.adaptation.batch_editor import (
    Edit,
    LayerSettings,
    apply_deltas,
    artifact_of,
    deltas_of,
    prepare,
    run_batches,
)
from novelapi.adaptation.batches import in_chunks
from novelapi.adaptation.extras import Network, Tensor, need
from novelapi.adaptation.handle import WeightHandle
from novelapi.adaptation.keys import keys_of
from novelapi.adaptation.memory import require
from novelapi.adaptation.network import check_base, linear_of
from novelapi.adaptation.projector import Projector, projector
from novelapi.adaptation.requests import TokenRequest
from novelapi.adaptation.statistics import Statistics
from novelapi.errors import UsageError
from novelapi.fingerprint import digest


class AlphaEditSettings(LayerSettings):
    """Hyperparameters of AlphaEdit; the defaults are those of the authors' GPT-J and Llama3-8B runs."""

    ridge: float = Field(default=10.0, gt=0)
    """L2: weight of |Delta|^2."""

    threshold: float | None = 2e-2
    """Eigenvalues of C below it are free; null where `rank` is given."""

    rank: int | None = None
    """Number of free directions instead of a threshold."""

    batch: int | None = Field(default=None, ge=1)
    """Requests per sequential batch; null takes all in one."""


def solve_alphaedit(basis: Tensor, keys: Tensor, residuals: Tensor, earlier: Tensor | None, ridge: float) -> Tensor:
    """Return the update of a layer in float64.

    Args:
        basis: U0 (width x rank).
        keys: K (width x n).
        residuals: R (hidden x n).
        earlier: Kp (width x m), or null.
        ridge: L2.
    """
    torch = need("torch")
    double = {"dtype": torch.float64, "device": keys.device}
    basis = basis.to(**double)
    own = basis.T @ keys.to(**double)
    system = own @ own.T + ridge * torch.eye(own.shape[0], **double)
    if earlier is not None and earlier.shape[1]:
        old = basis.T @ earlier.to(**double)
        system = system + old @ old.T
    solved = torch.cholesky_solve(own, torch.linalg.cholesky(system))
    return residuals.to(**double) @ solved.T @ basis.T


class AlphaEdit:
    """The editor; projector and earlier keys live in the fit and its artifact, never in the module."""

    name = "alphaedit"

    save = staticmethod(save)
    load = staticmethod(load)

    def __init__(self, settings: AlphaEditSettings) -> None:
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
        previous: Artifact | None = None,
    ) -> Artifact:
        """Compute updates batch after batch; see `Editor.fit`.

        Args:
            model: the base, without the previous edit.
            requests: the facts.
            seed: recorded only; nothing is drawn.
            stats: second moments of the layers.
            work: folder of finished parts.
            previous: an artifact of the same base to go on from; the result holds both.
        """
        settings = self.settings
        if stats is None:
            raise UsageError("AlphaEdit needs statistics of its layers: collect them first")
        kept, skipped, base_sha = prepare(model, requests, settings)
        stats.check(model, settings.layers, settings.module)
        module = linear_of(model, settings.layers[0], settings.module)
        require(6 * module.in_features**2 * 8, module.weight.device, f"AlphaEdit on width {module.in_features}")
        spaces = {
            layer: projector(stats.moment(layer), threshold=settings.threshold, rank=settings.rank)
            for layer in settings.layers
        }
        seen = self._earlier(model, previous)

        def solve(layer: int, keys: Tensor, residuals: Tensor) -> Tensor:
            return solve_alphaedit(spaces[layer].basis, keys, residuals, seen.get(layer), settings.ridge)

        def remember(edited: Network, batch: Sequence[TokenRequest]) -> None:
            for layer in settings.layers:
                keys = keys_of(edited, batch, linear_of(edited, layer, settings.module), settings.key_batch).cpu()
                seen[layer] = need("torch").cat([seen[layer], keys], dim=1) if layer in seen else keys

        edit = Edit(
            model=model, settings=settings, base_sha=base_sha, work=work, solve=solve, after_batch=remember,
            deltas=deltas_of(previous) if previous else {},
            origin=digest([previous.requests_sha, previous.settings, previous.facts["corpus"]]) if previous else "",
        )  # fmt: skip
        run_batches(edit, list(in_chunks(kept, settings.batch or len(kept))))
        edit.trace |= {f"seen.{layer}": keys for layer, keys in seen.items()}
        facts = {"skipped": skipped, "corpus": stats.corpus_sha, "projector": _facts(spaces)}
        return artifact_of(edit, self.name, kept, seed, facts)

    def apply(self, model: Network, artifact: Artifact) -> WeightHandle:
        """Add the updates; see `Editor.apply`."""
        return apply_deltas(model, artifact, self.name)

    def _earlier(self, model: Network, previous: Artifact | None) -> dict[int, Tensor]:
        """Return the keys of earlier batches by layer, as they were after those batches."""
        if previous is None:
            return {}
        check_base(model, previous.base_sha, "the previous artifact")
        missing = [layer for layer in self.settings.layers if f"seen.{layer}" not in previous.tensors]
        if missing or previous.method != self.name:
            raise UsageError(f"the previous artifact has no keys of layers {missing}: it was made with other layers")
        return {layer: previous.tensors[f"seen.{layer}"] for layer in self.settings.layers}


def _facts(spaces: dict[int, Projector]) -> dict[str, dict[str, float]]:
    return {str(layer): space.facts() for layer, space in spaces.items()}
