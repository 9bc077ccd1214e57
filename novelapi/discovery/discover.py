"""Stage 1 for one library and two releases: surfaces, difference, verification, ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from novelapi.catalog import Library
from novelapi.discovery.apis import Api, ApiTable
from novelapi.discovery.candidates import make_candidate, make_exclusions
from novelapi.discovery.classify import UNDOCUMENTED_BELOW, Verdict, classify_observed, classify_static
from novelapi.discovery.diff import Differ, Difference
from novelapi.discovery.documentation import Documentation, load_documentation, read_documentation
from novelapi.discovery.inheritance import mark_inherited_constructors
from novelapi.discovery.ranking import collect_evidence, score, thin_out, usable_change
from novelapi.discovery.signatures import significant
from novelapi.discovery.surface.model import ApiObject
from novelapi.discovery.verify import Inspector, Observation
from novelapi.discovery.visibility import declared_private
from novelapi.discovery.workspace import Workspace
from novelapi.records.api import Candidate, Exclusion
from novelapi.records.environment import Environment

Progress = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """The result of stage 1."""

    candidates: tuple[Candidate, ...]
    """Sorted by rank."""
    excluded: tuple[Exclusion, ...]
    """Sorted by path; one row per spelling."""
    counts: dict[str, int]
    """APIs of both surfaces."""

    @property
    def reasons(self) -> dict[str, int]:
        """Number of excluded APIs by reason (an API counts once, however many spellings it has)."""
        apis = {(row.canonical or row.api, row.reason) for row in self.excluded}
        return dict(sorted(Counter(reason for _, reason in apis).items()))


def discover(
    workspace: Workspace, library: Library, old: str | None, new: str, progress: Progress = lambda _: None
) -> Discovery:
    """Find the APIs of a library that are new or changed between two releases.

    Args:
        workspace: caches, index and environments.
        library: the library.
        old: the last release that the model can know; null when there was none.
        new: the release under test.
        progress: is told what happens, in words.

    Raises:
        IndexUnavailableError: the index did not answer.
        PrerequisiteError: bubblewrap, uv or a Python is missing.
        NovelApiError: a release cannot be read or installed.
    """
    progress(f"reading the sources of {library.name} {old or '(none)'} and {new}")
    documentation = read_release_documentation(workspace, library, new)
    new_table = ApiTable(workspace.surface(library, new), library.private_prefixes, documentation.named)
    old_table = ApiTable(workspace.surface(library, old), library.private_prefixes) if old else None
    differ = Differ(old_table, new_table)
    rows = list(differ.differences())
    reachable = [row for row in rows if row.new.barrier() is None]
    if library.static:
        verdicts = [classify_static(row) for row in reachable]
    else:
        progress(f"asking {library.name} {new} and {old or '(none)'} what their public names lead to")
        verification = _Verification(workspace, library, old, new, old_table, new_table)
        verdicts = verification.verdicts(reachable)
    verdicts += barred(rows)
    settle(verdicts, documentation, old, library)
    mark_inherited_constructors(verdicts, new_table.surface.objects)
    candidates = _rank(library, old, new, verdicts, documentation)
    return Discovery(
        candidates=tuple(candidates),
        excluded=make_exclusions(verdicts, differ.removed(rows), new_table, old_table),
        counts={
            "public": sum(1 for api in new_table.all() if api.public),
            "public_before": sum(1 for api in old_table.all() if api.public) if old_table else 0,
        },
    )


def read_release_documentation(workspace: Workspace, library: Library, version: str) -> Documentation:
    """Return what documentation and tests of a release mention, from its file if that is there."""
    surface = workspace.surface(library, version)
    path = workspace.layout.documentation(library.store, version)
    source = ",".join(surface.sources.values())
    recorded = load_documentation(path, source)
    if recorded is None:
        recorded = read_documentation(workspace.sdist(library, version), library.docs, surface.module_docs)
        recorded.save(path, source)
    return recorded


def barred(rows: Iterable[Difference]) -> list[Verdict]:
    """Return the changed APIs that users are not meant to use."""
    found: list[Verdict] = []
    for row in rows:
        barrier = row.new.barrier()
        changed = row.relation in {"none", "moved"} or bool(significant(row.changes))
        if barrier is not None and changed and row.new.object.kind not in {"value", "unknown"}:
            found.append(Verdict(row.new, barrier[0], barrier[1], kind=row.new.object.kind, shown=row.new.shown))
    return found


def settle(
    verdicts: Iterable[Verdict], documentation: Documentation, old: str | None, library: Library | None = None
) -> None:
    """Apply what does not depend on the two signatures: documentation, what the catalogue sets apart, tags."""
    for verdict in verdicts:
        if not verdict.is_candidate:
            continue
        named = any(path in documentation.named for path in verdict.api.public)
        length = len(verdict.doc or "")
        if length < UNDOCUMENTED_BELOW and not named:
            verdict.verdict, verdict.detail = "undocumented", f"{length} characters of docstring"
            continue
        if library is not None and library.documented_only is not None and documentation.named and not named:
            verdict.verdict, verdict.detail = "not_documented", library.documented_only
            continue
        if verdict.api.object.role in {"exception", "warning"}:
            verdict.tags.update(("no_usable_change", "raised_not_called"))
        if library is not None and declared_private(verdict.shown, library.set_apart) is not None:
            verdict.tags.update(("no_usable_change", "set_apart"))
        if old is None:
            verdict.tags.add("no_prior_release")
        if not usable_change(verdict):
            verdict.tags.add("no_usable_change")


def _rank(
    library: Library, old: str | None, new: str, verdicts: Sequence[Verdict], documentation: Documentation
) -> list[Candidate]:
    """Return the candidates by rank; what the cap leaves out becomes an exclusion."""
    scored: list[tuple[Verdict, float, dict[str, Any]]] = []
    for verdict in verdicts:
        if verdict.is_candidate:
            evidence = collect_evidence(verdict, documentation, (old, new), verdict.api.object.role)
            scored.append((verdict, score(verdict, evidence), evidence))
    scored.sort(key=lambda item: (-item[1], item[0].shown))
    kept = {id(verdict) for verdict in thin_out([(verdict, points) for verdict, points, _ in scored], library.cap)}
    candidates: list[Candidate] = []
    for verdict, points, evidence in scored:
        if id(verdict) in kept:
            row = make_candidate(verdict, library=library.name, old=old, new=new, evidence=evidence)
            candidates.append(row.model_copy(update={"rank": len(candidates) + 1, "score": points}))
        else:
            verdict.verdict, verdict.detail = "over_cap", f"cap of {library.cap}, score {points}"
    return candidates


@dataclass(frozen=True)
class _Verification:
    """Asks both releases about everything that the sources call new or changed, or cannot tell."""

    workspace: Workspace
    library: Library
    old: str | None
    new: str
    old_table: ApiTable | None
    new_table: ApiTable

    def verdicts(self, rows: Sequence[Difference]) -> list[Verdict]:
        """Return a verdict for every row that was asked about or differs at all; the others are unchanged."""
        asked = [row for row in rows if needs_asking(row)]
        minor = [classify_static(row) for row in rows if row.changes and not needs_asking(row)]
        env = self.workspace.environment(self.library, self.new, documentation=True)
        paths = sorted({path for row in asked for path in row.new.public})
        new_seen = self._inspector(env).observe(paths, self._open_modules)
        asked += self._found_by_running(new_seen, asked)
        old_seen: Mapping[str, Observation] = {}
        if self.old is not None:
            env = self.workspace.environment(self.library, self.old)
            paths = sorted({path for row in asked for path in [*row.new.paths, row.old_path] if path})
            old_seen = self._inspector(env).observe(paths)
        verdicts = [classify_observed(row, new_seen, old_seen, self.new_table.surface.roots) for row in asked]
        merge_same_objects(verdicts, new_seen)
        return [*verdicts, *minor]

    def _inspector(self, env: Environment) -> Inspector:
        return Inspector(
            env=env,
            layout=self.workspace.layout,
            prelude=self.library.prelude,
            roots=self.new_table.surface.roots,
        )

    @cached_property
    def _open_modules(self) -> dict[str, list[str]]:
        """Modules that make names when they run, with the names that are known without."""
        surface = self.new_table.surface
        return {
            module: sorted(surface.names.get(module, ()))
            for module in surface.open_modules
            if not self.new_table.is_declared_private(module)
        }

    def _found_by_running(self, seen: Mapping[str, Observation], asked: Sequence[Difference]) -> list[Difference]:
        """Return rows for what open modules turned out to hold."""
        known = {path for row in asked for path in row.new.public}
        found: list[Difference] = []
        for path in sorted(seen.keys() - known):
            module, _, name = path.rpartition(".")
            api = Api(ApiObject(f"{module}:{name}", "unknown", origin="run time"), {path: "defined"}, shown=path)
            before = self.old_table.surface.lookup(path) if self.old_table else None
            found.append(Difference(api, before, path if before else None, "same_path" if before else "none"))
        return found


def needs_asking(row: Difference) -> bool:
    """Return whether the sources alone do not settle that an API is unchanged."""
    return row.relation in {"none", "moved"} or row.is_opaque or bool(significant(row.changes))


def merge_same_objects(verdicts: Sequence[Verdict], seen: Mapping[str, Observation]) -> None:
    """Keep one row per object: names that lead to the same one at run time are aliases of the best."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        observed = seen.get(verdict.shown)
        if observed is not None and observed.ok and observed.same_as and observed.kind != "value":
            groups.setdefault(observed.same_as, []).append(verdict)
    for group in groups.values():
        if len(group) > 1:
            _merge(group)


def _merge(group: Sequence[Verdict]) -> None:
    """Fold a group of rows for one object into its best row."""
    known = [verdict for verdict in group if verdict.verdict != "added"]
    best = min(known or group, key=_display_order)
    for verdict in group:
        if verdict is best:
            continue
        if verdict.verdict == "added" and known:
            verdict.verdict, verdict.detail = "new_alias", f"the same object as {best.shown}"
        elif verdict.is_candidate:
            verdict.verdict, verdict.detail = "alias", f"listed as {best.shown}"
            best.api.paths.update(verdict.api.paths)


def _display_order(verdict: Verdict) -> tuple[int, int, str]:
    exported = verdict.api.paths.get(verdict.shown) in {"all", "package", "redundant"}
    return (0 if exported else 1, verdict.shown.count("."), verdict.shown)
