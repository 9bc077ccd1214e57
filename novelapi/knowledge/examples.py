"""E: usage examples, mined or synthesised, each run in the new release, offline, its output recorded anew."""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from novelapi.knowledge import repairs, synthesis
from novelapi.knowledge.corpus import Corpus, Place
from novelapi.knowledge.drafts import Draft, drafts, traced
from novelapi.knowledge.leakage import normalised_calls
from novelapi.knowledge.material import Facts, Material
from novelapi.knowledge.objects import Objects, names_of_class
from novelapi.knowledge.snippets import script_of
from novelapi.knowledge.surroundings import needs_network, served, with_file, without_extras
from novelapi.knowledge.targets import Target
from novelapi.knowledge.trials import Program, Trial, run_programs
from novelapi.records.bundle import Exemplar, Surface

KEPT = 5
"""Examples per API."""

REPEATED = 8
"""Examples per API that are run a second time, so that steady ones remain."""

MINED = 12
"""Mined programs that are tried per API."""

CPU_CAP_MS = 4000
"""Slower programs are no examples, and their time limit would make two runs differ."""

OUTPUT_CAP = 1500
"""Characters of output that an example shows."""

_Proposals = Callable[["Attempt"], Iterable[Draft]]
_DEFAULT_REPR = re.compile(r"<[\w.<> ]+ at 0x[0-9a-f]+>")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


@dataclass
class Attempt:
    """Everything that was tried for one API."""

    target: Target
    """The API."""
    surface: Surface
    """Its S."""
    ran: list[tuple[Draft, Trial]] = field(default_factory=list)
    """Programs that ran and called it, with what came of them."""
    failed: list[tuple[Draft, Trial]] = field(default_factory=list)
    """Programs that did not."""

    @property
    def with_change(self) -> list[tuple[Draft, Trial]]:
        """The programs that pass what is new."""
        return [(draft, trial) for draft, trial in self.ran if uses_change(self.target, trial)]

    @property
    def lacks(self) -> bool:
        """Whether more programs are wanted."""
        return not self.with_change


@dataclass(frozen=True, kw_only=True)
class Examples:
    """E of one API, and how it came about."""

    exemplars: tuple[Exemplar, ...]
    """The examples."""
    tried: int
    """Number of programs that were run."""
    ran: int
    """How many of them ran and called the API."""
    reason: str | None
    """Why there is no executed example, or null."""


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Where examples come from."""

    material: Material
    """The release."""
    facts: Facts
    """What the running library says of itself."""
    corpus: Corpus
    """Its documents and tests."""
    objects: Objects
    """Programs that make objects."""


def collect(targets: Sequence[Target], surfaces: Mapping[str, Surface], sources: Sources) -> dict[str, Examples]:
    """Return E for some APIs: first what documents and tests show, then what can be made up.

    Raises:
        PrerequisiteError: bubblewrap is missing.
    """
    attempts = {target.api: Attempt(target, surfaces[target.api]) for target in targets}
    bench = _Bench(sources, attempts)
    bench.round(lambda attempt: itertools.islice(bench.mined(attempt), MINED))
    for proposals in (bench.prepared, bench.traced, bench.surrounded):
        bench.round(_unless_ran(proposals))
    bench.round(lambda attempt: bench.synthesised(attempt) if attempt.lacks else ())
    for proposals in (bench.prepared, bench.surrounded, bench.composed, bench.repaired, bench.stood_in):
        bench.round(_unless_ran(proposals))
    bench.round(lambda attempt: bench.coupled(attempt) if attempt.lacks and attempt.ran else ())
    bench.round(lambda attempt: bench.extended(attempt) if attempt.lacks and attempt.ran else ())
    chosen = {api: select(attempt) for api, attempt in attempts.items()}
    outputs = bench.repeat(chosen)
    return {api: _examples(attempts[api], rows, outputs) for api, rows in chosen.items()}


def _unless_ran(proposals: _Proposals) -> _Proposals:
    return lambda attempt: () if attempt.ran else proposals(attempt)


class _Bench:
    """Runs rounds of drafts for many APIs at once, so that the library is imported once per round."""

    def __init__(self, sources: Sources, attempts: Mapping[str, Attempt]) -> None:
        self.sources, self.attempts = sources, attempts
        self.material, self.facts, self.corpus = sources.material, sources.facts, sources.corpus
        self.roots = sorted({api.split(".", 1)[0] for api in attempts})
        self.values = sources.corpus.values

    def round(self, proposals: _Proposals) -> None:
        """Try what is proposed for each API and sort it into what ran and what failed."""
        known = {(api, draft.code) for api, item in self.attempts.items() for draft, _ in (*item.ran, *item.failed)}
        programs: dict[str, tuple[Attempt, Draft]] = {}
        for api, attempt in self.attempts.items():
            for draft in proposals(attempt):
                if (api, draft.code) not in known:
                    known.add((api, draft.code))
                    programs[f"{api}#{len(programs)}"] = (attempt, draft)
        for identity, trial in self._run(programs, 0).items():
            attempt, draft = programs[identity]
            good = trial.ok and trial.good_calls and trial.cpu_ms <= CPU_CAP_MS
            (attempt.ran if good else attempt.failed).append((draft, trial))

    def _run(self, programs: Mapping[str, tuple[Attempt, Draft]], seed: int) -> dict[str, Trial]:
        batch = [
            Program(id=identity, code=draft.code, targets=(attempt.target.api,))
            for identity, (attempt, draft) in programs.items()
        ]
        return run_programs(self.material.env, batch, roots=self.roots, hash_seed=seed)

    def repeat(self, chosen: Mapping[str, Sequence[tuple[Draft, Trial]]]) -> dict[tuple[str, str], str | None]:
        """Run the chosen programs again with other seeds; the output of one that varies is null."""
        programs = {
            f"{api}#{number}": (self.attempts[api], draft)
            for api, rows in chosen.items()
            for number, (draft, _) in enumerate(rows)
        }
        again = self._run(programs, 1)
        outputs: dict[tuple[str, str], str | None] = {}
        for api, rows in chosen.items():
            for number, (draft, trial) in enumerate(rows):
                first, second = shown_output(trial.output), shown_output(again[f"{api}#{number}"].output)
                outputs[api, draft.code] = first if first == second else None
        return outputs

    def mined(self, attempt: Attempt) -> Iterator[Draft]:
        """Yield programs around calls in documents and tests."""
        return drafts(attempt.target, self.corpus.places(attempt.target.api), self.facts)

    def traced(self, attempt: Attempt) -> Iterator[Draft]:
        """Yield tests that name the API without calling it by name."""
        places = self.corpus.mentions(attempt.target.api) + self.corpus.places(attempt.target.api)
        return itertools.islice(traced(attempt.target, places, self.facts), MINED)

    def prepared(self, attempt: Attempt) -> Iterator[Draft]:
        """Yield failed programs with the code that the framework needs before anything of it is used."""
        setup = self.material.setup.strip()
        for draft, _ in attempt.failed[: 2 * MINED] if setup else ():
            if not draft.code.startswith(setup):
                yield Draft(code=f"{setup}\n\n{draft.code}", source=draft.source, origin=draft.origin)

    def surrounded(self, attempt: Attempt) -> Iterator[Draft]:
        """Yield programs that failed for want of a network, a file or an extra: with their own, or without it."""
        for draft, trial in attempt.failed:
            if needs_network(trial):
                code = served(draft.code)
            else:
                code = without_extras(draft.code, trial) or with_file(draft.code, trial.error_message)
            if code is not None:
                yield Draft(code=code, source=draft.source, origin=draft.origin)

    def synthesised(self, attempt: Attempt) -> Iterator[Draft]:
        """Yield programs with made-up arguments, or with what is new added to a working one."""
        target, parameters = attempt.target, attempt.surface.parameters
        if attempt.ran and target.new:
            base = _bases(attempt)
            found = synthesis.with_change(target, base, parameters, self.values)
            yield from itertools.islice(found, synthesis.MAX_DRAFTS)
        if not attempt.ran or not target.added:
            objects = list(itertools.islice(self._receivers(target), 6)) if target.member else []
            found = synthesis.from_scratch(target, parameters, objects, self.facts, self.values)
            yield from itertools.islice(found, synthesis.MAX_DRAFTS)

    def composed(self, attempt: Attempt) -> Iterator[Draft]:
        """Yield programs whose receiver and arguments are objects that other programs make."""
        target, names = attempt.target, names_of_class(attempt.target.owner, self.facts)
        found = synthesis.with_objects(target, attempt.surface.parameters, self.sources.objects, self.values, names)
        return itertools.islice(found, synthesis.MAX_DRAFTS)

    def repaired(self, attempt: Attempt) -> Iterator[Draft]:
        """Yield made-up programs with the words that their error messages ask for."""
        for draft, trial in attempt.failed:
            if draft.source == "synthesis":
                for code in repairs.repaired(draft.code, trial.error_message):
                    yield Draft(code=code, source="synthesis", origin=draft.origin)

    def stood_in(self, attempt: Attempt) -> Iterator[Draft]:
        """Yield made-up programs with a stand-in for an object of which only its class or nothing is known."""
        unknown = {
            item.name
            for item in attempt.surface.parameters
            if not self.sources.objects.of(synthesis.class_names(item.type or "")) and synthesis.any_object(item)
        }
        for draft, trial in attempt.failed:
            if draft.source == "synthesis" and trial.error_type == "AttributeError":
                names = [item.name for item in attempt.surface.parameters]
                code = repairs.stood_in(draft.code, trial.error_message, attempt.target, names, unknown)
                if code is not None:
                    yield Draft(
                        code=code, source="synthesis", origin=f"{draft.origin}, and an object made for the call"
                    )

    def coupled(self, attempt: Attempt) -> Iterator[Draft]:
        """Yield programs with a second argument without which the new one was refused."""
        parameters = [item for item in attempt.surface.parameters if not item.name.startswith("*")]
        for draft, trial in attempt.failed:
            if draft.source == "synthesis" and attempt.target.new:
                code = synthesis.coupled(draft.code, trial.error_message, attempt.target, parameters)
                if code is not None:
                    yield Draft(code=code, source="synthesis", origin=f"{draft.origin}, and what it asked for")

    def extended(self, attempt: Attempt) -> Iterator[Draft]:
        """Yield more combinations of what is new with documented choices."""
        if attempt.target.new:
            found = synthesis.with_change(attempt.target, _bases(attempt), attempt.surface.parameters, self.values)
            yield from itertools.islice(found, 4 * synthesis.MAX_DRAFTS)

    def _receivers(self, target: Target) -> Iterator[tuple[Place, ast.expr]]:
        owner = owner_of(target)
        members = self.facts.members.get(target.owner, {})
        for name in sorted(members, key=lambda item: (len(members[item]), item))[:8]:
            sibling = member_of(target, name)
            script = script_of(members[name], f"docstring of {sibling.api}", "doctest")
            places = [Place(script, index, uses_change=False) for index in range(len(script.statements))]
            yield from itertools.islice(synthesis.receivers(places, [sibling]), 2)
        yield from synthesis.receivers(self.corpus.places(owner.api), [owner])


def _bases(attempt: Attempt) -> list[str]:
    """Return the shortest working programs: what is new is added to them."""
    return sorted({draft.code for draft, _ in attempt.ran}, key=lambda code: (len(code), code))[:3]


def owner_of(target: Target) -> Target:
    """Return the class of a member as a target."""
    paths = frozenset(path.rpartition(".")[0] for path in target.paths)
    return Target(api=target.owner, paths=paths, kind="class", positional=(), new=frozenset(), added=True)


def member_of(target: Target, name: str) -> Target:
    """Return another member of the same class as a target."""
    path = f"{target.owner}.{name}"
    return Target(api=path, paths=frozenset([path]), kind="method", positional=(), new=frozenset(), added=True)


def uses_change(target: Target, trial: Trial) -> bool:
    """Say whether an accepted call passed what the old release does not know."""
    return any(target.passes_new(call.positional, frozenset(call.keywords)) for call in trial.good_calls)


def shown_output(output: str) -> str:
    """Return an output as it is kept: addresses masked, cut to size."""
    text = _ADDRESS.sub("0x...", output).rstrip("\n")
    return text if len(text) <= OUTPUT_CAP else text[:OUTPUT_CAP].rstrip() + "\n..."


def select(attempt: Attempt) -> list[tuple[Draft, Trial]]:
    """Choose a few programs: those that use the change and show something first, then different ones."""
    sources = {"doctest": 0, "docs": 0, "tests": 1, "synthesis": 2}
    plain = {trial.output for _, trial in attempt.ran if not uses_change(attempt.target, trial)}

    def key(row: tuple[Draft, Trial]) -> tuple[bool, bool, int, int, int, str]:
        draft, trial = row
        used = uses_change(attempt.target, trial)
        tells = bool(_DEFAULT_REPR.sub("", trial.output).strip()) and not (
            used and not attempt.target.added and trial.output in plain
        )
        long = draft.code.count("\n") > 15
        return not used, not tells, long, sources[draft.source], len(draft.code), draft.code

    kept: list[tuple[Draft, Trial]] = []
    shown: Counter[frozenset[str]] = Counter()
    shapes: Counter[tuple[str, ...]] = Counter()
    for draft, trial in sorted(attempt.ran, key=key):
        calls = normalised_calls(draft.code, attempt.target.paths)
        shape = tuple(sorted({name for call in trial.good_calls for name in call.keywords}))
        synthetic = draft.source == "synthesis"
        if shown[calls] or shapes[shape] >= (1 if synthetic else 3) or (synthetic and len(kept) >= 3):
            continue
        shown[calls] += 1
        shapes[shape] += 1
        kept.append((draft, trial))
        if len(kept) == REPEATED:
            break
    return kept


def _examples(
    attempt: Attempt, rows: Sequence[tuple[Draft, Trial]], outputs: Mapping[tuple[str, str], str | None]
) -> Examples:
    target = attempt.target
    kept: list[Exemplar] = []
    steady = sorted(rows, key=lambda row: outputs[target.api, row[0].code] is None)  # stable: the choice's order stays
    for draft, trial in steady[:KEPT]:
        output = outputs[target.api, draft.code]
        kept.append(
            Exemplar(
                code=draft.code,
                status="executed",
                output=output,
                source=draft.source,
                origin=draft.origin,
                uses_change=uses_change(target, trial),
                calls=tuple(sorted(normalised_calls(draft.code, target.paths))),
                note="" if output is not None else "the output differs from run to run",
            )
        )
    kept.sort(key=lambda item: (not item.uses_change, item.code.count("\n"), item.code))
    reason = None if kept else why_none(attempt)
    return Examples(
        exemplars=tuple(kept) or tuple(_static(attempt)),
        tried=len(attempt.ran) + len(attempt.failed),
        ran=len(attempt.ran),
        reason=reason,
    )


def _static(attempt: Attempt) -> Iterator[Exemplar]:
    """Yield what could not be run for want of something outside; a program that is wrong is no example."""
    outside = {"ModuleNotFoundError", "FileNotFoundError", "ImproperlyConfigured", "ConnectError", "URLError"}
    mined = [(draft, trial) for draft, trial in attempt.failed if draft.source != "synthesis"]
    for draft, trial in [row for row in mined if row[1].error_type in outside][:2]:
        yield Exemplar(
            code=draft.code,
            status="static",
            source=draft.source,
            origin=draft.origin,
            uses_change=attempt.target.added,
            calls=tuple(sorted(normalised_calls(draft.code, attempt.target.paths))),
            note=f"{trial.error_type}: {trial.error_message.splitlines()[0] if trial.error_message else ''}",
        )


def why_none(attempt: Attempt) -> str:
    """Return why no example ran: a short identifier, the most frequent failure if there were tries."""
    if not attempt.failed:
        return "no use found and no arguments known"
    kinds = Counter(trial.error_type or "target not called" for _, trial in attempt.failed)
    kind, _ = min(kinds.items(), key=lambda item: (-item[1], item[0]))
    return f"all programs failed, mostly {kind}"


def documents_of(facts: Facts, apis: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the docstrings that the running library shows, with their origin: some exist in no file."""
    for api in apis:
        record = facts.apis.get(api, {})
        if record.get("doc"):
            yield f"docstring of {api}", record["doc"]
