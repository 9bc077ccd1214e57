"""Small computations around a call: what makes a task hard. Chosen by the shape of the answer, described in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from novelapi.execution.values import flat
from novelapi.fingerprint import text_digest

Tree = Any


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step after the call: an expression over `result`, and what it does in words."""

    expression: str
    words: str
    numpy: bool = False
    """Whether it needs `np`."""


@dataclass(frozen=True, kw_only=True)
class _Rule:
    fits: Callable[[Tree], bool]
    steps: tuple[Step, ...]


def _array(tree: Tree, kinds: str, least: int = 2) -> bool:
    if not isinstance(tree, dict) or tree.get("$") != "ndarray" or not isinstance(tree["dtype"], str):
        return False
    size = 1
    for length in tree["shape"]:
        size *= length
    return tree["dtype"].lstrip("<>|=")[:1] in kinds and size >= least and flat(tree) is not None


def _items(tree: Tree) -> list[Tree] | None:
    if isinstance(tree, list):
        return tree
    if isinstance(tree, dict) and tree.get("$") in ("tuple", "namedtuple"):
        return list(tree["items"])
    return None


def _number(tree: Tree) -> bool:
    if isinstance(tree, dict) and tree.get("$") == "scalar":
        return isinstance(tree["dtype"], str) and tree["dtype"].lstrip("<>|=")[:1] in "fiu"
    return isinstance(tree, int | float) and not isinstance(tree, bool)


def _all(tree: Tree, test: Callable[[Tree], bool]) -> bool:
    items = _items(tree)
    return items is not None and len(items) > 0 and all(test(item) for item in items)


_RULES = (
    _Rule(
        fits=lambda tree: _array(tree, "fiu"),
        steps=(
            Step(
                expression="float(np.sum(np.square(np.asarray(result, dtype=float))))",
                words="from the resulting array, compute the sum of the squares of all entries; return it as a float",
                numpy=True,
            ),
            Step(
                expression="np.argsort(result, axis=None, kind='stable').tolist()",
                words="return the positions (in the flattened result) that sort its entries in ascending order, ties in"
                " order of position, as a list of integers",
                numpy=True,
            ),
            Step(
                expression="{'min': float(np.min(result)), 'max': float(np.max(result)),"
                " 'mean': float(np.mean(result))}",
                words="return a dictionary with the keys 'min', 'max' and 'mean' of all entries of the resulting array,"
                " as floats",
                numpy=True,
            ),
            Step(
                expression="np.cumsum(np.ravel(result)).tolist()",
                words="return the running totals over the flattened result, as a list",
                numpy=True,
            ),
        ),
    ),
    _Rule(
        fits=lambda tree: _array(tree, "b"),
        steps=(
            Step(
                expression="np.flatnonzero(result).tolist()",
                words="return the positions of the true entries of the flattened result, as a list of integers",
                numpy=True,
            ),
            Step(
                expression="int(np.count_nonzero(result))",
                words="return how many entries of the result are true, as an integer",
                numpy=True,
            ),
        ),
    ),
    _Rule(
        fits=lambda tree: _array(tree, "U", 1),
        steps=(
            Step(
                expression="'|'.join(np.ravel(result).tolist())",
                words="return the entries of the flattened result joined by '|' into one string",
                numpy=True,
            ),
            Step(
                expression="[len(text) for text in np.ravel(result).tolist()]",
                words="return the lengths of the entries of the flattened result, as a list of integers",
                numpy=True,
            ),
        ),
    ),
    _Rule(
        fits=lambda tree: _all(tree, lambda item: _array(item, "fiub", 1)),
        steps=(
            Step(
                expression="[float(np.sum(part)) for part in result]",
                words="return the list of the sums of the resulting arrays, as floats",
                numpy=True,
            ),
            Step(
                expression="[list(np.shape(part)) + [float(np.max(part))] for part in result]",
                words="return one list per resulting array: its shape followed by its largest entry as a float",
                numpy=True,
            ),
        ),
    ),
    _Rule(
        fits=lambda tree: _all(tree, _number),
        steps=(
            Step(
                expression="{'total': float(sum(result)), 'largest': float(max(result))}",
                words="return a dictionary with the 'total' and the 'largest' of the resulting numbers, as floats",
            ),
            Step(
                expression="[float(value) * float(value) for value in result]",
                words="return the squares of the resulting numbers, as a list of floats",
            ),
        ),
    ),
    _Rule(
        fits=_number,
        steps=(
            Step(
                expression="[float(result), float(result) ** 2]",
                words="return a list of two floats: the result and its square",
            ),
            Step(
                expression="{'value': float(result), 'sign': (result > 0) - (result < 0)}",
                words="return a dictionary with the keys 'value' (the result as a float) and 'sign' (-1, 0 or 1)",
            ),
        ),
    ),
    _Rule(
        fits=lambda tree: isinstance(tree, str) and len(tree) > 1,
        steps=(
            Step(
                expression="{'text': result, 'length': len(result)}",
                words="return a dictionary with the resulting string as 'text' and its 'length'",
            ),
            Step(
                expression="result.splitlines()[0].split()",
                words="return the list of the words in the first line of the resulting string, split at white space",
            ),
        ),
    ),
    _Rule(
        fits=lambda tree: isinstance(tree, dict) and "$" not in tree and len(tree) > 1,
        steps=(
            Step(
                expression="[[key, result[key]] for key in sorted(result)]",
                words="return the resulting mapping as a list of [key, value] lists, sorted by key",
            ),
        ),
    ),
    _Rule(
        fits=lambda tree: isinstance(tree, dict) and tree.get("$") in ("series", "index"),
        steps=(
            Step(expression="result.tolist()[::-1]", words="return the resulting values as a list in reverse order"),
            Step(
                expression="{'count': int(result.size), 'first': result.tolist()[0]}",
                words="return a dictionary with the 'count' of the resulting values and the 'first' of them",
            ),
        ),
    ),
    _Rule(
        fits=lambda tree: isinstance(tree, dict) and tree.get("$") == "frame",
        steps=(
            Step(
                expression="{str(name): result[name].tolist() for name in result.columns}",
                words="return a dictionary that maps each column's name (as a string) to the list of its values",
            ),
        ),
    ),
    _Rule(
        fits=lambda tree: isinstance(tree, list) and len(tree) > 1,
        steps=(
            Step(expression="result[::-1]", words="return the resulting list in reverse order"),
            Step(
                expression="{'count': len(result), 'last': result[-1]}",
                words="return a dictionary with the 'count' of the resulting elements and the 'last' of them",
            ),
        ),
    ),
)


def steps_for(answer: Tree, key: str) -> list[Step]:
    """Return the steps that fit an answer, in an order that depends on the key alone."""
    for rule in _RULES:
        if rule.fits(answer):
            return sorted(rule.steps, key=lambda step: text_digest(key + step.expression))
    return []
