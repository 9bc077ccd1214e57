"""Calls as plain text: arguments, results, required values; never raises. Runs inside the sandbox."""

import re

import codec
import plain

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def excerpt(value, limit=200):
    """A short text of a value; never raises."""
    try:
        text = _show(value, 0)
    except BaseException as error:
        text = "<unprintable %s: %s>" % (type(value).__name__, type(error).__name__)
    text = _ADDRESS.sub("", text) if type(text) is str else str(text)
    return text if len(text) <= limit else text[:limit] + "..."


def _table(value):
    """An array, series or frame: type, shape, dtypes, and the elements of a small one; their own `repr` is slow."""
    shape = getattr(value, "shape", None)
    if type(shape) is not tuple or not shape or shape == (1,):
        return None
    head = "%s%s" % (type(value).__name__, list(shape))
    size = 1
    for length in shape:
        size *= length
    if hasattr(value, "dtype"):
        return "%s %s %r" % (head, value.dtype, value.tolist()) if size <= 30 else "%s %s" % (head, value.dtype)
    if not hasattr(value, "columns") or len(shape) != 2:
        return None
    names = [str(name) for name in list(value.columns)[:20]]
    dtypes = [str(dtype) for dtype in list(value.dtypes)[:20]]
    columns = " ".join("%s:%s" % pair for pair in zip(names, dtypes))
    rows = value.to_numpy().tolist() if size <= 30 else "..."
    return "%s %s %s" % (head, columns, rows)


def _show(value, depth):
    found = _table(value) or _large(value)
    if found or type(value) not in (list, tuple, dict) or depth > 3:
        return found or repr(value)
    if type(value) is dict:
        return "{%s}" % ", ".join("%r: %s" % (key, _show(item, depth + 1)) for key, item in value.items())
    items = ", ".join(_show(item, depth + 1) for item in value)
    if type(value) is list:
        return "[%s]" % items
    return "(%s%s)" % (items, "," if len(value) == 1 else "")


def _large(value):
    if type(value) in (list, tuple, set, dict) and len(value) > 200:
        return "%s[%d] %s..." % (type(value).__name__, len(value), repr(next(iter(value)))[:60])
    return None


def describe(target, args, kwargs, required, environment):
    """Return the bound arguments as excerpts, whether they bind, and which required ones have the required value."""
    bound, fits = target.bind(args, kwargs)
    found = {
        "bound": fits,
        "arguments": {str(name): excerpt(value) for name, value in list(bound.items())[:30]},
        "required": {},
    }
    for name, expression in (required or {}).items():
        found["required"][name] = fits and _has(bound, name, expression, environment, target.get_signature() is None)
    return found


def asked_for(record):
    """Whether a call is of the kind that the task asks for: if it names required values, the call has one of them.

    Only the results of such calls are replaced: what follows from another call of the target proves nothing.
    """
    return not record["required"] or any(record["required"].values())


def _has(bound, name, expression, environment, positional):
    try:
        wanted = eval(expression, dict(environment))
    except Exception:
        return False
    name = name if name in bound else "*" + name
    if name in bound:
        return same(bound[name], wanted)
    return positional and any(same(value, wanted) for key, value in bound.items() if type(key) is int)


def same(left, right):
    """Whether an argument is the required one: equal plain data, or equal by the values' own judgement."""
    if left is right:
        return True
    try:
        if codec.Encoder().encode(left) == codec.Encoder().encode(right):
            return True
    except plain.Opaque:
        pass
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right))
    try:
        equal = left == right
        if type(equal) is bool:
            return equal
        return bool(equal.all()) if hasattr(equal, "all") and not hasattr(equal, "columns") else bool(equal)
    except Exception:
        return False
