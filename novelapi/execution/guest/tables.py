"""Arrays, frames and series as tagged plain data. Runs inside the sandbox.

numpy, pandas and polars are never imported here: a value of theirs can only exist where they are imported already.
"""

import base64
import sys

from plain import Opaque

NUMERIC = frozenset("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split())
"""Names of numpy's dtypes whose columns are built as arrays, without pandas' inference."""


def encode(encoder, value, cls, depth):
    """Return the tree of a value of one of the three libraries, or None."""
    root = cls.__module__.split(".")[0] if type(cls.__module__) is str else ""
    np = sys.modules.get("numpy")
    if np is not None:
        if cls is np.ndarray:
            return _array(encoder, value, depth)
        if root == "numpy":
            found = _numpy(encoder, np, value, cls, depth)
            if found is not None:
                return found
    if root == "pandas" and "pandas" in sys.modules:
        return _pandas(encoder, sys.modules["pandas"], value, cls, depth)
    if root == "polars" and "polars" in sys.modules:
        return _polars(encoder, sys.modules["polars"], value, cls, depth)
    return None


def _numpy(encoder, np, value, cls, depth):
    if issubclass(cls, np.generic):
        return _scalar(encoder, np, value, depth)
    if cls is np.ma.MaskedArray:
        data, mask = np.asarray(value.data), np.ma.getmaskarray(value)
        return {"$": "masked", "data": _array(encoder, data, depth), "mask": _array(encoder, mask, depth)}
    if issubclass(cls, np.dtype):
        return {"$": "dtype", "value": _dtype(value)}
    return None


def _polars(encoder, pl, value, cls, depth):
    if cls is pl.DataFrame:
        columns = [
            [name, str(value[name].dtype), encoder.encode(value[name].to_list(), depth + 1)] for name in value.columns
        ]
        return {"$": "polars_frame", "columns": columns}
    if cls is pl.Series:
        values = encoder.encode(value.to_list(), depth + 1)
        return {"$": "polars_series", "name": value.name, "dtype": str(value.dtype), "values": values}
    return None


def _dtype(dtype):
    if dtype.names is not None:
        return [[name, _dtype(dtype.fields[name][0])] for name in dtype.names]
    if dtype.subdtype is not None:
        return [str(dtype.subdtype[0]), list(dtype.subdtype[1])]
    return dtype.str if dtype.char != "T" else "T"


def _array(encoder, value, depth):
    dtype = value.dtype
    shape = list(value.shape)
    encoder.count(value.nbytes)
    if dtype.hasobject or dtype.char == "T":
        items = [encoder.encode(item, depth + 1) for item in value.ravel().tolist()]
        return {"$": "ndarray", "dtype": _dtype(dtype), "shape": shape, "values": items}
    if dtype.char not in "?bBhHiIlLqQefdgFDGSUVMm" or dtype.isbuiltin == 2:
        raise Opaque("dtype %s" % dtype)
    return {
        "$": "ndarray",
        "dtype": _dtype(dtype),
        "shape": shape,
        "base64": base64.b64encode(value.tobytes()).decode("ascii"),
    }


def _scalar(encoder, np, value, depth):
    found = _array(encoder, np.asarray(value), depth)
    found["$"] = "scalar"
    found.pop("shape")
    return found


def _pandas(encoder, pd, value, cls, depth):
    if cls is pd.DataFrame:
        return {"$": "frame", "index": _index(encoder, pd, value.index, depth),
                "columns": _index(encoder, pd, value.columns, depth), "data": _columns(encoder, value, depth)}  # fmt: skip
    if cls is pd.Series:
        return {"$": "series", "name": encoder.encode(value.name, depth + 1),
                "index": _index(encoder, pd, value.index, depth), "data": _values(encoder, value, depth)}  # fmt: skip
    if isinstance(value, pd.Index):
        return _index(encoder, pd, value, depth)
    if cls is pd.Timestamp:
        return {
            "$": "timestamp",
            "value": value.isoformat(),
            "tz": None if value.tz is None else str(value.tz),
            "unit": getattr(value, "unit", "ns"),
        }
    if cls is pd.Timedelta:
        return {"$": "pd_timedelta", "value": value.isoformat(), "unit": getattr(value, "unit", "ns")}
    if cls is pd.Period:
        return {"$": "period", "value": str(value), "freq": value.freqstr}
    if cls is pd.Interval:
        return {
            "$": "interval",
            "left": encoder.encode(value.left),
            "right": encoder.encode(value.right),
            "closed": value.closed,
        }
    if value is pd.NaT:
        return {"$": "nat"}
    if value is pd.NA:
        return {"$": "na"}
    if cls is pd.Categorical or isinstance(value, pd.api.extensions.ExtensionArray):
        return {"$": "pd_array", "data": _values(encoder, value, depth)}
    return None


def _columns(encoder, frame, depth):
    """Encode the columns of a frame; those of one numeric dtype are taken out at once."""
    dtypes = frame.dtypes.tolist()
    if dtypes and str(dtypes[0]) in NUMERIC and dtypes.count(dtypes[0]) == len(dtypes):
        name = str(dtypes[0])
        return [{"dtype": name, "values": _items(encoder, column, depth)} for column in frame.to_numpy().T.tolist()]
    return [_values(encoder, frame.iloc[:, i], depth) for i in range(frame.shape[1])]


def _items(encoder, items, depth):
    return [encoder.encode(item, depth + 1) for item in items]


def _values(encoder, column, depth):
    items = _items(encoder, column.tolist() if hasattr(column, "tolist") else list(column), depth)
    found = {"dtype": str(column.dtype), "values": items}
    if found["dtype"] == "category":
        found["categories"] = [encoder.encode(item, depth + 1) for item in column.dtype.categories.tolist()]
        found["ordered"] = bool(column.dtype.ordered)
    return found


def _index(encoder, pd, index, depth):
    if isinstance(index, pd.MultiIndex):
        return {"$": "multiindex", "names": [encoder.encode(n, depth + 1) for n in index.names],
                "levels": [_values(encoder, index.get_level_values(i), depth) for i in range(index.nlevels)]}  # fmt: skip
    found = _values(encoder, index, depth)
    freq = getattr(index, "freqstr", None)
    return {"$": "index", "name": encoder.encode(index.name, depth + 1), "data": found, "freq": freq}
