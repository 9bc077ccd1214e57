"""The states that would make a model say the target: z = h + delta at the subject's last token (MEMIT, equation 16).

delta is added to the output of the last edited layer and minimises
mean over contexts of NLL(target) + kl * KL(p_delta(. | essence) || p(. | essence)) + decay * |delta| / |h|^2,
clamped to |delta| <= clamp * |h| after each step; the order of the divergence is that of the published code. Requests
of a batch have parameters and optimisers of their own, so they do not see each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from novelapi.adaptation.batches import in_chunks, padded
from novelapi.adaptation.extras import Network, Tensor, need
from novelapi.adaptation.keys import states_at
from novelapi.adaptation.network import layer_of, log_probabilities
from novelapi.adaptation.requests import TokenRequest, Variant
from novelapi.adaptation.upper import UpperLayers
from novelapi.errors import NovelApiError, UsageError
from novelapi.fingerprint import digest
from novelapi.records.base import Record

COLUMNS: tuple[str, ...] = ("before", "after", "steps", "norm")
"""What is kept of each request."""

Row = tuple[int, Variant]
"""Number of the request in its batch, and one of its forms."""


class TargetSettings(Record):
    """How z is found; the defaults are the published ones."""

    evaluations: int = Field(default=25, ge=1)
    """Evaluations of the loss; the last one is not followed by a step."""

    rate: float = Field(default=0.5, gt=0, le=1e6)
    """Learning rate of Adam."""

    kl: float = Field(default=0.0625, ge=0)
    """Weight of the divergence on the essence prompt."""

    decay: float = Field(default=0.5, ge=0)
    """Weight of |delta| / |h|^2."""

    clamp: float = Field(default=0.75, gt=0)
    """Largest |delta| in units of |h|."""

    stop: float = Field(default=0.05, ge=0)
    """Loss below which a request is done."""

    batch: int = Field(default=8, ge=1)
    """Requests per pass; decides memory and, in the last bits, results."""


@dataclass(frozen=True, kw_only=True)
class Targets:
    """Wanted states of a batch of requests."""

    z: Tensor
    """(requests x width), float32."""

    losses: list[dict[str, float]]
    """Per request: negative log-likelihood before and after, steps, |delta| / |h|."""


def optimise_targets(
    model: Network,
    requests: Sequence[TokenRequest],
    layer: int,
    settings: TargetSettings,
    *,
    work: Path | None = None,
    identity: str = "",
) -> Targets:
    """Find z for each request; the caller holds the model frozen.

    Args:
        model: the model as it is to be edited.
        requests: requests with subject and target.
        layer: the last edited layer.
        settings: how.
        work: folder where each finished batch is kept and looked up.
        identity: what else decides z, such as the base's digest; part of the files' names.

    Raises:
        NovelApiError: a loss is not a number.
        UsageError: a request has no subject or no target.
    """
    torch = need("torch")
    safetensors = need("safetensors.torch")
    for request in requests:
        if request.essence is None or not request.bare.target:
            raise UsageError(f"{request.case_id} has no subject or no target: this method needs both")
    found: list[Tensor] = []
    losses: list[dict[str, float]] = []
    for part in in_chunks(requests, settings.batch):
        name = digest([identity, layer, settings, [item.sha for item in part]])
        path = work / "z" / f"{name}.safetensors" if work else None
        if path is not None and path.exists():
            stored = safetensors.load_file(path)
        else:
            stored = _optimise(model, part, layer, settings)
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                safetensors.save_file(stored, path.with_suffix(".tmp"))
                path.with_suffix(".tmp").replace(path)
        found.append(stored["z"].to(next(model.parameters()).device))
        losses += [dict(zip(COLUMNS, map(float, row), strict=True)) for row in stored["losses"]]
    return Targets(z=torch.cat(found), losses=losses)


def _optimise(
    model: Network, requests: Sequence[TokenRequest], layer: int, settings: TargetSettings
) -> dict[str, Tensor]:
    torch = need("torch")
    module = layer_of(model, layer)
    starts = states_at(model, [request.bare for request in requests], module, "output").float()
    deltas = [torch.zeros_like(start, requires_grad=True) for start in starts]
    optimisers = [torch.optim.Adam([delta], lr=settings.rate) for delta in deltas]
    limits = [settings.clamp * float(start.norm()) for start in starts]
    passes = _Passes(model, requests, layer)
    running = set(range(len(requests)))
    table = torch.zeros((len(requests), 4), dtype=torch.float64)
    for evaluation in range(settings.evaluations):
        likelihoods, divergences = passes.losses(deltas)
        losses: dict[int, Tensor] = {}
        for number in sorted(running):
            delta, start = deltas[number], starts[number]
            decay = settings.decay * delta.norm() / start.norm() ** 2
            loss = likelihoods[number] + settings.kl * divergences[number] + decay
            value = float(loss.detach())
            if not math.isfinite(value):
                raise NovelApiError(
                    f"the loss of {requests[number].case_id} is {value} after {evaluation} steps: "
                    "lower the learning rate or check the weights"
                )
            row = table[number]
            row[1], row[2] = likelihoods[number].detach(), evaluation
            if evaluation == 0:
                row[0] = row[1]
            if value < settings.stop or evaluation == settings.evaluations - 1:
                running.discard(number)
            else:
                losses[number] = loss
        if not running:
            break
        gradients = torch.autograd.grad(sum(losses.values()), [deltas[number] for number in losses])
        for number, gradient in zip(losses, gradients, strict=True):
            deltas[number].grad = gradient
            optimisers[number].step()
            _clamp(deltas[number], limits[number])
    z = torch.stack([start + delta.detach() for start, delta in zip(starts, deltas, strict=True)])
    for number, (start, delta) in enumerate(zip(starts, deltas, strict=True)):
        table[number, 3] = float(delta.detach().norm() / start.norm())
    return {"z": z.cpu(), "losses": table}


def _clamp(delta: Tensor, limit: float) -> None:
    torch = need("torch")
    with torch.no_grad():
        norm = float(delta.norm())
        if norm > limit:
            delta.mul_(limit / norm)


class _Passes:
    """Forward passes of a batch of requests in all their forms, with a delta added at each subject."""

    def __init__(self, model: Network, requests: Sequence[TokenRequest], layer: int) -> None:
        """Pad the forms once, and run the layers below the wanted states once."""
        torch = need("torch")
        self._model = model
        self._rows: list[Row] = [
            (number, variant) for number, request in enumerate(requests) for variant in request.variants
        ]
        essences: list[Row] = [
            (number, request.essence) for number, request in enumerate(requests) if request.essence is not None
        ]
        self._all = self._rows + essences
        device = next(model.parameters()).device
        self._upper = UpperLayers(model, layer + 1, *padded([variant.ids for _, variant in self._all], device))
        self._owners = torch.tensor([number for number, _ in self._all], device=device)
        self._places = torch.tensor([variant.subject for _, variant in self._all], device=device)
        self._first: Tensor | None = None

    def losses(self, deltas: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Return the mean negative log-likelihood over the contexts and the divergence of each request."""
        torch = need("torch")
        stacked = torch.stack(list(deltas))

        def inject(states: Tensor) -> Tensor:
            shift = torch.zeros_like(states)
            rows = torch.arange(len(self._all), device=states.device)
            shift[rows, self._places] = stacked[self._owners].to(states.dtype)
            return states + shift

        hidden = self._upper.run(inject(self._upper.entering))
        likelihoods: list[list[Tensor]] = [[] for _ in deltas]
        for row, (number, variant) in enumerate(self._rows):
            wanted = hidden[row, variant.start - 1 : len(variant.ids) - 1]
            target = torch.tensor(variant.target, device=hidden.device)
            chosen = log_probabilities(self._model, wanted).gather(1, target[:, None])
            likelihoods[number].append(-chosen.mean())
        ends = [(len(self._rows) + row, len(variant.ids) - 1) for row, (_, variant) in enumerate(self._essences())]
        after = log_probabilities(self._model, torch.stack([hidden[row, place] for row, place in ends]))
        if self._first is None:
            self._first = after.detach()
        apart = (after.exp() * (after - self._first)).sum(dim=1)
        return [torch.stack(items).mean() for items in likelihoods], list(apart)

    def _essences(self) -> list[Row]:
        return self._all[len(self._rows) :]
