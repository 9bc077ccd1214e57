"""The bound on MEMIT and AlphaEdit: what the model says when the wanted states themselves are put in.

The weights are fitted to produce these states at the subject. Where injecting them does not bring the target, no
solution of the least-squares problem can.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from novelapi.adaptation.artifact import Artifact
from novelapi.adaptation.assessment import generate
from novelapi.adaptation.extras import Network, Tensor
from novelapi.adaptation.hooks import changing
from novelapi.adaptation.network import frozen, layer_of
from novelapi.adaptation.requests import TokenRequest


def injected_bound(model: Network, requests: Sequence[TokenRequest], artifact: Artifact) -> dict[str, Any] | None:
    """Return the share of targets reproduced with z injected, and the mean loss before and after; null for others."""
    if "z" not in artifact.tensors or not artifact.settings.get("layers"):
        return None
    layer = layer_of(model, artifact.settings["layers"][-1])
    exact = 0
    with frozen(model):
        for request, state in zip(requests, artifact.tensors["z"], strict=True):
            with changing(layer, _inserting(state, request)):
                (answer,) = generate(model, [request.bare.ids[: request.bare.start]], len(request.bare.target))
            exact += answer[: len(request.bare.target)] == list(request.bare.target)
    losses = artifact.facts["losses"]
    return {
        "exact": exact / len(requests),
        "loss_before": sum(row["before"] for row in losses) / len(losses),
        "loss_after": sum(row["after"] for row in losses) / len(losses),
    }


def _inserting(state: Tensor, request: TokenRequest) -> Any:
    """Return a change of the layer's output that puts a state at the subject of the prompt; decode steps pass."""

    def insert(states: Tensor) -> Tensor:
        if states.shape[1] <= request.bare.subject:
            return states
        changed = states.clone()
        changed[0, request.bare.subject] = state.to(states)
        return changed

    return insert
