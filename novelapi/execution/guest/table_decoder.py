"""The way back of tables.py: arrays, frames and series from tagged plain data. Runs inside the sandbox."""

import base64
import sys

from tables import NUMERIC


class TableDecoder:
    """The part of the decoder that needs numpy, pandas or polars."""

    TAGS = frozenset(
        "dtype ndarray scalar masked series frame index multiindex timestamp pd_timedelta period interval nat na"
        " pd_array polars_series polars_frame".split()
    )

    def _make_dtype(self, spec):
        np = sys.modules["numpy"]
        if type(spec) is not list:
            return np.dtypes.StringDType() if spec == "T" else np.dtype(spec)
        if spec and type(spec[0]) is list:
            return np.dtype([(name, self._make_dtype(part)) for name, part in spec])
        return np.dtype((spec[0], tuple(spec[1])))

    def _dtype(self, tree):
        return self._make_dtype(tree["value"])

    def _ndarray(self, tree):
        np = sys.modules["numpy"]
        dtype = self._make_dtype(tree["dtype"])
        shape = tuple(tree["shape"])
        if "values" in tree:
            array = np.empty(len(tree["values"]), dtype=dtype)
            for position, item in enumerate(tree["values"]):
                array[position] = self.decode(item)
            return array.reshape(shape)
        return np.frombuffer(bytearray(base64.b64decode(tree["base64"])), dtype=dtype).reshape(shape)

    def _scalar(self, tree):
        tree = dict(tree, shape=[])
        return self._ndarray(tree)[()]

    def _masked(self, tree):
        return sys.modules["numpy"].ma.MaskedArray(self._ndarray(tree["data"]), mask=self._ndarray(tree["mask"]))

    def _column(self, spec):
        pd = sys.modules["pandas"]
        values = self._all(spec["values"])
        if spec["dtype"] == "category":
            return pd.Categorical(values, categories=self._all(spec["categories"]), ordered=spec["ordered"])
        return pd.array(values, dtype=spec["dtype"]) if values else pd.Series([], dtype=spec["dtype"]).array

    def _numbers(self, spec):
        return sys.modules["numpy"].array(self._all(spec["values"]), dtype=spec["dtype"])

    def _labelled(self, spec, index, name=None):
        pd = sys.modules["pandas"]
        if spec["dtype"] in NUMERIC:
            return pd.Series(self._numbers(spec), index=index, name=name)
        dtype = None if spec["dtype"] == "category" else spec["dtype"]
        return pd.Series(self._column(spec), index=index, name=name, dtype=dtype)

    def _series(self, tree):
        return self._labelled(tree["data"], self.decode(tree["index"]), self.decode(tree["name"]))

    def _frame(self, tree):
        pd = sys.modules["pandas"]
        index = self.decode(tree["index"])
        columns = {
            i: self._numbers(spec) if spec["dtype"] in NUMERIC else self._labelled(spec, index)
            for i, spec in enumerate(tree["data"])
        }
        frame = pd.DataFrame(columns, index=index)
        frame.columns = self.decode(tree["columns"])
        return frame

    def _index(self, tree):
        pd = sys.modules["pandas"]
        name = self.decode(tree["name"])
        if tree["data"]["dtype"] in NUMERIC:
            return pd.Index(self._numbers(tree["data"]), name=name)
        values = self._all(tree["data"]["values"])
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
        found = sys.modules["pandas"].Timestamp(tree["value"])
        if tree["tz"] is None:
            return found
        return found.tz_localize(tree["tz"]) if found.tz is None else found.tz_convert(tree["tz"])

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
