"""Values as tagged plain data, by exact type. Runs inside the sandbox; the format is documented in execution/values.py.

`Encoder` turns objects into JSON data; what has no plain form raises `Opaque`. `Decoder` builds objects from JSON data;
with `trusted=False` (data that a completion had in its hands) it never imports, unpickles or calls anything that is not
on the short list below. References to builtins are taken at import time, before any completion runs.
"""

import base64
import datetime
import decimal
import fractions
import math
import sys
import types
import uuid

MAX_NODES = 500000
MAX_BYTES = 16 << 20
MAX_DEPTH = 60
MAX_ITERATOR = 10000

_type, _len, _repr, _str, _int, _float, _isinstance, _getattr, _hasattr, _id, _sorted, _issubclass = (
    type, len, repr, str, int, float, isinstance, getattr, hasattr, id, sorted, issubclass
)  # fmt: skip
_b64encode, _b64decode, _isfinite = base64.b64encode, base64.b64decode, math.isfinite

ITERATORS = (
    types.GeneratorType, map, filter, zip, enumerate, reversed,
    _type(iter([])), _type(iter(())), _type(iter({})), _type(iter(set())), _type(iter("")), _type(iter(range(0))),
    _type(iter({}.values())), _type(iter({}.items())), _type(reversed([])), _type(reversed({})),
)  # fmt: skip
VIEWS = (_type({}.keys()), _type({}.values()), _type({}.items()))
# Types that are looked up by their module and name when data comes from a completion.
STDLIB_TYPES = {
    t.__module__ + "." + t.__qualname__: t
    for t in (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, object, _type(None),
              range, slice, datetime.datetime, datetime.date, datetime.time, datetime.timedelta, decimal.Decimal,
              fractions.Fraction, uuid.UUID)
}  # fmt: skip


class Opaque(Exception):
    """The value, or a part of it, has no plain form."""


def qualified(cls):
    return "%s.%s" % (_getattr(cls, "__module__", "?"), _getattr(cls, "__qualname__", _getattr(cls, "__name__", "?")))


def _numpy():
    return sys.modules.get("numpy")


def _pandas():
    return sys.modules.get("pandas")


def _polars():
    return sys.modules.get("polars")


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
            self._count(_len(value))
            return value
        method = _PLAIN.get(cls)
        if method is not None:
            return method(self, value, depth)
        return self._other(value, cls, depth)

    def _count(self, size):
        self.bytes += size
        if self.bytes > MAX_BYTES:
            raise Opaque("too large")

    def _items(self, values, depth):
        mark = _id(values)
        if mark in self.path:
            raise Opaque("contains itself")
        self.path.append(mark)
        items = [self.encode(item, depth + 1) for item in values]
        self.path.pop()
        return items

    def _list(self, value, depth):
        return self._items(value, depth)

    def _tuple(self, value, depth):
        return {"$": "tuple", "items": self._items(value, depth)}

    def _set(self, value, depth):
        items = self._items(value, depth)
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
                self._count(_len(key))
                result[key] = self.encode(item, depth + 1)
        else:
            result = {
                "$": "dict",
                "items": [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in value.items()],
            }
        self.path.pop()
        return result

    def _bytes(self, value, depth):
        self._count(_len(value))
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
        if value.__class__ is not datetime.date and value.tzinfo not in (None, datetime.timezone.utc):
            offset = value.utcoffset()
            if offset is None or _type(value.tzinfo) is not datetime.timezone:
                raise Opaque("time zone object")
        return {"$": _type(value).__name__, "value": value.isoformat()}

    def _timedelta(self, value, depth):
        return {"$": "timedelta", "args": [value.days, value.seconds, value.microseconds]}

    def _by_text(self, value, depth):
        return {"$": _type(value).__name__, "value": _str(value)}

    def _view(self, value, depth):
        return {"$": "view", "of": _type(value).__name__, "items": self._items(list(value), depth)}

    def _exception(self, value, depth):
        return {"$": "exception", "type": qualified(_type(value)), "args": self._items(value.args, depth)}

    def _other(self, value, cls, depth):
        np, pd, pl = _numpy(), _pandas(), _polars()
        if np is not None:
            if cls is np.ndarray:
                return self._array(value, depth)
            if cls.__module__ == "numpy" and _issubclass(cls, np.generic):
                return self._scalar(np, value, depth)
            if cls is np.ma.MaskedArray:
                return {"$": "masked", "data": self._array(np.asarray(value.data), depth),
                        "mask": self._array(np.ma.getmaskarray(value), depth)}  # fmt: skip
            if _issubclass(cls, np.dtype):
                return {"$": "dtype", "value": self._dtype(value)}
        if pd is not None and cls.__module__.split(".")[0] == "pandas":
            found = self._from_pandas(pd, value, cls, depth)
            if found is not None:
                return found
        if pl is not None and cls.__module__.split(".")[0] == "polars":
            if cls is pl.DataFrame:
                return {
                    "$": "polars_frame",
                    "columns": [
                        [name, _str(value[name].dtype), self.encode(value[name].to_list(), depth + 1)]
                        for name in value.columns
                    ],
                }
            if cls is pl.Series:
                return {
                    "$": "polars_series",
                    "name": value.name,
                    "dtype": _str(value.dtype),
                    "values": self.encode(value.to_list(), depth + 1),
                }
        if cls in VIEWS:
            return self._view(value, depth)
        if _isinstance(value, tuple) and _type(_getattr(cls, "_fields", None)) is tuple:
            return {
                "$": "namedtuple",
                "type": qualified(cls),
                "fields": list(cls._fields),
                "items": self._items(tuple(value), depth),
            }
        if _isinstance(value, BaseException):
            return self._exception(value, depth)
        if self.extra is not None:
            found = self.extra(self, value, cls, depth)
            if found is not None:
                return found
        if self.iterators and (cls in ITERATORS or cls.__module__ == "itertools"):
            return {"$": "iterator", "items": self._drain(value, depth)}
        if cls is _type or _isinstance(value, _type):
            return {"$": "type", "value": qualified(value)}
        raise Opaque(qualified(cls))

    def _drain(self, value, depth):
        items = []
        for item in value:
            items.append(self.encode(item, depth + 1))
            if _len(items) > MAX_ITERATOR:
                raise Opaque("endless iterator")
        return items

    # numpy

    def _dtype(self, dtype):
        if dtype.names is not None:
            return [[name, self._dtype(dtype.fields[name][0])] for name in dtype.names]
        if dtype.subdtype is not None:
            return [_str(dtype.subdtype[0]), list(dtype.subdtype[1])]
        return dtype.str if dtype.char != "T" else "T"

    def _array(self, value, depth):
        dtype = value.dtype
        shape = list(value.shape)
        self._count(value.nbytes)
        if dtype.hasobject or dtype.char == "T":
            items = [self.encode(item, depth + 1) for item in value.ravel().tolist()]
            return {"$": "ndarray", "dtype": self._dtype(dtype), "shape": shape, "values": items}
        if dtype.char not in "?bBhHiIlLqQefdgFDGSUVMm" or dtype.isbuiltin == 2:
            raise Opaque("dtype %s" % dtype)
        return {"$": "ndarray", "dtype": self._dtype(dtype), "shape": shape, "base64": _text64(value.tobytes())}

    def _scalar(self, np, value, depth):
        found = self._array(np.asarray(value), depth)
        found["$"] = "scalar"
        found.pop("shape")
        return found

    # pandas

    def _from_pandas(self, pd, value, cls, depth):
        if cls is pd.DataFrame:
            return {"$": "frame", "index": self._pandas_index(pd, value.index, depth),
                    "columns": self._pandas_index(pd, value.columns, depth),
                    "data": [self._pandas_values(value.iloc[:, i], depth) for i in range(value.shape[1])]}  # fmt: skip
        if cls is pd.Series:
            return {"$": "series", "name": self.encode(value.name, depth + 1),
                    "index": self._pandas_index(pd, value.index, depth), "data": self._pandas_values(value, depth)}  # fmt: skip
        if _isinstance(value, pd.Index):
            return self._pandas_index(pd, value, depth)
        if cls is pd.Timestamp:
            return {
                "$": "timestamp",
                "value": value.isoformat(),
                "tz": None if value.tz is None else _str(value.tz),
                "unit": _getattr(value, "unit", "ns"),
            }
        if cls is pd.Timedelta:
            return {"$": "pd_timedelta", "value": value.isoformat(), "unit": _getattr(value, "unit", "ns")}
        if cls is pd.Period:
            return {"$": "period", "value": _str(value), "freq": value.freqstr}
        if cls is pd.Interval:
            return {
                "$": "interval",
                "left": self.encode(value.left),
                "right": self.encode(value.right),
                "closed": value.closed,
            }
        if value is pd.NaT:
            return {"$": "nat"}
        if value is pd.NA:
            return {"$": "na"}
        if cls is pd.Categorical or _isinstance(value, pd.api.extensions.ExtensionArray):
            return {"$": "pd_array", "data": self._pandas_values(value, depth)}
        return None

    def _pandas_values(self, column, depth):
        items = [
            self.encode(item, depth + 1) for item in (column.tolist() if _hasattr(column, "tolist") else list(column))
        ]
        found = {"dtype": _str(column.dtype), "values": items}
        if found["dtype"] == "category":
            found["categories"] = [self.encode(item, depth + 1) for item in column.dtype.categories.tolist()]
            found["ordered"] = bool(column.dtype.ordered)
        return found

    def _pandas_index(self, pd, index, depth):
        if _isinstance(index, pd.MultiIndex):
            return {"$": "multiindex", "names": [self.encode(n, depth + 1) for n in index.names],
                    "levels": [self._pandas_values(index.get_level_values(i), depth) for i in range(index.nlevels)]}  # fmt: skip
        found = self._pandas_values(index, depth)
        freq = _getattr(index, "freqstr", None)
        return {"$": "index", "name": self.encode(index.name, depth + 1), "data": found, "freq": freq}


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

import json as _json  # noqa: E402

_dumps = _json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode


def canonical(tree):
    return _dumps(tree)


TAGS = frozenset(
    "tuple set frozenset dict int float complex bytes bytearray range slice ellipsis datetime date time timedelta"
    " Decimal Fraction UUID view iterator type namedtuple exception dtype ndarray scalar masked series frame index"
    " multiindex timestamp pd_timedelta period interval nat na pd_array polars_series polars_frame".split()
)


class Decoder:
    """Builds objects from JSON data; `extra(tree)` may build what is not plain (callbacks, references, pickles)."""

    def __init__(self, extra=None, allowed=(), trusted=False):
        self.extra = extra
        self.allowed = allowed
        self.trusted = trusted

    def decode(self, tree):
        cls = _type(tree)
        if cls is list:
            return [self.decode(item) for item in tree]
        if cls is not dict:
            return tree
        tag = tree.get("$")
        if tag is None:
            return {key: self.decode(item) for key, item in tree.items()}
        if tag in TAGS:
            return _getattr(self, "_" + tag)(tree)
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
        return _b64decode(tree["base64"])

    def _bytearray(self, tree):
        return bytearray(_b64decode(tree["base64"]))

    def _range(self, tree):
        return range(*tree["args"])

    def _slice(self, tree):
        return slice(*self._all(tree["args"]))

    def _ellipsis(self, tree):
        return Ellipsis

    def _datetime(self, tree):
        return datetime.datetime.fromisoformat(tree["value"])

    def _date(self, tree):
        return datetime.date.fromisoformat(tree["value"])

    def _time(self, tree):
        return datetime.time.fromisoformat(tree["value"])

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
        np = _numpy()
        if np is not None and name.startswith("numpy.") and name.count(".") == 1:
            found = _getattr(np, name[6:], None)
            if _isinstance(found, type) and _issubclass(found, np.generic):
                return found
        raise Opaque("type %s" % name)

    def _lookup(self, name):
        """Find `module.qualname` in what is imported already; only modules of the allowed packages."""
        parts = name.split(".")
        if not self.trusted and parts[0] not in self.allowed:
            raise Opaque("%s is not on the list" % name)
        for cut in range(_len(parts) - 1, 0, -1):
            module = sys.modules.get(".".join(parts[:cut]))
            if module is not None:
                found = module
                for part in parts[cut:]:
                    if part.startswith("__"):
                        raise Opaque(name)
                    found = _getattr(found, part)
                return found
        raise Opaque("%s is not imported" % name)

    def _namedtuple(self, tree):
        found = self._lookup(tree["type"])
        if not (_isinstance(found, type) and _issubclass(found, tuple) and _hasattr(found, "_fields")):
            raise Opaque(tree["type"])
        return tuple.__new__(found, self._all(tree["items"]))

    def _exception(self, tree):
        name = tree["type"]
        found = (
            _getattr(sys.modules["builtins"], name[9:], None) if name.startswith("builtins.") else self._lookup(name)
        )
        if not (_isinstance(found, type) and _issubclass(found, BaseException)):
            raise Opaque(name)
        return found(*self._all(tree["args"]))

    # numpy

    def _make_dtype(self, spec):
        np = sys.modules["numpy"]
        if _type(spec) is not list:
            return np.dtypes.StringDType() if spec == "T" else np.dtype(spec)
        if spec and _type(spec[0]) is list:
            return np.dtype([(name, self._make_dtype(part)) for name, part in spec])
        return np.dtype((spec[0], tuple(spec[1])))

    def _dtype(self, tree):
        return self._make_dtype(tree["value"])

    def _ndarray(self, tree):
        np = sys.modules["numpy"]
        dtype = self._make_dtype(tree["dtype"])
        shape = tuple(tree["shape"])
        if "values" in tree:
            array = np.empty(_len(tree["values"]), dtype=dtype)
            for position, item in enumerate(tree["values"]):
                array[position] = self.decode(item)
            return array.reshape(shape)
        return np.frombuffer(bytearray(_b64decode(tree["base64"])), dtype=dtype).reshape(shape)

    def _scalar(self, tree):
        tree = dict(tree, shape=[])
        return self._ndarray(tree)[()]

    def _masked(self, tree):
        return sys.modules["numpy"].ma.MaskedArray(self._ndarray(tree["data"]), mask=self._ndarray(tree["mask"]))

    # pandas and polars

    def _column(self, spec):
        pd = sys.modules["pandas"]
        values = self._all(spec["values"])
        if spec["dtype"] == "category":
            return pd.Categorical(values, categories=self._all(spec["categories"]), ordered=spec["ordered"])
        return pd.array(values, dtype=spec["dtype"]) if values else pd.Series([], dtype=spec["dtype"]).array

    def _series(self, tree):
        pd = sys.modules["pandas"]
        return pd.Series(
            self._column(tree["data"]),
            index=self.decode(tree["index"]),
            name=self.decode(tree["name"]),
            dtype=None if tree["data"]["dtype"] == "category" else tree["data"]["dtype"],
        )

    def _frame(self, tree):
        pd = sys.modules["pandas"]
        index = self.decode(tree["index"])
        columns = {
            i: pd.Series(self._column(spec), index=index, dtype=None if spec["dtype"] == "category" else spec["dtype"])
            for i, spec in enumerate(tree["data"])
        }
        frame = pd.DataFrame(columns, index=index)
        frame.columns = self.decode(tree["columns"])
        return frame

    def _index(self, tree):
        pd = sys.modules["pandas"]
        values = self._all(tree["data"]["values"])
        name = self.decode(tree["name"])
        if tree["freq"] is not None and tree["data"]["dtype"].startswith("datetime64"):
            return pd.DatetimeIndex(values, freq=tree["freq"], name=name)
        return (
            pd.Index(self._column(tree["data"]), name=name)
            if values
            else pd.Index([], dtype=tree["data"]["dtype"], name=name)
        )

    def _multiindex(self, tree):
        pd = sys.modules["pandas"]
        return pd.MultiIndex.from_arrays(
            [self._column(level) for level in tree["levels"]], names=self._all(tree["names"])
        )

    def _timestamp(self, tree):
        return sys.modules["pandas"].Timestamp(
            tree["value"],
            tz=None if tree["tz"] is None or "+" in tree["value"][10:] or "-" in tree["value"][10:] else tree["tz"],
        )

    def _pd_timedelta(self, tree):
        return sys.modules["pandas"].Timedelta(tree["value"])

    def _period(self, tree):
        return sys.modules["pandas"].Period(tree["value"], freq=tree["freq"])

    def _interval(self, tree):
        return sys.modules["pandas"].Interval(
            self.decode(tree["left"]), self.decode(tree["right"]), closed=tree["closed"]
        )

    def _nat(self, tree):
        return sys.modules["pandas"].NaT

    def _na(self, tree):
        return sys.modules["pandas"].NA

    def _pd_array(self, tree):
        return self._column(tree["data"])

    def _polars_series(self, tree):
        pl = sys.modules["polars"]
        return pl.Series(tree["name"], self.decode(tree["values"]))

    def _polars_frame(self, tree):
        pl = sys.modules["polars"]
        return pl.DataFrame([pl.Series(name, self.decode(values)) for name, _, values in tree["columns"]])
