"""Arguments: expressions that a parameter is likely to accept, by documented choices, type, name and default."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from novelapi.knowledge.snippets import parse_or_none
from novelapi.records.bundle import KnownParameter

MAX_VALUES = 6
"""Expressions per parameter."""

INERT = frozenset({"device", "xp", "like", "copy", "subok", "order", "casting", "signature", "kwargs", "args"})
"""Parameters whose value hardly ever shows in a result."""

_VECTOR = "np.array([3.0, 1.0, 4.0, 1.5, 9.0])"
_MATRIX = "np.array([[4.0, 1.0, 2.0], [1.0, 5.0, 3.0], [2.0, 3.0, 6.0]])"

_PROBES = ("2", "'abc'", "[1, 2, 3]", "{'a': 1}")
"""What is tried where nothing is known of a parameter."""

_NUMERIC = r"array|matrix|\b(int|integer|float|number|scalar|bool|boolean|real|complex)s?\b"
_WORDY = r"str|text|any\b|object|dtype|data-type|path|label|hashable|literal|['\"{]"
"""Documented types of numbers and arrays, and those that take words as well."""

_STRONG = r"out|url|uri|dsn|proxy|axis|axes|shape|nan_policy|weights|freq|mask|where|encoding|seed|rng"
"""Names that say more than their type."""

CALL, ARG = "CALL", "ARG"
"""In an expression: the call as it is without the argument, and its first argument."""

_BY_NAME: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"axis", ("0", "-1", "1")),
    (r"axes", ("(0, 1)", "(0,)", "0", "[(0,), (0,), (0,)]")),
    (r"keepdims|nan_policy_flag", ("True",)),
    (r"nan_policy", ("'omit'", "'propagate'")),
    (r"dtype", ("float", "'float32'", "int", "complex")),
    (r"out", ("np.empty_like(CALL)",)),
    (r"where|mask|condition", ("np.array([True, False, True, True, False])", "True")),
    (
        r"weights|aweights|fweights",
        ("np.arange(1, np.size(ARG) + 1).reshape(np.shape(ARG))", "np.array([1, 2, 3, 2, 1])", "[1, 2, 3]"),
    ),
    (r"mean", ("np.array(3.0)", "2.0", "0.0")),
    (r"correction|ddof", ("1",)),
    (r"shape|size", ("(2, 3)", "4")),
    (r"n|num|count|k|m|order|ndim|length|limit|max_\w+|n_\w+|periods?|nlevels", ("2", "3", "1")),
    (r"q|p|quantile|percent\w*", ("0.5", "[0.25, 0.75]")),
    (r"seed|rng|random_state|generator", ("0", "np.random.default_rng(0)")),
    (r"func|function|fun|f|callback|key|predicate|callable", ("lambda x: x * 2", "lambda x, y: x + y", "len")),
    (r"sep|delimiter|delim|joiner", ("','", "'-'")),
    (r"url|uri|dsn|href", ("'https://example.com/path?x=1'",)),
    (r"proxy", ("'http://localhost:8080'", "base_url")),
    (r"path|filename|file|fname|buf|stream|fp", ("io.StringIO('a,b\\n1,2\\n')", "io.BytesIO(b'1 2 3')")),
    (r"encoding", ("'utf-8'",)),
    (r"name|title|label|description|alias|prefix|suffix|text|message|msg|string|s", ("'value'", "'a'")),
    (r"columns?|by|on|subset", ("'a'", "['a']")),
    (r"skipna|numeric_only|ascending|strict|inplace|sort|dropna|observed", ("True", "False")),
    (r"freq|rule|offset|unit", ("'D'", "'h'", "'s'")),
    (r"tol|rtol|atol|eps|alpha|beta|scale|sigma|fs|dt|rate|threshold", ("0.5", "1.0", "2.0")),
    (r"start|stop|step|begin|end|low|high|lower|upper|left|right|min|max|loc", ("0", "1", "3")),
    (r"data|values?|items|records|obj", ("[1, 2, 3]", "{'a': [1, 2], 'b': [3, 4]}", _VECTOR)),
    (r"a|x|y|b|v|u|z|arr|array|ary|samples?|x1|x2|t|w|c|xs|ys", (_VECTOR, _MATRIX, "2.0", "[1, 2, 3]")),
    (r"A|B|M|matrix|mat|X|Y|Q|R|P", (_MATRIX,)),
)

_BY_TYPE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\bbool(ean)?\b", ("True", "False")),
    (r"2-?d|matrix|\(m, ?n\)|\(\.\.\., ?m, ?[nm]\)|square|two-dimensional|\(n, ?n\)", (_MATRIX,)),
    (
        r"array|ndarray|sequence of (float|number)|vector",
        (_VECTOR, _MATRIX, "np.array([1, 2, 3])", "np.array([True, False])"),
    ),
    (r"list\[str\]|sequence of str|list of str|iterable\[str\]|sequence\[str\]", ("['a', 'b']",)),
    (r"tuple of ints?|tuple\[int", ("(2, 3)", "(0, 1)")),
    (r"\blist\b|sequence|iterable|collection", ("[1, 2, 3]", "['a', 'b']")),
    (r"\btuple\b", ("(1, 2)",)),
    (r"mapping|\bdict\b", ("{'a': 1}", "{'a': 'b'}")),
    (r"\bset\b|frozenset", ("{1, 2}",)),
    (r"callable|function", ("lambda x: x * 2", "lambda x, y: x + y", "lambda: 1")),
    (r"dataframe", ("pd.DataFrame({'a': [1, 2, 2], 'b': [3.0, 1.0, 2.0]})",)),
    (r"\bseries\b", ("pd.Series([1, 2, 2])",)),
    (r"\bindex\b", ("pd.Index([1, 2, 3])",)),
    (r"timestamp|datetime", ("datetime.datetime(2024, 1, 2)",)),
    (r"timedelta", ("datetime.timedelta(hours=1)",)),
    (r"\bbytes\b", ("b'abc'",)),
    (r"\bcomplex\b", ("1 + 2j",)),
    (r"\bint(eger)?s?\b", ("2", "1", "3", "0")),
    (r"\bfloats?\b|number|scalar|\breal\b", ("0.5", "2.0", "1.0")),
    (r"\bstr(ing)?\b", ("'abc'", "'a'", "'1'")),
    (r"\bdtype\b|data-type", ("float", "'int32'")),
    (r"type\[.*basemodel|model class", ("Model",)),
    (r"\btype\b|\bany\b|object", ("1", "int", "'abc'")),
)


def choices(parameter: KnownParameter) -> list[str]:
    """Return the documented choices of a parameter as literals: `{'a', 'b'}`, `Literal['a', 'b']`, quoted bullets."""
    texts = [parameter.type or ""]
    worded = not texts[0] or bool(re.search(r"\bstr(ing)?\b|\bLiteral\b|\bAny\b", texts[0]))
    if worded and not re.search(r"['\"‘’“”]", texts[0]):
        texts.append(parameter.description or "")
    found: list[str] = []
    for quoted in texts:
        text = quoted.replace("‘", "'").replace("’", "'").replace("“", '"').replace("”", '"')
        for literal in re.findall(r"(?<!\w)(?:'[\w+ .<>=-]{1,24}'|\"[\w+ .<>=-]{1,24}\")(?!\w)", text):
            value = repr(ast.literal_eval(literal))
            if value not in found:
                found.append(value)
    return found[:12]


def values(parameter: KnownParameter, seen: Sequence[str] = ()) -> list[str]:
    """Return expressions for a parameter, the most promising first; the default itself is left out.

    Args:
        parameter: name, type, default and description.
        seen: values that calls in documents and tests pass under the same name.
    """
    found: list[str] = []
    strong = _named(parameter) if re.fullmatch(_STRONG, parameter.name) else ()
    fitting = [expression for expression in seen if _fits(expression, parameter)]
    named = [*choices(parameter), *strong, *_flipped(parameter), *fitting[:3]]
    known = (*named, *_typed(parameter), *_named(parameter))
    for expression in known or _PROBES:
        if expression not in found and expression != parameter.default:
            found.append(expression)
    return found[: MAX_VALUES + 2 * len(choices(parameter)) // 3]


def _fits(expression: str, parameter: KnownParameter) -> bool:
    """Whether a value that calls pass under a common name can be meant here: no text for an array or a number."""
    text = (parameter.type or "").lower()
    if not re.search(_NUMERIC, text) or re.search(_WORDY, text):
        return True
    tree = parse_or_none(expression)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return False
    value = tree.body[0].value
    if isinstance(value, ast.Constant) and isinstance(value.value, str | bytes):
        return False
    only_truth = re.fullmatch(r"\W*bool(ean)?(, optional)?\W*", text)
    return not only_truth or not isinstance(value, ast.Constant) or isinstance(value.value, bool)


def _flipped(parameter: KnownParameter) -> Iterator[str]:
    """Yield values near the default: the other truth value, another number."""
    tree = parse_or_none(parameter.default or "")
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return
    value = tree.body[0].value
    if not isinstance(value, ast.Constant):
        return
    if isinstance(value.value, bool):
        yield repr(not value.value)
    elif isinstance(value.value, int | float):
        yield repr(value.value + 1)
        yield repr(value.value * 2)


def _typed(parameter: KnownParameter) -> Iterator[str]:
    text = re.sub(r"\boptional\b|\bnone\b|default.*", "", (parameter.type or "").lower())
    for pattern, expressions in _BY_TYPE:
        if re.search(pattern, text):
            yield from expressions


def _named(parameter: KnownParameter) -> Iterator[str]:
    for pattern, expressions in _BY_NAME:
        if re.fullmatch(pattern, parameter.name):
            yield from expressions
            return
