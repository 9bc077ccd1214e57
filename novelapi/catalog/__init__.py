"""What can be benchmarked: libraries, models, groups, conditions and deliveries, one YAML file or list each."""

from __future__ import annotations

from novelapi.catalog.entries import ConditionEntry, DeliveryEntry, Group, Library, Model, PrivatePrefix
from novelapi.catalog.load import (
    conditions,
    deliveries,
    find_condition,
    find_delivery,
    find_group,
    find_library,
    find_model,
    groups,
    libraries,
    listed_model,
    models,
    named_group,
)

__all__ = [
    "ConditionEntry",
    "DeliveryEntry",
    "Group",
    "Library",
    "Model",
    "PrivatePrefix",
    "conditions",
    "deliveries",
    "find_condition",
    "find_delivery",
    "find_group",
    "find_library",
    "find_model",
    "groups",
    "libraries",
    "listed_model",
    "models",
    "named_group",
]
