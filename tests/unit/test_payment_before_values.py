"""What depends on the values of rows happens after payment, all else before: an error of a row costs."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import dpsel
from dpsel.exceptions import SchemaError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
USERS, FLOATS, MIXED = [1, 2, 3], [1.5, 2.0, 3.5], ["a", "b", 3.5]


def objects(values):
    return pd.Series(values, dtype=object)


def categories(values):
    return pd.Categorical.from_codes([0, 1, 0], categories=values)


def opened_late(make):
    """A table of somebody's own, whose query runs when it is opened."""

    class Table:
        def __arrow_c_stream__(self, requested_schema=None):
            return make().__arrow_c_stream__(requested_schema)

    return Table()


def fails():
    raise ValueError("a row")


QUERY = "select ('x' || range)::int as user, 'a' as item from range(3)"
#: Half of a surrogate pair, which no UTF-8 holds.
HALF = ["a", "\ud800", "b"]
PYTHON_TEXTS = {"dtype": pd.StringDtype("python")}
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
    "pandas texts": lambda: pd.DataFrame({"user": USERS, "item": pd.array(HALF, **PYTHON_TEXTS)}),
    "pandas texts beside objects": lambda: pd.DataFrame(
        {"user": objects(USERS), "item": pd.array(HALF, **PYTHON_TEXTS)}
    ),
    "pandas categories of texts": lambda: pd.DataFrame(
        {"user": USERS, "item": categories(pd.array(HALF[:2], **PYTHON_TEXTS))}
    ),
    "duckdb": lambda: duckdb.sql(QUERY),
    "opened late": lambda: opened_late(lambda: duckdb.sql(QUERY)),
    "fails when opened": lambda: opened_late(fails),
    "array of texts": lambda: {"user": np.array(USERS), "item": np.array(HALF)},
    "fields of an array": lambda: np.array(
        list(zip(USERS, HALF, strict=True)), dtype=[("user", "i8"), ("item", "U4")]
    ),
    "times beyond": lambda: {"user": np.array([1, 2, 2**40], "M8[D]"), "item": np.array(["a"] * 3)},
    "lengths": lambda: {"user": USERS, "item": ["a"]},
    "lengths of arrays": lambda: {"user": np.array(USERS), "item": np.array(["a"])},
    "indexes": lambda: {
        "user": pd.Series(USERS, index=[2, 1, 0]),
        "item": pd.Series(["a"] * 3, dtype=pd.StringDtype()),
    },
    "indexes of objects": lambda: {"user": pd.Series(USERS), "item": objects(["a"] * 3)[::-1]},
    "records without the field": lambda: [{"user": 1}, {"user": 2}],
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
    "untyped arrays": lambda: {"user": np.array(USERS), "item": np.zeros(3, "V8")},
    "pandas sparse": lambda: pd.DataFrame({"user": USERS, "item": pd.arrays.SparseArray(USERS)}),
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


#: Sources whose names and types only their rows show.
UNDECLARED = {"records", "mixed records", "records without the field", "fails when opened", "opened late"}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("table", BAD_VALUES)
def test_a_bad_value_is_found_after_payment(call, table, ledger):
    with pytest.raises(dpsel.exceptions.DpselError):
        CALLS[call](BAD_VALUES[table](), ledger.on_use(PRIVACY, "call"), user="user", item="item")
    assert len(ledger.spent) == 1


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("table", BAD_TYPES)
def test_a_wrong_type_costs_nothing(call, table, ledger):
    words = "column 'item' (of .* which is not supported|has (a )?type |holds floating)"
    with pytest.raises(SchemaError, match=words):
        CALLS[call](BAD_TYPES[table](), ledger.on_use(PRIVACY, "call"), user="user", item="item")
    assert ledger.spent == ()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("table", sorted(BAD_VALUES.keys() - UNDECLARED))
def test_a_wrong_name_costs_nothing(call, table, ledger):
    with pytest.raises(dpsel.exceptions.SchemaError, match="absent"):
        CALLS[call](BAD_VALUES[table](), ledger.on_use(PRIVACY, "call"), user="user", item="absent")
    assert ledger.spent == ()


def test_a_field_may_be_missing_in_any_record():
    rows = [{"user": user} | ({"item": "a"} if user else {}) for user in range(500)]
    for data in (rows, rows[::-1]):
        assert CALLS["select"](data, PRIVACY, user="user", item="item").items == ["a"]
    for name, problem in (("user", "the row at position 0 has no field"), ("item", "no row has a field")):
        with pytest.raises(SchemaError, match=f"^{problem} named 'absent'; name the fields of the rows with"):
            CALLS["select"](
                [{"user": 1, "item": 1}], PRIVACY, **({"user": "user", "item": "item"} | {name: "absent"})
            )


#: Tables of integers, of every kind that declares its types.
DECLARED = {
    "pandas": lambda _: pd.DataFrame({"user": USERS, "item": USERS}),
    "polars": lambda _: pl.DataFrame({"user": USERS, "item": USERS}),
    "polars lazy": lambda _: pl.DataFrame({"user": USERS, "item": USERS}).lazy(),
    "pyarrow": lambda _: pa.table({"user": USERS, "item": USERS}),
    "reader": lambda _: pa.table({"user": USERS, "item": USERS}).to_reader(),
    "stream": lambda _: opened_late(lambda: pa.table({"user": USERS, "item": USERS})),
    "duckdb": lambda _: duckdb.sql("select range as user, range as item from range(3)"),
    "arrays": lambda _: {"user": np.array(USERS), "item": np.array(USERS)},
    "parquet": lambda folder: written(folder / "rows.parquet"),
    "parquet files": lambda folder: [written(folder / "a.parquet"), written(folder / "b.parquet")],
    "ipc": lambda folder: written(folder / "rows.arrow"),
}


def written(path):
    table = pa.table({"user": USERS, "item": USERS})
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    else:
        pa.feather.write_feather(table, path)
    return path


WRONG_LISTS = {
    "exclude": lambda data, privacy, **names: dpsel.select_partitions(
        data, privacy=privacy, max_items_per_user=2, exclude=["tea"], **names
    ),
    "public_items": lambda data, privacy, **names: dpsel.select_partitions(
        data, privacy=privacy, max_items_per_user=2, public_items=["tea"], **names
    ),
    "prior": lambda data, privacy, **names: dpsel.select_partitions(
        data,
        privacy=privacy,
        max_items_per_user=2,
        mechanism=dpsel.GreedyFrequency(prior={"tea": 1}),
        **names,
    ),
    "domain": lambda data, privacy, **names: dpsel.select_top_k(
        data, privacy=privacy, k=1, domain=["tea"], **names
    ),
}


@pytest.mark.parametrize("name", WRONG_LISTS)
@pytest.mark.parametrize("table", DECLARED)
def test_a_list_of_another_type_costs_nothing(table, name, ledger, tmp_path):
    with pytest.raises(SchemaError, match=f"^{name}= has "):
        WRONG_LISTS[name](DECLARED[table](tmp_path), ledger.on_use(PRIVACY, "x"), user="user", item="item")
    assert ledger.spent == ()


@pytest.mark.parametrize("name", WRONG_LISTS)
def test_a_list_beside_objects_is_compared_with_their_values(name, ledger):
    data = pd.DataFrame({"user": USERS, "item": objects(USERS)})
    with pytest.raises(SchemaError, match=f"^{name}= has "):
        WRONG_LISTS[name](data, ledger.on_use(PRIVACY, "x"), user="user", item="item")
    assert len(ledger.spent) == 1
