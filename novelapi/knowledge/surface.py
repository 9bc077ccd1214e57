"""S: the name and the parameters of an API, with what signature, annotations and docstring say of each."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from novelapi.knowledge.docstrings import DocumentedParameter, ParsedDocstring
from novelapi.knowledge.markup import inline, prose_of
from novelapi.knowledge.snippets import parse_or_none
from novelapi.records.api import Candidate, Parameter
from novelapi.records.bundle import KnownParameter, Surface

_ADDRESS = re.compile(r"<([\w. ]+?)(?: object)? at 0x[0-9a-f]+>")


def surface_of(
    candidate: Candidate, docs: Sequence[ParsedDocstring], documented: Mapping[str, str], facts: Mapping[str, Any]
) -> Surface:
    """Return S of an API.

    Args:
        candidate: what discovery found.
        docs: its docstring, and that of the constructor of a class.
        documented: descriptions from `Annotated[..., Doc(...)]` in the source, per parameter.
        facts: what the running library says of it; its signature stands in where discovery had none.
    """
    described = {name: item for doc in reversed(docs) for name, item in doc.parameters.items()}
    parameters, signature = candidate.parameters, candidate.signature
    text = docs[0].text if docs else ""
    if not parameters and signature is None:
        parameters, signature = _from_docstring(candidate, text, described, facts)
    elif _hands_on(parameters):
        parameters, signature = _from_first_line(candidate, text) or (parameters, signature)
    known = tuple(_known(item, described, documented) for item in parameters)
    returns = _annotation_of_result(signature) or next((doc.returns for doc in docs if doc.returns), None)
    returns = inline(returns) if returns else None
    return Surface(s_name=candidate.api, parameters=known, returns=returns, signature=undocumented(signature))


def _known(
    parameter: Parameter, documents: Mapping[str, DocumentedParameter], documented: Mapping[str, str]
) -> KnownParameter:
    stars = {"var_positional": "*", "var_keyword": "**"}.get(parameter.kind, "")
    described = documents.get(parameter.name)
    kind = _plain_annotation(parameter.annotation)
    if kind is None or (described is not None and described.type and len(kind) > 4 * len(described.type)):
        kind = described.type if described is not None and described.type else kind
    elif described is not None and described.type and re.search(r"[{'\"‘“]", described.type):
        kind = f"{kind}: {described.type}"  # the docstring lists the choices
    text = documented.get(parameter.name) or (described.description if described is not None else None)
    text = (prose_of(text) or None) if text else None
    return KnownParameter(
        name=stars + parameter.name,
        kind=parameter.kind,
        type=kind,
        default=_clean(parameter.default),
        description=text,
    )


def _plain_annotation(annotation: str | None) -> str | None:
    """Return an annotation without documentation: `Annotated[int, Doc("...")]` becomes `int`."""
    if annotation is None:
        return None
    text = annotation.strip("'\"")
    tree = parse_or_none(text)
    if tree is not None and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr):
        node = tree.body[0].value
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Annotated"):
            inner = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
            return ast.unparse(inner)
    return text or None


def undocumented(signature: str | None) -> str | None:
    """Return a signature without documentation texts and memory addresses; annotations lose their quotes."""
    text = _clean(signature)
    tree = parse_or_none(f"def f{text}: ...") if text else None
    if tree is None or not isinstance(tree.body[0], ast.FunctionDef):
        return text
    node = tree.body[0]
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    for item in every:
        plain = _plain_annotation(ast.unparse(item.annotation)) if item is not None and item.annotation else None
        annotation = parse_or_none(plain) if plain else None
        if item is not None and annotation is not None and isinstance(annotation.body[0], ast.Expr):
            item.annotation = annotation.body[0].value
    result = _plain_annotation(ast.unparse(node.returns)) if node.returns is not None else None
    return f"({ast.unparse(node.args)})" + (f" -> {result}" if result else "")


def _clean(text: str | None) -> str | None:
    """Return a text without memory addresses: they differ from run to run."""
    return _ADDRESS.sub(r"<\1>", text) if text else text


def _annotation_of_result(signature: str | None) -> str | None:
    if not signature or "->" not in signature:
        return None
    tree = parse_or_none(f"def f{_ADDRESS.sub('...', signature)}: ...")
    if tree is None or not isinstance(tree.body[0], ast.FunctionDef) or tree.body[0].returns is None:
        return None
    text = ast.unparse(tree.body[0].returns).strip("'\"")
    return None if text in {"None", "Any", "typing.Any"} else text


def _from_docstring(
    candidate: Candidate, text: str, described: Mapping[str, DocumentedParameter], facts: Mapping[str, Any]
) -> tuple[tuple[Parameter, ...], str | None]:
    """Return the signature of a compiled function, or else the parameters that its docstring names."""
    found = _read(facts.get("signature") or "") or _from_first_line(candidate, text)
    if found is not None:
        return found
    names = [name for name in described if name.isidentifier()]
    return tuple(Parameter(name=name, kind="positional_or_keyword") for name in names), None


def _hands_on(parameters: Sequence[Parameter]) -> bool:
    """Whether a signature only says that everything is handed on: `(*args, **kwargs)`."""
    return bool(parameters) and all(item.kind.startswith("var_") for item in parameters)


def _from_first_line(candidate: Candidate, text: str) -> tuple[tuple[Parameter, ...], str] | None:
    """Read the signature in the first line of a docstring; null when there is none."""
    leaf = candidate.api.rsplit(".", 1)[-1]
    match = re.match(rf"\s*(?:\w+\.)*{re.escape(leaf)}(\(.*?\))\s*(?:->.*)?(?:\n\s*\n|$)", text, re.DOTALL)
    return _read(match.group(1)) if match else None


def _read(text: str) -> tuple[tuple[Parameter, ...], str] | None:
    """Return the parameters of a signature in the notation of docstrings, and the signature as Python."""
    signature = _optional_brackets(text)
    tree = parse_or_none(f"def f{signature}: ...") if signature else None
    if tree is None or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    return _parameters(tree.body[0].args), signature


def parameters_of(signature: str | None) -> tuple[KnownParameter, ...]:
    """Return the parameters of a signature as text, none if there is none or it is no Python."""
    tree = parse_or_none(f"def f{_ADDRESS.sub('...', signature)}: ...") if signature else None
    if tree is None or not isinstance(tree.body[0], ast.FunctionDef):
        return ()
    return tuple(_known(item, {}, {}) for item in _parameters(tree.body[0].args))


def _optional_brackets(text: str) -> str:
    """Turn `(x[, out])` into `(x, out=...)`."""
    text = " ".join(text.split())
    while "[," in text:
        before, _, rest = text.rpartition("[,")
        inner, _, after = rest.partition("]")
        names = [part.strip() for part in inner.split(",") if part.strip()]
        text = before + "".join(f", {name}{'' if '=' in name else '=...'}" for name in names) + after
    return text


def _parameters(arguments: ast.arguments) -> tuple[Parameter, ...]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    found = [
        Parameter(
            name=item.arg,
            kind="positional_only" if number < len(arguments.posonlyargs) else "positional_or_keyword",
            default=ast.unparse(default) if default is not None else None,
            annotation=ast.unparse(item.annotation) if item.annotation is not None else None,
        )
        for number, (item, default) in enumerate(zip(positional, defaults, strict=True))
        if item.arg not in {"self", "cls", "type"}
    ]
    if arguments.vararg is not None:
        found.append(Parameter(name=arguments.vararg.arg, kind="var_positional"))
    for item, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        text = ast.unparse(default) if default is not None else None
        found.append(Parameter(name=item.arg, kind="keyword_only", default=text))
    if arguments.kwarg is not None:
        found.append(Parameter(name=arguments.kwarg.arg, kind="var_keyword"))
    return tuple(found)
