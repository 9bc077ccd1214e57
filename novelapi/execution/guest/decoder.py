"""The way back of codec.py: objects from tagged plain data. Runs inside the sandbox.

With `trusted=False` (data that a completion had in its hands) it never imports, unpickles or calls anything that is not
on the short lists below.
"""

import base64
import datetime
import decimal
import fractions
import sys
import uuid

import containers
from plain import Opaque
from table_decoder import TableDecoder

# Types that are looked up by their module and name.
STDLIB_TYPES = {
    t.__module__ + "." + t.__qualname__: t
    for t in (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, object, type(None),
              range, slice, datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal,
              fractions.Fraction, uuid.UUID)
}  # fmt: skip


class Decoder(TableDecoder):
    """Builds objects from JSON data; `extra(tree)` may build what is not plain (callbacks, references, pickles)."""

    TAGS = TableDecoder.TAGS | frozenset(
        "tuple set frozenset dict int float complex bytes bytearray range slice ellipsis datetime date time timedelta"
        " Decimal Fraction UUID view iterator type namedtuple exception".split()
    )

    def __init__(self, extra=None, allowed=(), trusted=False):
        self.extra = extra
        self.allowed = allowed
        self.trusted = trusted

    def decode(self, tree):
        cls = type(tree)
        if cls is list:
            return [self.decode(item) for item in tree]
        if cls is not dict:
            return tree
        tag = tree.get("$")
        if tag is None:
            return {key: self.decode(item) for key, item in tree.items()}
        if type(tag) is str and tag in self.TAGS:
            return getattr(self, "_" + tag)(tree)
        if type(tag) is str and tag in containers.DECODERS:
            return containers.DECODERS[tag](self, tree)
        if self.extra is not None:
            return self.extra(self, tree)
        raise Opaque("unknown tag %r" % (tag,))

    def _all(self, items):
        return [self.decode(item) for item in items]

    def _tuple(self, tree):
        return tuple(self._all(tree["items"]))

    def _set(self, tree):
        return set(self._all(tree["items"]))

    def _frozenset(self, tree):
        return frozenset(self._all(tree["items"]))

    def _dict(self, tree):
        return {self.decode(key): self.decode(value) for key, value in tree["items"]}

    def _int(self, tree):
        return int(tree["hex"], 16)

    def _float(self, tree):
        return float(tree["value"])

    def _complex(self, tree):
        return complex(self.decode(tree["real"]), self.decode(tree["imag"]))

    def _bytes(self, tree):
        return base64.b64decode(tree["base64"])

    def _bytearray(self, tree):
        return bytearray(base64.b64decode(tree["base64"]))

    def _range(self, tree):
        return range(*tree["args"])

    def _slice(self, tree):
        return slice(*self._all(tree["args"]))

    def _ellipsis(self, tree):
        return Ellipsis

    def _datetime(self, tree):
        return containers.zoned(datetime.datetime.fromisoformat(tree["value"]), tree)

    def _date(self, tree):
        return datetime.date.fromisoformat(tree["value"])

    def _time(self, tree):
        return containers.zoned(datetime.time.fromisoformat(tree["value"]), tree)

    def _timedelta(self, tree):
        return datetime.timedelta(*tree["args"])

    def _Decimal(self, tree):
        return decimal.Decimal(tree["value"])

    def _Fraction(self, tree):
        return fractions.Fraction(tree["value"])

    def _UUID(self, tree):
        return uuid.UUID(tree["value"])

    def _view(self, tree):
        items = self._all(tree["items"])
        if tree["of"] == "dict_items":
            return dict(items).items()
        if tree["of"] == "dict_keys":
            return dict.fromkeys(items).keys()
        return dict(enumerate(items)).values()

    def _iterator(self, tree):
        return iter(self._all(tree["items"]))

    def _type(self, tree):
        name = tree["value"]
        if name in STDLIB_TYPES:
            return STDLIB_TYPES[name]
        np = sys.modules.get("numpy")
        if np is not None and name.startswith("numpy.") and name.count(".") == 1:
            found = getattr(np, name[6:], None)
            if isinstance(found, type) and issubclass(found, np.generic):
                return found
        raise Opaque("type %s" % name)

    def lookup(self, name):
        """Find `module.qualname` in what is imported already; only modules of the allowed packages."""
        parts = name.split(".")
        if not self.trusted and parts[0] not in self.allowed:
            raise Opaque("%s is not on the list" % name)
        for cut in range(len(parts) - 1, 0, -1):
            module = sys.modules.get(".".join(parts[:cut]))
            if module is not None:
                found = module
                for part in parts[cut:]:
                    if part.startswith("__"):
                        raise Opaque(name)
                    found = getattr(found, part)
                return found
        raise Opaque("%s is not imported" % name)

    def _namedtuple(self, tree):
        found = self.lookup(tree["type"])
        if not (isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")):
            raise Opaque(tree["type"])
        return tuple.__new__(found, self._all(tree["items"]))

    def _exception(self, tree):
        name = tree["type"]
        found = getattr(sys.modules["builtins"], name[9:], None) if name.startswith("builtins.") else self.lookup(name)
        if not (isinstance(found, type) and issubclass(found, BaseException)):
            raise Opaque(name)
        return found(*self._all(tree["args"]))
