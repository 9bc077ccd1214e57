"""Reads one source file into facts: top-level statements and class bodies, no function bodies."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Sequence

from novelapi.discovery.surface.conditions import Branch, truth
from novelapi.discovery.surface.facts import (
    KEYWORD_ONLY,
    POSITIONAL_ONLY,
    POSITIONAL_OR_KEYWORD,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    AliasFacts,
    AllOperation,
    Binding,
    ClassFacts,
    FieldFacts,
    FunctionFacts,
    ImportFacts,
    ModuleFacts,
    Param,
    StarFacts,
    ValueFacts,
)
from novelapi.discovery.surface.text import SourceText, callee, clean_doc, dotted

_DEPRECATION = re.compile(r"(^|\.)(typing_)?deprecated?(_(func|function|class|method|alias|callable))?$")
_FIELD_CALLS = {"field", "Field", "ib", "attrib", "dataclasses.field", "attr.ib", "attrs.field", "pydantic.Field"}
_LITERALS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.BinOp, ast.Call)


def read_module(source: bytes, name: str, *, is_package: bool, is_stub: bool = False) -> ModuleFacts:
    """Read the source of one module.

    Raises:
        SyntaxError: it is not Python of this version.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # doubtful escapes in other people's code
        tree = ast.parse(source)
    facts = ModuleFacts(name=name, is_package=is_package, doc=clean_doc(ast.get_docstring(tree, clean=False)))
    _ModuleReader(facts, SourceText(source), is_stub=is_stub).block(tree.body)
    return facts


class _Scope:
    """What module and class bodies have in common: definitions, assignments and conditions."""

    def __init__(self, text: SourceText, *, is_stub: bool) -> None:
        self.text, self.is_stub = text, is_stub
        self.bound: dict[str, Binding] = {}

    def bind(self, name: str, binding: Binding) -> None:
        self.bound[name] = binding

    def block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.function(node)
        elif isinstance(node, ast.ClassDef):
            self.bind(node.name, read_class(node, self.text, is_stub=self.is_stub))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, node.value)
        elif isinstance(node, ast.If):
            self.condition(node)
        elif isinstance(node, ast.Try):
            self.alternatives([*node.body, *node.orelse], [line for part in node.handlers for line in part.body])
            self.block(node.finalbody)
        elif isinstance(node, ast.With):
            self.block(node.body)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        decorators = tuple(filter(None, map(callee, node.decorator_list)))
        earlier = self.bound.get(node.name)
        if any(name.rpartition(".")[2] in {"setter", "deleter"} for name in decorators):
            return
        facts = read_function(node, self.text, decorators, is_stub=self.is_stub)
        if isinstance(earlier, FunctionFacts) and earlier.overloads:
            facts.overloads += earlier.overloads
            if facts.overloads > earlier.overloads and len(earlier.params) > len(facts.params):
                facts.params = earlier.params  # only overloads so far: the widest one stands for all
        self.bind(node.name, facts)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, self.value(value))
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                if isinstance(element, ast.Name):
                    self.bind(element.id, ValueFacts())

    def value(self, node: ast.expr) -> Binding:
        name = dotted(node)
        if name is not None:
            return AliasFacts(name)
        if isinstance(node, ast.Call):
            return ValueFacts(callee(node) or "?")
        return ValueFacts()

    def condition(self, node: ast.If) -> None:
        branch = truth(node.test)
        if branch is Branch.TAKEN:
            self.block(node.body)
        elif branch is Branch.SKIPPED:
            self.block(node.orelse)
        elif branch is Branch.TYPING:
            self.typing(node.body)
            self.block(node.orelse)
        elif branch is Branch.NOT_TYPING:
            self.block(node.body)
            self.typing(node.orelse)
        else:
            self.alternatives(node.body, node.orelse)

    def typing(self, body: Sequence[ast.stmt]) -> None:
        """Read what only type checkers see; in a class and for definitions there is nothing of interest."""

    def alternatives(self, first: Sequence[ast.stmt], second: Sequence[ast.stmt]) -> None:
        """Read two branches of which one runs: what the first one defines wins."""
        self.block(second)
        self.block(first)


class _ModuleReader(_Scope):
    """Reads the body of a module."""

    def __init__(self, facts: ModuleFacts, text: SourceText, *, is_stub: bool) -> None:
        super().__init__(text, is_stub=is_stub)
        self.facts = facts
        self._typing = False

    def bind(self, name: str, binding: Binding) -> None:
        super().bind(name, binding)
        self.facts.bindings.append((name, binding))
        if name == "__getattr__":
            self.facts.has_getattr = True

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            self._import(node)
        elif isinstance(node, ast.ImportFrom):
            self._import_from(node)
        elif isinstance(node, ast.Expr):
            self._expression(node.value)
        elif isinstance(node, ast.AugAssign):
            if isinstance(node.target, ast.Name) and node.target.id == "__all__":
                self._all("add", node.value)
        elif isinstance(node, ast.AnnAssign):
            self._annotated(node)
        elif isinstance(node, (ast.For, ast.While)):
            self._loop(node)
        elif isinstance(node, ast.Delete):
            deleted = [target.id for target in node.targets if isinstance(target, ast.Name)]
            self.facts.bindings += [(name, ValueFacts("del")) for name in deleted]
        else:
            super().statement(node)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, node.value)
        elif self.is_stub and isinstance(node.target, ast.Name):
            self.bind(node.target.id, ValueFacts())

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name) and target.id == "__all__":
            self._all("set", value)
            return
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Call) and _names(target) >= {"__getattr__"}:
            self.facts.has_getattr = True
        if isinstance(target, ast.Subscript) and _is_globals(target.value):
            self.facts.is_open = True
        if isinstance(target, ast.Subscript) and isinstance(value, ast.Call) and dotted(target.value) == "sys.modules":
            self.facts.has_getattr = True  # a lazy module takes the place of this one
        if isinstance(target, ast.Name) and isinstance(value, _LITERALS):
            self.facts.lists[target.id] = value
        super().assign(target, value)

    def typing(self, body: Sequence[ast.stmt]) -> None:
        outer, self._typing = self._typing, True
        for node in body:
            if isinstance(node, (ast.Import, ast.ImportFrom, ast.If)):
                self.statement(node)
        self._typing = outer

    def alternatives(self, first: Sequence[ast.stmt], second: Sequence[ast.stmt]) -> None:
        """Read the second branch for what the first one leaves unbound; a lasting difference is left to running."""
        before = len(self.facts.bindings)
        self.block(first)
        taken = {name for name, _ in self.facts.bindings[before:]}
        middle = len(self.facts.bindings)
        operations = len(self.facts.all_operations)
        self.block(second)
        rest = [item for item in self.facts.bindings[middle:] if item[0] not in taken]
        self.facts.bindings[middle:] = rest
        if first and any(operation.verb == "set" for operation in self.facts.all_operations[:operations]):
            del self.facts.all_operations[operations:]

    def _import(self, node: ast.Import) -> None:
        for item in node.names:
            redundant = item.asname is not None and item.asname == item.name
            if item.asname:
                self.bind(item.asname, ImportFacts(item.name, None, redundant, self._typing))
            else:
                root = item.name.partition(".")[0]
                self.bind(root, ImportFacts(root, None, redundant, self._typing))

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = self._absolute(node)
        if module is None or module == "__future__":
            return
        for item in node.names:
            if item.name == "*":
                self.facts.bindings.append(("*", StarFacts(module, self._typing)))
            else:
                redundant = item.asname is not None and item.asname == item.name
                name = item.asname or item.name
                self.bind(name, ImportFacts(module, item.name, redundant, self._typing))

    def _absolute(self, node: ast.ImportFrom) -> str | None:
        if not node.level:
            return node.module
        parts = self.facts.name.split(".")
        keep = len(parts) - node.level + (1 if self.facts.is_package else 0)
        if keep < 1:
            return None
        return ".".join([*parts[:keep], *([node.module] if node.module else [])])

    def _expression(self, node: ast.expr) -> None:
        """Read a statement that is a call: it may extend `__all__` or write names into the module."""
        name = callee(node) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or name is None or not node.args:
            return
        if name.startswith("__all__."):
            self._all_method(name.partition(".")[2], node.args[0])
        elif self._extends_all(name):
            for argument in node.args:
                self._all("add", ast.Attribute(value=argument, attr="__all__", ctx=ast.Load()))
        elif self._writes_names(node, name):
            self.facts.is_open = True

    def _writes_names(self, node: ast.Call, name: str) -> bool:
        """Return whether a call is `globals().update(...)` or `setattr(sys.modules[...], ...)`."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            return _is_globals(node.func.value)
        return name == "setattr" and callee(node.args[0]) == "sys.modules"

    def _all_method(self, method: str, argument: ast.expr) -> None:
        one = ast.List(elts=[argument], ctx=ast.Load())
        if method == "extend":
            self._all("add", argument)
        elif method == "append":
            self._all("add", one)
        elif method == "remove":
            self._all("remove", one)

    def _extends_all(self, name: str) -> bool:
        """Return whether a function of this module is about `__all__` (numpy: `extend_all(fromnumeric)`)."""
        function = self.bound.get(name)
        return isinstance(function, FunctionFacts) and self.text.mentions("__all__", function.line, function.end)

    def _all(self, verb: str, value: ast.expr) -> None:
        self.facts.all_operations.append(AllOperation(verb, value, len(self.facts.bindings)))

    def _loop(self, node: ast.For | ast.While) -> None:
        """Read a loop: what it writes into the module by name is known only when it runs."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Subscript):
                if isinstance(inner.ctx, ast.Store) and _is_globals(inner.value):
                    self.facts.is_open = True
            elif isinstance(inner, ast.Call):
                if callee(inner) in {"setattr", "exec"}:
                    self.facts.is_open = True
            elif isinstance(inner, ast.Name) and inner.id == "__all__":
                self.facts.exports_open = True
        self.block(node.body)


class _ClassReader(_Scope):
    """Reads the body of a class."""

    def __init__(self, facts: ClassFacts, text: SourceText, *, is_stub: bool) -> None:
        super().__init__(text, is_stub=is_stub)
        self.facts = facts
        self._keyword_only: bool | None = None

    def bind(self, name: str, binding: Binding) -> None:
        super().bind(name, binding)
        self.facts.members[name] = binding

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.AnnAssign):
            self._annotated(node)
        else:
            super().statement(node)

    def _annotated(self, node: ast.AnnAssign) -> None:
        if not isinstance(node.target, ast.Name):
            return
        annotation = self.text.of(node.annotation) or ""
        if annotation in {"KW_ONLY", "dataclasses.KW_ONLY"}:
            self._keyword_only = True
            return
        if "ClassVar" in annotation or (self.is_stub and node.target.id.startswith("_")):
            return
        facts = FieldFacts(node.target.id, annotation, self.text.of(node.value), keyword_only=self._keyword_only)
        if isinstance(node.value, ast.Call) and callee(node.value) in _FIELD_CALLS:
            _read_field_options(facts, node.value, self.text)
        self.facts.fields.append(facts)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if (
            isinstance(target, ast.Name)
            and isinstance(value, ast.Call)
            and callee(value) in {"attr.ib", "ib", "attrib"}
        ):
            facts = FieldFacts(target.id, "", None)
            _read_field_options(facts, value, self.text)
            self.facts.fields.append(facts)
        super().assign(target, value)


def _read_field_options(facts: FieldFacts, call: ast.Call, text: SourceText) -> None:
    """Read `field(default=..., init=False, kw_only=True)`."""
    options = {option.arg: option.value for option in call.keywords if option.arg}
    default = options.get("default") or (call.args[0] if call.args else None)
    factory = options.get("default_factory") or options.get("factory")
    if factory is not None:
        facts.default = f"{text.of(factory)}()"
    else:
        facts.default = None if default is None or text.of(default) == "..." else text.of(default)
    init, keyword_only = options.get("init"), options.get("kw_only")
    if isinstance(init, ast.Constant):
        facts.init = bool(init.value)
    if isinstance(keyword_only, ast.Constant):
        facts.keyword_only = bool(keyword_only.value)


def read_class(node: ast.ClassDef, text: SourceText, *, is_stub: bool) -> ClassFacts:
    """Read a class with its members."""
    decorators = tuple(filter(None, map(callee, node.decorator_list)))
    options = {
        option.arg: text.of(option.value) or ""
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        for option in decorator.keywords
        if option.arg
    }
    doc = clean_doc(ast.get_docstring(node, clean=False))
    facts = ClassFacts(
        bases=tuple(filter(None, map(callee, node.bases))),
        keywords={option.arg: text.of(option.value) or "" for option in node.keywords if option.arg},
        decorators=decorators,
        decorator_options=options,
        doc=doc,
        line=node.lineno,
        end=node.end_lineno or node.lineno,
        deprecated=_is_deprecated(decorators, doc, ()),
        is_stub=is_stub,
    )
    _ClassReader(facts, text, is_stub=is_stub).block(node.body)
    return facts


def read_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, text: SourceText, decorators: tuple[str, ...], *, is_stub: bool
) -> FunctionFacts:
    """Read a signature and a docstring."""
    doc = clean_doc(ast.get_docstring(node, clean=False))
    return FunctionFacts(
        params=read_parameters(node.args, text),
        returns=text.of(node.returns),
        decorators=decorators,
        doc=doc,
        line=node.lineno,
        end=node.end_lineno or node.lineno,
        overloads=int(any(name.rpartition(".")[2] == "overload" for name in decorators)),
        deprecated=_is_deprecated(decorators, doc, node.body),
        is_stub=is_stub,
    )


def read_parameters(arguments: ast.arguments, text: SourceText) -> list[Param]:
    """Return the parameters of a function, `self` included."""
    params: list[Param] = []
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    for position, (item, default) in enumerate(zip(positional, defaults, strict=True)):
        kind = POSITIONAL_ONLY if position < len(arguments.posonlyargs) else POSITIONAL_OR_KEYWORD
        params.append(Param(item.arg, kind, text.of(default), text.of(item.annotation)))
    if arguments.vararg:
        params.append(Param(arguments.vararg.arg, VAR_POSITIONAL, None, text.of(arguments.vararg.annotation)))
    for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        params.append(Param(item.arg, KEYWORD_ONLY, text.of(default), text.of(item.annotation)))
    if arguments.kwarg:
        params.append(Param(arguments.kwarg.arg, VAR_KEYWORD, None, text.of(arguments.kwarg.annotation)))
    return params


def _is_deprecated(decorators: Iterable[str], doc: str | None, body: Sequence[ast.stmt]) -> bool:
    """Return whether the object itself is deprecated: by decorator, by its docstring's own words, or on every call."""
    if any(_DEPRECATION.search(name) for name in decorators):
        return True
    if doc and is_deprecated_doc(doc):
        return True
    return any(_warns_deprecation(line) for line in body)


def is_deprecated_doc(doc: str) -> bool:
    """Return whether a cleaned docstring says that the object itself, not one of its parameters, is deprecated."""
    first = doc.lstrip("*:. ")[:60].lower()
    return first.startswith(("deprecated", "[deprecated")) or bool(re.search(r"^\.\. deprecated::", doc, re.MULTILINE))


def _warns_deprecation(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    name = callee(node.value) or ""
    if name.rpartition(".")[2] not in {"warn", "warn_deprecated", "deprecation_warning"}:
        return False
    words = [inner.id for inner in ast.walk(node.value) if isinstance(inner, ast.Name)]
    return any("Deprecat" in word for word in words)


def _names(target: ast.Tuple) -> set[str]:
    return {element.id for element in target.elts if isinstance(element, ast.Name)}


def _is_globals(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and callee(node) in {"globals", "vars", "locals"}
