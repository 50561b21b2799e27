"""What depends on the values of rows happens after payment, all else before: an error of a row costs."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpsel

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
USERS, FLOATS, MIXED = [1, 2, 3], [1.5, 2.0, 3.5], ["a", "b", 3.5]


def objects(values):
    return pd.Series(values, dtype=object)


#: Tables with one bad value each, in columns whose declared types are in order.
BAD_VALUES = {
    "pandas objects": lambda: pd.DataFrame({"user": USERS, "item": objects(MIXED)}),
    "pandas object users": lambda: pd.DataFrame({"user": objects([1, "x", 2]), "item": ["a"] * 3}),
    "pandas large users": lambda: pd.DataFrame({"user": objects([1, 2**70, 2]), "item": ["a"] * 3}),
    "pandas categories": lambda: pd.DataFrame({"user": USERS, "item": pd.Categorical(["a", 2, "b"])}),
    "pandas null": lambda: pd.DataFrame({"user": pd.array([1, None, 2], "Int64"), "item": ["a"] * 3}),
    "polars": lambda: pl.DataFrame({"user": [1, None, 2], "item": ["a"] * 3}),
    "polars lazy": lambda: pl.DataFrame({"user": [1, None, 2], "item": ["a"] * 3}).lazy(),
    "pyarrow": lambda: pa.table({"user": [1, None, 2], "item": ["a"] * 3}),
    "duckdb": lambda: duckdb.sql("select range as user, ('x' || range)::int as item from range(3)"),
    "columns": lambda: {"user": USERS, "item": MIXED},
    "arrays": lambda: {"user": np.array(USERS), "item": np.array(MIXED, dtype=object)},
    "records": lambda: [{"user": 1, "item": "a"}, {"user": 2, "item": 2.5}],
    "mixed records": lambda: [{"user": 1, "item": "a"}, 7],
}
#: Tables whose declared types are wrong.
BAD_TYPES = {
    "pandas": lambda: pd.DataFrame({"user": USERS, "item": FLOATS}),
    "pandas beside objects": lambda: pd.DataFrame({"user": objects(["a", 2, "b"]), "item": FLOATS}),
    "polars": lambda: pl.DataFrame({"user": USERS, "item": FLOATS}),
    "polars lazy": lambda: pl.DataFrame({"user": USERS, "item": FLOATS}).lazy(),
    "pyarrow": lambda: pa.table({"user": USERS, "item": FLOATS}),
    "batch": lambda: pa.record_batch({"user": USERS, "item": FLOATS}),
    "duckdb": lambda: duckdb.sql("select 1 as user, 1.5::double as item"),
    "arrays": lambda: {"user": np.array(USERS), "item": np.array(FLOATS)},
}
CALLS = {
    "select": lambda data, privacy, **names: dpsel.select_partitions(
        data, privacy=privacy, max_items_per_user=2, **names
    ),
    "top-k": lambda data, privacy, **names: dpsel.select_top_k(data, privacy=privacy, k=1, **names),
    "tokens": lambda data, privacy, **names: dpsel.select_partitions(
        data, privacy=privacy, max_items_per_user=2, tokenizer=str.split, **names
    ),
}


@pytest.fixture
def ledger(tmp_path):
    return dpsel.Ledger(tmp_path / "spent.jsonl", dpsel.ApproxDP(epsilon=10.0, delta=0.1))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("table", BAD_VALUES)
def test_a_bad_value_is_found_after_payment(call, table, ledger):
    with pytest.raises(dpsel.exceptions.DpselError):
        CALLS[call](BAD_VALUES[table](), ledger.on_use(PRIVACY, "call"), user="user", item="item")
    assert len(ledger.spent) == 1


@pytest.mark.parametrize("call", ["select", "top-k"])
@pytest.mark.parametrize("table", BAD_TYPES)
def test_a_wrong_type_costs_nothing(call, table, ledger):
    with pytest.raises(dpsel.exceptions.SchemaError, match="which is not supported"):
        CALLS[call](BAD_TYPES[table](), ledger.on_use(PRIVACY, "call"), user="user", item="item")
    assert ledger.spent == ()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("table", [name for name in BAD_VALUES if name not in {"records", "mixed records"}])
def test_a_wrong_name_costs_nothing(call, table, ledger):
    with pytest.raises(dpsel.exceptions.SchemaError, match="absent"):
        CALLS[call](BAD_VALUES[table](), ledger.on_use(PRIVACY, "call"), user="user", item="absent")
    assert ledger.spent == ()
