"""Objects: programs that make an object of a class, found by running what documents assign and seeing what it is."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from novelapi.knowledge import repairs, synthesis
from novelapi.knowledge.corpus import Corpus
from novelapi.knowledge.drafts import makers
from novelapi.knowledge.material import Facts, Material
from novelapi.knowledge.surroundings import without_extras
from novelapi.knowledge.targets import Target
from novelapi.knowledge.trials import Program, Trial, run_programs
from novelapi.records.bundle import KnownParameter

_SHOWN = 4
"""Places per wanted class in which documents make one."""

PER_CLASS = 3
"""Programs that are kept per class."""


@dataclass(frozen=True)
class Maker:
    """A program after which a variable holds an object of a class."""

    code: str
    """The program."""
    name: str
    """The variable, or an attribute of one."""


class Objects:
    """Makers by the last segment of the class's name, and by the name that documents give the object."""

    def __init__(
        self, makers_by_class: Mapping[str, Sequence[Maker]], by_name: Mapping[str, Sequence[Maker]] | None = None
    ) -> None:
        """Keep the makers, shortest first."""
        self._by_class = makers_by_class
        self._by_name = by_name or {}

    def of(self, names: Iterable[str]) -> list[Maker]:
        """Return makers of any of the named classes, in the order of the names."""
        return list(dict.fromkeys(maker for name in names for maker in self._by_class.get(name, ())))

    def named(self, name: str) -> list[Maker]:
        """Return makers of what documents call by a name: what an undocumented parameter of that name may take."""
        return list(self._by_name.get(name, ()))


def find_objects(
    material: Material, corpus: Corpus, facts: Facts, owners: Mapping[str, tuple[Target, Sequence[KnownParameter]]]
) -> Objects:
    """Run what may make objects, and sort it by what came of it.

    Args:
        material: the release.
        corpus: its documents.
        facts: for imports.
        owners: classes whose members are wanted, with the parameters of their constructors.

    Raises:
        PrerequisiteError: bubblewrap is missing.
    """
    shown = [place for api in sorted(owners) for place in corpus.places(api)[:_SHOWN]]
    codes = [draft.code for draft in makers([*corpus.makers(), *shown], material.roots, facts)]
    documented = set(codes)
    for owner, parameters in owners.values():
        found = synthesis.from_scratch(owner, parameters, (), facts, corpus.values)
        codes += [_assigned(draft.code) for draft in itertools.islice(found, 6)]
    trials = _run(material, codes)
    mended = [
        changed
        for code in codes
        if not trials[code].ok
        for changed in itertools.islice(repairs.repaired(code, trials[code].error_message), 2)
    ]
    shorter = [without_extras(code, trial) for code, trial in trials.items() if not trial.ok]
    documented |= {code for code in shorter if code is not None}
    trials |= _run(material, [*mended, *(code for code in shorter if code is not None)])
    found = _sorted(trials, documented)
    built: list[str] = []
    for api, (owner, parameters) in sorted(owners.items()):
        if not found.of(names_of_class(api, facts)):
            drafts = synthesis.with_objects(owner, parameters, found, corpus.values)
            built += [_assigned(draft.code) for draft in itertools.islice(drafts, 6)]
    return _sorted(trials | _run(material, built), documented) if built else found


def names_of_class(api: str, facts: Facts) -> list[str]:
    """Return the names that objects of a class know their class by: its own, then that of its public path."""
    qualified = facts.apis.get(api, {}).get("qualname") or api
    return list(dict.fromkeys([qualified.rsplit(".", 1)[-1], api.rsplit(".", 1)[-1]]))


def _sorted(trials: Mapping[str, Trial], documented: Collection[str]) -> Objects:
    """Sort programs by what they made: documented ones first, variables before attributes, short ones first."""
    rows = [
        (code not in documented, "." in name, len(code), code, name, classes)
        for code, trial in trials.items()
        if trial.ok
        for name, classes in trial.objects.items()
    ]
    by_class: dict[str, list[Maker]] = defaultdict(list)
    by_name: dict[str, list[Maker]] = defaultdict(list)
    own: dict[str, bool] = defaultdict(bool)
    for made_up, _, _, code, name, classes in sorted(rows):
        for leaf in classes:
            exact = leaf == classes[0]
            if len(by_class[leaf]) < PER_CLASS or (exact and not own[leaf]):  # a subclass may override what is wanted
                by_class[leaf].append(Maker(code, name))
                own[leaf] |= exact
        if not made_up and len(by_name[name]) < PER_CLASS:
            by_name[name].append(Maker(code, name))
    return Objects(by_class, by_name)


def _run(material: Material, codes: Iterable[str]) -> dict[str, Trial]:
    unique = list(dict.fromkeys(codes))
    programs = [Program(id=str(number), code=code, targets=()) for number, code in enumerate(unique)]
    trials = run_programs(material.env, programs, roots=material.roots)
    return {code: trials[str(number)] for number, code in enumerate(unique)}


def _assigned(code: str) -> str:
    """Return a program whose last expression is kept in a variable."""
    head, _, last = code.rstrip("\n").rpartition("\n")
    return f"{head}\n{synthesis.MADE} = {last}\n"
