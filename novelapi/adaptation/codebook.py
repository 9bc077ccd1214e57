"""GRACE's codebook: keys with radii and values (Hartvigsen et al. 2023, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from novelapi.adaptation.extras import Tensor, need

Placed = Literal["added", "split", "grown", "kept"]
SPLIT_GAP = 1e-5
"""Keeps the two radii of a split apart."""


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """The entry next to a query."""

    index: int
    distance: float
    radius: float

    @property
    def inside(self) -> bool:
        """Whether the entry answers for the query."""
        return self.distance <= self.radius


class Codebook:
    """Keys, radii, labels and values in the order in which they were added; distances are exact float32."""

    def __init__(self, width: int, height: int, device: str | object = "cpu") -> None:
        """Start empty, for keys of `width` and values of `height` numbers."""
        torch = need("torch")
        self._keys: Tensor = torch.zeros((8, width), device=device)
        self._values: Tensor = torch.zeros((8, height), device=device)
        self.radii: list[float] = []
        self.labels: list[str] = []
        self.splits = 0

    def __len__(self) -> int:
        return len(self.radii)

    @property
    def keys(self) -> Tensor:
        """(entries x width)."""
        return self._keys[: len(self)]

    @property
    def values(self) -> Tensor:
        """(entries x height)."""
        return self._values[: len(self)]

    def set_value(self, index: int, value: Tensor) -> None:
        """Replace the value of an entry."""
        self._values[index] = value.detach().to(self._values)

    def nearest(self, query: Tensor) -> Nearest | None:
        """Return the entry next to a query (width), the older one of two at the same distance; null if empty."""
        if not len(self):
            return None
        torch = need("torch")
        row = query.detach().to(self._keys)[None]
        # The matrix-product form of the distance loses all digits near zero, where radii decide.
        apart = torch.cdist(row, self.keys, compute_mode="donot_use_mm_for_euclid_dist")[0]
        index = int(apart.argmin())
        return Nearest(index=index, distance=float(apart[index]), radius=self.radii[index])

    def place(self, key: Tensor, label: str, value: Tensor, radius: float) -> tuple[int, Placed]:
        """Find the entry that a new edit belongs to, or make one.

        Farther than `radius` plus the nearest entry's radius: a new entry. Nearer, with another label: a new entry, and
        both radii shrink to half the distance. With the same label: the radius grows to reach the key, or stays.

        Returns:
            The entry's index and what was done.
        """
        near = self.nearest(key)
        if near is None or near.distance > radius + near.radius:
            return self._add(key, label, value, radius), "added"
        if self.labels[near.index] != label:
            self.radii[near.index] = max(0.0, near.distance / 2 - SPLIT_GAP)
            self.splits += 1
            return self._add(key, label, value, near.distance / 2), "split"
        if near.distance > near.radius:
            self.radii[near.index] = near.distance
            return near.index, "grown"
        return near.index, "kept"

    def _add(self, key: Tensor, label: str, value: Tensor, radius: float) -> int:
        index = len(self)
        if index == len(self._keys):
            torch = need("torch")
            self._keys = torch.cat([self._keys, torch.zeros_like(self._keys)])
            self._values = torch.cat([self._values, torch.zeros_like(self._values)])
        self._keys[index] = key.detach().to(self._keys)
        self.radii.append(radius)
        self.labels.append(label)
        self.set_value(index, value)
        return index

    def tensors(self) -> dict[str, Tensor]:
        """Return keys, values and radii for an artifact."""
        torch = need("torch")
        radii = torch.tensor(self.radii, dtype=torch.float64)
        return {"keys": self.keys.clone(), "values": self.values.clone(), "radii": radii}

    @classmethod
    def of(cls, tensors: dict[str, Tensor], labels: list[str], device: str | object = "cpu") -> Codebook:
        """Return the codebook of an artifact."""
        keys, values = tensors["keys"].to(device), tensors["values"].to(device)
        book = cls(int(keys.shape[1]), int(values.shape[1]), device)
        if len(keys):
            book._keys, book._values = keys.clone(), values.clone()
        book.radii = [float(radius) for radius in tensors["radii"]]
        book.labels = list(labels)
        return book
