"""Reads the catalogue; every look-up accepts aliases and any case, and suggests near matches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Protocol, TypeVar

import yaml
from packaging.utils import canonicalize_name

from novelapi.catalog.entries import ConditionEntry, DeliveryEntry, Group, Library, Model
from novelapi.errors import UnknownNameError
from novelapi.layout import Layout
from novelapi.settings import load_settings

PRIVATE_MARK = "+"
"""Stands between the name of a private package and the digest of its content."""

UNLISTED = ("openai:", "transformers:")
"""Stand before models that the catalogue need not have: behind an endpoint, or in a folder."""

LEAVE_OUT = "lolo_"
"""Stands before the library that a leave-one-library-out group holds out."""

POOL = "all_pooled_paper"
"""Group whose libraries the others are."""

_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Entry = TypeVar("Entry", bound=_Named)


@lru_cache(maxsize=1)
def libraries() -> Mapping[str, Library]:
    """Return the libraries by name, sorted without regard to case."""
    return _by_name(sorted(map(Library.model_validate, _folder("libraries")), key=lambda entry: entry.name.lower()))


@lru_cache(maxsize=1)
def models() -> Mapping[str, Model]:
    """Return the models by name: the paper's backbones first, the primary one at the head."""
    entries = map(Model.model_validate, _folder("models"))
    return _by_name(
        sorted(entries, key=lambda entry: (not entry.primary, not entry.paper, entry.cutoff is None, entry.name))
    )


@lru_cache(maxsize=1)
def groups() -> Mapping[str, Group]:
    """Return the groups by name, in the published order."""
    return _by_name(map(Group.model_validate, _document("groups.yaml")))


@lru_cache(maxsize=1)
def conditions() -> Mapping[str, ConditionEntry]:
    """Return the twelve knowledge conditions by name, in the published order."""
    return _by_name(map(ConditionEntry.model_validate, _document("conditions.yaml")["conditions"]))


@lru_cache(maxsize=1)
def deliveries() -> Mapping[str, DeliveryEntry]:
    """Return the deliveries by name."""
    return _by_name(map(DeliveryEntry.model_validate, _document("conditions.yaml")["deliveries"]))


def find_library(name: str) -> Library:
    """Return a library by name or alias; a distribution without an entry gets a plain one.

    Names with `+` are those of private packages, which `discovery.private` keeps below the home.

    Raises:
        UnknownNameError: the name cannot be that of a distribution, or no such private package is kept.
    """
    if PRIVATE_MARK in name:
        return _private(name)
    found = _find(name, libraries().values())
    if found is not None:
        return found
    if not _DISTRIBUTION.fullmatch(name):
        raise UnknownNameError("library", name, libraries())
    return Library(name=name, distribution=name, imports=())


def _private(name: str) -> Library:
    folder = Layout(load_settings().home_dir).private(name)
    if not (folder / "library.json").is_file():
        known = [path.name for path in folder.parent.glob("*")]
        raise UnknownNameError("private package", name, known, "give its files again with --library-path")
    return Library.model_validate_json((folder / "library.json").read_bytes())


def find_model(name: str) -> Model:
    """Return a model by name or alias; `adapter:NAME` is looked up as NAME.

    Raises:
        UnknownNameError: no model of the catalogue has that name.
    """
    for candidate in (name, name.partition(":")[2], name.rpartition("/")[2]):
        found = _find(candidate, models().values())
        if found is not None:
            return found
    raise UnknownNameError("model", name, models())


def listed_model(name: str) -> Model | None:
    """Return a model's entry; null for `openai:NAME` and `transformers:FOLDER`, which have none, and so no cutoff.

    Raises:
        UnknownNameError: it is neither of these, and no model of the catalogue has that name.
    """
    return None if name.startswith(UNLISTED) else find_model(name)


def find_group(name: str) -> Group:
    """Return a group by name; `-` and `_` are the same.

    Raises:
        UnknownNameError: there is no such group.
    """
    return named_group(name) or _required("group", name, groups())


def named_group(name: str) -> Group | None:
    """Return a group of the catalogue, or the one that `lolo_LIBRARY` names; null for any other name.

    `lolo_LIBRARY` leaves one library of the catalogue out: everything is trained on the paper's other libraries and
    asked of this one.

    Raises:
        UnknownNameError: `lolo_` is followed by no library of the catalogue; near matches are suggested.
    """
    plain = name.replace("-", "_")
    if plain in groups():
        return groups()[plain]
    if not plain.startswith(LEAVE_OUT):
        return None
    held_out = _required("library", name[len(LEAVE_OUT) :], libraries()).name
    pool = groups()[POOL].libraries
    return Group(
        name=name,
        libraries=pool if held_out in pool else (*pool, held_out),
        paper=False,
        split="held_out_library",
        held_out=(held_out,),
    )


def find_condition(name: str) -> ConditionEntry:
    """Return a knowledge condition by name.

    Raises:
        UnknownNameError: there is no such condition.
    """
    return _required("condition", name, conditions())


def find_delivery(name: str) -> DeliveryEntry:
    """Return a delivery by name.

    Raises:
        UnknownNameError: there is no such delivery.
    """
    return _required("delivery", name, deliveries())


def _required(kind: str, name: str, entries: Mapping[str, Entry]) -> Entry:
    found = _find(name, entries.values())
    if found is None:
        raise UnknownNameError(kind, name, entries)
    return found


def _find(name: str, entries: Iterable[Entry]) -> Entry | None:
    wanted = canonicalize_name(name)
    for entry in entries:
        aliases: tuple[str, ...] = getattr(entry, "aliases", ())
        if wanted in map(canonicalize_name, (entry.name, getattr(entry, "distribution", entry.name), *aliases)):
            return entry
    return None


def _by_name(entries: Iterable[Entry]) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries}


def _document(name: str) -> Any:
    return _parse(files("novelapi.catalog") / name)


def _folder(name: str) -> list[Any]:
    return [_parse(file) for file in (files("novelapi.catalog") / name).iterdir() if file.name.endswith(".yaml")]


def _parse(file: Traversable) -> Any:
    return yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
