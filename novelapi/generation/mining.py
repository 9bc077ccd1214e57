"""Cuts executed examples into seeds: the call of the target, and expressions for everything that it needs."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from novelapi.generation.reading import parsed, uses_private
from novelapi.generation.seeds import Argument, Seed
from novelapi.knowledge.names import BUILTINS, dotted, imports_of, use_of
from novelapi.records.api import Candidate
from novelapi.records.bundle import Exemplar, KnowledgeBundle

_DEPTH = 8
_LONGEST = 600


Evaluate = Callable[[str, str], str | None]
"""Runs a program and returns the value of an expression after it as a short literal; null when it has none."""


def mine(
    candidate: Candidate, bundle: KnowledgeBundle, evaluate: Evaluate = lambda _program, _text: None
) -> list[Seed]:
    """Return the seeds in a bundle's executed examples, those that use the change first.

    Args:
        candidate: the API.
        bundle: its knowledge.
        evaluate: finds the values of arguments that several statements make.
    """
    seeds: list[Seed] = []
    known: set[str] = set()
    ordered = sorted(bundle.exemplars, key=lambda exemplar: not exemplar.uses_change)
    for exemplar in ordered:
        if exemplar.status != "executed":
            continue
        for seed in mine_example(candidate, exemplar, evaluate):
            text = seed.call({})
            if text not in known:
                known.add(text)
                seeds.append(seed)
    return seeds


def mine_example(
    candidate: Candidate, exemplar: Exemplar, evaluate: Evaluate = lambda _program, _text: None
) -> list[Seed]:
    """Return the seeds of one example: every call of the target whose arguments can be written as expressions."""
    tree = parsed(exemplar.code)
    if tree is None or uses_private(tree):
        return []
    program = _Program(tree, evaluate)
    found: list[Seed] = []
    for position, statement in enumerate(tree.body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and candidate.kind != "property":
                seed = _seed(candidate, exemplar, program, node, position)
            elif isinstance(node, ast.Attribute) and candidate.kind == "property":
                seed = _property_seed(candidate, exemplar, program, node, position)
            else:
                continue
            if seed is not None:
                found.append(seed)
    return found


def _property_seed(
    candidate: Candidate, exemplar: Exemplar, program: _Program, node: ast.Attribute, position: int
) -> Seed | None:
    """Make a seed of reading an attribute."""
    leaf = candidate.api.rsplit(".", 1)[-1]
    if node.attr != leaf or dotted(node, program.imports) is not None:
        return None
    inline = _Inline(program, position)
    try:
        receiver = inline.text(node.value)
        helpers = _helpers(program, inline)
    except (_UnresolvedError, RecursionError):
        return None
    imports, target_imports = _imports(program, inline.used, leaf)
    return Seed(
        api=candidate.api,
        callee=leaf,
        receiver=receiver,
        imports=imports,
        target_imports=target_imports,
        helpers=helpers,
        origin=exemplar.origin or exemplar.source,
        is_property=True,
    )


class _Program:
    """An example's names: imports, definitions, and what simple assignments bind, statement by statement."""

    def __init__(self, tree: ast.Module, evaluate: Evaluate) -> None:
        self.body = tree.body
        self.evaluate = evaluate
        self.imports = imports_of(tree)
        self.import_nodes = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        self.definitions = {
            node.name: node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        self._bound: dict[str, list[tuple[int, ast.expr | None]]] = {}
        """Per name: positions of statements that bind or change it, with its value where that is an expression."""
        for position, statement in enumerate(tree.body):
            values = _assigned(statement)
            use = use_of(statement)
            for name in (use.binds | use.changes) - set(self.definitions) - set(self.imports):
                self._bound.setdefault(name, []).append((position, values.get(name)))

    def value(self, name: str, before: int) -> tuple[ast.expr, int] | None:
        """Return the expression that a name stands for just before a statement, and where it was bound."""
        known = [(position, value) for position, value in self._bound.get(name, ()) if position < before]
        if not known or known[-1][1] is None:
            return None
        return known[-1][1], known[-1][0]

    def literal(self, node: ast.expr, position: int) -> str | None:
        """Return the value that an expression has just before a statement, found by running what comes before."""
        lines = "\n".join(ast.unparse(statement) for statement in self.body[:position])
        return self.evaluate(lines, ast.unparse(node))

    def is_bound(self, name: str) -> bool:
        """Return whether a statement binds a name at all."""
        return name in self._bound

    def path(self, function: ast.expr, position: int) -> str | None:
        """Return the dotted path of what is called, also through a plain alias (`quantile = np.quantile`)."""
        if isinstance(function, ast.Name):
            found = self.value(function.id, position)
            if found is not None and isinstance(found[0], ast.Attribute):
                return dotted(found[0], self.imports)
        return dotted(function, self.imports)


def _assigned(statement: ast.stmt) -> dict[str, ast.expr]:
    """Return what a simple assignment binds, by name."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value is not None:
        return {statement.target.id: statement.value}
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return {}
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Name):
        return {target.id: value}
    found: dict[str, ast.expr] = {}
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for name, part in zip(target.elts, value.elts, strict=True):
            if isinstance(name, ast.Name):
                found[name.id] = part
    return found


class _UnresolvedError(Exception):
    """An expression needs a name that cannot be written out."""


class _Inline(ast.NodeTransformer):
    """Replaces names by the expressions that they stand for."""

    def __init__(self, program: _Program, position: int) -> None:
        self.program = program
        self.position = position
        self.depth = 0
        self.local: set[str] = set()
        self.used: set[str] = set()
        self.needs_numpy = False

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if name in self.local or not isinstance(node.ctx, ast.Load):
            return node
        if self.program.is_bound(name):
            return self._value(name)
        if name in self.program.imports or name in self.program.definitions:
            self.used.add(name)
            return node
        if name in BUILTINS:
            return node
        raise _UnresolvedError(name)

    def _value(self, name: str) -> ast.expr:
        """Return what a variable stands for here.

        Raises:
            _UnresolvedError: no simple assignment says it.
        """
        known = self.program.value(name, self.position)
        if known is None or self.depth >= _DEPTH:
            raise _UnresolvedError(name)
        here = self.position
        self.depth, self.position = self.depth + 1, known[1]
        found: ast.expr = self.visit(ast.parse(ast.unparse(known[0]), mode="eval").body)
        self.depth, self.position = self.depth - 1, here
        return found

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        own = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
        return self._with_local(node, own)

    def visit_ListComp(self, node: ast.expr) -> ast.expr:
        own = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        return self._with_local(node, own)

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp  # noqa: N815 - the names of ast's protocol

    def _with_local(self, node: ast.expr, own: set[str]) -> ast.expr:
        before = self.local
        self.local = before | own
        self.generic_visit(node)
        self.local = before
        return node

    def text(self, node: ast.expr) -> str:
        """Return an expression with all names resolved.

        Raises:
            _UnresolvedError: it needs a name that is bound in no simple way, or becomes too long.
        """
        used, copied = set(self.used), ast.parse(ast.unparse(node), mode="eval").body
        try:
            text = ast.unparse(ast.fix_missing_locations(self.visit(copied)))
        except _UnresolvedError:
            text = None
        if text is None or len(text) > _LONGEST:
            self.used = used
            text = self.program.literal(node, self.position)
            if text is None:
                raise _UnresolvedError("no literal")
            self.needs_numpy = self.needs_numpy or "np." in text
        return text


def _seed(candidate: Candidate, exemplar: Exemplar, program: _Program, call: ast.Call, position: int) -> Seed | None:
    """Make a seed of one call, if it is one of the target and can be written out."""
    leaf = candidate.api.rsplit(".", 1)[-1]
    path = program.path(call.func, position)
    receiver: ast.expr | None = None
    heir = _is_heir(candidate, call.func, program)
    if path not in candidate.paths and not heir:
        method = candidate.kind in ("method", "property")
        if not (method and isinstance(call.func, ast.Attribute) and call.func.attr == leaf and path is None):
            return None
        receiver = call.func.value
    inline = _Inline(program, position)
    try:
        arguments = _arguments(candidate, call, inline)
        receiver_text = inline.text(receiver) if receiver is not None else None
        if receiver is None and (heir or dotted(call.func, program.imports) is not None):
            inline.visit(ast.parse(ast.unparse(call.func), mode="eval").body)
        helpers = _helpers(program, inline)
    except (_UnresolvedError, RecursionError):
        return None
    imports, target_imports = _imports(program, inline.used, leaf)
    if inline.needs_numpy:
        imports = tuple(sorted({*imports, "import numpy as np"}))
    callee = leaf if receiver is not None else ast.unparse(call.func)
    if receiver is None and not heir and (path != candidate.api or dotted(call.func, program.imports) is None):
        callee, imports, target_imports = _shown_path(candidate.api, program, imports)
    return Seed(
        api=candidate.api,
        callee=callee,
        receiver=receiver_text,
        arguments=arguments,
        imports=imports,
        target_imports=target_imports,
        helpers=helpers,
        origin=exemplar.origin or exemplar.source,
    )


def _is_heir(candidate: Candidate, function: ast.expr, program: _Program) -> bool:
    """Whether a class method is called on a class that the example defines (running tells if it is the target)."""
    return (
        candidate.kind in ("classmethod", "staticmethod")
        and isinstance(function, ast.Attribute)
        and function.attr == candidate.api.rsplit(".", 1)[-1]
        and isinstance(function.value, ast.Name)
        and isinstance(program.definitions.get(function.value.id), ast.ClassDef)
    )


def _shown_path(api: str, program: _Program, imports: tuple[str, ...]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Call the target by the path that is shown, not by another one that may be new for a reason of its own."""
    root, _, rest = api.partition(".")
    alias = next((name for name, path in program.imports.items() if path == root), None)
    if alias is None:
        return api, (*imports, f"import {root}"), ()
    statement = f"import {root} as {alias}" if alias != root else f"import {root}"
    return f"{alias}.{rest}", tuple(sorted({*imports, statement})), ()


def _arguments(candidate: Candidate, call: ast.Call, inline: _Inline) -> tuple[Argument, ...]:
    """Write the arguments out and name the parameters that receive them.

    Raises:
        _UnresolvedError: one cannot be written out, or is starred.
    """
    positional = [
        item.name for item in candidate.parameters if item.kind in ("positional_only", "positional_or_keyword")
    ]
    spread = next((item.name for item in candidate.parameters if item.kind == "var_positional"), None)
    found: list[Argument] = []
    for number, node in enumerate(call.args):
        if isinstance(node, ast.Starred):
            raise _UnresolvedError("starred")
        name = positional[number] if number < len(positional) else spread
        found.append(Argument(text=inline.text(node), parameter=name))
    for keyword in call.keywords:
        if keyword.arg is None:
            raise _UnresolvedError("starred")
        found.append(Argument(text=inline.text(keyword.value), keyword=keyword.arg, parameter=keyword.arg))
    return tuple(found)


def _helpers(program: _Program, inline: _Inline) -> tuple[str, ...]:
    """Return the definitions that are used, and those that they use.

    Raises:
        _UnresolvedError: a definition needs a name that is no import, builtin or definition.
    """
    wanted = [name for name in inline.used if name in program.definitions]
    found: dict[str, str] = {}
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        node = program.definitions[name]
        found[name] = ast.unparse(node)
        for needed in use_of(node).needs:
            if needed in program.definitions:
                wanted.append(needed)
            elif needed in program.imports:
                inline.used.add(needed)
            elif needed not in BUILTINS:
                raise _UnresolvedError(needed)
    order = list(program.definitions)
    return tuple(found[name] for name in sorted(found, key=order.index))


def _imports(program: _Program, used: set[str], leaf: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return one import statement per used name: (for the context, for the solution because it names the target)."""
    plain: list[str] = []
    naming: list[str] = []
    for node in program.import_nodes:
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            if bound not in used:
                continue
            single = ast.unparse(_single(node, alias))
            sink = naming if leaf in _words(single) else plain
            if single not in sink:
                sink.append(single)
    return tuple(sorted(plain)), tuple(sorted(naming))


def _single(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(node, ast.Import):
        return ast.Import(names=[alias])
    return ast.ImportFrom(module=node.module, names=[alias], level=node.level)


def _words(text: str) -> set[str]:
    return set(text.replace(".", " ").replace(",", " ").split())


def expressions(seed: Seed) -> Sequence[str]:
    """Return all expressions of a seed: arguments and receiver."""
    return [*(argument.text for argument in seed.arguments), *([seed.receiver] if seed.receiver else [])]


def names_in(text: str, imports: Mapping[str, str]) -> set[str]:
    """Return the imported names that an expression or a program uses."""
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name) and node.id in imports}
