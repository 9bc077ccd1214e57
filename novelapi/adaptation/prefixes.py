"""Contexts in front of a prompt, sampled from the model itself, so that a key does not depend on where it stands."""

from __future__ import annotations

from novelapi.adaptation.batches import padded
from novelapi.adaptation.extras import Network, Tokenizer, need
from novelapi.adaptation.network import frozen

OPENINGS = ("The", "Therefore", "Because", "I", "You")
"""First words of the sampled contexts (MEMIT's code)."""


def sample_prefixes(model: Network, tokenizer: Tokenizer, *, seed: int, length: int = 10) -> tuple[str, ...]:
    """Return one context per opening, ending in a full stop and a blank; the global random state is untouched."""
    torch = need("torch")
    generator = torch.Generator().manual_seed(seed)
    special = [token for token in set(tokenizer.all_special_ids) if token < model.config.vocab_size]
    found: list[str] = []
    with frozen(model), torch.no_grad():
        for opening in OPENINGS:
            ids = list(tokenizer(opening, add_special_tokens=False)["input_ids"])
            for _ in range(length):
                tokens, mask = padded([ids], next(model.parameters()).device)
                scores = model(input_ids=tokens, attention_mask=mask, use_cache=False).logits[0, -1].float().cpu()
                scores[special] = -torch.inf
                best = torch.topk(scores, min(5, len(scores)))
                chosen = torch.multinomial(torch.softmax(best.values, 0), 1, generator=generator)
                ids.append(int(best.indices[chosen]))
            found.append(tokenizer.decode(ids).rstrip() + ". ")
    return tuple(found)
