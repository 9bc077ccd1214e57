"""Which results a run replaces: the proof that something follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

STUB_KINDS = ("values", "shape", "order", "earlier")
"""Kinds of replacement, see `guest/perturb.py`; `earlier` for objects whose class refuses a changed state."""


@dataclass(frozen=True)
class Replacement:
    """One kind of replacement, of the results of all targets or of one."""

    kind: str
    """`values`, `shape`, `order` or `earlier`."""
    spy: int | None = None
    """The one target whose results are replaced, by its position in the task's calls; null replaces all."""

    @property
    def key(self) -> str:
        """Name it in records: `values`, `values/0`."""
        return self.kind if self.spy is None else f"{self.kind}/{self.spy}"

    def for_guest(self) -> dict[str, Any]:
        """Return it as the server of real calls reads it."""
        return {"kind": self.kind, "spy": self.spy}
