"""GRACE: a codebook of edits at one linear module; the weights stay as they are (Hartvigsen et al. 2023).

The identity of an edit is a hash of its target tokens: the mean of the labels, as in the published code, is the same
for different texts. Each edit trains its own value alone, so its cost does not depend on how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from novelapi.adaptation.artifact import Artifact, digest_of, load, save
from novelapi.adaptation.batches import padded
from novelapi.adaptation.codebook import Codebook
from novelapi.adaptation.extras import Network, Tensor, need
from novelapi.adaptation.grace_hook import GraceHook, Replace, replaced
from novelapi.adaptation.handle import HookHandle
from novelapi.adaptation.hooks import changing, ending_after, watching
from novelapi.adaptation.memory import require
from novelapi.adaptation.network import (
    base_digest,
    check_base,
    decoder_of,
    frozen,
    linear_of,
    log_probabilities,
)
from novelapi.adaptation.requests import TokenRequest, check_window, without_conflicts
from novelapi.adaptation.statistics import Statistics
from novelapi.adaptation.upper import UpperLayers
from novelapi.errors import NovelApiError, UsageError
from novelapi.fingerprint import digest
from novelapi.records.base import Record


class GraceSettings(Record):
    """Hyperparameters of GRACE; the defaults are the published ones."""

    layer: int = 24
    """The edited layer."""

    module: str = "mlp.up_proj"
    """The edited linear module."""

    radius: float = Field(default=1.0, ge=0)
    """Radius of a new entry."""

    rate: float = Field(default=1.0, gt=0, le=1e6)
    """Learning rate of Adam."""

    steps: int = Field(default=100, ge=1)
    """Most steps per edit."""

    stop: float = Field(default=0.01, ge=0)
    """Loss below which an edit is done."""

    replace: Replace = "before"
    """Which positions take the value."""

    start: Literal["cold", "warm"] = "cold"
    """First value: uniform in [0, 1) as published, or the module's own output at the key."""


class Grace:
    """The editor."""

    name = "grace"

    save = staticmethod(save)
    load = staticmethod(load)

    def __init__(self, settings: GraceSettings) -> None:
        """Remember the hyperparameters."""
        self.settings = settings

    def fit(
        self,
        model: Network,
        requests: Sequence[TokenRequest],
        seed: int = 0,
        stats: Statistics | None = None,  # noqa: ARG002 - it needs none
        *,
        work: Path | None = None,
    ) -> Artifact:
        """Add the requests to a codebook one by one, in their order; see `Editor.fit`."""
        torch = need("torch")
        settings = self.settings
        linear = linear_of(model, settings.layer, settings.module)
        check_window(requests, model.config.max_position_embeddings)
        kept, skipped = without_conflicts(requests, by_subject=False)
        device = linear.weight.device
        # The codebook doubles as it grows, so for a moment the old and the new one stand side by side.
        size = 3 * len(kept) * (linear.in_features + linear.out_features) * 4
        require(size, device, f"a codebook of {len(kept)} edits")
        base_sha = base_digest(model)
        book = Codebook(linear.in_features, linear.out_features, device)
        store = _Store(work, digest([base_sha, settings, seed]))
        edits: list[dict[str, Any]] = []
        with frozen(model):
            for request in kept:
                if not request.bare.target:
                    raise UsageError(f"{request.case_id} has no target: GRACE needs one")
                key, output = self._prompt_state(model, request, linear)
                label = digest(list(request.bare.target))
                generator = torch.Generator().manual_seed(int(digest([seed, request.case_id], 15), 16))
                first = torch.rand(linear.out_features, generator=generator).to(device)
                index, placed = book.place(key, label, output if settings.start == "warm" else first, settings.radius)
                stored = store.read(request)
                if stored is None:
                    value, facts = self.train_value(model, request, linear, book.values[index].clone())
                    store.write(request, value, facts)
                else:
                    value, facts = stored
                book.set_value(index, value)
                edits.append({"case_id": request.case_id, "entry": index, "placed": placed, **facts})
        return Artifact(
            method=self.name,
            served="hook",
            base_sha=base_sha,
            seed=seed,
            requests_sha=digest_of([request.sha for request in kept]),
            settings=settings.to_row(),
            tensors=book.tensors(),
            facts={"labels": book.labels, "edits": edits, "skipped": skipped, **radii_of(book)},
        )

    def apply(self, model: Network, artifact: Artifact) -> HookHandle:
        """Register the codebook; see `Editor.apply`."""
        return self.attach(model, artifact)[0]

    def attach(self, model: Network, artifact: Artifact) -> tuple[HookHandle, GraceHook]:
        """Register the codebook and return the hook too, which keeps what each prompt found.

        Raises:
            UsageError: the artifact belongs to other weights or another method.
        """
        if artifact.method != self.name:
            raise UsageError(f"this is an artifact of {artifact.method}, not of grace: apply it with its own editor")
        check_base(model, artifact.base_sha, "the grace artifact")
        settings = GraceSettings.model_validate(artifact.settings)
        device = next(model.parameters()).device
        hook = GraceHook(Codebook.of(artifact.tensors, artifact.facts["labels"], device), settings.replace)
        return hook.attach(model, settings.layer, settings.module), hook

    def _prompt_state(self, model: Network, request: TokenRequest, linear: Any) -> tuple[Tensor, Tensor]:
        """Return input and output of the module at the last token of the prompt, from a pass over the prompt alone."""
        torch = need("torch")
        found: list[Tensor] = []
        ids, mask = padded([request.bare.ids[: request.bare.start]], linear.weight.device)

        def take(_key: int, states: Tensor) -> None:
            found.append(states[0, -1].clone())

        with torch.no_grad(), watching({0: linear}, "input", take), ending_after(linear):
            decoder_of(model)(input_ids=ids, attention_mask=mask, use_cache=False)
        return found[0].float(), linear(found[0]).detach().float()

    def train_value(
        self, model: Network, request: TokenRequest, linear: Any, value: Tensor
    ) -> tuple[Tensor, dict[str, float]]:
        """Find the value after which the model continues the prompt with the target."""
        torch = need("torch")
        settings, bare = self.settings, request.bare
        ids, mask = padded([bare.ids], linear.weight.device)
        target = torch.tensor(bare.target, device=ids.device)
        where = replaced(bare.start - 1, settings.replace)
        value = value.clone().requires_grad_(True)
        optimiser = torch.optim.Adam([value], lr=settings.rate)

        def overwrite(states: Tensor) -> Tensor:
            changed = states.clone()
            changed[0, where] = value.to(states.dtype)
            return changed

        best, lowest, loss = value.detach().clone(), math.inf, math.inf
        upper = UpperLayers(model, settings.layer, ids, mask)
        step = 0
        for step in range(settings.steps + 1):
            with changing(linear, overwrite):
                hidden = upper.run(upper.entering)[0, bare.start - 1 : len(bare.ids) - 1]
            nll = -log_probabilities(model, hidden).gather(1, target[:, None]).mean()
            loss = float(nll.detach())
            if not math.isfinite(loss):
                raise NovelApiError(f"the loss of {request.case_id} is {loss} at step {step}: lower the learning rate")
            if loss < lowest:
                best, lowest = value.detach().clone(), loss
            if loss < settings.stop or step == settings.steps:
                break
            optimiser.zero_grad()
            nll.backward(inputs=[value])
            optimiser.step()
        return best, {"loss": lowest, "steps": float(step)}


class _Store:
    """Finished values of a fit, one file each, found again by the request and all requests before it."""

    def __init__(self, work: Path | None, identity: str) -> None:
        self._folder = work / "grace" if work else None
        self._chain = identity

    def read(self, request: TokenRequest) -> tuple[Tensor, dict[str, float]] | None:
        """Return what was stored for a request; moves on to it."""
        self._chain = digest([self._chain, request.sha])
        if self._folder is None or not self._path.exists():
            return None
        stored = need("safetensors.torch").load_file(self._path)
        return stored["value"], {"loss": float(stored["facts"][0]), "steps": float(stored["facts"][1])}

    def write(self, _request: TokenRequest, value: Tensor, facts: dict[str, float]) -> None:
        """Store the value of the request that was read last."""
        if self._folder is None:
            return
        torch = need("torch")
        self._folder.mkdir(parents=True, exist_ok=True)
        row = torch.tensor([facts["loss"], facts["steps"]], dtype=torch.float64)
        temporary = self._path.with_suffix(".tmp")
        need("safetensors.torch").save_file({"value": value.cpu().contiguous(), "facts": row}, temporary)
        temporary.replace(self._path)

    @property
    def _path(self) -> Path:
        assert self._folder is not None
        return self._folder / f"{self._chain}.safetensors"


def radii_of(book: Codebook) -> dict[str, Any]:
    """Return what a report says of the radii of a codebook."""
    ordered = sorted(book.radii)
    return {
        "entries": len(book),
        "splits": book.splits,
        "zero_radii": sum(radius == 0 for radius in ordered),
        "smallest_radius": ordered[0] if ordered else None,
        "median_radius": ordered[len(ordered) // 2] if ordered else None,
    }
