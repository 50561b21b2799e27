"""Mistakes of a first hour end in words that name the cause and the argument, or do not matter."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import dpsel
from dpsel.cli._app import cli
from dpsel.exceptions import DpselError, FileError, SchemaError
from support import KEY

PRIVACY = dpsel.ApproxDP(epsilon=2.0, delta=1e-4)
USERS = list(range(300)) * 2
ITEMS = [f"i{place % 3}" for place in range(600)]
TABLE = pd.DataFrame({"u": USERS, "i": ITEMS})


def select(data: object, *, user: object = "u", item: object = "i", **more: object):
    given = {"user": user, "item": item, "privacy": PRIVACY, "max_items_per_user": 5}
    return dpsel.select_partitions(data, **given | {"insecure_test_key": KEY} | more)


def told(match: str, data: object, **given: object) -> None:
    """The words say what is wrong; nothing of the table is chained to them."""
    with pytest.raises(DpselError, match=match) as caught:
        select(data, **given)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def twice(*names: str) -> pa.Table:
    return pa.table([USERS, ITEMS, ITEMS, ITEMS], names=["u", *names])


@pytest.mark.parametrize(
    "data",
    [
        twice("i", "i", "x"),
        twice("i", "i", "x").to_reader(),
        twice("i", "i", "x").combine_chunks().to_batches()[0],
        ds.dataset(twice("i", "i", "x")),
        pd.DataFrame([[1, "a", "a"]], columns=["u", "i", "i"]),
        duckdb.sql("select 1 u, 2 i, 3 i"),
        TABLE.set_index(["u", "u"])[["i"]],
    ],
    ids=lambda data: type(data).__module__ + "." + type(data).__name__,
)
def test_several_columns_of_one_name(data) -> None:
    told("has several columns named '[ui]'.*rename them", data)


def test_other_columns_of_one_name_do_not_matter() -> None:
    assert select(twice("i", "x", "x")).to_pylist() == select(TABLE).to_pylist()
    told("the pyarrow Dataset has several columns named 'x'", ds.dataset(twice("i", "x", "x")))


MIXED = TABLE.assign(x=[1, "a"] * 300)


@pytest.mark.parametrize(
    "data",
    [
        TABLE.set_index("u"),
        TABLE.set_index("i"),
        TABLE.set_index(["i", "u"]),
        TABLE.set_index("u")["i"],
        TABLE.set_index(["u", "i"]).index,
        MIXED.set_index("u"),
        MIXED.assign(u=TABLE["u"].astype("Int64")).set_index(["u", "x"]),
        TABLE.astype({"i": "category"}).set_index("i"),
        TABLE.astype({"i": object}).set_index("i"),
    ],
    ids=range(9),
)
def test_levels_of_an_index_are_found_by_name(data) -> None:
    assert select(data).to_pylist() == select(TABLE).to_pylist()


def test_a_level_without_values_of_its_own_is_found_too() -> None:
    frame = pd.DataFrame({"i": ["a"] * 300}, index=pd.RangeIndex(300, name="u"))
    assert select(frame).to_pylist() == ["a"]
    told("no column 'nobody' to tell users apart", frame, user="nobody")
    told("a pandas Series or Index has no user column; pass a DataFrame.*or name the levels", TABLE["i"])


COLUMNS = {
    "polars": (pl.Series(USERS), pl.Series(ITEMS)),
    "pyarrow": (pa.array(USERS), pa.array(ITEMS)),
    "chunked": (pa.chunked_array([USERS]), pa.chunked_array([ITEMS])),
    "dictionaries": (pa.array(USERS), pa.array(ITEMS).dictionary_encode()),
    "numpy": (np.array(USERS), np.array(ITEMS)),
    "pandas": (TABLE["u"], TABLE["i"]),
    "categories": (TABLE["u"], TABLE["i"].astype("category")),
    "lists": (USERS, ITEMS),
    "tuples": (tuple(USERS), tuple(ITEMS)),
    "memoryview": (memoryview(np.array(USERS)), ITEMS),
    "mixed": (pl.Series(USERS), ITEMS),
    "mixed too": (pa.array(USERS), pl.Series(ITEMS)),
    "and again": (np.array(USERS), pa.array(ITEMS)),
}


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_columns_of_any_library_are_data(columns) -> None:
    """The same release, whatever the columns of a dict are."""
    assert select(dict(zip("ui", columns, strict=True))).to_pylist() == select(TABLE).to_pylist()


def test_columns_of_lists_and_dates_and_ranges() -> None:
    lists = pl.Series([["a", "b"]] * 300)
    assert select({"u": range(300), "i": lists}).to_pylist() == ["a", "b"]
    assert select({"u": range(300), "i": pl.Series([dt.date(2020, 1, 1)] * 300)}).to_pylist() == [
        dt.date(2020, 1, 1)
    ]


WRONG_COLUMNS = {
    "set": (set(range(3)), "column 'u' is a set; give a list or an array"),
    "generator": (iter(range(3)), "column 'u' is a .*; give a list or an array"),
    "one value": (1, "column 'u' is an int; give a list or an array"),
    "no dimension": (np.array(1), "column 'u' is .*; give a list or an array"),
    "matrix": (np.array([[1, 2]] * 3), "column 'u' has several dimensions"),
    "floats": (np.array([1.0, 2.0, 3.0]), r"'u' holds floating-point numbers.*astype\('Int64'\)"),
    "objects": (pl.Series([object()] * 3, dtype=pl.Object), "column 'u' has the polars dtype Object"),
    "wide": (pl.Series([2**100] * 3, dtype=pl.Int128), "column 'u' has the type Int128"),
}


@pytest.mark.parametrize(("column", "match"), WRONG_COLUMNS.values(), ids=WRONG_COLUMNS)
def test_columns_that_are_none(column, match) -> None:
    told(match, {"u": column, "i": ["a", "b", "c"]})


@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt128], ids=str)
@pytest.mark.parametrize("lazy", [False, True])
def test_integers_of_128_bits_name_their_column(dtype, lazy) -> None:
    frame = pl.DataFrame({"u": pl.Series(USERS, dtype=dtype), "i": ITEMS})
    told(
        "column 'u' has the type U?Int128 of polars.*cast the column to Int64",
        frame.lazy() if lazy else frame,
    )


@pytest.mark.parametrize("name", ["u", "i"])
def test_integers_that_a_missing_value_made_floats(name, tmp_path) -> None:
    """The advice is there wherever such a column may come from."""
    frame = pd.DataFrame({"u": [1, 2, 3], "i": [1, 2, 3]}).astype({name: "float64"})
    match = rf"column '{name}' of .* has type Float64.*a value is missing, with astype\('Int64'\)"
    told(match, frame)
    path = tmp_path / "table.parquet"
    frame.to_parquet(path)
    told(match, path)
    asked = ["--user", "u", "--item", "i", "--epsilon", "2", "--delta", "1e-4", "--max-items-per-user", "5"]
    done = CliRunner().invoke(cli, ["select", str(path), *asked])
    assert re.search(match, str(done.exception))
    assert select(
        pd.DataFrame({"u": range(300), "i": pd.array([1, None, 1] * 100, "Int64")})
    ).to_pylist() == [1]


NO_PAIRS = {
    "two columns": iter([pd.DataFrame({"a": [1], "b": [2]})]),
    "mapping": iter([{"a": 1, "b": 2}]),
    "frozensets": [frozenset({1, 2})],
    "triples": [(1, "a", 1)],
    "generators": [iter((1, "a"))],
    "texts": iter(["ab"]),
    "bytes": iter([b"ab"]),
}


@pytest.mark.parametrize("data", NO_PAIRS.values(), ids=NO_PAIRS)
def test_what_is_no_pair(data) -> None:
    """A table gave the names of its columns, and a set a user and an item in any order."""
    told(
        "the element at position 0 is not a pair; |the row at position 0 has names of fields",
        data,
        user=None,
        item=None,
    )


def test_rows_that_are_mappings_have_their_fields_named() -> None:
    rows = csv.DictReader(io.StringIO("u,i\n" + "".join(f"{user},a\n" for user in range(300))))
    assert select(rows).to_pylist() == ["a"]
    assert select([{"u": user, "i": "a"} for user in range(300)]).to_pylist() == ["a"]


@pytest.mark.parametrize(
    "pairs",
    [
        np.array([[user, 7] for user in range(300)]),
        [[user, 7] for user in range(300)],
        zip(range(300), [7] * 300, strict=True),
    ],
    ids=["array", "lists", "zip"],
)
def test_what_is_a_pair(pairs) -> None:
    assert select(pairs, user=None, item=None).to_pylist() == [7]


@pytest.mark.parametrize("opened", [io.StringIO("u,i\n"), io.BytesIO(b"u,i\n")], ids=["text", "bytes"])
def test_open_files_and_classes(opened) -> None:
    told("is an open file; pass its path", opened)
    told("DataFrame is a class, which has no rows; pass a table", pd.DataFrame)
    told("LazyFrame is a class", pl.LazyFrame)


def encrypted(path, *, footer: bool) -> None:
    """Write a Parquet file with encrypted users, and with the rest in the clear if the footer is."""
    pe = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(pe.KmsClient):
        def __init__(self, _connection) -> None:
            super().__init__()

        def wrap_key(self, key, _name):
            return key.hex().encode()

        def unwrap_key(self, key, _name):
            return bytes.fromhex(key.decode())

    factory, table = pe.CryptoFactory(Keys), pa.table({"u": USERS, "i": ITEMS})
    how = pe.EncryptionConfiguration(
        footer_key="footer", column_keys={"users": ["u"]}, plaintext_footer=not footer
    )
    made = factory.file_encryption_properties(pe.KmsConnectionConfig(), how)
    with pq.ParquetWriter(path, table.schema, encryption_properties=made) as writer:
        writer.write_table(table)


@pytest.mark.parametrize(
    ("footer", "match"),
    [
        (True, "it is encrypted Parquet, which is not read here; decrypt it with a library"),
        (False, "malformed, truncated or encrypted data in row group 0"),
    ],
)
def test_encrypted_parquet_says_so(tmp_path, footer, match) -> None:
    encrypted(tmp_path / "table.parquet", footer=footer)
    with pytest.raises(FileError, match=match):
        select(tmp_path / "table.parquet")


LOOK = r"nothing came out: an item of about \d+ users.*\nare users and items swapped\? user=.*\ndpsel.explain"


def test_a_release_of_nothing_says_what_that_can_mean() -> None:
    """Public facts only: two tables without a release get the same words, here and on the command line."""
    swapped = select(TABLE, user="i", item="u")
    assert re.search(LOOK, str(swapped))
    first, second = str(swapped).splitlines(), str(select(TABLE.head(2))).splitlines()
    assert [*first[:2], *first[3:5]] == [*second[:2], *second[3:5]]
    assert (first[2], second[2]) == (
        "protected: the user in i; released: u",
        "protected: the user in u; released: i",
    )
    assert "user=i is who is protected, and item=u is what comes out" in str(swapped)
    assert "0 items (print it for reasons)" in repr(swapped)
    assert "nothing came out" in swapped._repr_html_()
    assert "nothing came out" not in str(select(TABLE))
    looked = select(TABLE.head(2), max_items_per_user=dpsel.Quantile(0.9))
    assert re.search(LOOK, str(looked))


def test_a_release_of_nothing_on_the_command_line(tmp_path) -> None:
    TABLE.head(2).to_csv(tmp_path / "few.csv", index=False)
    asked = ["--user", "u", "--item", "i", "--epsilon", "2", "--delta", "1e-4", "--max-items-per-user", "5"]
    done = CliRunner().invoke(cli, ["select", str(tmp_path / "few.csv"), *asked])
    assert done.exit_code == 0
    assert re.search(LOOK, done.stderr)


def test_a_top_k_of_nothing() -> None:
    made = dpsel.select_top_k([(1, "a")], k=3, privacy=PRIVACY, insecure_test_key=KEY)
    assert re.search(r"nothing was picked: without domain=.*\nare users and items swapped", str(made))


def test_levels_of_an_index_are_found_in_a_filter() -> None:
    release = select(TABLE)
    kept = release.filter(TABLE.set_index("i"))
    assert sorted(set(kept.index)) == select(TABLE).to_pylist()
    with pytest.raises(SchemaError, match="no column named 'j'"):
        release.filter(TABLE.set_index("u"), item="j")
    labelled = release.filter(TABLE.set_index("i"), other="rest")
    assert set(kept.index) <= set(labelled.index) <= {*kept.index, "rest"}
