"""What MEMIT and AlphaEdit share: wanted states, keys on the partially edited model, residuals spread over the layers.

The two differ in one equation: how a layer's update follows from keys K (width x n) and residuals R (hidden x n).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from novelapi.adaptation.artifact import Artifact, digest_of
from novelapi.adaptation.extras import Network, Tensor, need
from novelapi.adaptation.handle import WeightHandle
from novelapi.adaptation.keys import keys_of, states_at
from novelapi.adaptation.network import (
    base_digest,
    check_base,
    check_layers,
    frozen,
    layer_of,
    linear_of,
    weight_name,
)
from novelapi.adaptation.requests import TokenRequest, check_window, without_conflicts
from novelapi.adaptation.targets import TargetSettings, optimise_targets
from novelapi.errors import NovelApiError, UsageError
from novelapi.fingerprint import digest
from novelapi.records.base import Record


class LayerSettings(Record):
    """Where a batch editor writes, and how wanted states are found."""

    layers: tuple[int, ...]
    """Edited layers in rising order; the wanted state is that after the last of them."""

    module: str = "mlp.down_proj"
    """Linear module of each layer that is changed."""

    target: TargetSettings = TargetSettings()
    """How wanted states are found."""

    keep_conflicts: bool = False
    """Fit requests that want different targets at one key too, as published (the result is about their mean), instead
    of leaving out all but the first."""

    key_batch: int = Field(default=32, ge=1)
    """Sequences per pass when keys are computed."""


Solve = Callable[[int, Tensor, Tensor], Tensor]
"""(layer, K, R) to the update of the layer's weight, all float64."""


@dataclass(kw_only=True)
class Edit:
    """The state of one fit: the model is partially edited while it lives."""

    model: Network
    settings: LayerSettings
    base_sha: str
    work: Path | None
    solve: Solve
    origin: str = ""
    """What the model was edited with before this fit; empty for the base itself. Wanted states depend on it."""
    after_batch: Callable[[Network, Sequence[TokenRequest]], None] | None = None
    deltas: dict[str, Tensor] = field(default_factory=dict)
    """Sum of the updates by weight, float32: what the artifact holds."""
    trace: dict[str, Tensor] = field(default_factory=dict)
    """Keys and residuals of the last batch by layer, wanted states of all."""
    losses: list[dict[str, float]] = field(default_factory=list)


def run_batches(edit: Edit, batches: Sequence[Sequence[TokenRequest]]) -> None:
    """Edit a model batch after batch, then put its weights back; the sums are left in `edit.deltas`.

    Raises:
        NovelApiError: the numbers went wrong.
    """
    handle = WeightHandle(edit.model)
    done: list[str] = []
    states: list[Tensor] = []
    with frozen(edit.model):
        try:
            if edit.deltas:
                handle.add(edit.deltas)
            for batch in batches:
                states.append(_edit_batch(edit, batch, handle, done).cpu())
                done += [request.sha for request in batch]
                if edit.after_batch is not None:
                    edit.after_batch(edit.model, batch)
        finally:
            handle.undo()
    edit.trace["z"] = need("torch").cat(states)


def _edit_batch(edit: Edit, batch: Sequence[TokenRequest], handle: WeightHandle, done: Sequence[str]) -> Tensor:
    torch = need("torch")
    settings = edit.settings
    identity = digest([edit.base_sha, settings.module, settings.layers])
    if done or edit.origin:  # the model is edited already, in a way that depends on everything
        identity = digest([identity, edit.origin, settings, done])
    last = settings.layers[-1]
    targets = optimise_targets(edit.model, batch, last, settings.target, work=edit.work, identity=identity)
    edit.losses += targets.losses
    wanted = targets.z.to(torch.float64)
    bare = [request.bare for request in batch]
    for number, layer in enumerate(settings.layers):
        module = linear_of(edit.model, layer, settings.module)
        keys = keys_of(edit.model, batch, module, settings.key_batch)
        now = states_at(edit.model, bare, layer_of(edit.model, last), "output", settings.key_batch).to(torch.float64)
        residuals = (wanted - now).T / (len(settings.layers) - number)
        delta = edit.solve(layer, keys, residuals)
        if not bool(torch.isfinite(delta).all()):
            raise NovelApiError(f"the update of layer {layer} is not finite: collect statistics over more tokens")
        name = weight_name(layer, settings.module)
        edit.deltas[name] = edit.deltas.get(name, 0) + delta.to("cpu", torch.float32)
        handle.add({name: edit.deltas[name]})
        edit.trace[f"keys.{layer}"] = keys.cpu()
        edit.trace[f"residuals.{layer}"] = residuals.cpu()
    return targets.z


def prepare(
    model: Network, requests: Sequence[TokenRequest], settings: LayerSettings
) -> tuple[list[TokenRequest], dict[str, str], str]:
    """Check a fit before it costs anything.

    Returns:
        The requests to fit, the skipped ones with reasons, and the digest of the base.

    Raises:
        UsageError: layers, module or requests do not fit the model.
    """
    check_layers(model, settings.layers, settings.module)
    check_window(requests, model.config.max_position_embeddings)
    kept, skipped = without_conflicts(requests, by_subject=True)
    if settings.keep_conflicts:
        kept, skipped = list(requests), {}
    return kept, skipped, base_digest(model)


def artifact_of(
    edit: Edit, method: str, requests: Sequence[TokenRequest], seed: int, facts: dict[str, Any]
) -> Artifact:
    """Return the artifact of a finished edit."""
    tensors = {f"delta.{name}": delta for name, delta in edit.deltas.items()}
    return Artifact(
        method=method,
        served="weights",
        base_sha=edit.base_sha,
        seed=seed,
        requests_sha=digest_of([request.sha for request in requests]),
        settings=edit.settings.to_row(),
        tensors=tensors | edit.trace,
        facts={"cases": [request.case_id for request in requests], "losses": edit.losses, **facts},
    )


def deltas_of(artifact: Artifact) -> dict[str, Tensor]:
    """Return the updates of an artifact by weight."""
    head = "delta."
    return {name[len(head) :]: tensor for name, tensor in artifact.tensors.items() if name.startswith(head)}


def apply_deltas(model: Network, artifact: Artifact, method: str) -> WeightHandle:
    """Add the updates of an artifact to its base.

    Raises:
        UsageError: it is another method's artifact, or the model is not its base.
    """
    if artifact.method != method:
        raise UsageError(f"this is an artifact of {artifact.method}, not of {method}: apply it with its own editor")
    check_base(model, artifact.base_sha, f"the {method} artifact")
    return WeightHandle(model).add(deltas_of(artifact))
