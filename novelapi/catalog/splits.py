"""Which APIs may be trained on: the published rule, per group of the catalogue.

By API: per library the sorted APIs are shuffled with a seed of the group's seed XOR CRC-32 of the library's name, and
the first 80 % are for training. By library: everything but the held-out libraries.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterable

from novelapi.catalog.entries import Group
from novelapi.catalog.load import named_group

Api = tuple[str, str]
"""Library and API: names repeat across libraries."""


def split_apis(pairs: Iterable[Api], group: str) -> set[Api]:
    """Return the training side.

    Args:
        pairs: library and API of every task, repeated or not.
        group: a group of the catalogue, `lolo_LIBRARY` for any other held-out library, or a single library.
    """
    known = sorted(set(pairs))
    entry = _entry(group)
    if entry.split == "held_out_library":
        return {pair for pair in known if pair[0] not in entry.held_out}
    train: set[Api] = set()
    for library in sorted({library for library, _ in known}):
        own = [pair for pair in known if pair[0] == library]
        random.Random(entry.seed ^ zlib.crc32(library.encode())).shuffle(own)  # noqa: S311 - a published split
        train.update(own[: int(entry.train_share * len(own))])
    return train


def _entry(group: str) -> Group:
    return named_group(group) or Group(name=group, libraries=(group,), paper=False)
