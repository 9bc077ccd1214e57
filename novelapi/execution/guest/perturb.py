"""Replaces a result by one of the same structure: proof that an answer flows from it. Runs in the trusted server.

Kinds: `values` changes every number, text and flag, the first eleven numbers and texts each by another amount, so that
their differences and quotients change, too; `shape` leaves one element out; `order` reverses sequences. A fourth kind
needs no change: `earlier` gives the result of a call before (see the server), valid whatever its class demands.
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
FARTHEST = 10  # place from which on all values change by the same amount: small types hold no larger one


class Same(Exception):
    """This kind cannot change the value."""


def perturb(value, kind):
    changed, result = Change(kind).walk(value)
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


class Change:
    """One kind of change, made to one result."""

    def __init__(self, kind):
        self.kind = kind
        self.place = 0  # of the next number or text that is changed

    def step(self):
        """Return by how much the next value differs from the first one's change: 0, 1, 3, 6 ... 55, 55."""
        place, self.place = min(self.place, FARTHEST), self.place + 1
        return place * (place + 1) // 2

    def steps(self, np, size):
        places = np.minimum(np.arange(self.place, self.place + size), FARTHEST)
        self.place += size
        return places * (places + 1) // 2

    def walk(self, value, depth=0):
        """Return (changed, value)."""
        if depth > 20:
            return False, value
        np = sys.modules.get("numpy")
        if np is not None and isinstance(value, np.ndarray):
            return self.array(np, value)
        pd = sys.modules.get("pandas")
        if pd is not None and isinstance(value, (pd.DataFrame, pd.Series, pd.Index)):
            return self.pandas(pd, value)
        if self.kind == "values":
            found = self.scalar(np, value)
            if found is not None:
                return True, found[0]
        if isinstance(value, (list, tuple)):
            return self.sequence(value, depth)
        if isinstance(value, collections.deque):
            changed, items = self.sequence(list(value), depth)
            return changed, type(value)(items, value.maxlen)
        if isinstance(value, dict):
            return self.mapping(value, depth)
        if isinstance(value, (set, frozenset)):
            items = sorted(value, key=repr)
            if self.kind == "shape":
                return bool(items), type(value)(items[1:])
            return self.rebuilt(type(value), [self.walk(item, depth + 1) for item in items])
        if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
            return self.object(value, depth)
        return False, value

    def scalar(self, np, value):
        """Return a one-tuple with another value of the same type, or None."""
        if value is None:
            return (0,)
        if isinstance(value, bool):
            return (not value,)
        if np is not None and isinstance(value, np.generic):
            return (self.array(np, np.asarray(value))[1][()],)
        cls = type(value)
        if cls in (float, complex):
            finite = value == value and abs(value) != float("inf")
            return (value * (1.25 + self.step() / 64) + 0.5 if finite else cls(0.5),)
        if cls in (int, decimal.Decimal, fractions.Fraction):
            return (value + 7 + self.step(),)
        if cls is str:
            return (value + "~" * (1 + self.step()),)
        if cls in (bytes, bytearray):
            return (value + b"~" * (1 + self.step()),)
        if cls in (datetime.datetime, datetime.date):
            return (value + datetime.timedelta(days=7 + self.step()),)
        if cls is datetime.timedelta:
            return (value + datetime.timedelta(days=7 + self.step(), seconds=7),)
        if cls.__module__ == "pathlib" and value.name:
            return (value.with_name(value.name + "~" * (1 + self.step())),)
        if cls.__module__ == "ipaddress" and hasattr(value, "packed"):
            return (value + 7 + self.step() if int(value) < 1 << 31 else value - 7 - self.step(),)
        if isinstance(value, enum.Enum):
            others = [item for item in cls if item is not value]
            return (others[0],) if others else None
        return None

    def rebuilt(self, make, pairs):
        return any(changed for changed, _ in pairs), make(item for _, item in pairs)

    def sequence(self, value, depth):
        if self.kind == "shape" and len(value) > 0 and not hasattr(value, "_fields"):
            return True, value[:-1]
        if self.kind == "order" and not hasattr(value, "_fields"):
            reverse = value[::-1]
            if len(value) > 1 and repr(reverse) != repr(value):
                return True, reverse
        pairs = [self.walk(item, depth + 1) for item in value]
        if hasattr(value, "_fields"):
            changed = any(flag for flag, _ in pairs)
            return changed, tuple.__new__(type(value), [item for _, item in pairs])
        return self.rebuilt(type(value) if type(value) in (list, tuple) else list, pairs)

    def mapping(self, value, depth):
        if self.kind == "shape" and value and type(value) is dict:
            last = list(value)[-1]
            return True, {key: item for key, item in value.items() if key != last}
        result, changed = copy.copy(value), False
        for key in list(value):
            flag, item = self.walk(value[key], depth + 1)
            changed = changed or flag
            result[key] = item
        return changed, result

    def object(self, value, depth):
        try:
            result = copy.copy(value)
            changed = False
            for name, item in list(vars(value).items()):
                flag, new = self.walk(item, depth + 1)
                if flag:
                    object.__setattr__(result, name, new)
                    changed = True
        except Exception:  # what cannot be copied or set stays as it is: the caller then knows it is unchanged
            return False, value
        return changed, result

    def array(self, np, value):
        if value.size == 0:
            return False, value
        if self.kind == "shape":
            if value.ndim == 0 or value.shape[0] < 2:
                return (True, np.concatenate([value, value])) if value.ndim else (False, value)
            return True, value[:-1].copy()
        if self.kind == "order":
            if value.ndim == 0:
                return False, value
            result = value[::-1].copy()
            return result.tobytes() != value.tobytes(), result
        code = value.dtype.kind
        if code == "b":
            return True, ~value
        if code in "iu":
            steps = (7 + self.steps(np, value.size)).astype(value.dtype).reshape(value.shape)
            return True, (value + steps).astype(value.dtype)
        if code in "fc":
            factors = 1.25 + self.steps(np, value.size).reshape(value.shape) / 64
            result = np.where(np.isfinite(value), value, 0) * factors + 0.5
            return True, result.astype(value.dtype)
        if code in "mM":
            steps = 7 + self.steps(np, value.size).reshape(value.shape)
            return True, (value.view("i8") + steps).view(value.dtype)
        if code in "US":
            items = [self.scalar(np, item)[0] for item in value.ravel().tolist()]
            return True, np.array(items).reshape(value.shape)
        if code in "OT":
            pairs = [self.walk(item, 1) for item in value.ravel().tolist()]
            result = np.empty(len(pairs), dtype=value.dtype)
            for position, (_, item) in enumerate(pairs):
                result[position] = item
            return any(flag for flag, _ in pairs), result.reshape(value.shape)
        if value.dtype.names:
            result = value.copy()
            changed = False
            for name in value.dtype.names:
                flag, result[name] = self.array(np, value[name])
                changed = changed or flag
            return changed, result
        return False, value

    def pandas(self, pd, value):
        if self.kind == "shape":
            return len(value) > 0, value[:-1]
        if self.kind == "order":
            return len(value) > 1, value[::-1]
        if isinstance(value, pd.DataFrame):
            result = value.copy()
            changed = False
            for position in range(value.shape[1]):
                flag, column = self.pandas(pd, value.iloc[:, position])
                if flag:
                    result.isetitem(position, column)
                    changed = True
            return changed, result
        changed, items = self.walk(list(value), 1)
        if not changed:
            return False, value
        if isinstance(value, pd.Index):
            return True, pd.Index(items, name=value.name)
        return True, pd.Series(items, index=value.index, name=value.name)
