"""What a source declares is refused before a budget pays; what only its rows tell costs a payment."""

from __future__ import annotations

import array
import csv
import re
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import dpsel
from dpsel.exceptions import DpselError, InvalidParameterError, SchemaError

PRIVACY = dpsel.ApproxDP(epsilon=2.0, delta=1e-6)
USERS = list(range(500))
ITEMS = ["tea"] * 500


@pytest.fixture
def ledger(tmp_path):
    return dpsel.Ledger(tmp_path / "spent.jsonl", dpsel.ApproxDP(epsilon=20.0, delta=0.1))


def select(data, privacy=PRIVACY, **more):
    given = {"user": "user", "item": "item", "max_items_per_user": 1}
    return dpsel.select_partitions(data, privacy=privacy, **(given | more))


def top_k(data, privacy=PRIVACY, **more):
    return dpsel.select_top_k(data, privacy=privacy, k=1, user="user", item="item", **more)


class Foreign:
    """A table of a library that is not known here: its elements are the names of its columns."""

    def __init__(self, names=("user", "item")):
        self._names = names

    @property
    def columns(self):
        return self._names

    def __iter__(self):
        return iter(self._names)


class Records(Foreign):
    """The same, whose elements are records."""

    columns = None

    @property
    def fields(self):
        return self._names

    def __iter__(self):
        return iter([{"user": 1, "item": "tea"}])


class ForeignArray:
    """A column of a library that is not known here."""

    dtype = np.dtype("int64")
    ndim = 1

    def __len__(self):
        return 500

    def __iter__(self):
        return iter(USERS)


def beside(item):
    return {"user": USERS[: len(item)], "item": item}


FRAME = pl.DataFrame({"user": USERS, "item": ITEMS})
PERIODS = pd.period_range("2020-01", periods=3, freq="M")
OBJECTS = pl.Series([object(), object()], dtype=pl.Object)
REFUSED = {
    "foreign table": Foreign,
    "foreign records": Records,
    "list of polars": lambda: [FRAME, FRAME],
    "list of pandas": lambda: [FRAME.to_pandas()] * 2,
    "tuple of batches": lambda: tuple(FRAME.to_arrow().to_batches()),
    "list of queries": lambda: [FRAME.lazy()],
    "periods": lambda: beside(PERIODS),
    "series of periods": lambda: beside(pd.Series(PERIODS)),
    "period users": lambda: {"user": PERIODS, "item": ["a"] * 3},
    "intervals": lambda: beside(pd.interval_range(0, 3)),
    "categories of periods": lambda: beside(pd.Categorical(PERIODS)),
    "objects of polars": lambda: beside(OBJECTS),
    "object users of polars": lambda: {"user": OBJECTS, "item": ["a"] * 2},
    "floats of polars": lambda: beside(pl.Series([0.5])),
    "decimals of polars": lambda: beside(pl.Series(["0.5"]).cast(pl.Decimal(4, 2))),
    "floats of arrow": lambda: beside(pa.array([0.5])),
    "floats of pandas": lambda: beside(pd.Series([0.5])),
    "durations": lambda: beside(np.array([1], "m8[s]")),
    "array of doubles": lambda: beside(array.array("d", [0.5])),
    "array of floats": lambda: beside(array.array("f", [0.5])),
    "view of doubles": lambda: beside(memoryview(array.array("d", [0.5]))),
    "foreign array": lambda: {"user": ForeignArray(), "item": ITEMS},
    "null users": lambda: pa.table({"user": pa.nulls(3), "item": ["a"] * 3}),
    "null users of polars": lambda: pl.DataFrame({"user": [None] * 3, "item": ["a"] * 3}),
    "null users of a query": lambda: pl.LazyFrame({"user": [None] * 3, "item": ["a"] * 3}),
    "null users in a mapping": lambda: {"user": pa.nulls(3), "item": ["a"] * 3},
    "null users of pandas": lambda: pd.DataFrame(
        {"user": pd.array([None] * 3, dtype=pd.ArrowDtype(pa.null())), "item": ["a"] * 3}
    ),
}


@pytest.mark.parametrize("call", [select, top_k])
@pytest.mark.parametrize("table", REFUSED)
def test_a_type_that_is_declared_costs_nothing(table, call, ledger):
    with pytest.raises(SchemaError, match=";|which is not supported"):
        call(REFUSED[table](), ledger.on_use(PRIVACY, "call"))
    assert ledger.spent == ()


def metadata_file(folder):
    collected = []
    pq.write_table(FRAME.to_arrow(), folder / "rows.parquet", metadata_collector=collected)
    collected[0].set_file_path("rows.parquet")
    pq.write_metadata(FRAME.to_arrow().schema, folder / "all.parquet", collected)
    return folder / "all.parquet"


def of_version_4(folder):
    path = folder / "rows.arrow"
    options = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V4)
    with pa.ipc.new_file(path, FRAME.to_arrow().schema, options=options) as writer:
        writer.write_table(FRAME.to_arrow())
    return path


def null_users(folder):
    pq.write_table(pa.table({"user": pa.nulls(3), "item": ["a"] * 3}), folder / "rows.parquet")
    return folder / "rows.parquet"


FILES = {
    "metadata": (metadata_file, "its rows are in other files"),
    "version 4": (of_version_4, "older version of the format"),
    "null users": (null_users, "user column 'user' .* has type Null"),
}


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_cannot_be_read_costs_nothing(file, ledger, tmp_path):
    make, words = FILES[file]
    with pytest.raises(DpselError, match=words):
        select(make(tmp_path), ledger.on_use(PRIVACY, "call"))
    assert ledger.spent == ()


def test_a_file_without_users_of_its_own_is_read_beside_others(tmp_path):
    null_users(tmp_path).rename(tmp_path / "none.parquet")
    pq.write_table(
        pa.table({"user": pa.nulls(0), "item": pa.array([], pa.string())}), tmp_path / "none.parquet"
    )
    pq.write_table(FRAME.to_arrow(), tmp_path / "rows.parquet")
    assert select([tmp_path / "none.parquet", tmp_path / "rows.parquet"]).items.to_pylist() == ["tea"]


#: Columns of the same users, of many libraries.
LARGE = [*range(2**63, 2**63 + 250), *range(250)]
SAME_USERS = {
    "list": lambda: LARGE,
    "numpy": lambda: np.array(LARGE, "u8"),
    "big-endian": lambda: np.array(LARGE, ">u8"),
    "pandas": lambda: pd.Series(LARGE, dtype="uint64"),
    "nullable": lambda: pd.array(LARGE, dtype="UInt64"),
    "index": lambda: pd.Index(LARGE, dtype="uint64"),
    "polars": lambda: pl.Series(LARGE, dtype=pl.UInt64),
    "pyarrow": lambda: pa.array(LARGE, pa.uint64()),
    "array": lambda: array.array("Q", LARGE),
}


@pytest.mark.parametrize("neighbour", ["list", "numpy", "polars", "pandas objects"])
@pytest.mark.parametrize("column", sorted(SAME_USERS.keys() - {"list", "array"}))
def test_what_a_column_is_does_not_depend_on_its_neighbour(column, neighbour):
    made = {
        "list": ITEMS,
        "numpy": np.array(ITEMS),
        "polars": pl.Series(ITEMS),
        "pandas objects": pd.Series(ITEMS, dtype=object),
    }[neighbour]
    users = SAME_USERS[column]()
    assert select({"user": users, "item": made}).items == ["tea"]
    # And as items.
    one = select({"user": made[:0] if neighbour != "list" else [], "item": users[:0]})
    assert one.items == []


MONTHS = np.array(["2020-01"] * 500, "M8[M]")
MIXED = {
    "times": lambda: np.array(["2020-01-01"] * 500, "M8[ns]"),
    "pandas times": lambda: pd.date_range("2020-01-01", periods=1).repeat(500),
    "texts of pandas": lambda: pd.Series(ITEMS, dtype="string"),
    "categories": lambda: pd.Categorical(ITEMS),
    "bytes": lambda: np.array([b"tea"] * 500),
    "big-endian": lambda: np.array([7] * 500, ">i4"),
    "polars": lambda: pl.Series(ITEMS).cast(pl.Categorical),
    "arrow": lambda: pa.array(ITEMS).dictionary_encode(),
    "lists of polars": lambda: pl.Series([["tea"]] * 500),
}


@pytest.mark.parametrize("column", MIXED)
def test_a_declared_column_stands_beside_a_list(column):
    made = MIXED[column]()
    (alone,) = select({"user": np.array(USERS), "item": made}).items
    assert select({"user": USERS, "item": made}).items == [alone]
    if column != "lists of polars":
        assert select({"user": made, "item": USERS}).items == []


def test_a_list_beside_a_declared_column_may_hold_collections():
    items = [["tea", "milk"]] * 500
    assert select({"user": np.array(USERS), "item": items}, max_items_per_user=2).items == ["milk", "tea"]
    with pytest.raises(SchemaError, match="datetime64"):
        select({"user": USERS, "item": MONTHS})


def test_nan_in_a_list_is_refused_whatever_stands_beside_it():
    items = [*ITEMS[1:], float("nan")]
    for users in (USERS, np.array(USERS), pl.Series(USERS)):
        with pytest.raises(DpselError):
            select({"user": users, "item": items})


def test_big_endian_columns_are_read():
    users = np.array(USERS, ">i8")
    structured = np.zeros(500, dtype=[("user", ">i8"), ("item", ">i2")])
    structured["user"] = users
    for data in (structured, pd.DataFrame({"user": users, "item": ITEMS})):
        assert len(select(data).items) == 1


def test_a_fragment_is_a_table(tmp_path):
    pq.write_table(FRAME.to_arrow(), tmp_path / "rows.parquet")
    (fragment,) = pyarrow.dataset.dataset(tmp_path / "rows.parquet").get_fragments()
    assert select(fragment).items.to_pydict() == {"item": ["tea"]}
    with pytest.raises(SchemaError, match="no column 'absent'"):
        select(fragment, item="absent")


def test_an_iterator_of_records_is_read(tmp_path):
    rows = [{"user": user, "item": "tea"} for user in USERS]
    assert select(iter(rows)).items == ["tea"]
    assert select(row for row in rows).items == ["tea"]
    (tmp_path / "rows.csv").write_text("user,item\n" + "".join(f"{user},tea\n" for user in USERS))
    with (tmp_path / "rows.csv").open(newline="") as file:
        assert select(csv.DictReader(file)).items == ["tea"]
    assert select((user, "tea") for user in USERS).items == ["tea"]
    assert select(iter([])).items == []
    with pytest.raises(SchemaError, match="position 1 is a tuple"):
        select(iter([rows[0], (1, "tea")]))


class Late(scipy.sparse.csr_matrix):
    """A matrix that says when it is converted."""

    def tocoo(self, copy):
        assert copy
        raise ValueError("hunter2")


def test_a_matrix_is_converted_after_the_payment(ledger):
    with pytest.raises(DpselError) as caught:
        select(Late(np.eye(3)), ledger.on_use(PRIVACY, "call"), user=None, item=None)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    assert len(ledger.spent) == 1


@pytest.mark.parametrize("call", [select, top_k])
@pytest.mark.parametrize("kind", ["pairs", "table", "query", "mapping"])
def test_a_tokenizer_that_raises_is_named(call, kind):
    def tokenizer(text):
        raise KeyError(f"hunter2 {text}")

    data = {
        "pairs": lambda: list(zip(USERS, ITEMS, strict=True)),
        "table": FRAME.to_arrow,
        "query": FRAME.lazy,
        "mapping": lambda: {"user": np.array(USERS), "item": np.array(ITEMS)},
    }[kind]()
    with pytest.raises(DpselError, match="tokenizer= raised KeyError on a text") as caught:
        call(data, tokenizer=tokenizer)
    assert not re.search("hunter2|tea", "".join(traceback.format_exception(caught.value)))


MISSING = {
    "None": None,
    "NA": pd.NA,
    "NaT": pd.NaT,
    "time of numpy": np.datetime64("NaT"),
    "masked": np.ma.masked,
    "nan": float("nan"),
    "a part": ("tea", None),
}


@pytest.mark.parametrize("missing", sorted(MISSING.keys() - {"masked"}))
@pytest.mark.parametrize("argument", ["exclude", "public_items", "domain", "prior"])
def test_a_public_list_has_no_missing_item(argument, missing, ledger):
    items = ["milk", MISSING[missing]]
    privacy = ledger.on_use(PRIVACY, "call")
    call = {
        "domain": lambda: top_k(FRAME, privacy, domain=items),
        "prior": lambda: dpsel.GreedyFrequency(prior=[(item, 1) for item in items]),
    }.get(argument, lambda: select(FRAME, privacy, **{argument: items}))
    with pytest.raises(InvalidParameterError, match=f"^{argument} must have no missing item") as caught:
        call()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert ledger.spent == ()


def test_a_masked_array_is_no_public_list_if_it_masks_an_item():
    for masked in (np.ma.array([1, 2], mask=[False, True]), np.ma.array(["a", "b"], mask=[False, True])):
        for argument in ("exclude", "public_items"):
            with pytest.raises(InvalidParameterError, match="no missing item") as caught:
                select(FRAME, **{argument: masked})
            assert caught.value.__context__ is None
        with pytest.raises(InvalidParameterError, match="no missing item"):
            top_k(FRAME, domain=masked)


COUNTS = {
    "generator": lambda: (count for count in [3, 900]),
    "iterator": lambda: iter([3, 900]),
    "map": lambda: map(int, "39"),
    "text": lambda: "39",
    "floats": lambda: np.array([3.0, 900.0]),
    "bools": lambda: np.array([True, False]),
    "times": lambda: np.array([3, 900], "M8[s]"),
    "texts of numpy": lambda: np.array(["3", "900"]),
    "series of floats": lambda: pd.Series([3.0, 900.0]),
    "series of texts": lambda: pd.Series(["3", "900"]),
    "polars": lambda: pl.Series([3.0, 900.0]),
    "polars with nulls": lambda: pl.Series([3.0, None]),
    "polars texts": lambda: pl.Series(["3"]),
    "arrow": lambda: pa.array([3.0, 900.0]),
    "arrow texts": lambda: pa.array(["3", "900"]),
    "array": lambda: array.array("d", [3.0, 900.0]),
    "view": lambda: memoryview(array.array("d", [3.0, 900.0])),
    "matrix": lambda: np.array([[3, 900]]),
    "lists": lambda: [[3, 900]],
    "set": lambda: {3, 900},
    "number": lambda: 3,
}


@pytest.mark.parametrize("labels", [None, ["ale", "tea"]])
@pytest.mark.parametrize("counts", COUNTS)
def test_counts_of_a_wrong_shape_or_type_cost_nothing(counts, labels, ledger):
    with pytest.raises(SchemaError, match="counts must be whole numbers in one dimension"):
        dpsel.top_k_from_counts(COUNTS[counts](), labels=labels, k=1, privacy=ledger.on_use(PRIVACY, "call"))
    assert ledger.spent == ()


def test_counts_of_every_shape_that_is_described_are_read():
    for counts in (
        [3, 900],
        (3, 900),
        range(0, 1000, 900),
        np.array([3, 900], ">u2"),
        array.array("l", [3, 900]),
        memoryview(array.array("q", [3, 900])),
        pa.array([3, 900]),
        pa.chunked_array([[3], [900]]),
        pl.Series([3, 900]),
        pd.Series([3, 900]),
        pd.Series([3, 900], dtype="Int64"),
        pd.Index([3, 900]),
        {0: 3, 1: 900},
    ):
        assert dpsel.top_k_from_counts(counts, k=1, privacy=dpsel.PureDP(epsilon=1.0)).items == [1]
