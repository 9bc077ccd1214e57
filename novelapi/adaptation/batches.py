"""Rows of tokens as padded tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from novelapi.adaptation.extras import Tensor, need

T = TypeVar("T")


def padded(rows: Sequence[Sequence[int]], device: Any, *, left: bool = False) -> tuple[Tensor, Tensor]:
    """Return ids and mask (rows x longest), padded with zeros on the right, or on the left for generation."""
    torch = need("torch")
    longest = max(map(len, rows))
    ids = torch.zeros((len(rows), longest), dtype=torch.long)
    mask = torch.zeros((len(rows), longest), dtype=torch.long)
    for number, row in enumerate(rows):
        where = slice(longest - len(row), None) if left else slice(0, len(row))
        ids[number, where] = torch.tensor(list(row), dtype=torch.long)
        mask[number, where] = 1
    return ids.to(device), mask.to(device)


def in_chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield consecutive parts of at most `size` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
