"""Drafts: programs cut out of documents and tests around a use of a target, ready to be tried."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from novelapi.knowledge.corpus import CONVENTIONAL, Place
from novelapi.knowledge.material import Facts
from novelapi.knowledge.names import root_name
from novelapi.knowledge.slicing import PLOTTING, slice_program, steady
from novelapi.knowledge.snippets import Script, Source, Statement, parse_or_none
from novelapi.knowledge.targets import Target, sites

FOLLOWERS = 5
"""Statements after the call that show its effect."""

UNFIT = ("raises(", "assert_raises", "assertRaises", "pytest.warns", "assertWarns", "plt.", ".plot(")
"""Texts of statements that show no use, or no use that a reader could see."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A program that should show a target."""

    code: str
    """The program."""
    source: Source
    """Kind of origin."""
    origin: str
    """File, docstring or recipe."""


def drafts(target: Target, places: Iterable[Place], facts: Facts) -> Iterator[Draft]:
    """Yield the distinct programs around some places, in their order."""
    seen: set[str] = set()
    for place in places:
        for code in _programs(target, place, resolver(target, facts)):
            if code in seen or not usable(code):
                continue
            seen.add(code)
            yield Draft(code=code, source=place.script.source, origin=place.script.origin)
            break


def traced(target: Target, places: Iterable[Place], facts: Facts) -> Iterator[Draft]:
    """Yield whole tests that name a target without calling it by name; the run tells whether they reach it."""
    seen: set[str] = set()
    for place in places:
        script = place.script
        end = (
            len(script.statements) if script.source == "tests" else min(len(script.statements), place.index + FOLLOWERS)
        )
        first = max(script.start, 0) if script.source == "tests" else place.index
        chosen: list[int] = []
        final: list[Statement] = []
        for number in range(first, end):
            node = script.statements[number].node
            shown = _observed(node, set(script.statements[number].use.needs))
            if shown is not None:
                final.append(Statement(ast.Expr(value=shown), ast.unparse(shown)))
            elif not _is_apparatus(node) and not any(text in script.statements[number].text for text in UNFIT):
                chosen.append(number)
        code = slice_program(script, end, chosen, final[:FOLLOWERS], resolver(target, facts))
        if code is not None and code not in seen and usable(code):
            seen.add(code)
            yield Draft(code=steady(code), source=script.source, origin=script.origin)


def makers(places: Iterable[Place], roots: Sequence[str], facts: Facts) -> Iterator[Draft]:
    """Yield programs that assign what a call returns, and nothing else."""
    root = Target(api=f"{roots[0]}.x", paths=frozenset(), kind="function", positional=(), new=frozenset(), added=True)
    for place in places:
        code = slice_program(place.script, place.index + 1, [place.index], (), resolver(root, facts))
        if code is not None and usable(code):
            yield Draft(code=steady(code), source=place.script.source, origin=place.script.origin)


def usable(code: str) -> bool:
    """Say whether a program parses and neither plots nor tests."""
    tree = parse_or_none(code)
    if tree is None:
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(_foreign(alias.name) for alias in node.names):
            return False
        if isinstance(node, ast.ImportFrom) and node.module and _foreign(node.module):
            return False
    return True


def _foreign(module: str) -> bool:
    first = module.split(".", 1)[0]
    return first in PLOTTING | {"pytest", "unittest", "hypothesis", "requests", "trustme", "dirty_equals"}


def resolver(target: Target, facts: Facts) -> Callable[[str], str | None]:
    """Return where names come from that a document takes for granted."""
    parent = target.owner if not target.member else target.owner.rpartition(".")[0]
    root = target.api.split(".", 1)[0]
    preferred = [parent, root]
    others = sorted(set(facts.modules) - set(preferred), key=lambda name: (name.count("."), name))

    def resolve(name: str) -> str | None:
        if name in CONVENTIONAL:
            return CONVENTIONAL[name]
        if name == root:
            return f"import {root}"
        known = [*preferred, *(others if len(name) > 3 else [])]
        for module in known:
            if name in facts.modules.get(module, frozenset()):
                return f"from {module} import {name}"
        return None

    return resolve


def _programs(target: Target, place: Place, resolve: Callable[[str], str | None]) -> Iterator[str]:
    """Yield programs of one place, the most compact first."""
    script, index = place.script, place.index
    statement = script.statements[index]
    if any(text in statement.text for text in UNFIT):
        return
    if _is_apparatus(statement.node):
        for site in sorted(sites(statement.node, target, script.imports), key=lambda item: not item.uses_change):
            if site.node is not None:
                call = Statement(ast.Expr(value=site.node), ast.unparse(site.node))
                code = slice_program(script, index, (), [call], resolve)
                if code is not None:
                    yield steady(code)
        return
    followers, final = _effects(script, index)
    for chosen, ends in (([index, *followers], final), ([index], _display(statement))):
        until = max(chosen) + 1
        code = slice_program(script, until, chosen, ends, resolve)
        if code is not None:
            yield steady(code)


def _is_apparatus(node: ast.stmt) -> bool:
    """Say whether a statement is an assertion around the call."""
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    return "assert" in ast.unparse(node.value.func).lower()


def _effects(script: Script, index: int) -> tuple[list[int], list[Statement]]:
    """Return the statements after the call that show its effect, and what assertions look at."""
    statement = script.statements[index]
    known = set(statement.use.binds)
    if not known:
        return [], _receiver(script, statement)
    chosen: list[int] = []
    final: list[Statement] = []
    for number in range(index + 1, min(len(script.statements), index + 1 + 3 * FOLLOWERS)):
        later = script.statements[number]
        if script.source != "tests" and later.group != statement.group:
            break
        if len(chosen) + len(final) >= FOLLOWERS or not (later.use.needs & known) or _unfit(later):
            continue
        shown = _observed(later.node, known)
        if shown is not None:
            final.append(Statement(ast.Expr(value=shown), ast.unparse(shown)))
        elif isinstance(later.node, ast.Expr) and not _is_apparatus(later.node) and not final:
            chosen.append(number)
        elif isinstance(later.node, ast.Assign) and not final:
            chosen.append(number)
            known |= later.use.binds
    return chosen, final or ([] if chosen and _shows(script, chosen) else _display(statement))


def _receiver(script: Script, statement: Statement) -> list[Statement]:
    """Return a final line that shows an object which a method has changed in place (its call showed nothing)."""
    node = statement.node
    if statement.shown or not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return []
    function = node.value.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return []
    name = function.value.id
    return [] if name in script.imports else [Statement(ast.parse(name).body[0], name)]


def _unfit(statement: Statement) -> bool:
    return bool(statement.use.needs & PLOTTING) or any(text in statement.text for text in UNFIT)


def _shows(script: Script, chosen: list[int]) -> bool:
    return any(isinstance(script.statements[number].node, ast.Expr) for number in chosen)


def _observed(node: ast.stmt, known: set[str]) -> ast.expr | None:
    """Return what an assertion looks at: the side of the comparison that depends on the call."""
    looked: ast.expr | None = None
    if isinstance(node, ast.Assert):
        looked = node.test.left if isinstance(node.test, ast.Compare) else None
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_apparatus(node) and node.value.args:
        looked = node.value.args[0]
    if looked is None or isinstance(looked, ast.Constant) or root_name(looked) not in known:
        return None
    return looked


def _display(statement: Statement) -> list[Statement]:
    """Return a final line that shows the variable which the statement assigns."""
    node = statement.node
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return []
    names = [
        item for item in ast.walk(node.targets[0]) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    ]
    return [Statement(ast.parse(item.id).body[0], item.id) for item in names[:3]]
