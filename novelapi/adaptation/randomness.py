"""A seed for everything that libraries draw from global generators, and the generators as they were afterwards."""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import contextmanager

from novelapi.adaptation.extras import need


@contextmanager
def seeded(seed: int) -> Generator[None]:
    """Seed torch, numpy and `random` inside the block; what is drawn after it does not depend on it."""
    torch, numpy = need("torch"), need("numpy")
    plain, dense = random.getstate(), numpy.random.get_state()
    try:
        with torch.random.fork_rng():
            need("transformers").set_seed(seed)
            yield
    finally:
        random.setstate(plain)
        numpy.random.set_state(dense)
