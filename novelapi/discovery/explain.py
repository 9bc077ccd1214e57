"""Says why a name is or is not a candidate, with the evidence from both releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from novelapi.catalog import Library
from novelapi.discovery.apis import Api, ApiTable
from novelapi.discovery.classify import REASONS
from novelapi.discovery.signatures import write_signature
from novelapi.discovery.visibility import Trees, declared_private, is_private
from novelapi.discovery.workspace import Workspace
from novelapi.errors import UnknownNameError
from novelapi.records.api import Candidate, Exclusion


def explain(
    workspace: Workspace,
    library: Library,
    name: str,
    *,
    old: str | None,
    new: str,
    candidates: Iterable[Candidate],
    excluded: Iterable[Exclusion],
) -> list[str]:
    """Return lines of plain text about a dotted name.

    Raises:
        UnknownNameError: neither release has it; near matches are suggested.
    """
    tables = {release: _table(workspace, library, release) for release in (old, new) if release}
    lines = list(_outcome(name, candidates, excluded))
    for release, table in tables.items():
        lines += _evidence(release, table.find(name), name)
    if not lines[0].startswith(name):
        known = {path for table in tables.values() for api in table.all() for path in api.paths}
        before = tables[old].find(name) if old else None
        reason = f"not a candidate, only {old} has it" if before else _outside(library, name, tables[new], known)
        lines.insert(0, f"{name}: {reason}")
    return lines


def _table(workspace: Workspace, library: Library, release: str) -> ApiTable:
    return ApiTable(workspace.surface(library, release), library.private_prefixes)


def _outcome(name: str, candidates: Iterable[Candidate], excluded: Iterable[Exclusion]) -> Iterator[str]:
    for row in candidates:
        if name in {row.api, *row.paths, row.canonical.replace(":", ".")}:
            yield f"{name}: candidate, {row.change}, rank {row.rank} (score {row.score}), shown as {row.api}"
            yield f"  verified: {row.verified}"
            for change in row.changes:
                words = " -> ".join(filter(None, (change.old, change.new)))
                subject = f" {change.parameter}" if change.parameter else ""
                yield f"  {change.kind}{subject}" + (f": {words}" if words else "")
            error = row.evidence.get("old_error")
            if error:
                yield f"  in {row.old_release}: {error}"
    for row in excluded:
        if row.api == name:
            yield f"{name}: excluded, {row.reason} ({REASONS.get(row.reason, row.reason)})"
            yield f"  {row.detail}"


def _evidence(release: str, api: Api | None, name: str) -> Iterator[str]:
    if api is None:
        yield f"  {release}: no such name in the sources"
        return
    item = api.object
    where = f"{item.file}:{item.line}" if item.file else "no source"
    signature = write_signature(item.params, item.returns) if item.params is not None else ""
    yield f"  {release}: {item.kind} {item.path}{signature} [{where}]"
    for path, evidence in sorted(api.paths.items()):
        if path == name or evidence != "leak":
            declared = f", below {api.declared[path]}" if path in api.declared else ""
            yield f"    {path}: {evidence}{declared}"


def _outside(library: Library, name: str, table: ApiTable, known: set[str]) -> str:
    """Return why a name takes no part."""
    if table.find(name) is not None:
        return "not a candidate, unchanged"
    if is_private(name):
        return "not looked at, a segment of the path has a leading underscore"
    reason = Trees(table.surface.names).reason(name)
    if reason:
        return f"not looked at, {reason}"
    prefix = declared_private(name, library.private_prefixes)
    if prefix:
        return f"not looked at, below {prefix}, which the library calls private"
    raise UnknownNameError("API", name, known, f"neither release of {library.name} has it")
