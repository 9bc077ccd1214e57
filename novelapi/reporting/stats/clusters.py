"""Sums per cluster: all that intervals and tests need to know of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """Values summed within clusters; one column per quantity."""

    names: tuple[str, ...]
    """Names of the clusters (APIs), sorted: results do not depend on the order of rows."""

    sums: Floats
    """Sum of the values per cluster and quantity, shape (clusters, quantities)."""

    counts: Floats
    """Number of values per cluster, shape (clusters, 1) or (clusters, quantities)."""

    def __len__(self) -> int:
        """Return the number of clusters."""
        return len(self.names)

    @property
    def units(self) -> Floats:
        """Number of values behind each quantity, shape (quantities,)."""
        return np.broadcast_to(self.counts, self.sums.shape).sum(axis=0)

    @property
    def means(self) -> Floats:
        """Mean over all values, shape (quantities,): each task counts once, whatever its cluster."""
        return self.sums.sum(axis=0) / self.counts.sum(axis=0)

    def select(self, quantities: NDArray[np.bool_]) -> Clusters:
        """Return the table of some of the quantities."""
        counts = np.broadcast_to(self.counts, self.sums.shape)[:, quantities]
        return Clusters(names=self.names, sums=self.sums[:, quantities], counts=counts)


def sum_by_cluster(names: Sequence[str], values: ArrayLike) -> Clusters:
    """Sum values within clusters.

    Values are added in sorted order, so that not even the last bit depends on the order of rows.

    Args:
        names: the cluster of each row, length n.
        values: shape (n,) or (n, quantities).

    Raises:
        ValueError: lengths differ.
    """
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if len(names) != len(matrix):
        message = f"{len(names)} clusters for {len(matrix)} values"
        raise ValueError(message)
    unique, position = np.unique(np.asarray(names, dtype=object).astype(str), return_inverse=True)
    return sum_by_position([str(name) for name in unique], position, matrix)


def sum_by_position(names: Sequence[str], position: NDArray[np.intp], values: Floats) -> Clusters:
    """Sum values within clusters that are already numbered; clusters without a value are left out.

    Args:
        names: the clusters, sorted.
        position: the cluster of each row, as a position in `names`, shape (n,).
        values: shape (n, quantities).
    """
    counts = np.bincount(position, minlength=len(names))
    sums = np.zeros((len(names), values.shape[1]))
    for column, added in enumerate(values.T):
        order = slice(None) if is_whole(added) else np.lexsort((added, position))
        sums[:, column] = np.bincount(position[order], weights=added[order], minlength=len(names))
    present = counts > 0
    if present.all():  # nearly always; thousands of tables then share one tuple of names
        return Clusters(names=tuple(names), sums=sums, counts=counts[:, None].astype(np.float64))
    return Clusters(
        names=tuple(name for name, is_there in zip(names, present, strict=True) if is_there),
        sums=sums[present],
        counts=counts[present, None].astype(np.float64),
    )


def is_whole(values: Floats) -> bool:
    """Return whether all values are whole numbers, whose sums no order and no precision changes."""
    return bool((values == np.rint(values)).all())
