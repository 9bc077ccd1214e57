"""The target was never called: WrongImport if it was meant but not reached, else WrongAPISelection or an early end."""

from __future__ import annotations

import ast

from novelapi.evaluation import program
from novelapi.evaluation.case import Case, Diagnosis, short
from novelapi.records.verdict import ErrorEvidence

_IMPORT_ERRORS = ("builtins.ImportError", "builtins.ModuleNotFoundError")
_NAME_ERRORS = ("builtins.NameError", "builtins.UnboundLocalError")


def not_called(case: Case) -> Diagnosis | None:
    """Return the diagnosis if a target was never called up to the failing input; null if all were."""
    uncalled = [spec.api for spec in case.task.calls if not any(call.api == spec.api for call in case.calls)]
    if not uncalled:
        return None
    error = case.error
    if error is not None:
        missed = _missed_target(case, error, uncalled)
        if missed is not None:
            return missed
    if case.calls and len(case.task.calls) > 1 and error is None and not case.seen.ended:
        return Diagnosis(label="WrongAPISelection", reason=f"{uncalled[0]} was never called")
    early = _early_end(case)
    if early is None:
        return Diagnosis(label="WrongAPISelection", reason=f"{uncalled[0]} was never called")
    if case.reaches:
        return Diagnosis(label="WrongLogic", reason=f"{early} before the call of {uncalled[0]}")
    return Diagnosis(label="WrongAPISelection", reason=f"{early}; no call resolves to {uncalled[0]}")


def _missed_target(case: Case, error: ErrorEvidence, apis: list[str]) -> Diagnosis | None:
    """An import, attribute or name error: on the target (WrongImport), or on the library (WrongAPISelection)."""
    for api in apis:
        if error.type in _IMPORT_ERRORS:
            found = _failed_import(case, error, api)
        elif error.type == "builtins.AttributeError":
            found = _failed_attribute(case, error, api)
        elif error.type in _NAME_ERRORS:
            found = _failed_name(case, error, api)
        else:
            return None
        if found is not None:
            return found
    return None


def _failed_import(case: Case, error: ErrorEvidence, api: str) -> Diagnosis | None:
    parts = api.split(".")
    name, owner = error.name or "", error.owner or ""
    missed = Diagnosis(label="WrongImport", reason=f"{api} was meant but not reached: {short(error)}")
    if name == parts[0] or f"{owner}.{name}".strip(".") in _prefixes(api) or name in _prefixes(api):
        return missed
    statement = _statement(case, error)
    if owner:  # the module is there, one name is not
        bound = [(alias.name, alias.asname or alias.name) for alias in _aliases(statement) if alias.name == name]
        meant = name in parts[1:] or any(_used_for(case, local, parts) for _, local in bound)
    else:
        bound = _bound_names(statement, name)
        meant = any(item in parts[1:] or _used_for(case, local, parts) for item, local in bound)
    if meant:
        return missed
    roots = {name.split(".")[0], owner.split(".")[0]}
    if parts[0] in roots:
        return Diagnosis(label="WrongAPISelection", reason=f"a name that the library does not have: {short(error)}")
    return None


def _statement(case: Case, error: ErrorEvidence) -> ast.Import | ast.ImportFrom | None:
    line = error.position[0] if error.position else None
    return program.import_at(case.tree, line) if case.tree is not None else None


def _aliases(statement: ast.Import | ast.ImportFrom | None) -> list[ast.alias]:
    return statement.names if statement is not None else []


def _bound_names(statement: ast.Import | ast.ImportFrom | None, missing: str) -> list[tuple[str, str]]:
    """Return (imported name, local name) of what a statement would have bound from a module that does not exist."""
    if isinstance(statement, ast.ImportFrom):
        return [(alias.name, alias.asname or alias.name) for alias in statement.names]
    found: list[tuple[str, str]] = []
    for alias in _aliases(statement):
        if missing and not (alias.name == missing or alias.name.startswith(f"{missing}.")):
            continue
        last = alias.name.rsplit(".", 1)[-1] if "." in alias.name else ""
        found.append((last, alias.asname or alias.name.split(".")[0]))
    return found


def _used_for(case: Case, local: str, parts: list[str]) -> bool:
    """Whether the program reaches for the target through a local name: `mn.comb`, `decimals.Decimal(x)`."""
    if case.tree is None:
        return False
    chains = [program.dotted(node) for node in ast.walk(case.tree) if isinstance(node, ast.Attribute)]
    return any(chain[0] == local and set(chain[1:]) & set(parts[1:]) for chain in chains if chain)


def _failed_attribute(case: Case, error: ErrorEvidence, api: str) -> Diagnosis | None:
    parts = api.split(".")
    leaf, name = parts[-1], error.name
    raised_inside = bool(error.frames) and error.frames[-1].where == "library"
    chains = _chains(case, error, name) if name else []
    if raised_inside and _accessor_on_path(case, error, parts):
        return Diagnosis(label="WrongShapeDtype", reason=f"the path to {api} refused the data: {short(error)}")
    if name is None:
        return None
    missed = Diagnosis(label="WrongImport", reason=f"{api} was meant but not reached: {short(error)}")
    owner_root = (error.owner or "").split(".")[0]
    above = (error.owner or "").rsplit(".", 1)[-1] in parts[:-1]  # `Series.removeprefix` for `Series.str.removeprefix`
    if name == leaf and (error.owner_kind == "module" or error.ancestor or above):
        return missed
    if error.owner_kind == "module" and name != leaf:
        # A module on the way to the leaf does not exist, or not there: `np.core.strings.slice`.
        on_path = f"{error.owner}.{name}" in _prefixes(api) or (name in parts[1:] and name[:1].isupper())
        if on_path or any(_leads_to(chain, name, leaf) for chain in chains):
            return missed
    if owner_root == parts[0] or error.ancestor or (name == leaf):
        return Diagnosis(label="WrongAPISelection", reason=f"a name that the library does not have: {short(error)}")
    return None


def _accessor_on_path(case: Case, error: ErrorEvidence, parts: list[str]) -> bool:
    """Whether an accessor of the target's path (`.str` of `Series.str.removeprefix`) raised for the receiver's data."""
    if case.tree is None or error.position is None:
        return False
    line = error.position[0]
    return any(program.chains_at(case.tree, line, part) for part in parts[1:-1] if part.islower())


def _failed_name(case: Case, error: ErrorEvidence, api: str) -> Diagnosis | None:
    name = error.name
    if name is None:
        return None
    parts = api.split(".")
    names = program.names_of(case.context, program.parse_code(case.task.reference_solution))
    stands_for = names.known.get(name)
    chains = _chains(case, error, name)
    on_path = name in (parts[-1], parts[0]) or stands_for == parts[0] or (stands_for or "?") in _prefixes(api)
    on_path = on_path or (name in parts and name[:1].isupper())  # the class that owns the target
    if on_path or any(chain[0] == name and chain[-1] == parts[-1] and len(chain) > 1 for chain in chains):
        return Diagnosis(label="WrongImport", reason=f"{api} was meant but not reached: {short(error)}")
    return None


def _prefixes(api: str) -> set[str]:
    """Return the dotted prefixes of a path, the whole included: where an import of it can fail."""
    parts = api.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


def _chains(case: Case, error: ErrorEvidence, name: str) -> list[list[str]]:
    if case.tree is None or error.position is None:
        return []
    return program.chains_at(case.tree, error.position[0], name)


def _leads_to(chain: list[str], name: str, leaf: str) -> bool:
    return leaf in chain[chain.index(name) :]


def _early_end(case: Case) -> str | None:
    """Say what ended the program before it gave an answer; null when it ran to its end."""
    seen = case.seen
    if seen.stage == "entry":
        return f"the entry point {case.task.entry_point} is missing"
    if seen.ended:
        return f"ended ({seen.ended})"
    if case.error is not None:
        return f"raised {short(case.error)}"
    index = case.failing_input
    if index is not None and index < len(seen.inputs):
        difference = seen.inputs[index].difference
        if "coroutine" in difference or "generator" in difference:
            return "a coroutine or generator that was never run"
    return None
