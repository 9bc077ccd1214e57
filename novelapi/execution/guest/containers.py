"""Further types of the standard library as tagged plain data. Runs inside the sandbox."""

import array
import collections
import dataclasses
import enum
import re
import sys
import types

from plain import Opaque, qualified

_PATHS = ("PurePosixPath", "PureWindowsPath", "PosixPath", "WindowsPath")
_ADDRESSES = tuple("IPv%d%s" % (version, kind) for version in (4, 6) for kind in ("Address", "Network", "Interface"))


def encode(encoder, value, cls, depth):
    """Return the tree of a container or a value of a few further types, by exact type, or None."""
    if cls in _ENCODERS:
        return _ENCODERS[cls](encoder, value, depth)
    module, name = cls.__module__, cls.__name__
    if module == "pathlib" and name in _PATHS:
        return {"$": "path", "type": name, "value": str(value)}
    if module == "ipaddress" and name in _ADDRESSES:
        return {"$": "ipaddress", "type": name, "value": str(value)}
    if module == "zoneinfo" and name == "ZoneInfo" and type(value.key) is str:
        return {"$": "zoneinfo", "value": value.key}
    if isinstance(value, enum.Enum):
        return {
            "$": "enum",
            "type": qualified(cls),
            "name": str(value.name),
            "value": encoder.encode(value._value_, depth + 1),
        }
    return None


def encode_record(encoder, value, cls, depth):
    """Return the tree of a dataclass instance or a structure of the interpreter, or None."""
    if type(getattr(cls, "__dataclass_fields__", None)) is dict:
        fields = {
            field.name: encoder.encode(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value)
        }
        return {"$": "dataclass", "type": qualified(cls), "fields": fields}
    if isinstance(value, tuple) and type(getattr(cls, "n_sequence_fields", None)) is int:
        return {"$": "structseq", "type": qualified(cls), "items": encoder.items(tuple(value), depth)}
    return None


def _pairs(tag):
    def encode_pairs(encoder, value, depth):
        items = encoder.items([tuple(pair) for pair in value.items()], depth)
        return {"$": tag, "items": [pair["items"] for pair in items]}

    return encode_pairs


def _defaultdict(encoder, value, depth):
    factory = value.default_factory
    if factory is not None and type(factory) is not type:
        raise Opaque("default factory")
    found = _pairs("defaultdict")(encoder, value, depth)
    found["factory"] = None if factory is None else qualified(factory)
    return found


def _deque(encoder, value, depth):
    return {"$": "deque", "maxlen": value.maxlen, "items": encoder.items(value, depth)}


def _array(encoder, value, depth):
    return {"$": "array", "typecode": value.typecode, "items": encoder.items(value.tolist(), depth)}


def _pattern(encoder, value, depth):
    return {"$": "pattern", "pattern": encoder.encode(value.pattern, depth + 1), "flags": value.flags}


def _proxy(encoder, value, depth):
    return {"$": "mappingproxy", "items": encoder.encode(dict(value), depth + 1)}


def _namespace(encoder, value, depth):
    return {"$": "namespace", "items": encoder.encode(dict(vars(value)), depth + 1)}


def _memoryview(encoder, value, depth):
    return {"$": "memoryview", "format": value.format, "items": encoder.encode(value.tolist(), depth + 1)}


_ENCODERS = {
    collections.OrderedDict: _pairs("OrderedDict"),
    collections.Counter: _pairs("Counter"),
    collections.defaultdict: _defaultdict,
    collections.deque: _deque,
    array.array: _array,
    re.Pattern: _pattern,
    types.MappingProxyType: _proxy,
    types.SimpleNamespace: _namespace,
    memoryview: _memoryview,
}


def zoned(value, tree):
    """Put a named time zone back on a date or time."""
    if "zone" not in tree:
        return value
    return value.replace(tzinfo=_zone(tree["zone"]), fold=tree["fold"])


def _zone(key):
    module = sys.modules.get("zoneinfo")
    if module is None or type(key) is not str:
        raise Opaque("zoneinfo")
    return module.ZoneInfo(key)


def _pairs_of(decoder, tree):
    return [(decoder.decode(key), decoder.decode(value)) for key, value in tree["items"]]


def _make_defaultdict(decoder, tree):
    factory = None if tree["factory"] is None else decoder.decode({"$": "type", "value": tree["factory"]})
    return collections.defaultdict(factory, _pairs_of(decoder, tree))


def _make_counter(decoder, tree):
    return collections.Counter(dict(_pairs_of(decoder, tree)))


def _by_name(module, names):
    def make(decoder, tree):
        found = sys.modules.get(module)
        if found is None or tree["type"] not in names:
            raise Opaque(str(tree["type"]))
        return getattr(found, tree["type"])(tree["value"])

    return make


def _make_enum(decoder, tree):
    found = decoder.lookup(tree["type"])
    if not (isinstance(found, type) and issubclass(found, enum.Enum)):
        raise Opaque(tree["type"])
    return found(decoder.decode(tree["value"]))


DECODERS = {
    "OrderedDict": lambda decoder, tree: collections.OrderedDict(_pairs_of(decoder, tree)),
    "Counter": _make_counter,
    "defaultdict": _make_defaultdict,
    "deque": lambda decoder, tree: collections.deque(map(decoder.decode, tree["items"]), tree["maxlen"]),
    "array": lambda decoder, tree: array.array(tree["typecode"], tree["items"]),
    "pattern": lambda decoder, tree: re.compile(decoder.decode(tree["pattern"]), tree["flags"] & ~re.DEBUG),
    "mappingproxy": lambda decoder, tree: types.MappingProxyType(decoder.decode(tree["items"])),
    "namespace": lambda decoder, tree: types.SimpleNamespace(**decoder.decode(tree["items"])),
    "path": _by_name("pathlib", _PATHS),
    "ipaddress": _by_name("ipaddress", _ADDRESSES),
    "zoneinfo": lambda decoder, tree: _zone(tree["value"]),
    "enum": _make_enum,
}
