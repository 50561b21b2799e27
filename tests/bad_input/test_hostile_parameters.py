"""Values of other libraries, and wrong ones, as parameters: an answer or an error of ours, no foreign one."""

from __future__ import annotations

import inspect
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dpsel
from dpsel.exceptions import DpselError

ROWS = [(user, drink) for user in range(60) for drink in ("tea", "ale")]
APPROX = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
PURE = dpsel.PureDP(epsilon=1.0)


class Raising:
    """A value whose every conversion raises an exception of its own."""

    def __float__(self):
        raise RuntimeError("foreign")

    __index__ = __int__ = __bool__ = __iter__ = __len__ = __fspath__ = __float__


#: Values by name. What is quoted in an error must not bring the text of a foreign exception either.
VALUES = {
    "zero-dimensional": np.array(0.5),
    "one number in an array": np.array([1]),
    "array": np.array([1, 2, 3]),
    "array of floats": np.array([0.5, 0.7]),
    "empty array": np.array([]),
    "numpy integer": np.int64(2),
    "numpy float": np.float32(0.5),
    "numpy nan": np.float64("nan"),
    "numpy bool": np.True_,
    "numpy text": np.str_("two"),
    "numpy complex": np.complex128(1),
    "numpy time": np.timedelta64(1, "s"),
    "complex": 1j,
    "signalling nan": Decimal("sNaN"),
    "nan": float("nan"),
    "infinity": Decimal("Infinity"),
    "huge": Decimal("1e400"),
    "huge integer": 10**400,
    "fraction": Fraction(1, 3),
    "decimal": Decimal("0.5"),
    "negative": -1,
    "zero": 0,
    "text": "1",
    "bytes": b"1",
    "list": [1],
    "list of lists": [[1]],
    "list of nothing": [None],
    "empty list": [],
    "mapping": {"epsilon": 1},
    "set": {1.5},
    "pandas": pd.Series([1, 2]),
    "missing": pd.NA,
    "polars": pl.Series([1, 2]),
    "frame": pl.DataFrame({"a": [1]}),
    "class": int,
    "function": len,
    "raising": Raising(),
    "raising in a list": [Raising()],
    "object": object(),
    "surrogate": "\ud800",
}

TABLE = {"data": ROWS, "privacy": APPROX, "max_items_per_user": 2}
TOP_K = {"k": 1, "privacy": PURE}
#: A call that works, of every public function and class that takes parameters.
CALLS = {
    "select_partitions": TABLE,
    "select_top_k": TOP_K | {"data": ROWS, "domain": ["tea", "ale"]},
    "top_k_from_counts": TOP_K | {"counts": [9, 4]},
    "plan": {"privacy": APPROX, "max_items_per_user": 2},
    "plan_size": {"rows": 1000},
    "plan_top_k": {"k": 1, "privacy": PURE, "items": 50},
    "compare": TABLE | {"public_data": True, "mechanisms": dpsel.WeightedGaussian()},
    "domains": {"data": pl.DataFrame({"a": [1] * 9}), "columns": ["a"], "privacy": APPROX},
    "ApproxDP": {"epsilon": 1.0, "delta": 1e-6},
    "PureDP": {"epsilon": 1.0},
    "ZCDP": {"rho": 0.1, "delta": 1e-6},
    "Cost": {"items": APPROX},
    "Counts": {"share": 0.2},
    "Csv": {},
    "Rest": {"share": 0.2},
    "Quantile": {"quantile": 0.5},
    "Budget": {"total": APPROX},
    "for_group": {"privacy": APPROX, "users_per_group": 2},
}
CALLS |= {cls.__name__: {} for cls in dpsel.selection_mechanisms().values()}
CALLS |= {cls.__name__: {} for cls in dpsel.top_k_mechanisms().values()}
#: What runs the caller's code, or is data; other tests are about these.
LEFT_OUT = {"data", "tokenizer", "progress", "user", "item", "counts_of_items"}


def cases():
    for name, arguments in CALLS.items():
        for parameter in inspect.signature(getattr(dpsel, name)).parameters.values():
            if parameter.name not in LEFT_OUT and parameter.kind is not parameter.VAR_KEYWORD:
                yield pytest.param(name, arguments, parameter.name, id=f"{name}-{parameter.name}")


@pytest.mark.filterwarnings("ignore::dpsel.WeakGuaranteeWarning")
@pytest.mark.parametrize(("name", "arguments", "parameter"), list(cases()))
def test_a_hostile_value_ends_with_an_answer_or_an_error_of_ours(name, arguments, parameter):
    foreign = {}
    for kind, value in VALUES.items():
        try:
            getattr(dpsel, name)(**(arguments | {parameter: value}))
        except DpselError as error:
            if "foreign" in str(error):
                foreign[kind] = error
        except Exception as error:  # noqa: BLE001 - whatever is not ours
            foreign[kind] = error
    assert foreign == {}


SERIES = {
    "folder": "series",
    "key": bytes(32),
    "privacy": APPROX,
    "releases": 3,
    "max_items_per_user": 2,
    "user": "user",
    "item": "item",
    "prompt": False,
}
SERIES_CALLS = {
    "create": (lambda _: dpsel.Series.create, SERIES),
    "open": (lambda _: dpsel.Series.open, {"folder": "series", "key": bytes(32), "ledger": None}),
    "release": (
        lambda series: series.release,
        {"data": ROWS, "name": "week", "threads": None, "memory_limit": None, "file_format": None},
    ),
    "forget": (lambda series: series.forget, {"user": 7}),
    "close": (lambda series: series.close, {"forever": False}),
}


NUMBERS = {name: value for name, value in SERIES.items() if name != "prompt"} | {
    "max_releases_per_item": 1,
    "window": 2,
    "unit": "user",
}
NUMBERS_CALLS = {
    "create": (lambda _: dpsel.CountSeries.create, NUMBERS),
    "release": (
        lambda series: series.release,
        {"data": ROWS, "name": "week", "items": ["a"], "threads": None, "memory_limit": None},
    ),
}


@pytest.mark.filterwarnings("ignore::dpsel.WeakGuaranteeWarning")
@pytest.mark.parametrize(
    ("call", "parameter"),
    [(call, name) for call, (_, given) in NUMBERS_CALLS.items() for name in given if name != "data"],
)
def test_a_hostile_value_for_numbers_is_an_answer_or_an_error_of_ours(call, parameter, tmp_path, monkeypatch):
    method, given = NUMBERS_CALLS[call]
    assert foreign_errors(method, given, parameter, tmp_path, monkeypatch, (dpsel.CountSeries, NUMBERS)) == {}


@pytest.mark.filterwarnings("ignore::dpsel.WeakGuaranteeWarning")
@pytest.mark.parametrize(
    ("call", "parameter"),
    [(call, name) for call, (_, given) in SERIES_CALLS.items() for name in given if name != "data"],
)
def test_a_hostile_value_for_a_series_is_an_answer_or_an_error_of_ours(
    call, parameter, tmp_path, monkeypatch
):
    method, given = SERIES_CALLS[call]
    assert foreign_errors(method, given, parameter, tmp_path, monkeypatch, (dpsel.Series, SERIES)) == {}


def foreign_errors(method, given, parameter, folder, monkeypatch, made):
    """The errors that are not ours, of a call with each hostile value of a parameter."""
    foreign = {}
    kind_of_series, asked = made
    for number, (kind, value) in enumerate(VALUES.items()):
        (folder / str(number)).mkdir()
        monkeypatch.chdir(folder / str(number))
        series = None if given is asked else kind_of_series.create(**asked)
        try:
            method(series)(**(given | {parameter: value}))
        except DpselError as error:
            if "foreign" in str(error):
                foreign[kind] = error
        except Exception as error:  # noqa: BLE001 - whatever is not ours
            foreign[kind] = error
    return foreign


def test_every_public_function_with_parameters_is_called():
    tried = set(CALLS) | {"audit", "audit_callable", "check", "explain", "Ledger", "Series", "CountSeries"}
    callables = {name for name in dpsel.__all__ if callable(getattr(dpsel, name))}
    made = {
        "AuditReport",
        "Comparison",
        "Domains",
        "Plan",
        "Release",
        "Report",
        "SizePlan",
        "TopKPlan",
        "TopKRelease",
    }
    other = {"DpselError", "WeakGuaranteeWarning", "Mechanism", "SelectionMechanism", "TopKMechanism"}
    assert callables - tried - made - other == {"selection_mechanisms", "top_k_mechanisms"}
