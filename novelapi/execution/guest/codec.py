"""Values as tagged plain data, by exact type. Runs inside the sandbox; the format is documented in execution/values.py.

`Encoder` turns objects into JSON data; what has no plain form raises `Opaque`. The way back is in decoder.py. References to
builtins are taken at import time, before any completion runs.
"""

import base64
import datetime
import decimal
import fractions
import json
import math
import types
import uuid

import containers
import tables
from plain import MAX_BYTES, MAX_DEPTH, MAX_ITERATOR, MAX_NODES, Opaque, qualified

_type, _len, _repr, _str, _isinstance, _getattr, _id, _sorted = type, len, repr, str, isinstance, getattr, id, sorted
_b64encode, _isfinite = base64.b64encode, math.isfinite

ITERATORS = (
    types.GeneratorType, map, filter, zip, enumerate, reversed,
    _type(iter([])), _type(iter(())), _type(iter({})), _type(iter(set())), _type(iter("")), _type(iter(range(0))),
    _type(iter({}.values())), _type(iter({}.items())), _type(reversed([])), _type(reversed({})),
)  # fmt: skip
VIEWS = (_type({}.keys()), _type({}.values()), _type({}.items()))


def _text64(data):
    return _b64encode(data).decode("ascii")


class Encoder:
    """Encodes one value; `extra(value)` may offer a tag for what is not plain (callbacks, references, pickles)."""

    def __init__(self, extra=None, iterators=False):
        self.extra = extra
        self.iterators = iterators
        self.nodes = 0
        self.bytes = 0
        self.path = []

    def encode(self, value, depth=0):
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            raise Opaque("too large or too deep")
        cls = _type(value)
        if value is None or cls is bool:
            return value
        if cls is int:
            if value.bit_length() > 14000:  # the JSON text would pass the interpreter's digit limit
                return {"$": "int", "hex": "%x" % value}
            return value
        if cls is float:
            return value if _isfinite(value) else {"$": "float", "value": _repr(value)}
        if cls is str:
            self.count(_len(value))
            return value
        method = _PLAIN.get(cls)
        if method is not None:
            return method(self, value, depth)
        return self._other(value, cls, depth)

    def count(self, size):
        self.bytes += size
        if self.bytes > MAX_BYTES:
            raise Opaque("too large")

    def items(self, values, depth):
        mark = _id(values)
        if mark in self.path:
            raise Opaque("contains itself")
        self.path.append(mark)
        items = [self.encode(item, depth + 1) for item in values]
        self.path.pop()
        return items

    def _list(self, value, depth):
        return self.items(value, depth)

    def _tuple(self, value, depth):
        return {"$": "tuple", "items": self.items(value, depth)}

    def _set(self, value, depth):
        items = self.items(value, depth)
        tag = "set" if _type(value) is set else "frozenset"
        return {"$": tag, "items": _sorted(items, key=canonical)}

    def _dict(self, value, depth):
        mark = _id(value)
        if mark in self.path:
            raise Opaque("contains itself")
        self.path.append(mark)
        if all(_type(key) is str for key in value) and "$" not in value:
            result = {}
            for key, item in value.items():
                self.count(_len(key))
                result[key] = self.encode(item, depth + 1)
        else:
            result = {
                "$": "dict",
                "items": [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in value.items()],
            }
        self.path.pop()
        return result

    def _bytes(self, value, depth):
        self.count(_len(value))
        return {"$": _type(value).__name__, "base64": _text64(bytes(value))}

    def _complex(self, value, depth):
        return {"$": "complex", "real": self.encode(value.real), "imag": self.encode(value.imag)}

    def _range(self, value, depth):
        return {"$": "range", "args": [value.start, value.stop, value.step]}

    def _slice(self, value, depth):
        return {"$": "slice", "args": [self.encode(part, depth + 1) for part in (value.start, value.stop, value.step)]}

    def _ellipsis(self, value, depth):
        return {"$": "ellipsis"}

    def _isoformat(self, value, depth):
        found = {"$": _type(value).__name__, "value": value.isoformat()}
        zone = None if _type(value) is datetime.date else value.tzinfo
        if zone is None or _type(zone) is datetime.timezone:
            return found
        key = _getattr(zone, "key", None)
        if _type(zone).__module__ != "zoneinfo" or _type(key) is not str:
            raise Opaque("time zone object")
        found.update(zone=key, fold=value.fold)
        return found

    def _timedelta(self, value, depth):
        return {"$": "timedelta", "args": [value.days, value.seconds, value.microseconds]}

    def _by_text(self, value, depth):
        return {"$": _type(value).__name__, "value": _str(value)}

    def _view(self, value, depth):
        return {"$": "view", "of": _type(value).__name__, "items": self.items(list(value), depth)}

    def _exception(self, value, depth):
        return {"$": "exception", "type": qualified(_type(value)), "args": self.items(value.args, depth)}

    def _other(self, value, cls, depth):
        for offer in (tables.encode, containers.encode):
            found = offer(self, value, cls, depth)
            if found is not None:
                return found
        if cls in VIEWS:
            return self._view(value, depth)
        if _isinstance(value, tuple) and _type(_getattr(cls, "_fields", None)) is tuple:
            return {
                "$": "namedtuple",
                "type": qualified(cls),
                "fields": list(cls._fields),
                "items": self.items(tuple(value), depth),
            }
        if _isinstance(value, BaseException):
            return self._exception(value, depth)
        if self.extra is not None:
            found = self.extra(self, value, cls, depth)
            if found is not None:
                return found
        if self.iterators and is_iterator(cls):
            return {"$": "iterator", "items": self._drain(value, depth)}
        if cls is _type or _isinstance(value, _type):
            return {"$": "type", "value": qualified(value)}
        found = containers.encode_record(self, value, cls, depth)
        if found is not None:
            return found
        raise Opaque(qualified(cls))

    def _drain(self, value, depth):
        items = []
        for item in value:
            items.append(self.encode(item, depth + 1))
            if _len(items) > MAX_ITERATOR:
                raise Opaque("endless iterator")
        return items


def is_iterator(cls):
    return cls in ITERATORS or cls.__module__ == "itertools"


_PLAIN = {
    list: Encoder._list,
    tuple: Encoder._tuple,
    set: Encoder._set,
    frozenset: Encoder._set,
    dict: Encoder._dict,
    bytes: Encoder._bytes,
    bytearray: Encoder._bytes,
    complex: Encoder._complex,
    range: Encoder._range,
    slice: Encoder._slice,
    _type(Ellipsis): Encoder._ellipsis,
    datetime.datetime: Encoder._isoformat,
    datetime.date: Encoder._isoformat,
    datetime.time: Encoder._isoformat,
    datetime.timedelta: Encoder._timedelta,
    decimal.Decimal: Encoder._by_text,
    fractions.Fraction: Encoder._by_text,
    uuid.UUID: Encoder._by_text,
}

_dumps = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode


def canonical(tree):
    return _dumps(tree)
