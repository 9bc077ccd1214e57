"""An applied artifact, and the way back: originals are copied and put back, never recomputed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from novelapi.adaptation.extras import Network, Tensor, need
from novelapi.errors import UsageError


class Handle(Protocol):
    """An artifact that is applied to a model."""

    def undo(self) -> None:
        """Restore the model bit by bit; a second call does nothing."""
        ...


class WeightHandle:
    """Replaced weights with copies of the originals."""

    def __init__(self, model: Network) -> None:
        """Change nothing yet."""
        self._parameters: dict[str, Tensor] = dict(model.named_parameters())
        self._originals: dict[str, Tensor] = {}

    def add(self, deltas: Mapping[str, Tensor]) -> WeightHandle:
        """Set weights to their original plus a delta: the sum is formed in float32 and rounded once.

        A second call for the same weight starts from the original again, so deltas are always totals.

        Raises:
            UsageError: the model has no such weight, or of another shape; nothing is changed then.
        """
        torch = need("torch")
        self._check(deltas)
        sums: dict[str, Tensor] = {}
        for name, delta in deltas.items():
            original = self._originals.get(name, self._parameters[name].detach())
            sums[name] = original.to(torch.float32) + delta.to(original.device, torch.float32)
        return self.put(sums)

    def put(self, weights: Mapping[str, Tensor]) -> WeightHandle:
        """Replace weights.

        Raises:
            UsageError: the model has no such weight, or of another shape; nothing is changed then.
        """
        torch = need("torch")
        self._check(weights)
        with torch.no_grad():
            for name, weight in weights.items():
                parameter = self._parameters[name]
                self._originals.setdefault(name, parameter.detach().clone())
                parameter.copy_(weight.to(parameter.device, parameter.dtype))
        return self

    def undo(self) -> None:
        """Put the originals back."""
        torch = need("torch")
        with torch.no_grad():
            for name, original in self._originals.items():
                self._parameters[name].copy_(original)
        self._originals.clear()

    def _check(self, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in tensors.items():
            if name not in self._parameters:
                raise UsageError(f"the model has no weight {name}: the artifact is for another architecture")
            if tuple(tensor.shape) != tuple(self._parameters[name].shape):
                shapes = f"{tuple(tensor.shape)} and {tuple(self._parameters[name].shape)}"
                raise UsageError(f"{name} has the shapes {shapes} in artifact and model: it is for another model")


class HookHandle:
    """Hooks on a model."""

    def __init__(self, hooks: list[Any]) -> None:
        """Remember the hooks that were registered."""
        self._hooks = hooks

    def undo(self) -> None:
        """Remove the hooks."""
        while self._hooks:
            self._hooks.pop().remove()
