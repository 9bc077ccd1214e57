"""Keys of requests: what a linear module is given at the last token of the subject."""

from __future__ import annotations

from collections.abc import Sequence

from novelapi.adaptation.batches import in_chunks, padded
from novelapi.adaptation.extras import Module, Network, Tensor, need
from novelapi.adaptation.hooks import Side, ending_after, watching
from novelapi.adaptation.network import decoder_of
from novelapi.adaptation.requests import TokenRequest, Variant


def states_at(model: Network, variants: Sequence[Variant], module: Module, side: Side, batch: int = 32) -> Tensor:
    """Return input or output of a module at the subject of each variant: (variants x width), in the model's type.

    Tokens after the subject cannot change it and are left out. The caller holds the model frozen.
    """
    torch = need("torch")
    device = next(model.parameters()).device
    found: list[Tensor] = []
    with torch.no_grad():
        for part in in_chunks(variants, batch):
            ids, mask = padded([item.ids[: item.subject + 1] for item in part], device)
            places = torch.tensor([item.subject for item in part], device=device)

            def take(_key: int, states: Tensor, places: Tensor = places) -> None:
                found.append(states[torch.arange(len(places), device=states.device), places].clone())

            with watching({0: module}, side, take), ending_after(module):
                decoder_of(model)(input_ids=ids, attention_mask=mask, use_cache=False)
    return torch.cat(found)


def keys_of(model: Network, requests: Sequence[TokenRequest], module: Module, batch: int = 32) -> Tensor:
    """Return K (width x requests) in float64: the mean over groups of the mean of each group's forms.

    So the bare prompt weighs one half, and all sampled prefixes together the other (MEMIT, section 4.3 and code).
    """
    torch = need("torch")
    forms = [variant for request in requests for variant in request.variants]
    states = states_at(model, forms, module, "input", batch).to(torch.float64)
    columns: list[Tensor] = []
    start = 0
    for request in requests:
        means: list[Tensor] = []
        for group in request.groups:
            means.append(states[start : start + len(group)].mean(dim=0))
            start += len(group)
        columns.append(torch.stack(means).mean(dim=0))
    return torch.stack(columns, dim=1)
