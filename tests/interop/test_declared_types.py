"""Categories, nulls and periods: the input's type comes back with the released items alone, or is refused."""

from __future__ import annotations

import io
import pickle
import re
import subprocess
import sys
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import dpsel
from dpsel.exceptions import DataError, SchemaError
from weak import WEAK

PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=1e-6)
PUBLIC = ["ale", "tea"]
SECRETS = [f"unreleased {number:03}" for number in range(60)]
#: The unreleased items come first, so that what numbers them has seen them before the others.
USERS = [*range(60), *(user for user in range(200, 500) for _ in PUBLIC)]
ITEMS = [*SECRETS, *(PUBLIC[::-1] * 300)]


def select(data, **arguments):
    given = {"user": "user", "item": "item", "privacy": PRIVACY, "max_items_per_user": 2}
    return dpsel.select_partitions(data, **(given | arguments))


def top_k(data, **arguments):
    given = {"user": "user", "item": "item", "k": 2, "privacy": dpsel.PureDP(epsilon=1.0)}
    return dpsel.select_top_k(data, **(given | arguments))


def polars(dtype) -> pl.DataFrame:
    return pl.DataFrame({"user": USERS, "item": pl.Series(ITEMS).cast(dtype)})


CATEGORICALS = {
    "global": lambda: pl.Categorical,
    "named": lambda: pl.Categorical(pl.Categories("drinks")),
    "own": lambda: pl.Categorical(pl.Categories.random()),
}


@pytest.mark.parametrize("name", CATEGORICALS)
@pytest.mark.parametrize("lazy", [False, True], ids=["frame", "lazy"])
def test_a_polars_categorical_joins_the_input(name, lazy) -> None:
    frame = polars(CATEGORICALS[name]())
    release = select(frame.lazy() if lazy else frame)
    assert release.items.schema == {"item": frame.schema["item"]}
    assert release.items["item"].to_list() == PUBLIC
    assert frame.join(release.items, on="item").height == 600
    ranked = top_k(frame, domain=PUBLIC)
    assert ranked.items.schema["item"] == frame.schema["item"]
    assert frame.join(ranked.items, on="item").height == 600
    assert pickle.loads(pickle.dumps(release)).items.equals(release.items)
    assert pickle.loads(pickle.dumps(ranked)).items.equals(ranked.items)


@pytest.mark.long("processes that import polars, pandas and pyarrow")
def test_what_a_polars_categorical_leaves_depends_on_the_released_items_alone() -> None:
    """polars numbers all categories of a process; the numbers are in no file, pickle or other table."""
    code = f"""
import hashlib, io, pickle, sys
import polars as pl
import dpsel
items = {PUBLIC} * 300 + {{before}}
if sys.argv[1] == "1":
    items = items[::-1]
frame = pl.DataFrame({{"user": range(len(items)), "item": pl.Series(items).cast(pl.Categorical)}})
made = dpsel.select_partitions(
    frame, user="user", item="item", privacy=dpsel.ApproxDP(epsilon=3.0, delta=1e-6), max_items_per_user=1
).items
parquet = io.BytesIO()
made.write_parquet(parquet)
forms = [
    made.write_ipc(None, compression="uncompressed").getvalue(),
    parquet.getvalue(),
    pickle.dumps(made),
    repr([chunk.indices.to_pylist() for chunk in made.to_arrow()["item"].chunks]).encode(),
    repr([chunk.dictionary.to_pylist() for chunk in made.to_arrow()["item"].chunks]).encode(),
    repr(made.to_pandas()["item"].cat.categories).encode(),
    repr((made, made.schema, made.sort("item"))).encode(),
]
assert not any(b"unreleased" in form for form in forms)
print([hashlib.sha256(form).hexdigest() for form in forms])
"""
    runs = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", code.replace("{before}", repr(before)), order],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for before, order in (([], "0"), (SECRETS, "0"), (SECRETS, "1"))
    ]
    assert runs[0].count("'") == 14
    assert len(set(runs)) == 1


def test_a_polars_enum_has_the_released_items_in_their_own_order() -> None:
    declared = pl.Enum([*reversed(PUBLIC), *SECRETS])
    frame = polars(declared)
    release = select(frame)
    assert release.items.schema == {"item": pl.Enum(PUBLIC)}
    assert release.items["item"].to_list() == PUBLIC
    # As the guide says: the type of the input for a join, which is not for publishing.
    assert frame.join(release.items.cast({"item": frame.schema["item"]}), on="item").height == 600
    assert b"unreleased" not in pickle.dumps(release)
    assert b"unreleased" not in pickle.dumps(release.items)
    ranked = top_k(frame, domain=PUBLIC)
    assert ranked.items.schema["item"] == pl.Enum(PUBLIC)
    assert select(frame.head(0)).items.schema == {"item": pl.Enum([])}


def test_elements_of_polars_lists_are_categories_too() -> None:
    frame = pl.DataFrame(
        {"user": range(300), "item": pl.Series([PUBLIC] * 300, dtype=pl.List(pl.Categorical))}
    )
    release = select(frame)
    assert release.items.schema == {"item": pl.Categorical()}
    assert release.items["item"].to_list() == PUBLIC


@pytest.mark.parametrize("ordered", [False, True])
def test_a_pandas_categorical_has_the_released_categories(ordered) -> None:
    kind = pd.CategoricalDtype([*reversed(PUBLIC), *SECRETS], ordered=ordered)
    frame = pd.DataFrame({"user": USERS, "item": pd.Categorical(ITEMS, dtype=kind)})
    release = select(frame)
    column = release.items["item"]
    assert isinstance(column.dtype, pd.CategoricalDtype)
    assert list(column.cat.categories) == list(column) == PUBLIC
    # An order among the categories may come from unreleased rows.
    assert not column.dtype.ordered
    assert len(frame.merge(release.items, on="item")) == 600
    assert b"unreleased" not in pickle.dumps(release.items)
    assert pickle.loads(pickle.dumps(release)).items.equals(release.items)
    assert list(top_k(frame, domain=PUBLIC).items["item"].cat.categories) == PUBLIC
    numbers = pd.DataFrame({"user": range(300), "item": pd.Categorical([3] * 300, categories=[5, 3])})
    assert list(select(numbers).items["item"].cat.categories) == [3]


INDICES = [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64()]
VALUES = [pa.string(), pa.large_string(), pa.string_view()]


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("values", VALUES, ids=str)
def test_a_pyarrow_dictionary_is_one_again(index, values) -> None:
    kind = pa.dictionary(index, values)
    distinct = pa.array([*SECRETS, *PUBLIC], pa.string()).cast(values)
    codes = pa.array([[*SECRETS, *PUBLIC].index(item) for item in ITEMS]).cast(index)
    table = pa.table({"user": USERS, "item": pa.DictionaryArray.from_arrays(codes, distinct)})
    assert table.schema.field("item").type == kind
    for source in (table, table.to_reader(), pa.dataset.dataset(table), pa.dataset.dataset(table).scanner()):
        release = select(source)
        assert release.items.schema == pa.schema({"item": kind})
        assert release.items["item"].to_pylist() == PUBLIC
        assert [chunk.dictionary.to_pylist() for chunk in release.items["item"].chunks] == [PUBLIC]
    assert top_k(table, domain=PUBLIC).items.schema.field("item").type == kind
    assert select(table.slice(0, 0)).items.schema == pa.schema({"item": kind})
    if values != pa.string_view():
        assert table.join(select(table).items, keys="item", join_type="inner").num_rows == 600


@WEAK
def test_more_categories_than_the_index_type_numbers() -> None:
    """Two dictionaries of 100 items each: the width follows from the number of released items."""
    chunks = [
        pa.DictionaryArray.from_arrays(
            pa.array([item for item in range(100) for _ in range(300)], pa.int8()),
            pa.array([f"{half}{item:03}" for item in range(100)]),
        )
        for half in "ab"
    ]
    column = pa.chunked_array(chunks)
    table = pa.table({"user": [row % 300 for row in range(len(column))], "item": column})
    release = select(
        table,
        max_items_per_user=200,
        privacy=dpsel.ApproxDP(epsilon=60.0, delta=1e-3),
        mechanism=dpsel.CountLaplace(),
    )
    assert len(release) > 128
    assert release.items.schema.field("item").type == pa.dictionary(pa.int32(), pa.string())
    assert release.items["item"].to_pylist() == release.to_pylist()


def test_one_of_several_columns_and_ngrams() -> None:
    frame = polars(pl.Categorical).with_columns(number=pl.lit(1, pl.Int16))
    release = select(frame, item=["number", "item"], with_weights=True)
    assert release.items.schema == {"number": pl.Int16, "item": pl.Categorical(), "weight": pl.Float64}
    # n-grams are texts that no category has.
    for source in (frame, frame.to_pandas(), frame.to_arrow()):
        words = select(source, ngrams=(1, 1))
        assert words.to_pylist() == [*PUBLIC, "unreleased"]
        assert words.to_arrow()["item"].to_pylist() == words.to_pylist()
        assert "ale" in repr(words.items)
    assert select(frame, ngrams=(1, 1)).items.schema == {"item": pl.String}


def test_the_other_forms_have_plain_values(tmp_path) -> None:
    release = select(polars(pl.Categorical))
    assert release.to_pylist() == PUBLIC
    assert not pa.types.is_dictionary(release.to_arrow().schema.field("item").type)
    release.write(tmp_path / "items.csv")
    assert (tmp_path / "items.csv").read_text() == "item\nale\ntea\n"
    parquet = io.BytesIO()
    pa.parquet.write_table(pa.table(release), parquet)
    assert b"unreleased" not in parquet.getvalue()


NULLS = {
    "items": {"user": [1, 2], "item": [None, None]},
    "no rows": {"user": pl.Series([], dtype=pl.Int64), "item": []},
    "lists": {"user": [1, 2], "item": [[None], []]},
}


@pytest.mark.parametrize("lazy", [False, True], ids=["frame", "lazy"])
@pytest.mark.parametrize("name", NULLS)
def test_polars_columns_of_nulls_and_empty_frames(name, lazy) -> None:
    """polars exports them in a form that no Arrow reader in Rust takes."""
    frame = pl.DataFrame(NULLS[name])
    release = select(frame.lazy() if lazy else frame)
    assert release.items.schema == {"item": pl.Null}
    assert release.items.height == len(release) == 0
    assert release.to_pylist() == []


def test_a_polars_column_of_null_users_is_refused_by_its_type() -> None:
    with pytest.raises(SchemaError, match="column 'user' has the polars dtype Null, so no row has a user"):
        select(pl.DataFrame({"user": [None, None], "item": [1, 2]}))
    with pytest.raises(SchemaError, match="no column 'who' to tell users apart"):
        select(pl.DataFrame({"user": [None, None], "item": [None, 2]}), user="who")
    with pytest.raises(SchemaError, match="no column 'user' to tell users apart"):
        select(pl.DataFrame())


PERIODS = pd.period_range("2024-01", periods=1, freq="M").repeat(300)


def _periods(folder) -> dict[str, object]:
    frame = pd.DataFrame({"user": range(300), "item": PERIODS})
    frame.to_parquet(folder / "periods.parquet")
    table = pa.Table.from_pandas(frame)
    column = table["item"].combine_chunks()
    lists = pa.ListArray.from_arrays(pa.array(range(301), pa.int32()), column)
    return {
        "pandas": frame,
        "pandas categories": frame.astype({"item": "category"}),
        "pyarrow": table,
        "pyarrow lists": pa.table({"user": range(300), "item": lists}),
        "parquet": folder / "periods.parquet",
        "pairs": [(user, PERIODS[0]) for user in range(300)],
    }


@pytest.mark.parametrize(
    "name", ["pandas", "pandas categories", "pyarrow", "pyarrow lists", "parquet", "pairs"]
)
def test_periods_are_refused_and_not_released_as_bare_numbers(name, tmp_path) -> None:
    with pytest.raises(SchemaError, match="(?i)period"):
        select(_periods(tmp_path)[name])


def test_periods_as_users_are_refused_too_and_as_text_they_are_items() -> None:
    with pytest.raises(SchemaError, match=r"user column 'user' of the input holds pandas periods"):
        select(pd.DataFrame({"user": PERIODS, "item": 1}))
    frame = pd.DataFrame({"user": range(300), "item": PERIODS.astype(str)})
    assert select(frame).to_pylist() == ["2024-01"]


def test_column_names_that_repeat() -> None:
    twice = pd.DataFrame([[1, 2, 3]], columns=["user", "item", "item"])
    with pytest.raises(
        SchemaError, match=r"^the pandas DataFrame has several columns named 'item', and user= "
    ):
        select(twice)
    # Of other columns it does not matter, not even for the message about a missing one.
    others = pd.DataFrame([[user, "tea", 3, 4] for user in range(300)], columns=["user", "item", "x", "x"])
    assert select(others).to_pylist() == ["tea"]
    with pytest.raises(
        SchemaError, match="no column 'who' to tell users apart; set user= to one of its columns"
    ):
        select(others, user="who")


def _not_tables(folder) -> dict[str, tuple[object, str]]:
    path = folder / "rows.parquet"
    table = pa.table({"user": [1], "item": [1]})
    pa.parquet.write_table(table, path)
    frame, other = table.to_pandas(), pl.from_arrow(table)
    return {
        "pandas groups": (
            frame.groupby("user"),
            "a pandas DataFrameGroupBy is not a table of rows; pass the",
        ),
        "pandas column groups": (
            frame.groupby("user")["item"],
            "a pandas SeriesGroupBy is not a table of rows",
        ),
        "pandas window": (frame.rolling(1), "a pandas Rolling is not a table of rows"),
        "pandas index": (frame.index, "a pandas Series or Index has no user column"),
        "polars groups": (
            other.group_by("user"),
            "a polars GroupBy is not a table of rows; pass a DataFrame",
        ),
        "polars lazy groups": (other.lazy().group_by("user"), "a polars LazyGroupBy is not a table of rows"),
        "polars expression": (pl.col("user"), "a polars Expr is not a table of rows"),
        "parquet file": (
            pa.parquet.ParquetFile(path),
            "a pyarrow ParquetFile is not a table of rows; pass what",
        ),
        "parquet dataset": (
            pa.parquet.ParquetDataset(path),
            "a pyarrow ParquetDataset is not a table of rows",
        ),
    }


NOT_TABLES = [
    "pandas groups",
    "pandas column groups",
    "pandas window",
    "pandas index",
    "polars groups",
    "polars lazy groups",
    "polars expression",
    "parquet file",
    "parquet dataset",
]


@pytest.mark.parametrize("name", NOT_TABLES)
def test_what_is_no_table_is_called_by_its_name(name, tmp_path) -> None:
    data, message = _not_tables(tmp_path)[name]
    with pytest.raises(SchemaError, match=re.escape(message)):
        select(data)


def whole(values, precision=38):
    return pa.array(
        [None if value is None else Decimal(value) for value in values], pa.decimal128(precision, 0)
    )


def test_decimals_without_a_fraction_are_integers(tmp_path) -> None:
    """What databases call NUMBER(38, 0) equals the integers of other tables, and comes back as it came in."""
    table = pa.table({"user": whole(range(400), 18), "item": whole([*[7, -7] * 199, None, 12])})
    items = select(table).items
    assert items.schema == pa.schema({"item": pa.decimal128(38, 0)})
    assert items["item"].to_pylist() == [Decimal(-7), Decimal(7)]
    pairs = [(user, item) for user, item in zip(range(398), [7, -7] * 199, strict=True)]
    key = bytes(32)
    assert list(select(table, insecure_test_key=key)) == list(select(pairs, insecure_test_key=key))
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    pa.parquet.write_table(pa.table({"user": [1, 2], "item": [7, 8]}), tmp_path / "b.parquet")
    both = select(str(tmp_path / "*.parquet")).items
    assert both.to_pylist() == [-7, 7]
    assert pa.table(both).schema == items.schema


def test_decimals_that_are_no_64_bit_integers_are_refused_by_name(tmp_path) -> None:
    many, one = whole([2**63, 1]), pa.array([1, 2])
    lists = pa.ListArray.from_arrays([0, 1, 2], many)
    two = {"user": ["user", "other"], "item": ["item", "more"]}
    for name, tables in {
        "user": [(many, one, two), (many, one, {}), (many.dictionary_encode(), one, {})],
        "item": [(one, many, two), (one, many, {}), (one, many.dictionary_encode(), {}), (one, lists, {})],
    }.items():
        for users, items, names in tables:
            table = pa.table({"user": users, "item": items, "other": one, "more": one})
            pa.parquet.write_table(table, tmp_path / "rows.parquet")
            for data in (table, pl.from_arrow(table), duckdb.from_arrow(table), tmp_path / "rows.parquet"):
                with pytest.raises(DataError, match=f"column '{name}' has whole numbers beyond 64 bits"):
                    select(data, **names)
    release = select(pa.table({"user": range(300), "item": [7] * 300}))
    with pytest.raises(DataError, match="column 'k' has whole numbers beyond 64 bits"):
        release.filter(pa.table({"k": many}), item="k")
    with pytest.raises(SchemaError, match="decimals with a fraction"):
        select(pa.table({"user": [1], "item": pa.array([Decimal("1.5")], pa.decimal128(38, 1))}))


def test_huge_integers_of_duckdb() -> None:
    rows = duckdb.sql("SELECT range::HUGEINT AS user, 8::HUGEINT AS item FROM range(400)")
    assert select(rows).items["item"].to_pylist() == [8]
