"""Whole examples as tasks: for what cannot be cut out of its program, such as a decorator or a field of a class.

The example becomes the body of the entry point, its data become parameters, what it shows becomes the answer. The
description prints that program with the target's name, and the arguments that are the novelty, left blank.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from novelapi.generation.describe import BLANK, Plan, describe, forbidden_names
from novelapi.generation.drafts import REFUSED_WORDS, Free, guard
from novelapi.generation.inputs import vary
from novelapi.generation.lifting import is_target, lift, target_calls
from novelapi.generation.reading import parsed, uses_private
from novelapi.knowledge.names import BUILTINS, dotted, imports_of, use_of
from novelapi.records.api import Candidate
from novelapi.records.bundle import Exemplar, KnowledgeBundle, KnownParameter
from novelapi.records.task import CallSpec, Task, TaskInput

_MOST_SHOWN = 4
_LONGEST = 18
"""Lines of a program; longer ones are no task but a reading exercise."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """An example with parameters."""

    candidate: Candidate
    context: str
    """Imports and definitions that have nothing to do with the target."""
    target_imports: tuple[str, ...]
    """Imports that name the target: they belong into the solution."""
    body: tuple[str, ...]
    """The statements of the entry point, the target in place."""
    shown: tuple[str, ...]
    """Names or expressions whose values the example shows."""
    free: tuple[Free, ...]
    origin: str

    guarded: bool = False
    """Whether a refusal by the library (a ValueError) is an answer."""

    owners: tuple[str, ...] = ()
    """Paths of the target's class, where that is new as well: the solution imports it, the description has a blank."""

    @property
    def difficulty(self) -> Literal["medium", "hard"]:
        """hard: the target works inside a definition; medium: a few statements."""
        nested = any(isinstance(node, ast.ClassDef | ast.FunctionDef) for node in ast.parse("\n".join(self.body)).body)
        return "hard" if nested or len(self.body) > 3 else "medium"

    @property
    def signature(self) -> str:
        """The `def` line."""
        return f"def solve({', '.join(free.name for free in self.free)}):"

    def lines(self) -> list[str]:
        """Return the statements of the entry point with the answer at their end."""
        answer = self.shown[0] if len(self.shown) == 1 else f"[{', '.join(self.shown)}]"
        return [*self.body, f"return {answer}"]

    def reference(self) -> str:
        """Return the reference solution."""
        return self._function(self.lines())

    def probe(self, helper: str, function: str) -> str:
        """Return a solution that says of every shown value what kind of result it is."""
        kinds = ", ".join(f"{function}({text})" for text in self.shown)
        return f"{helper}\n" + self._function([*self.body, f"return [{kinds}]"])

    def without(self, name: str) -> str:
        """Return the reference with one keyword of the target left out."""
        tree = ast.parse("\n".join(self.lines()))
        for call in target_calls(tree, self.candidate, self.imports):
            call.keywords = [item for item in call.keywords if item.arg != name]
        return self._function(ast.unparse(tree).split("\n"))

    @property
    def imports(self) -> dict[str, str]:
        """What imported names stand for."""
        return imports_of(ast.parse("\n".join([self.context, *self.target_imports])))

    @property
    def new_keywords(self) -> list[str]:
        """Keywords of the change that the program passes to the target."""
        added = {item.parameter for item in self.candidate.changes if item.kind == "parameter_added"}
        tree = ast.parse("\n".join(self.lines()))
        found = {item.arg for call in target_calls(tree, self.candidate, self.imports) for item in call.keywords}
        return sorted(name for name in found if name in added and name is not None)

    def settings(self) -> dict[str, str]:
        """Return the keywords that the description leaves blank, with their values."""
        tree = ast.parse("\n".join(self.lines()))
        wanted = set(self.new_keywords) if self.candidate.change == "modified" else None
        return {
            item.arg: ast.unparse(item.value)
            for call in target_calls(tree, self.candidate, self.imports)
            for item in call.keywords
            if item.arg is not None and (wanted is None or item.arg in wanted)
        }

    def blanked(self) -> str | None:
        """Return the program as the description shows it; null when blanks would be ambiguous."""
        tree = ast.parse("\n".join(self.lines()))
        names = forbidden_names((*self.candidate.paths, *self.owners))
        hidden = self.settings()
        with_hidden = 0
        for call in target_calls(tree, self.candidate, self.imports):
            kept = [item for item in call.keywords if item.arg not in hidden]
            if len(kept) < len(call.keywords):
                with_hidden += 1
                call.args.append(ast.Name(BLANK, ast.Load()))
            call.keywords = kept
        if with_hidden > 1:
            return None
        for node in list(ast.walk(tree)):
            if isinstance(node, ast.Name | ast.Attribute) and dotted(node, self.imports) in self.owners:
                _blank(node)
                continue
            for field in ("id", "attr", "name", "arg"):
                text = getattr(node, field, None)
                if isinstance(text, str) and text.lower() in names:
                    if not is_target(node, self.candidate, self.imports):
                        return None
                    setattr(node, field, BLANK)
                    if isinstance(node, ast.Attribute) and self.candidate.kind in ("function", "class"):
                        node.value = ast.Name("__LIBRARY__", ast.Load())
        return ast.unparse(tree).replace("__LIBRARY__.", "")

    def _function(self, lines: Sequence[str]) -> str:
        inner = [f"    {line}" if line else "" for text in lines for line in text.split("\n")]
        head = [*self.target_imports, *([""] if self.target_imports else []), self.signature]
        whole = [*head, *inner]
        return "\n".join(guard(whole, self.signature) if self.guarded else whole) + "\n"


def _blank(node: ast.Name | ast.Attribute) -> None:
    if isinstance(node, ast.Name):
        node.id = BLANK
    else:
        node.attr, node.value = BLANK, ast.Name("__LIBRARY__", ast.Load())


def programs_of(
    candidate: Candidate,
    exemplar: Exemplar,
    known: Mapping[str, KnownParameter] | None = None,
    owners: Sequence[str] = (),
) -> Iterator[Program]:
    """Yield the program of an example with its data as parameters, the most natural choice of parameters first.

    Args:
        candidate: the API.
        exemplar: the example.
        known: what is documented of the API's parameters, by name.
        owners: paths of the API's class, where that is new as well.
    """
    tree = parsed(exemplar.code)
    if tree is None or uses_private(tree) or exemplar.status != "executed":
        return
    imports = imports_of(tree)
    first = next((n for n, node in enumerate(tree.body) if _uses(node, candidate, imports)), None)
    if first is None or _is_import(tree.body[first]):
        return
    body, shown = _answers(tree.body, first)
    if not shown:
        return
    plain, naming = _imports(tree, (*candidate.paths, *owners))
    context, inner = _split(body, candidate, imports, set(imports_of(ast.parse("\n".join(naming)))))
    base = Program(
        candidate=candidate,
        context="\n".join([*plain, *(["", "", *context] if context else [])]) + "\n",
        target_imports=tuple(naming),
        body=tuple(ast.unparse(node) for node in inner),
        shown=tuple(shown),
        free=(),
        origin=exemplar.origin or exemplar.source,
        owners=tuple(owners),
    )
    if len("\n".join(base.body).split("\n")) > _LONGEST or _reads(base) - set(imports):
        return
    yield from _data(base, candidate, known or {})


def _reads(program: Program) -> set[str]:
    """Return names that the program needs and nothing binds."""
    known = {name for node in ast.parse(program.context).body for name in use_of(node).binds}
    missing: set[str] = set()
    for node in ast.parse("\n".join(program.body)).body:
        use = use_of(node)
        missing |= use.needs - known - BUILTINS
        known |= use.binds
    return missing


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _uses(node: ast.stmt, candidate: Candidate, imports: dict[str, str]) -> bool:
    return not _is_import(node) and any(is_target(part, candidate, imports) for part in ast.walk(node))


def _answers(body: Sequence[ast.stmt], first: int) -> tuple[list[ast.stmt], list[str]]:
    """Return the statements without those that only show something, and what they show from the target on."""
    kept: list[ast.stmt] = []
    shown: list[str] = []
    for position, node in enumerate(body):
        if _is_import(node):
            continue
        found = list(_shown(node)) if position >= first else []
        if not found or len(shown) + len(found) > _MOST_SHOWN:
            if not isinstance(node, ast.Assert) and not (isinstance(node, ast.Expr) and found):
                kept.append(node)
            continue
        for text in found:
            name = f"shown_{len(shown) + 1}"
            kept.append(ast.parse(f"{name} = {text}").body[0])
            shown.append(name)
    if kept and shown and len(shown) == 1 and isinstance(kept[-1], ast.Assign):
        last = kept.pop()
        assert isinstance(last, ast.Assign)
        shown = [ast.unparse(last.value)]
    return kept, shown


def _shown(node: ast.stmt) -> Iterator[str]:
    """Yield the expressions whose values a statement shows: printed, displayed, or compared by an assertion."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        if isinstance(function, ast.Name) and function.id == "print":
            for argument in node.value.args:
                yield from _printed(argument)
            return
    if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant | ast.Yield | ast.Await):
        yield ast.unparse(node.value)
    elif isinstance(node, ast.Assert):
        test = node.test
        yield ast.unparse(test.left if isinstance(test, ast.Compare) else test)


def _printed(argument: ast.expr) -> Iterator[str]:
    """Yield what an argument of `print` shows: itself, what `repr` is of, the values in an f-string."""
    if isinstance(argument, ast.JoinedStr):
        for part in argument.values:
            if isinstance(part, ast.FormattedValue):
                yield ast.unparse(part.value)
    elif isinstance(argument, ast.Call) and isinstance(argument.func, ast.Name) and argument.func.id == "repr":
        yield ast.unparse(argument.args[0])
    else:
        yield ast.unparse(argument)


def _split(
    body: Sequence[ast.stmt], candidate: Candidate, imports: dict[str, str], local: set[str]
) -> tuple[list[str], list[ast.stmt]]:
    """Separate definitions that need neither the target nor anything else of the solution (`local` at first)."""
    context: list[str] = []
    inner: list[ast.stmt] = []
    for node in body:
        use = use_of(node)
        definition = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if definition and not _uses(node, candidate, imports) and not use.needs & local:
            context.append(ast.unparse(node) + "\n\n")
        else:
            inner.append(node)
            local |= use.binds
    return context, inner


def _imports(tree: ast.Module, paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return one import per name: (others, those that name the target or its new class)."""
    names = forbidden_names(paths)
    plain: list[str] = []
    naming: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                single = replace_names(node, alias)
                words = {part.lower() for part in f"{alias.name}.{alias.asname or ''}".split(".")}
                (naming if words & names else plain).append(single)
    return sorted(set(plain)), sorted(set(naming))


def replace_names(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """Return an import statement with one of its names alone."""
    if isinstance(node, ast.Import):
        return ast.unparse(ast.Import(names=[alias]))
    return ast.unparse(ast.ImportFrom(module=node.module, names=[alias], level=node.level))


def _data(base: Program, candidate: Candidate, known: Mapping[str, KnownParameter]) -> Iterator[Program]:
    """Yield the program with literals turned into parameters: data first, then the target's arguments, then types."""
    for place in ("data", "target", "types"):
        tree = ast.parse("\n".join((*base.body, f"ANSWER = {_joined(base.shown)}")))
        changed, free = lift(tree.body, candidate, base.imports, place, known)
        if not free:
            continue
        answer = changed.pop()
        assert isinstance(answer, ast.Assign)
        shown = _parts(answer.value, len(base.shown))
        yield replace(base, body=tuple(ast.unparse(node) for node in changed), shown=shown, free=tuple(free))


def _joined(shown: Sequence[str]) -> str:
    return f"({', '.join(shown)},)"


def _parts(answer: ast.expr, count: int) -> tuple[str, ...]:
    assert isinstance(answer, ast.Tuple)
    assert len(answer.elts) == count
    return tuple(ast.unparse(part) for part in answer.elts)


def inputs_of(program: Program, count: int) -> list[TaskInput]:
    """Return changed inputs first and the example's own last."""
    texts = [free.text for free in program.free]
    key = f"{program.candidate.api}/{program.origin}"
    allowed = [free.choices for free in program.free]
    names = [free.feeds for free in program.free]
    varied = [TaskInput(args=found) for found in vary(texts, names, key, count, allowed)]
    return [*varied, TaskInput(args=tuple(texts))]


def to_task(program: Program, bundle: KnowledgeBundle, number: int, inputs: Sequence[TaskInput]) -> Task:
    """Write the task down; expected values and integrity are found later by running it."""
    candidate = program.candidate
    reference = program.reference()
    text = program.blanked() or ""
    plan = Plan(
        signature=program.signature.removeprefix("def ").rstrip(":"),
        parameters={free.name: free.feeds for free in program.free},
        fixed={name: value for name, value in program.settings().items() if value not in _names(program)},
        result=f"It does what this program does, where `{BLANK}` stands for the library's own support for the above"
        f" (and, inside a call, for the settings above):\n\n```python\n{text}\n```"
        + (f"\n\n{REFUSED_WORDS}" if program.guarded else ""),
        defined=frozenset(name for node in ast.parse("\n".join(program.body)).body for name in use_of(node).binds),
    )
    return Task(
        task_id=f"{candidate.library}/{candidate.api.rsplit('.', 1)[-1]}/{number}",
        library=candidate.library,
        release=candidate.release,
        api=candidate.api,
        change=candidate.change,
        difficulty=program.difficulty,
        description=describe(bundle, plan, (*candidate.paths, *program.owners)),
        context_code=program.context,
        entry_point="solve",
        signature=program.signature,
        reference_solution=reference,
        inputs=tuple(inputs),
        calls=(CallSpec(api=candidate.api, required=_required(program)),),
    )


def _required(program: Program) -> dict[str, str]:
    """Return the new keywords whose values the judge can evaluate: literals and parameters of the entry point."""
    found: dict[str, str] = {}
    for name, text in program.settings().items():
        used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        known = {parameter.name for parameter in program.candidate.parameters}
        if name in program.new_keywords and name in known and used <= _names(program) and "lambda" not in text:
            found[name] = text
    return found


def _names(program: Program) -> set[str]:
    return {free.name for free in program.free}
