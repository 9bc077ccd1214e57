"""Cuts executed examples into seeds: the call of the target, and expressions for everything that it needs."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from novelapi.generation.seeds import Argument, Seed
from novelapi.knowledge.names import BUILTINS, dotted, imports_of, use_of
from novelapi.records.api import Candidate
from novelapi.records.bundle import Exemplar, KnowledgeBundle

_DEPTH = 8
_LONGEST = 600


def mine(candidate: Candidate, bundle: KnowledgeBundle) -> list[Seed]:
    """Return the seeds in a bundle's executed examples, those that use the change first."""
    seeds: list[Seed] = []
    known: set[str] = set()
    ordered = sorted(bundle.exemplars, key=lambda exemplar: not exemplar.uses_change)
    for exemplar in ordered:
        if exemplar.status != "executed":
            continue
        for seed in mine_example(candidate, exemplar):
            text = seed.call({})
            if text not in known:
                known.add(text)
                seeds.append(seed)
    return seeds


def mine_example(candidate: Candidate, exemplar: Exemplar) -> list[Seed]:
    """Return the seeds of one example: every call of the target whose arguments can be written as expressions."""
    try:
        tree = ast.parse(exemplar.code)
    except SyntaxError:
        return []
    program = _Program(tree)
    found: list[Seed] = []
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and candidate.kind != "property":
                seed = _seed(candidate, exemplar, program, node)
            elif isinstance(node, ast.Attribute) and candidate.kind == "property":
                seed = _property_seed(candidate, exemplar, program, node)
            else:
                continue
            if seed is not None:
                found.append(seed)
    return found


def _property_seed(candidate: Candidate, exemplar: Exemplar, program: _Program, node: ast.Attribute) -> Seed | None:
    """Make a seed of reading an attribute."""
    leaf = candidate.api.rsplit(".", 1)[-1]
    if node.attr != leaf or dotted(node, program.imports) is not None:
        return None
    inline = _Inline(program)
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
    """An example's names: imports, single assignments, definitions."""

    def __init__(self, tree: ast.Module) -> None:
        self.imports = imports_of(tree)
        self.import_nodes = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        self.definitions = {
            node.name: node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        self.values: dict[str, ast.expr] = {}
        unsafe: set[str] = set()
        for statement in tree.body:
            use = use_of(statement)
            for name in use.binds | use.changes:
                if name in self.values or name in use.changes:
                    unsafe.add(name)
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                self._assign(statement.targets[0], statement.value)
            else:
                for name in use.binds - set(self.definitions) - set(self.imports):
                    unsafe.add(name)
        for name in unsafe:
            self.values.pop(name, None)

    def path(self, function: ast.expr) -> str | None:
        """Return the dotted path of what is called, also through a plain alias (`quantile = np.quantile`)."""
        if isinstance(function, ast.Name) and isinstance(self.values.get(function.id), ast.Attribute):
            return dotted(self.values[function.id], self.imports)
        return dotted(function, self.imports)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.values[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for name, part in zip(target.elts, value.elts, strict=True):
                if isinstance(name, ast.Name):
                    self.values[name.id] = part


class _UnresolvedError(Exception):
    """An expression needs a name that cannot be written out."""


class _Inline(ast.NodeTransformer):
    """Replaces names by the expressions that they stand for."""

    def __init__(self, program: _Program) -> None:
        self.program = program
        self.depth = 0
        self.local: set[str] = set()
        self.used: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if name in self.local or not isinstance(node.ctx, ast.Load):
            return node
        if name in self.program.values:
            if self.depth >= _DEPTH:
                raise _UnresolvedError(name)
            self.depth += 1
            found: ast.expr = self.visit(ast.parse(ast.unparse(self.program.values[name]), mode="eval").body)
            self.depth -= 1
            return found
        if name in self.program.imports or name in self.program.definitions:
            self.used.add(name)
            return node
        if name in BUILTINS:
            return node
        raise _UnresolvedError(name)

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
        copied = ast.parse(ast.unparse(node), mode="eval").body
        text = ast.unparse(ast.fix_missing_locations(self.visit(copied)))
        if len(text) > _LONGEST:
            raise _UnresolvedError("too long")
        return text


def _seed(candidate: Candidate, exemplar: Exemplar, program: _Program, call: ast.Call) -> Seed | None:
    """Make a seed of one call, if it is one of the target and can be written out."""
    leaf = candidate.api.rsplit(".", 1)[-1]
    path = program.path(call.func)
    receiver: ast.expr | None = None
    if path not in candidate.paths:
        method = candidate.kind in ("method", "property")
        if not (method and isinstance(call.func, ast.Attribute) and call.func.attr == leaf and path is None):
            return None
        receiver = call.func.value
    inline = _Inline(program)
    try:
        arguments = _arguments(candidate, call, inline)
        receiver_text = inline.text(receiver) if receiver is not None else None
        if receiver is None and dotted(call.func, program.imports) is not None:
            inline.visit(ast.parse(ast.unparse(call.func), mode="eval").body)
        helpers = _helpers(program, inline)
    except (_UnresolvedError, RecursionError):
        return None
    imports, target_imports = _imports(program, inline.used, leaf)
    callee = leaf if receiver is not None else ast.unparse(call.func)
    if receiver is None and (path != candidate.api or dotted(call.func, program.imports) is None):
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
    found: list[Argument] = []
    for number, node in enumerate(call.args):
        if isinstance(node, ast.Starred):
            raise _UnresolvedError("starred")
        name = positional[number] if number < len(positional) else None
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
