"""pass@k from n samples of which c pass."""

from __future__ import annotations

from math import comb


def pass_at_k(samples: int, correct: int, k: int) -> float | None:
    """Return the unbiased estimate 1 - C(n - c, k) / C(n, k) of one task (Chen et al. 2021, section 2.1).

    Tasks may have different numbers of samples. A task with fewer than `k` has no unbiased estimate: null, and the
    caller says how many there were.

    Args:
        samples: n, scored samples of the task.
        correct: c, passing samples of the task.
        k: number of tries.

    Raises:
        ValueError: `k` is below 1, or there are more passing samples than samples.
    """
    if k < 1 or not 0 <= correct <= samples:
        message = "k must be at least 1 and passing samples between 0 and the number of samples"
        raise ValueError(message)
    if samples < k:
        return None
    return 1.0 - comb(samples - correct, k) / comb(samples, k)
