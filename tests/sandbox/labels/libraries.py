"""Failures of installed libraries: (task, expected, why, code). Environments are built, so these rows need the index."""

from functools import lru_cache

from novelapi.records.task import Task

RELEASES = {
    "numpy": "2.4.4", "pandas": "3.0.2", "scipy": "1.17.1", "pydantic": "2.13.3", "sqlalchemy": "2.0.49",
    "django": "5.2.13", "flask": "3.1.3", "fastapi": "0.136.1", "httpx": "0.28.1", "polars": "2.1.0",
    "networkx": "3.7", "sympy": "1.14.0", "attrs": "26.1.0", "astropy": "7.2.0",
}  # fmt: skip


def task(library, name, api, signature, body, inputs, *, context="", calls=None, **more):
    return Task(
        task_id=f"{library}/{name}", library=library, release=RELEASES[library], api=api, description="see the reference",
        context_code=context, entry_point="solve", signature=signature,
        reference_solution=f"{signature}\n    {body}\n", inputs=[{"args": list(args)} for args in inputs],
        calls=calls or {"api": api}, **more,
    )  # fmt: skip


@lru_cache
def environment(library):
    from novelapi.commands.scoring import environment_of

    return environment_of(library, RELEASES[library])


# numpy: functions behind dispatchers, ufuncs, methods of C types
ALONG = task(
    "numpy", "apply_along_axis", "numpy.apply_along_axis", "def solve(x):",
    "return np.apply_along_axis(lambda r: r.max() - r.min(), 1, x).tolist()",
    [["np.arange(6.).reshape(2, 3)"], ["np.array([[5., 1.]])"]], context="import numpy as np\n",
)  # fmt: skip

NP = "import numpy as np\n"
UNSTACK = task(
    "numpy",
    "unstack",
    "numpy.unstack",
    "def solve(x):",
    "return [a.tolist() for a in np.unstack(x, axis=1)]",
    [["np.arange(6).reshape(2, 3)"], ["np.eye(2)"]],
    context=NP,
    calls={"api": "numpy.unstack", "required": {"axis": "1"}},
)
VECDOT = task(
    "numpy",
    "vecdot",
    "numpy.vecdot",
    "def solve(a, b):",
    "return np.vecdot(a, b)",
    [["np.arange(6.).reshape(2, 3)", "np.ones((2, 3))"], ["np.arange(3)", "np.arange(3)"]],
    context=NP,
)
UNIQUE = task(
    "numpy",
    "unique_counts",
    "numpy.unique_counts",
    "def solve(x):",
    "r = np.unique_counts(x)\n    return [r.values.tolist(), r.counts.tolist()]",
    [["np.array([1, 1, 3])"], ["np.array([2, 5, 2, 2])"]],
    context=NP,
)
ASTYPE = task(
    "numpy",
    "astype",
    "numpy.ndarray.astype",
    "def solve(x):",
    "return x.astype('int32')",
    [["np.array([1.5, 2.5])"], ["np.array([True, False])"]],
    context=NP,
)
MULTIPLY = task(
    "numpy",
    "multiply",
    "numpy.strings.multiply",
    "def solve(a, i):",
    "return np.strings.multiply(a, i)",
    [["np.array(['a', 'b'])", "8"], ["np.array(['c', 'b', 'a'])", "3"]],
    context=NP,
)
TRAPEZOID = task(
    "numpy", "trapezoid", "numpy.trapezoid", "def solve(y, dx):", "return float(np.trapezoid(y, dx=dx))",
    [["np.array([1., 2., 4.])", "0.5"], ["np.array([0., 3.])", "2.0"]], context=NP,
)  # fmt: skip
NUMPY = [
    (TRAPEZOID, "WrongImport", "a module that moved, refused by the library's own __getattr__", "def solve(y, dx):\n    return float(np.lib.function_base.trapezoid(y, dx=dx))"),
    (MULTIPLY, "WrongAPISelection", "a wrapper of the library that is imported late, under another name", "from numpy.core.defchararray import multiply\n\ndef solve(a, i):\n    return multiply(a, i)"),
    (ALONG, "WrongParam", "function and array exchanged", "def solve(x):\n    return np.apply_along_axis(x, 1, lambda r: r.max() - r.min()).tolist()"),
    (UNSTACK, "pass", "negative axis of the same meaning is refused as a required value, so positive", "def solve(x):\n    return [a.tolist() for a in np.unstack(x, axis=1)]"),
    (UNSTACK, "WrongParam", "axis out of range", "def solve(x):\n    return [a.tolist() for a in np.unstack(x, axis=5)]"),
    (UNSTACK, "WrongParam", "keyword-only by position", "def solve(x):\n    return [a.tolist() for a in np.unstack(x, 1)]"),
    (UNSTACK, "WrongParam", "misspelt keyword", "def solve(x):\n    return [a.tolist() for a in np.unstack(x, dim=1)]"),
    (UNSTACK, "WrongParam", "axis is a text", "def solve(x):\n    return [a.tolist() for a in np.unstack(x, axis='1')]"),
    (UNSTACK, "WrongShapeDtype", "rank 0", "def solve(x):\n    return [a.tolist() for a in np.unstack(x.sum(), axis=1)]"),
    (UNSTACK, "WrongShapeDtype", "rank 1", "def solve(x):\n    return [a.tolist() for a in np.unstack(x.ravel(), axis=1)]"),
    (UNSTACK, "WrongLogic", "default axis", "def solve(x):\n    return [a.tolist() for a in np.unstack(x)]"),
    (UNSTACK, "WrongImport", "leaf of another module", "def solve(x):\n    return [a.tolist() for a in np.lib.unstack(x, axis=1)]"),
    (UNSTACK, "WrongImport", "from a path that never was", "from numpy.shape_base import unstack\ndef solve(x):\n    return [a.tolist() for a in unstack(x, axis=1)]"),
    (UNSTACK, "WrongAPISelection", "a method that arrays do not have", "def solve(x):\n    return [a.tolist() for a in x.unstack(axis=1)]"),
    (UNSTACK, "WrongAPISelection", "split and squeeze", "def solve(x):\n    return [a.squeeze(1).tolist() for a in np.split(x, x.shape[1], axis=1)]"),
    (UNSTACK, "WrongAPISelection", "another misspelt name", "def solve(x):\n    return [a.tolist() for a in np.unstak(x, axis=1)]"),
    (UNSTACK, "WrongLogic", "result used wrongly", "def solve(x):\n    return np.unstack(x, axis=1).tolist()"),
    (VECDOT, "pass", "from import", "from numpy import vecdot\ndef solve(a, b):\n    return vecdot(a, b)"),
    (VECDOT, "WrongShapeDtype", "lengths differ", "def solve(a, b):\n    return np.vecdot(a, b[..., :2])"),
    (VECDOT, "WrongShapeDtype", "texts", "def solve(a, b):\n    return np.vecdot(a.astype(str), b)"),
    (VECDOT, "WrongParam", "one argument", "def solve(a, b):\n    return np.vecdot(a)"),
    (VECDOT, "WrongParam", "no such keyword", "def solve(a, b):\n    return np.vecdot(a, b, dim=-1)"),
    (VECDOT, "WrongParam", "axis out of range", "def solve(a, b):\n    return np.vecdot(a, b, axis=7)"),
    (VECDOT, "WrongAPISelection", "sum of products", "def solve(a, b):\n    return (a * b).sum(-1)"),
    (UNIQUE, "WrongLogic", "a field that the result does not have", "def solve(x):\n    r = np.unique_counts(x)\n    return [r.values.tolist(), r.count.tolist()]"),
    (UNIQUE, "WrongParam", "keywords of its elder sister", "def solve(x):\n    r = np.unique_counts(x, return_counts=True)\n    return [r.values.tolist(), r.counts.tolist()]"),
    (UNIQUE, "WrongAPISelection", "the elder sister", "def solve(x):\n    a, b = np.unique(x, return_counts=True)\n    return [a.tolist(), b.tolist()]"),
    (ASTYPE, "pass", "as a function of the class", "def solve(x):\n    return np.ndarray.astype(x, np.int32)"),
    (ASTYPE, "WrongParam", "no such dtype", "def solve(x):\n    return x.astype('int33')"),
    (ASTYPE, "WrongParam", "missing", "def solve(x):\n    return x.astype()"),
    (ASTYPE, "WrongAPISelection", "leaf on a list", "def solve(x):\n    return x.tolist().astype('int32')"),
    (ASTYPE, "WrongAPISelection", "array again", "def solve(x):\n    return np.array(x, dtype='int32')"),
]  # fmt: skip

PD = "import pandas as pd\n"
FRAME = "pd.DataFrame({'a': [2, 1, 1], 'b': [1.0, 5.0, 3.0]})"
SORT = task(
    "pandas",
    "sort_values",
    "pandas.DataFrame.sort_values",
    "def solve(df, name):",
    "return df.sort_values(by=name, kind='stable')['b'].tolist()",
    [[FRAME, "'a'"], [FRAME, "'b'"]],
    context=PD,
)
PREFIX = task(
    "pandas",
    "removeprefix",
    "pandas.Series.str.removeprefix",
    "def solve(s):",
    "return s.str.removeprefix('x_').tolist()",
    [["pd.Series(['x_1', 'y'])"], ["pd.Series(['x_x_'])"]],
    context=PD,
)
MERGE = task(
    "pandas",
    "merge",
    "pandas.merge",
    "def solve(a, b):",
    "return pd.merge(a, b, on='a', how='left')",
    [[FRAME, "pd.DataFrame({'a': [1, 2], 'c': [7, 8]})"], [FRAME, "pd.DataFrame({'a': [5], 'c': [0]})"]],
    context=PD,
)
CASE_WHEN = task(
    "pandas",
    "case_when",
    "pandas.Series.case_when",
    "def solve(s):",
    "return s.case_when([(s > 1, 0)]).tolist()",
    [["pd.Series([1, 2, 3])"], ["pd.Series([0, 5])"]],
    context=PD,
)
PANDAS = [
    (SORT, "pass", "by position", "def solve(df, name):\n    return df.sort_values(name)['b'].tolist() if name == 'b' else df.sort_values(name, kind='stable')['b'].tolist()"),
    (SORT, "WrongParam", "no such column", "def solve(df, name):\n    return df.sort_values(by='zz')['b'].tolist()"),
    (SORT, "WrongParam", "no such column, computed from a parameter", "def solve(df, name):\n    return df.sort_values(by=name.upper())['b'].tolist()"),
    (SORT, "WrongParam", "no such position", "def solve(df, name):\n    return df.sort_values(by=name, na_position='middle')['b'].tolist()"),
    (SORT, "WrongParam", "misspelt keyword", "def solve(df, name):\n    return df.sort_values(column=name)['b'].tolist()"),
    (SORT, "WrongParam", "missing by", "def solve(df, name):\n    return df.sort_values()['b'].tolist()"),
    (SORT, "WrongAPISelection", "a name of an old release", "def solve(df, name):\n    return df.sort(name)['b'].tolist()"),
    (SORT, "WrongAPISelection", "sorted", "def solve(df, name):\n    return [row['b'] for row in sorted(df.to_dict('records'), key=lambda r: r[name])]"),
    (SORT, "WrongLogic", "a column that is not there, after the call", "def solve(df, name):\n    return df.sort_values(by=name)['z'].tolist()"),
    (PREFIX, "pass", "through a variable", "def solve(s):\n    text = s.str\n    return list(text.removeprefix('x_'))"),
    (PREFIX, "WrongShapeDtype", "accessor refuses integers", "def solve(s):\n    return s.str.len().str.removeprefix('x_').tolist()"),
    (PREFIX, "WrongAPISelection", "hand-rolled", "def solve(s):\n    return [t[2:] if t.startswith('x_') else t for t in s]"),
    (PREFIX, "WrongAPISelection", "method of str by itself", "def solve(s):\n    return [t.removeprefix('x_') for t in s]"),
    (PREFIX, "WrongAPISelection", "misspelt on the accessor", "def solve(s):\n    return s.str.remove_prefix('x_').tolist()"),
    (PREFIX, "WrongImport", "leaf on an ancestor of the path", "def solve(s):\n    return s.removeprefix('x_').tolist()"),
    (MERGE, "pass", "as a method", "def solve(a, b):\n    return a.pipe(pd.merge, b, on='a', how='left')"),
    (MERGE, "WrongParam", "no such key", "def solve(a, b):\n    return pd.merge(a, b, on='q', how='left')"),
    (MERGE, "WrongParam", "no such way", "def solve(a, b):\n    return pd.merge(a, b, on='a', how='leftish')"),
    (MERGE, "WrongShapeDtype", "a list", "def solve(a, b):\n    return pd.merge(a.values.tolist(), b, on='a', how='left')"),
    (MERGE, "WrongLogic", "inner", "def solve(a, b):\n    return pd.merge(a, b, on='a')"),
    (MERGE, "WrongAPISelection", "join", "def solve(a, b):\n    return a.join(b.set_index('a'), on='a')"),
    (CASE_WHEN, "WrongShapeDtype", "pairs that are no pairs", "def solve(s):\n    return s.case_when([(s > 1, 0, 1)]).tolist()"),
    (CASE_WHEN, "WrongShapeDtype", "no list", "def solve(s):\n    return s.case_when(s > 1).tolist()"),
    (CASE_WHEN, "WrongParam", "default keyword", "def solve(s):\n    return s.case_when([(s > 1, 0)], default=1).tolist()"),
]  # fmt: skip

SOLVE = task(
    "scipy",
    "solve",
    "scipy.linalg.solve",
    "def solve(a, b):",
    "return scipy.linalg.solve(a, b)",
    [["np.array([[2., 0], [0, 4]])", "np.array([2., 4])"], ["np.eye(2) * 3", "np.ones(2)"]],
    context=NP + "import scipy.linalg\n",
    tolerance={"rtol": 1e-9},
)
MINIMIZE = task(
    "scipy",
    "minimize_scalar",
    "scipy.optimize.minimize_scalar",
    "def solve(c):",
    "return round(float(scipy.optimize.minimize_scalar(lambda x: (x - c) ** 2, bounds=(-10, 10), method='bounded').x), 3)",
    [["2.0"], ["-1.5"]],
    context="import scipy.optimize\n",
)
SCIPY = [
    (SOLVE, "pass", "from import", "from scipy.linalg import solve as s\ndef solve(a, b):\n    return s(a, b)"),
    (SOLVE, "WrongShapeDtype", "not square", "def solve(a, b):\n    return scipy.linalg.solve(a[:1], b)"),
    (SOLVE, "WrongShapeDtype", "lengths differ", "def solve(a, b):\n    return scipy.linalg.solve(a, b[:1])"),
    (SOLVE, "WrongParam", "no such structure", "def solve(a, b):\n    return scipy.linalg.solve(a, b, assume_a='symmetrical')"),
    (SOLVE, "WrongParam", "no such keyword", "def solve(a, b):\n    return scipy.linalg.solve(a, b, symmetric=True)"),
    (SOLVE, "WrongAPISelection", "of numpy", "def solve(a, b):\n    return np.linalg.solve(a, b)"),
    (SOLVE, "WrongImport", "from the wrong module", "from scipy.optimize import solve as s\ndef solve(a, b):\n    return s(a, b)"),
    (MINIMIZE, "WrongParam", "no such method", "def solve(c):\n    return round(float(scipy.optimize.minimize_scalar(lambda x: (x - c) ** 2, method='newton-raphson').x), 3)"),
    (MINIMIZE, "WrongParam", "method without its bounds", "def solve(c):\n    return round(float(scipy.optimize.minimize_scalar(lambda x: (x - c) ** 2, method='bounded').x), 3)"),
    (MINIMIZE, "WrongLogic", "function that fails", "def solve(c):\n    return round(float(scipy.optimize.minimize_scalar(lambda x: x.foo - c, bounds=(-10, 10), method='bounded').x), 3)"),
    (MINIMIZE, "WrongLogic", "function of two arguments", "def solve(c):\n    return round(float(scipy.optimize.minimize_scalar(lambda x, y: (x - c) ** 2, bounds=(-10, 10), method='bounded').x), 3)"),
    (MINIMIZE, "WrongLogic", "function that returns a text", "def solve(c):\n    return round(float(scipy.optimize.minimize_scalar(lambda x: 'low', bounds=(-10, 10), method='bounded').x), 3)"),
    (MINIMIZE, "WrongAPISelection", "minimize", "def solve(c):\n    return round(float(scipy.optimize.minimize(lambda x: (x[0] - c) ** 2, [0.0]).x[0]), 3)"),
]  # fmt: skip

ADAPTER = task(
    "pydantic",
    "validate_python",
    "pydantic.TypeAdapter.validate_python",
    "def solve(data):",
    "return TypeAdapter(list[int]).validate_python(data)",
    [["['1', 2]"], ["(3,)"]],
    context="from pydantic import TypeAdapter, BaseModel\n",
)
VALIDATE = task(
    "pydantic",
    "model_validate",
    "pydantic.BaseModel.model_validate",
    "def solve(data):",
    "class P(BaseModel):\n        x: int\n        y: str = 'n'\n    return P.model_validate(data).model_dump()",
    [["{'x': '3'}"], ["{'x': 1, 'y': 'q'}"]],
    context="from pydantic import BaseModel\n",
)
FIELD_VALIDATOR = task(
    "pydantic", "field_validator", "pydantic.field_validator", "def solve(x):",
    "class M(BaseModel):\n        a: int\n        @field_validator('a')\n        @classmethod\n        def twice(cls, v):\n            return v * 2\n    return M(a=x).a",
    [["2"], ["'3'"]], context="from pydantic import BaseModel, field_validator\n",
)  # fmt: skip
PYDANTIC = [
    (FIELD_VALIDATOR, "WrongParam", "a decorator without its arguments", "def solve(x):\n    class M(BaseModel):\n        a: int\n        @field_validator\n        def twice(cls, v):\n            return v * 2\n    return M(a=x).a"),
    (ADAPTER, "pass", "variable", "def solve(data):\n    t = TypeAdapter(list[int])\n    return t.validate_python(data)"),
    (ADAPTER, "WrongShapeDtype", "data of another schema", "def solve(data):\n    return TypeAdapter(list[int]).validate_python({'a': data})"),
    (ADAPTER, "WrongParam", "no such keyword", "def solve(data):\n    return TypeAdapter(list[int]).validate_python(data, lax=True)"),
    (ADAPTER, "WrongAPISelection", "a comprehension", "def solve(data):\n    return [int(x) for x in data]"),
    (ADAPTER, "WrongAPISelection", "a method of the old release", "def solve(data):\n    return TypeAdapter(list[int]).parse_obj(data)"),
    (VALIDATE, "pass", "reference", VALIDATE.reference_solution),
    (VALIDATE, "WrongShapeDtype", "a list", "def solve(data):\n    class P(BaseModel):\n        x: int\n        y: str = 'n'\n    return P.model_validate([data]).model_dump()"),
    (VALIDATE, "WrongParam", "no such keyword", "def solve(data):\n    class P(BaseModel):\n        x: int\n        y: str = 'n'\n    return P.model_validate(data, mode='lax').model_dump()"),
    (VALIDATE, "WrongAPISelection", "the constructor", "def solve(data):\n    class P(BaseModel):\n        x: int\n        y: str = 'n'\n    return P(**data).model_dump()"),
]  # fmt: skip

SELECT = task(
    "sqlalchemy",
    "select",
    "sqlalchemy.select",
    "def solve(names):",
    "t = table('t', *[column(n) for n in names])\n    return str(select(t.c[names[0]]).limit(None))",
    [["['a', 'b']"], ["['x']"]],
    context="from sqlalchemy import select, table, column\n",
)
CASE = task(
    "sqlalchemy", "case", "sqlalchemy.case", "def solve(n):",
    "c = sa.column(n)\n    return str(sa.select(sa.case((c > 5, 'hi'), else_='lo')))", [["'a'"], ["'b'"]],
    context="import sqlalchemy as sa\n",
)  # fmt: skip
SQLALCHEMY = [
    (CASE, "WrongShapeDtype", "a list of pairs for pairs", "def solve(n):\n    c = sa.column(n)\n    return str(sa.select(sa.case([(c > 5, 'hi')], else_='lo')))"),
    (SELECT, "pass", "reference", SELECT.reference_solution),
    (SELECT, "WrongParam", "keyword of an old release", "def solve(names):\n    t = table('t', *[column(n) for n in names])\n    return str(select(columns=[t.c[names[0]]]))"),
    (SELECT, "WrongShapeDtype", "a list, as in an old release", "def solve(names):\n    t = table('t', *[column(n) for n in names])\n    return str(select([t.c[n] for n in names]))"),
    (SELECT, "WrongAPISelection", "text", "from sqlalchemy import text\ndef solve(names):\n    return str(text('SELECT t.' + names[0] + ' \\nFROM t'))"),
    (SELECT, "WrongImport", "from a module without it", "from sqlalchemy.engine import select\ndef solve(names):\n    return str(select(1))"),
    (SELECT, "WrongLogic", "another column", "def solve(names):\n    t = table('t', *[column(n) for n in names])\n    return str(select(t.c[names[-1]], t.c[names[0]]))"),
]  # fmt: skip

SLUG = task(
    "django",
    "slugify",
    "django.utils.text.slugify",
    "def solve(text):",
    "return slugify(text, allow_unicode=True)",
    [["'Héllo World'"], ["'a  b'"]],
    context="from django.utils.text import slugify\n",
)
DJANGO = [
    (SLUG, "pass", "by module", "from django.utils import text as t\ndef solve(text):\n    return t.slugify(text, allow_unicode=True)"),
    (SLUG, "WrongParam", "no such keyword", "def solve(text):\n    return slugify(text, unicode=True)"),
    (SLUG, "WrongImport", "from a wrong module", "from django.template.text import slugify\ndef solve(text):\n    return slugify(text)"),
    (SLUG, "WrongImport", "leaf of a neighbour", "from django.utils.html import slugify\ndef solve(text):\n    return slugify(text, allow_unicode=True)"),
    (SLUG, "WrongLogic", "default", "def solve(text):\n    return slugify(text)"),
    (SLUG, "WrongAPISelection", "by hand", "def solve(text):\n    return '-'.join(text.lower().split())"),
]  # fmt: skip

SAFE = task(
    "flask",
    "dumps",
    "flask.json.dumps",
    "def solve(value):",
    "return flask.json.dumps(value, sort_keys=True)",
    [["{'b': 1, 'a': 2}"], ["[1]"]],
    context="import flask\nimport flask.json\n",
)
FLASK = [
    (SAFE, "pass", "from import", "from flask.json import dumps\ndef solve(value):\n    return dumps(value, sort_keys=True)"),
    (SAFE, "WrongParam", "no such keyword", "def solve(value):\n    return flask.json.dumps(value, sort=True)"),
    (SAFE, "WrongShapeDtype", "an object that cannot be written", "def solve(value):\n    return flask.json.dumps({'a': {1, 2}, 'v': set(value)}, sort_keys=True)"),
    (SAFE, "WrongAPISelection", "json", "import json\ndef solve(value):\n    return json.dumps(value, sort_keys=True)"),
    (SAFE, "WrongImport", "leaf of the package", "def solve(value):\n    return flask.dumps(value, sort_keys=True)"),
]  # fmt: skip

ENCODE = task(
    "fastapi",
    "jsonable_encoder",
    "fastapi.encoders.jsonable_encoder",
    "def solve(value):",
    "return jsonable_encoder(value, exclude_none=True)",
    [["{'a': None, 'b': {1}}"], ["{'c': (1, 2)}"]],
    context="from fastapi.encoders import jsonable_encoder\n",
)
FASTAPI = [
    (ENCODE, "pass", "keyword", "def solve(value):\n    return jsonable_encoder(obj=value, exclude_none=True)"),
    (ENCODE, "WrongParam", "no such keyword", "def solve(value):\n    return jsonable_encoder(value, skip_none=True)"),
    (ENCODE, "WrongImport", "leaf of the package", "from fastapi import jsonable_encoder\ndef solve(value):\n    return jsonable_encoder(value, exclude_none=True)"),
    (ENCODE, "WrongAPISelection", "by hand", "def solve(value):\n    return {k: list(v) for k, v in value.items() if v is not None}"),
    (ENCODE, "WrongLogic", "default", "def solve(value):\n    return jsonable_encoder(value)"),
]  # fmt: skip

URL = task(
    "httpx",
    "copy_with",
    "httpx.URL.copy_with",
    "def solve(url):",
    "return str(httpx.URL(url).copy_with(port=81))",
    [["'http://a.b/c'"], ["'http://x.y:80/'"]],
    context="import httpx\n",
)
HTTPX = [
    (URL, "pass", "variable", "def solve(url):\n    u = httpx.URL(url)\n    return str(u.copy_with(port=81))"),
    (URL, "WrongParam", "no such component", "def solve(url):\n    return str(httpx.URL(url).copy_with(porte=81))"),
    (URL, "WrongParam", "port is a text", "def solve(url):\n    return str(httpx.URL(url).copy_with(port='eighty'))"),
    (URL, "WrongAPISelection", "another method", "def solve(url):\n    return str(httpx.URL(url).with_port(81))"),
    (URL, "WrongAPISelection", "leaf on a text", "def solve(url):\n    return url.copy_with(port=81)"),
    (URL, "WrongLogic", "another port", "def solve(url):\n    return str(httpx.URL(url).copy_with(port=82))"),
]  # fmt: skip

PL = "import polars as pl\n"
UNPIVOT = task(
    "polars",
    "unpivot",
    "polars.DataFrame.unpivot",
    "def solve(df):",
    "return df.unpivot(on=['a', 'b'])",
    [["pl.DataFrame({'a': [1], 'b': [2]})"], ["pl.DataFrame({'a': [1, 5], 'b': [2, 6]})"]],
    context=PL,
)
CONCAT = task(
    "polars",
    "concat",
    "polars.concat",
    "def solve(a, b):",
    "return pl.concat([a, b], how='diagonal')",
    [
        ["pl.DataFrame({'a': [1]})", "pl.DataFrame({'b': [2]})"],
        ["pl.DataFrame({'a': [3]})", "pl.DataFrame({'a': [2]})"],
    ],
    context=PL,
)
POLARS = [
    (UNPIVOT, "pass", "reference", UNPIVOT.reference_solution),
    (UNPIVOT, "WrongParam", "no such column", "def solve(df):\n    return df.unpivot(on=['a', 'q'])"),
    (UNPIVOT, "WrongParam", "no such keyword", "def solve(df):\n    return df.unpivot(value_vars=['a', 'b'])"),
    (UNPIVOT, "WrongAPISelection", "a name of another library", "def solve(df):\n    return df.wide_to_long(['a', 'b'])"),
    (CONCAT, "WrongParam", "no such way", "def solve(a, b):\n    return pl.concat([a, b], how='outer')"),
    (CONCAT, "WrongShapeDtype", "lists", "def solve(a, b):\n    return pl.concat([a.to_dicts(), b.to_dicts()], how='diagonal')"),
    (CONCAT, "WrongShapeDtype", "nothing", "def solve(a, b):\n    return pl.concat([a, b][:0], how='diagonal')"),
    (CONCAT, "WrongAPISelection", "vstack", "def solve(a, b):\n    return a.vstack(a)"),
]  # fmt: skip

NX = "import networkx as nx\n"
PATH = task(
    "networkx",
    "shortest_path_length",
    "networkx.shortest_path_length",
    "def solve(edges, a, b):",
    "return nx.shortest_path_length(nx.Graph(edges), a, b)",
    [["[(1, 2), (2, 3)]", "1", "3"], ["[(1, 2)]", "1", "2"]],
    context=NX,
)
NETWORKX = [
    (PATH, "pass", "keywords", "def solve(edges, a, b):\n    g = nx.Graph()\n    g.add_edges_from(edges)\n    return nx.shortest_path_length(g, source=a, target=b)"),
    (PATH, "WrongParam", "no such method", "def solve(edges, a, b):\n    return nx.shortest_path_length(nx.Graph(edges), a, b, method='astar')"),
    (PATH, "WrongParam", "no such keyword", "def solve(edges, a, b):\n    return nx.shortest_path_length(nx.Graph(edges), start=a, end=b)"),
    (PATH, "WrongShapeDtype", "edges for a graph", "def solve(edges, a, b):\n    return nx.shortest_path_length(edges, a, b)"),
    (PATH, "WrongAPISelection", "the path", "def solve(edges, a, b):\n    return len(nx.shortest_path(nx.Graph(edges), a, b)) - 1"),
    (PATH, "WrongLogic", "directed", "def solve(edges, a, b):\n    return nx.shortest_path_length(nx.Graph(edges), a, b) + 1"),
]  # fmt: skip

SY = "import sympy\n"
FACTOR = task(
    "sympy",
    "factor",
    "sympy.factor",
    "def solve(text):",
    "return str(sympy.factor(sympy.sympify(text), deep=True))",
    [["'x**2 - 1'"], ["'x**2 + 2*x + 1'"]],
    context=SY,
)
SYMPY = [
    (FACTOR, "pass", "reference", FACTOR.reference_solution),
    (FACTOR, "WrongAPISelection", "expand", "def solve(text):\n    return str(sympy.expand(sympy.sympify(text)))"),
    (FACTOR, "WrongImport", "leaf of a module without it", "def solve(text):\n    return str(sympy.core.factor(sympy.sympify(text)))"),
    (FACTOR, "WrongLogic", "no text", "def solve(text):\n    return sympy.factor(sympy.sympify(text))"),
    (FACTOR, "WrongParam", "nothing", "def solve(text):\n    return str(sympy.factor())"),
]  # fmt: skip

EVOLVE = task(
    "attrs",
    "evolve",
    "attrs.evolve",
    "def solve(x):",
    "@attrs.frozen\n    class P:\n        a: int\n        b: int = 2\n    return attrs.astuple(attrs.evolve(P(x), b=5))",
    [["1"], ["7"]],
    context="import attrs\n",
)
ATTRS = [
    (EVOLVE, "pass", "reference", EVOLVE.reference_solution),
    (EVOLVE, "WrongParam", "no such field", "def solve(x):\n    @attrs.frozen\n    class P:\n        a: int\n        b: int = 2\n    return attrs.astuple(attrs.evolve(P(x), c=5))"),
    (EVOLVE, "WrongAPISelection", "replace", "import dataclasses\ndef solve(x):\n    return (x, 5)"),
    (EVOLVE, "WrongImport", "leaf of another module", "import dataclasses\ndef solve(x):\n    return dataclasses.evolve(x, b=5)"),
    (EVOLVE, "WrongShapeDtype", "no attrs class", "def solve(x):\n    return attrs.astuple(attrs.evolve((x, 2), b=5))"),
]  # fmt: skip

AP = "import astropy.units as u\n"
TO = task(
    "astropy",
    "to",
    "astropy.units.Quantity.to",
    "def solve(x):",
    "return float((x * u.km).to(u.m).value)",
    [["2.0"], ["0.5"]],
    context=AP,
)
ASTROPY = [
    (TO, "pass", "by text", "def solve(x):\n    return float((x * u.km).to('m').value)"),
    (TO, "WrongParam", "a unit of another kind", "def solve(x):\n    return float((x * u.km).to(u.s).value)"),
    (TO, "WrongParam", "no such unit", "def solve(x):\n    return float((x * u.km).to('foo').value)"),
    (TO, "WrongAPISelection", "to_value", "def solve(x):\n    return float((x * u.km).to_value(u.m))"),
    (TO, "WrongAPISelection", "leaf on a number", "def solve(x):\n    return float(x.to(u.m).value)"),
]  # fmt: skip

ROWS = (
    NUMPY
    + PANDAS
    + SCIPY
    + PYDANTIC
    + SQLALCHEMY
    + DJANGO
    + FLASK
    + FASTAPI
    + HTTPX
    + POLARS
    + NETWORKX
    + SYMPY
    + ATTRS
    + ASTROPY
)
