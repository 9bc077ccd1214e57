"""Replaces a result by one of the same structure: proof that an answer flows from it. Runs in the trusted server.

Kinds: `values` changes every number, text and flag; `shape` leaves one element out; `order` reverses sequences. A fourth
kind needs no change: `earlier` gives the result of the call before (see the server), valid whatever its class demands.
"""

import collections
import copy
import datetime
import decimal
import enum
import fractions
import pickle
import sys

KINDS = ("values", "shape", "order")


class Same(Exception):
    """This kind cannot change the value."""


def perturb(value, kind):
    changed, result = _walk(value, kind, 0)
    if not changed:
        raise Same(kind)
    return result


def sound(value):
    """Return a changed object if it can still be made anew; one that its own class refuses proves nothing."""
    if type(value).__reduce_ex__ is not object.__reduce_ex__ or hasattr(value, "__dict__"):
        try:
            pickle.loads(pickle.dumps(value))
        except Exception as error:
            raise Same(str(error))
    return value


def _walk(value, kind, depth):
    """Return (changed, value)."""
    if depth > 20:
        return False, value
    np = sys.modules.get("numpy")
    if np is not None and isinstance(value, np.ndarray):
        return _array(np, value, kind)
    pd = sys.modules.get("pandas")
    if pd is not None and isinstance(value, (pd.DataFrame, pd.Series, pd.Index)):
        return _pandas(pd, value, kind)
    if kind == "values":
        found = _scalar(np, value)
        if found is not None:
            return True, found[0]
    if isinstance(value, (list, tuple)):
        return _sequence(value, kind, depth)
    if isinstance(value, collections.deque):
        changed, items = _sequence(list(value), kind, depth)
        return changed, type(value)(items, value.maxlen)
    if isinstance(value, dict):
        return _mapping(value, kind, depth)
    if isinstance(value, (set, frozenset)):
        items = sorted(value, key=repr)
        if kind == "shape":
            return bool(items), type(value)(items[1:])
        return _rebuilt(type(value), [_walk(item, kind, depth + 1) for item in items])
    if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        return _object(value, kind, depth)
    return False, value


def _scalar(np, value):
    """Return a one-tuple with another value of the same type, or None."""
    if value is None:
        return (0,)
    if isinstance(value, bool):
        return (not value,)
    if np is not None and isinstance(value, np.generic):
        return (_array(np, np.asarray(value), "values")[1][()],)
    cls = type(value)
    if cls is int:
        return (value + 7,)
    if cls in (float, complex):
        return (value * 1.25 + 0.5 if value == value and abs(value) != float("inf") else cls(0.5),)
    if cls is str:
        return (value + "~",)
    if cls in (bytes, bytearray):
        return (value + b"~",)
    if cls in (decimal.Decimal, fractions.Fraction):
        return (value + 7,)
    if cls in (datetime.datetime, datetime.date):
        return (value + datetime.timedelta(days=7),)
    if cls.__module__ == "pathlib" and value.name:
        return (value.with_name(value.name + "~"),)
    if cls.__module__ == "ipaddress" and hasattr(value, "packed"):
        return (value + 7 if int(value) < 1 << 31 else value - 7,)
    if isinstance(value, enum.Enum):
        others = [item for item in cls if item is not value]
        return (others[0],) if others else None
    if cls is datetime.timedelta:
        return (value + datetime.timedelta(days=7, seconds=7),)
    return None


def _rebuilt(make, pairs):
    return any(changed for changed, _ in pairs), make(item for _, item in pairs)


def _sequence(value, kind, depth):
    if kind == "shape" and len(value) > 0 and not hasattr(value, "_fields"):
        return True, value[:-1]
    if kind == "order" and not hasattr(value, "_fields"):
        reverse = value[::-1]
        if len(value) > 1 and repr(reverse) != repr(value):
            return True, reverse
    pairs = [_walk(item, kind, depth + 1) for item in value]
    if hasattr(value, "_fields"):
        changed = any(flag for flag, _ in pairs)
        return changed, tuple.__new__(type(value), [item for _, item in pairs])
    return _rebuilt(type(value) if type(value) in (list, tuple) else list, pairs)


def _mapping(value, kind, depth):
    if kind == "shape" and value and type(value) is dict:
        last = list(value)[-1]
        return True, {key: item for key, item in value.items() if key != last}
    result, changed = copy.copy(value), False
    for key in list(value):
        flag, item = _walk(value[key], kind, depth + 1)
        changed = changed or flag
        result[key] = item
    return changed, result


def _object(value, kind, depth):
    try:
        result = copy.copy(value)
        changed = False
        for name, item in list(vars(value).items()):
            flag, new = _walk(item, kind, depth + 1)
            if flag:
                object.__setattr__(result, name, new)
                changed = True
    except Exception:  # an object that cannot be copied or set stays as it is: the caller then knows it is unchanged
        return False, value
    return changed, result


def _array(np, value, kind):
    if value.size == 0:
        return False, value
    if kind == "shape":
        if value.ndim == 0 or value.shape[0] < 2:
            return (True, np.concatenate([value, value])) if value.ndim else (False, value)
        return True, value[:-1].copy()
    if kind == "order":
        if value.ndim == 0:
            return False, value
        result = value[::-1].copy()
        return result.tobytes() != value.tobytes(), result
    code = value.dtype.kind
    if code == "b":
        return True, ~value
    if code in "iu":
        return True, (value + value.dtype.type(7)).astype(value.dtype)
    if code in "fc":
        result = np.where(np.isfinite(value), value, 0) * 1.25 + 0.5
        return True, result.astype(value.dtype)
    if code in "mM":
        return True, (value.view("i8") + 7).view(value.dtype)
    if code in "US":
        mark = "~" if code == "U" else b"~"
        return True, np.array([item + mark for item in value.ravel().tolist()]).reshape(value.shape)
    if code in "OT":
        pairs = [_walk(item, kind, 1) for item in value.ravel().tolist()]
        result = np.empty(len(pairs), dtype=value.dtype)
        for position, (_, item) in enumerate(pairs):
            result[position] = item
        return any(flag for flag, _ in pairs), result.reshape(value.shape)
    if value.dtype.names:
        result = value.copy()
        changed = False
        for name in value.dtype.names:
            flag, result[name] = _array(np, value[name], kind)
            changed = changed or flag
        return changed, result
    return False, value


def _pandas(pd, value, kind):
    if kind == "shape":
        return len(value) > 0, value[:-1]
    if kind == "order":
        return len(value) > 1, value[::-1]
    if isinstance(value, pd.DataFrame):
        result = value.copy()
        changed = False
        for position in range(value.shape[1]):
            flag, column = _pandas(pd, value.iloc[:, position], kind)
            if flag:
                result.isetitem(position, column)
                changed = True
        return changed, result
    changed, items = _walk(list(value), kind, 1)
    if not changed:
        return False, value
    if isinstance(value, pd.Index):
        return True, pd.Index(items, name=value.name)
    return True, pd.Series(items, index=value.index, name=value.name)
