"""Frames, series and indexes cross to the server of real calls and back as they were: dtypes, labels and values."""

import subprocess
import textwrap
from pathlib import Path

import pytest

import novelapi.execution
from novelapi.execution.zygote import Zygote
from tests.sandbox.labels import libraries

pytestmark = [pytest.mark.sandbox, pytest.mark.network]
GUEST = Path(novelapi.execution.__file__).parent / "guest"
PROGRAM = textwrap.dedent("""
    import json, sys
    sys.path.append(sys.argv[1])
    import numpy as np
    import pandas as pd
    import codec, server, transfer
    from decoder import Decoder

    NUMBERS = {name: np.array([1, 0, 3], dtype=name) for name in
               "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()}
    FRAMES = {
        "one dtype": pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=[7, 9]),
        "numbers": pd.DataFrame(NUMBERS),
        "missing": pd.DataFrame({"a": [1.5, np.nan], "b": [np.inf, -np.inf]}),
        "mixed": pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [True, False]}),
        "objects": pd.DataFrame({"a": np.array(["x", 1], dtype=object)}),
        "category": pd.DataFrame({"a": pd.Categorical(["x", "y"], categories=["y", "x", "z"], ordered=True)}),
        "times": pd.DataFrame({"a": pd.date_range("2024", periods=2, tz="UTC"), "b": pd.to_timedelta([1, 2], "h")}),
        "nullable": pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.array([True, None], dtype="boolean")}),
        "text labels": pd.DataFrame([[1, 2]], index=["r"], columns=["a", "b"]),
        "twice the same name": pd.DataFrame([[1, 2.5]], columns=["a", "a"]),
        "numbered columns": pd.DataFrame([[1.5, 2.5]], columns=[3, 5]),
        "named labels": pd.DataFrame({"a": [1]}, index=pd.Index([2], name="i")).rename_axis(columns="c"),
        "two levels": pd.DataFrame({("a", 1): [1]}, index=pd.MultiIndex.from_tuples([("p", 1)], names=["u", "v"])),
        "no rows": pd.DataFrame({"a": np.array([], dtype="int64"), "b": np.array([], dtype="float64")}),
        "no columns": pd.DataFrame(index=[1, 2]),
    }
    SERIES = {name: pd.Series(values, name=name) for name, values in NUMBERS.items()}
    SERIES |= {"text": pd.Series(["a", None], index=["p", "q"]), "category": pd.Series(["a", "b"], dtype="category"),
               "no rows": pd.Series([], dtype="int64", name="n"), "flags as labels": pd.Series([1], index=[True])}

    def crossed(value):
        there = json.loads(json.dumps(codec.Encoder().encode(value)))
        arrived = Decoder(allowed=("numpy", "pandas")).decode(there)
        back = json.loads(json.dumps(server.encode_result(arrived)))
        return arrived, Decoder(extra=transfer.from_server, trusted=True).decode(back)

    for name, frame in FRAMES.items():
        for found in crossed(frame):
            pd.testing.assert_frame_equal(found, frame, check_index_type=False, check_column_type=False, obj=name)
            assert list(found.dtypes) == list(frame.dtypes), name
    for name, series in SERIES.items():
        for found in crossed(series):
            pd.testing.assert_series_equal(found, series, check_index_type=False, obj=name)
    for name, values in NUMBERS.items():
        for found in crossed(pd.Index(values, name="n")):
            pd.testing.assert_index_equal(found, pd.Index(values, name="n"), obj=name)
    print(len(FRAMES), len(SERIES), len(NUMBERS))
""")


def test_they_arrive_as_they_were():
    python = libraries.environment("pandas").python
    done = subprocess.run([python, "-c", PROGRAM, str(GUEST)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["15", "15", "11"]


@pytest.mark.parametrize("library", ["numpy", "pandas"])
def test_nothing_of_the_warming_fails(library):
    parent = Zygote(libraries.environment(library), (library,))
    try:
        assert parent.info["cold"] == []
    finally:
        parent.close()
