"""Objects: programs that make an object of a class, found by running what documents assign and seeing what it is."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from novelapi.knowledge import synthesis
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
    """The variable."""


class Objects:
    """Makers by the last segment of the class's name."""

    def __init__(self, makers_by_class: Mapping[str, Sequence[Maker]]) -> None:
        """Keep the makers, shortest first."""
        self._by_class = makers_by_class

    def of(self, names: Iterable[str]) -> list[Maker]:
        """Return makers of any of the named classes, in the order of the names."""
        return list(dict.fromkeys(maker for name in names for maker in self._by_class.get(name, ())))


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
    repairs = [
        repaired
        for code in codes
        if not trials[code].ok
        for repaired in itertools.islice(synthesis.repaired(code, trials[code].error_message), 2)
    ]
    shorter = [without_extras(code, trial) for code, trial in trials.items() if not trial.ok]
    documented |= {code for code in shorter if code is not None}
    trials |= _run(material, [*repairs, *(code for code in shorter if code is not None)])
    by_class: dict[str, list[Maker]] = defaultdict(list)
    made_up = {code for code in trials if code not in documented}
    for code, trial in sorted(trials.items(), key=lambda item: (item[0] in made_up, len(item[0]), item[0])):
        for name, classes in sorted(trial.objects.items()) if trial.ok else ():
            for leaf in classes:
                if len(by_class[leaf]) < PER_CLASS:
                    by_class[leaf].append(Maker(code, name))
    return Objects(by_class)


def _run(material: Material, codes: Iterable[str]) -> dict[str, Trial]:
    unique = list(dict.fromkeys(codes))
    programs = [Program(id=str(number), code=code, targets=()) for number, code in enumerate(unique)]
    trials = run_programs(material.env, programs, roots=material.roots)
    return {code: trials[str(number)] for number, code in enumerate(unique)}


def _assigned(code: str) -> str:
    """Return a program whose last expression is kept in a variable."""
    head, _, last = code.rstrip("\n").rpartition("\n")
    return f"{head}\nvalue = {last}\n"
