"""The directions that a corpus leaves free: eigenvectors of C with small eigenvalues (AlphaEdit, section 3.2).

The projector is kept as the basis U0 (width x rank) with P = U0 U0^T; C is symmetric, so its singular values are its
eigenvalues. The published threshold 2e-2 is absolute and depends on the model's scale: rank and retained energy are
always reported, and tests on small models choose by rank.
"""

from __future__ import annotations

from dataclasses import dataclass

from novelapi.adaptation.extras import Tensor, need
from novelapi.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Projector:
    """An orthogonal projector onto the free directions of one layer."""

    basis: Tensor
    """U0: (width x rank), float64, orthonormal columns."""

    threshold: float
    """Largest eigenvalue of C that counts as free."""

    energy: float
    """tr(P C) / tr(C): share of the corpus that an edit can still disturb."""

    @property
    def rank(self) -> int:
        """Dimension of the free space."""
        return int(self.basis.shape[1])

    @property
    def matrix(self) -> Tensor:
        """P: (width x width)."""
        return self.basis @ self.basis.T

    def facts(self) -> dict[str, float]:
        """Return what a report says of it."""
        width = int(self.basis.shape[0])
        return {"rank": self.rank, "width": width, "energy": self.energy, "threshold": self.threshold}


def projector(moment: Tensor, *, threshold: float | None = None, rank: int | None = None) -> Projector:
    """Return the projector of a second moment.

    Args:
        moment: C, symmetric up to rounding.
        threshold: eigenvalues below it are free (absolute, as published).
        rank: number of free directions instead, those with the smallest eigenvalues.

    Raises:
        UsageError: not exactly one of the two, the rank is out of range, or no direction is free.
    """
    torch = need("torch")
    if (threshold is None) == (rank is None):
        raise UsageError("give either a threshold or a rank for the projector")
    double = moment.to(torch.float64)
    values, vectors = torch.linalg.eigh((double + double.T) / 2)  # rising
    width = int(values.shape[0])
    if rank is None:
        rank = int((values < threshold).sum())
    elif not 0 < rank <= width:
        raise UsageError(f"the rank of the projector must lie between 1 and {width}, not {rank}")
    if rank == 0:
        raise UsageError(
            f"no eigenvalue of C is below {threshold} (the smallest is {float(values[0]):.3g}): nothing can be edited "
            "without disturbing the corpus; raise the threshold"
        )
    total = float(values.clamp_min(0).sum())
    free = float(values[:rank].clamp_min(0).sum())
    limit = float(threshold if threshold is not None else values[rank - 1])
    return Projector(basis=vectors[:, :rank].contiguous(), threshold=limit, energy=free / total if total else 0.0)
