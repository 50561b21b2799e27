"""Known bug class: bytes that are not a value, and one value that is two kinds of key.

The declared type decides who is one user and what is one item. What the table of kinds does not know is
refused by name before anything is spent. `rust/core/tests/declared_kinds.rs` has the pages of Parquet files.
"""

from __future__ import annotations

import datetime as dt
import enum
import ipaddress
import json
import pathlib
import struct
import uuid
from decimal import Decimal

import duckdb
import hypothesis
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import dpsel
from dpsel.exceptions import DpselError, SchemaError
from support import select
from weak import WEAK

LOOSE = dpsel.ApproxDP(epsilon=50.0, delta=0.5)
COST = dpsel.ApproxDP(epsilon=0.5, delta=1e-7)
ROWS = 60

pytestmark = WEAK


class Foreign:
    """A library that we do not know, with the Arrow stream of another."""

    def __init__(self, data: object) -> None:
        self._data = data

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._data.__arrow_c_stream__(requested_schema)


def counted(data, **arguments) -> dict:
    """Each released item with its number of users, almost exactly."""
    given = {"privacy": LOOSE, "max_items_per_user": 1, "counts": dpsel.Counts()}
    release = select(data, mechanism=dpsel.WeightedGaussian(), **(given | arguments))
    table = pa.table(release)
    return dict(zip(map(repr, table["item"].to_pylist()), table["users"].to_pylist(), strict=True))


def assert_refused(data, match: str, **columns) -> None:
    """The refusal names the column, and nothing was spent."""
    budget = dpsel.Budget(dpsel.ApproxDP(epsilon=1.0, delta=1e-6))
    arguments = {"user": "user", "item": "item", "max_items_per_user": 1} | columns
    with pytest.raises(SchemaError, match=match):
        dpsel.select_partitions(data, privacy=budget.on_use(COST), **arguments)
    assert budget.remaining.epsilon == 1.0


# --- Arrow types whose bytes are not their value ---


def _extension(kind: pa.DataType, storage: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(kind, storage)


class _Unknown(pa.ExtensionType):
    """A text without case: two texts are one value."""

    def __init__(self) -> None:
        super().__init__(pa.string(), "test.without_case")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> _Unknown:
        return cls()


EXTENSIONS = {
    "arrow.bool8": lambda: _extension(pa.bool8(), pa.array([1, 2, 3] * (ROWS // 3), pa.int8())),
    "arrow.opaque": lambda: _extension(pa.opaque(pa.binary(), "t", "v"), pa.array([b"a"] * ROWS)),
    "arrow.fixed_shape_tensor": lambda: _extension(
        pa.fixed_shape_tensor(pa.int32(), [1]), pa.array([[1]] * ROWS, pa.list_(pa.int32(), 1))
    ),
    "test.without_case": lambda: _extension(_Unknown(), pa.array(["a", "A"] * (ROWS // 2))),
}


def _in_dictionary(values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(range(ROWS), pa.int32()), values)


def _in_runs(values: pa.Array) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, ROWS + 1), pa.int32()), values)


def _in_lists(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(ROWS + 1), pa.int32()), values)


NESTED = {"plain": lambda values: values, "dictionary": _in_dictionary, "runs": _in_runs, "lists": _in_lists}


@pytest.mark.parametrize("nested", NESTED)
@pytest.mark.parametrize("name", EXTENSIONS)
def test_extension_types_without_a_meaning_are_refused_in_every_form(name, nested) -> None:
    column = NESTED[nested](EXTENSIONS[name]())
    other = pa.array(["x"] * ROWS)
    for user, item in ((column, other), (other, column)):
        if nested == "lists" and user is column:
            continue
        table = pa.table({"user": user, "item": item})
        for data in (table, table.to_reader(), Foreign(table), pyarrow.dataset.dataset(table)):
            assert_refused(data, name)
        release = dpsel.select_partitions([(u, "x") for u in range(90)], privacy=LOOSE, max_items_per_user=1)
        if item is column and nested != "lists":
            with pytest.raises(SchemaError, match=f"{name}|is a list"):
                release.filter(table, item="item")


@pytest.mark.parametrize("name", EXTENSIONS)
def test_extension_types_without_a_meaning_are_refused_in_files(name, tmp_path) -> None:
    table = pa.table({"user": EXTENSIONS[name](), "item": ["x"] * ROWS})
    pq.write_table(table, tmp_path / "rows.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "rows.arrow")
    for path in tmp_path.iterdir():
        assert_refused(path, name)


def test_a_file_behind_the_first_is_checked_before_anything_is_spent(tmp_path) -> None:
    pq.write_table(pa.table({"user": ["a"] * 3, "item": ["x"] * 3}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"user": [1.5] * 3, "item": ["x"] * 3}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"user": [1] * 3, "item": ["x"] * 3}), tmp_path / "3.parquet")
    assert_refused(tmp_path / "*.parquet", "Float64")
    assert_refused([tmp_path / "1.parquet", tmp_path / "3.parquet"], "type Int64, but Utf8")


@pytest.mark.parametrize("column", ["user", "item"])
def test_addresses_of_objects_are_neither_users_nor_items(column) -> None:
    """300 rows of one user were 300 users: polars exports the addresses of objects as binary values."""
    values = {"user": list(range(300)), "item": ["x"] * 300, column: [uuid.UUID(int=5) for _ in range(300)]}
    frame = pl.DataFrame(values, schema_overrides={column: pl.Object})
    for data in (frame, frame.lazy()):
        assert_refused(data, f"'{column}' has the polars dtype Object")
    for data in (Foreign(frame), pa.table(Foreign(frame)), pa.table(Foreign(frame)).to_reader()):
        assert_refused(data, f"{column} column '{column}' of the input .* addresses of Python objects")
    if column == "item":
        release = dpsel.select_partitions([(u, "x") for u in range(90)], privacy=LOOSE, max_items_per_user=1)
        for data in (frame, frame.lazy()):
            with pytest.raises(SchemaError, match="Object"):
                release.filter(data, item="item")


@pytest.mark.parametrize("wrapped", ["plain", "dictionary", "list"])
@pytest.mark.parametrize("column", ["user", "item"])
def test_addresses_of_objects_are_refused_in_files(column, wrapped, tmp_path) -> None:
    """A file has no more of a mark of them than memory. Nobody can tell variable bytes from values."""
    if (column, wrapped) == ("user", "list"):
        return
    column_of = {
        "plain": lambda each: each,
        "dictionary": lambda each: each.dictionary_encode(),
        "list": lambda each: pa.ListArray.from_arrays(range(ROWS + 1), each),
    }[wrapped]
    addresses = pa.array([bytes(7) + bytes([at]) for at in range(ROWS)], pa.binary(8))
    plain = {"user": pa.array(range(ROWS)), "item": pa.array(["x"] * ROWS)}
    files = {name: tmp_path / name for name in ("a.parquet", "b.arrow", "c.arrows")}
    for table, refused in (
        (pa.table(plain | {column: column_of(addresses)}), True),
        (pa.table(plain | {column: column_of(addresses.cast(pa.binary()))}), False),
    ):
        pq.write_table(table, files["a.parquet"], store_schema=False)
        pyarrow.feather.write_feather(table, files["b.arrow"])
        with pa.ipc.new_stream(files["c.arrows"], table.schema) as stream:
            stream.write_table(table)
        for path in files.values():
            if refused:
                assert_refused(
                    path, f"{column} column '{column}' of .* addresses of Python .* cast the column to"
                )
            else:
                select(path, privacy=LOOSE, max_items_per_user=1)


DUCKDB = {
    "'101'::BIT": "BIT",
    "['101'::BIT]": "BIT",
    "340282366920938463463374607431768211455::UHUGEINT": "UHUGEINT",
    "5::BIGNUM": "arrow.opaque",
    "INTERVAL 1 DAY": "Interval",
    "TIME '00:00:01'": "Time64",
    "TIMETZ '00:00:00+01'": "Time64",
    "union_value(k := 1)": "Union",
    "1::VARIANT": "variant",
    "MAP {1: 2}": "Map",
}


@pytest.mark.parametrize("value", DUCKDB)
def test_what_duckdb_exports_as_something_else_is_refused(value) -> None:
    relation = duckdb.sql(f"""select i as "user", {value} as item from range(60) r(i)""")  # noqa: S608
    assert_refused(relation, DUCKDB[value])


def test_uuids_of_duckdb_are_one_item_in_either_form() -> None:
    for lossless, kind in (("false", "str"), ("true", "bytes")):
        con = duckdb.connect()
        con.execute(f"set arrow_lossless_conversion = {lossless}")
        relation = con.sql(
            f"""select i as "user", '{uuid.UUID(int=7)}'::UUID as item from range(60) r(i)"""  # noqa: S608
        )
        expected = repr(str(uuid.UUID(int=7)) if kind == "str" else uuid.UUID(int=7).bytes)
        assert counted(relation) == {expected: 60}


# --- Parquet: the annotation decides, whatever the pages and the stored Arrow schema say ---

#: The end of a text column in a footer: the converted type UTF8, and the logical type STRING.
_STRING = bytes.fromhex("25004c1c0000")
ANNOTATIONS = {"STRING": (1, 0), "ENUM": (4, 4), "JSON": (12, 19), "BSON": (13, 20)}


def annotated(source: pathlib.Path, target: pathlib.Path, name: str) -> pathlib.Path:
    """The same file with other annotations of all its text columns."""
    logical, converted = ANNOTATIONS[name]
    data = source.read_bytes()
    length = struct.unpack("<I", data[-8:-4])[0]
    footer = data[-8 - length : -8]
    assert footer.count(_STRING) == 2
    footer = footer.replace(_STRING, bytes([0x25, converted * 2, 0x4C, (logical << 4) | 0xC, 0, 0]))
    target.write_bytes(data[: -8 - length] + footer + data[-8:])
    return target


@pytest.mark.parametrize("name", ANNOTATIONS)
def test_the_pages_and_the_stored_schema_do_not_change_an_annotated_text(name, tmp_path) -> None:
    table = pa.table({"user": [str(u % 30) for u in range(60)], "item": ["an item of some length"] * 60})
    forms = [
        {"use_dictionary": dictionary, "store_schema": stored, "version": version, "compression": codec}
        for dictionary in (True, False)
        for stored in (True, False)
        for version, codec in (("1.0", "none"), ("2.6", "zstd"))
    ]
    files = []
    for at, form in enumerate(forms):
        for kind in (pa.string(), pa.large_string(), pa.string_view()):
            plain = tmp_path / f"{at}-{kind}.plain"
            pq.write_table(table.cast(pa.schema([("user", kind), ("item", kind)])), plain, **form)
            files.append(annotated(plain, plain.with_suffix(".parquet"), name))
    if name == "BSON":
        for file in files:
            assert_refused(file, "BSON")
        return
    for file in files:
        assert counted(file) == {"'an item of some length'": 30}
        assert counted([files[0], file]) == {"'an item of some length'": 30}
    assert counted(files) == {"'an item of some length'": 30}
    with_text = annotated(tmp_path / "0-string.plain", tmp_path / "text.parquet", "STRING")
    assert counted([*files, with_text]) == {"'an item of some length'": 30}


@pytest.mark.parametrize("name", ["ENUM", "JSON", "BSON"])
def test_folders_read_a_column_as_the_files_alone(name, tmp_path) -> None:
    table = pa.table({"user": [str(u % 30) for u in range(60)], "item": ["x"] * 60})
    for at in range(4):
        folder = tmp_path / f"part={at}"
        folder.mkdir()
        plain = tmp_path / "plain"
        pq.write_table(table, plain, use_dictionary=at % 2 == 0, store_schema=at < 2)
        annotated(plain, folder / "rows.parquet", name)
    paths = str(tmp_path / "*" / "*.parquet")
    if name == "BSON":
        assert_refused(paths, "BSON", item=["item", "part"])
        return
    release = select(paths, item=["item", "part"], privacy=LOOSE, max_items_per_user=4, counts=dpsel.Counts())
    rows = pa.table(release).to_pydict()
    assert rows["item"] == ["x"] * 4
    assert rows["part"] == ["0", "1", "2", "3"]
    assert all(abs(users - 30) <= 2 for users in rows["users"])


def test_geometries_of_geoparquet_are_refused(tmp_path) -> None:
    geo = {"version": "1.0.0", "primary_column": "user", "columns": {"user": {"encoding": "WKB"}}}
    table = pa.table({"user": [b"wkb"] * 60, "item": ["x"] * 60})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(geo)}), tmp_path / "rows.parquet")
    assert_refused(tmp_path / "rows.parquet", "GEOMETRY")


def test_duckdb_writes_json_in_two_kinds_of_pages_and_users_count_once(tmp_path) -> None:
    con = duckdb.connect()
    con.execute(
        """create table t as select json_object('u', i % 30) as "user", 'x' as item from range(60) r(i)"""
    )
    con.execute(f"copy t to '{tmp_path}/dictionary.parquet' (parquet_version v1)")
    con.execute(f"copy t to '{tmp_path}/delta.parquet' (parquet_version v2, dictionary_size_limit 1)")
    assert counted(str(tmp_path / "*.parquet")) == {"'x'": 30}
    assert counted(con.table("t")) == {"'x'": 30}


def test_dictionaries_of_fixed_size_binaries_are_read(tmp_path) -> None:
    values = pa.array([bytes([u % 30]) * 16 for u in range(60)], pa.binary(16))
    for at, (column, dictionary) in enumerate(
        [
            (values, True),
            (values, False),
            (values.dictionary_encode(), True),
            (values.dictionary_encode(), False),
        ]
    ):
        table = pa.table({"user": column, "item": ["x"] * 60})
        pq.write_table(table, tmp_path / f"{at}.parquet", use_dictionary=dictionary)
        assert counted(tmp_path / f"{at}.parquet") == {"'x'": 30}
    assert counted(str(tmp_path / "*.parquet")) == {"'x'": 30}


# --- Values of Python, alike in every way in ---


class _Name(str):
    __slots__ = ()


class _Number(int):
    pass


class _Moment(dt.datetime):
    pass


class _Text(enum.StrEnum):
    A = "a"


class _Whole(enum.IntEnum):
    ONE = 1


class _Colour(enum.Enum):
    RED = "a"


class _Flag(enum.Flag):
    A = 1


MIDNIGHT = dt.datetime(2024, 1, 1)  # noqa: DTZ001 - a time without a zone

#: A value, and what it is everywhere; `None` if it is refused everywhere.
OBJECTS = {
    "uuid": (uuid.UUID(int=5), None),
    "address": (ipaddress.ip_address("10.0.0.1"), None),
    "network": (ipaddress.ip_network("10.0.0.0/8"), None),
    "path": (pathlib.PurePosixPath("a"), None),
    "decimal": (Decimal(1), None),
    "enum": (_Colour.RED, None),
    "flag": (_Flag.A, None),
    "float": (1.0, None),
    "minus zero": (-0.0, None),
    "complex": (1j, None),
    "time": (dt.time(1), None),
    "timedelta": (dt.timedelta(1), None),
    "bytearray": (bytearray(b"a"), None),
    "void": (np.void(b"a"), None),
    "numpy float": (np.float64(1.0), None),
    "numpy timedelta": (np.timedelta64(1, "s"), None),
    "numpy month": (np.datetime64("2024-01"), None),
    "period": (pd.Period("2024-01"), None),
    "nanoseconds": (pd.Timestamp("2024-01-01 00:00:00.000000001"), None),
    "text": ("a", "a"),
    "text enum": (_Text.A, "a"),
    "subclass of str": (_Name("a"), "a"),
    "numpy text": (np.str_("a"), "a"),
    "int": (1, 1),
    "int enum": (_Whole.ONE, 1),
    "subclass of int": (_Number(1), 1),
    "numpy int": (np.uint8(1), 1),
    "bool": (True, True),
    "numpy bool": (np.True_, True),
    "bytes": (b"a", b"a"),
    "numpy bytes": (np.bytes_(b"a"), b"a"),
    "date": (dt.date(2024, 1, 1), dt.date(2024, 1, 1)),
    "numpy day": (np.datetime64("2024-01-01"), dt.date(2024, 1, 1)),
    "datetime": (MIDNIGHT, MIDNIGHT),
    "subclass of datetime": (_Moment.fromisoformat("2024-01-01"), MIDNIGHT),
    "pandas": (pd.Timestamp("2024-01-01"), MIDNIGHT),
}


def _objects(values: list) -> np.ndarray:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


#: Each makes a table of (user, item), or pairs, of two lists.
WAYS = {
    "pairs": lambda users, items: list(zip(users, items, strict=True)),
    "groups": lambda users, items: [(user, [item]) for user, item in zip(users, items, strict=True)],
    "records": lambda users, items: [{"user": u, "item": i} for u, i in zip(users, items, strict=True)],
    "lists": lambda users, items: {"user": users, "item": items},
    "arrays": lambda users, items: {"user": _objects(users), "item": _objects(items)},
    "pandas": lambda users, items: pd.DataFrame({"user": users, "item": items}, dtype=object),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_a_value_is_one_user_and_one_item_in_every_way_in_or_is_refused_in_all(name) -> None:
    value, expected = OBJECTS[name]
    rows = 60
    for way, make in WAYS.items():
        if expected is None:
            for users, items in (([value] * rows, ["x"] * rows), (list(range(rows)), [value] * rows)):
                with pytest.raises(DpselError):
                    counted(make(users, items))
            continue
        assert counted(make([value] * rows, ["x"] * rows)) == {"'x'": 1}, way
        assert counted(make(list(range(rows)), [value] * rows)) == {repr(expected): rows}, way
    data = (
        [(user, "tea") for user in range(rows)] if expected is None else [(u, expected) for u in range(rows)]
    )
    arguments = {"privacy": LOOSE, "max_items_per_user": 1}
    for listed in ({"exclude": [value]}, {"public_items": [value]}):
        if expected is None:
            with pytest.raises(DpselError):
                select(data, **arguments, **listed)
        else:
            assert len(select(data, **arguments, **listed)) == ("public_items" in listed)
    release = select(data, **arguments)
    if expected is None:
        assert not _holds(release, value)
    else:
        assert _holds(release, value)


def _holds(release, value) -> bool:
    """Whether `filter` keeps a row of this item. A value that can be no item is refused."""
    try:
        return len(release.filter([("user", value)])) == 1
    except DpselError:
        return False


# --- Users that differ only by representation, in one call ---

#: Columns of the same thirty people. Kinds that are equal here count once, others are refused in one call.
MOMENTS = [dt.datetime(2024, 1, 1 + u) for u in range(30)]  # noqa: DTZ001 - zones are those of the columns
FORMS = {
    "int64": pa.array(range(30), pa.int64()),
    "uint8": pa.array(range(30), pa.uint8()),
    "decimal": pa.array([Decimal(u) for u in range(30)], pa.decimal128(12, 0)),
    "string": pa.array([str(u) for u in range(30)]),
    "dictionary": pa.array([str(u) for u in range(30)]).dictionary_encode(),
    "view": pa.array([str(u) for u in range(30)], pa.string_view()),
    "json": _extension(pa.json_(), pa.array([str(u) for u in range(30)])),
    "binary": pa.array([bytes([u]) * 16 for u in range(30)], pa.binary()),
    "fixed": pa.array([bytes([u]) * 16 for u in range(30)], pa.binary(16)),
    "uuid": _extension(pa.uuid(), pa.array([bytes([u]) * 16 for u in range(30)], pa.binary(16))),
    "uuid text": pa.array([str(uuid.UUID(bytes=bytes([u]) * 16)) for u in range(30)]),
    "date": pa.array([dt.date(2024, 1, 1 + u) for u in range(30)]),
    "date64": pa.array([dt.date(2024, 1, 1 + u) for u in range(30)], pa.date64()),
    "timestamp": pa.array(MOMENTS, pa.timestamp("us")),
    "seconds": pa.array(MOMENTS, pa.timestamp("s")),
    "instant": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
    "zone": pa.array(MOMENTS, pa.timestamp("ms", "Asia/Tokyo")),
    "bool": pa.array([u % 2 == 1 for u in range(30)]),
}
EQUAL = [
    {"int64", "uint8", "decimal"},
    {"string", "dictionary", "view", "json"},
    {"binary", "fixed", "uuid"},
    {"date", "date64"},
    {"timestamp", "seconds"},
    {"instant", "zone"},
]


@pytest.mark.parametrize("first", FORMS)
def test_people_in_two_forms_in_one_call_count_once_or_are_refused(first, tmp_path) -> None:
    for name, column in FORMS.items():
        table = pa.table({"user": column, "item": ["x"] * 30})
        pq.write_table(table, tmp_path / f"{name}.parquet", use_dictionary=len(name) % 2 == 0)
        pyarrow.feather.write_feather(table, tmp_path / f"{name}.arrow")
    people = 2 if first == "bool" else 30
    for name in FORMS:
        for endings in ((".parquet", ".arrow"), (".arrow", ".arrow"), (".parquet", ".parquet")):
            files = [tmp_path / (first + endings[0]), tmp_path / (name + endings[1])]
            alike = name == first or any({name, first} <= equal for equal in EQUAL)
            if alike or {name, first} <= EQUAL[1] | {"uuid text"}:
                assert counted(files) == {"'x'": people if alike else 60}
            else:
                assert_refused(files, "has type")


def test_numbers_of_json_lines_and_columns_of_parquet_meet_by_kind(tmp_path) -> None:
    pq.write_table(
        pa.table({"user": pa.array(range(30), pa.int16()), "item": ["x"] * 30}), tmp_path / "i.parquet"
    )
    pq.write_table(pa.table({"user": list(map(str, range(30))), "item": ["x"] * 30}), tmp_path / "t.parquet")
    lines = {"i": [json.dumps({"user": u, "item": "x"}) for u in range(30)]}
    lines["t"] = [json.dumps({"user": str(u), "item": "x"}) for u in range(30)]
    for name, rows in lines.items():
        (tmp_path / f"{name}.ndjson").write_text("\n".join(rows))
    (tmp_path / "t.csv").write_text("user,item\n" + "".join(f"{u},x\n" for u in range(30)))
    for number in ("i.parquet", "i.ndjson"):
        assert counted([tmp_path / "i.parquet", tmp_path / number]) == {"'x'": 30}
        for text in ("t.parquet", "t.ndjson", "t.csv"):
            with pytest.raises(SchemaError, match="has type"):
                counted([tmp_path / number, tmp_path / text])
    assert counted([tmp_path / name for name in ("t.parquet", "t.ndjson", "t.csv")]) == {"'x'": 30}
    for odd in ("-0", "1e0", "1.0", "01"):
        (tmp_path / "odd.ndjson").write_text(f'{{"user": 0, "item": "x"}}\n{{"user": {odd}, "item": "x"}}\n')
        try:
            assert counted(tmp_path / "odd.ndjson") == {"'x'": 1}
        except DpselError:
            continue


def test_frames_of_one_source_with_other_types_are_refused() -> None:
    class Frames(pl.LazyFrame):
        """A query whose later batches have another type than it declares."""

        def collect_schema(self):
            return pl.Schema({"user": pl.Int64, "item": pl.String})

    lazy = Frames({"user": ["1"], "item": ["x"]})
    with pytest.raises(DpselError):
        counted(lazy)


# --- A search for more ---

_TYPES = [
    pa.int8(), pa.uint64(), pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
    pa.binary_view(), pa.binary(16), pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns", "UTC"),
    pa.bool_(), pa.decimal128(9, 0), pa.json_(), pa.uuid(), pa.bool8(), pa.decimal128(9, 2), pa.time32("s"),
    pa.float16(), pa.duration("s"), pa.decimal32(5, 0), pa.decimal256(40, 0), pa.null(),
]  # fmt: skip


def _values(kind: pa.DataType) -> pa.Array:  # noqa: PLR0911 - one for each kind of type
    """Ten different values, as far as the type has them."""
    if isinstance(kind, pa.BaseExtensionType):
        return _extension(kind, _values(kind.storage_type))
    if pa.types.is_null(kind):
        return pa.nulls(10)
    if "binary" in str(kind):
        return pa.array([bytes([n]) * 16 for n in range(10)], kind)
    if pa.types.is_boolean(kind):
        return pa.array([True] * 10)
    if pa.types.is_date64(kind):
        return pa.array([n * 86_400_000 for n in range(10)], pa.int64()).view(kind)
    numbers = pa.array(range(10), pa.int64())
    if pa.types.is_temporal(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return numbers.cast(width).view(kind)
    return numbers.cast(pa.decimal128(19, 0)).cast(kind) if pa.types.is_decimal(kind) else numbers.cast(kind)


@hypothesis.given(
    kind=st.sampled_from(_TYPES),
    wrappers=st.lists(st.sampled_from(["dictionary", "runs"]), max_size=2),
    column=st.sampled_from(["user", "item"]),
    data=st.data(),
)
def test_any_type_in_any_wrapping_is_one_key_in_every_source_or_refused_in_all(
    kind, wrappers, column, data, tmp_path_factory
) -> None:
    values = _values(kind)
    for wrapper in wrappers:
        if wrapper == "dictionary":
            values = pa.DictionaryArray.from_arrays(pa.array([*range(10)], pa.int8()), values)
        elif not pa.types.is_run_end_encoded(values.type):
            values = pa.RunEndEncodedArray.from_arrays(pa.array(range(1, 11), pa.int32()), values)
    folder = tmp_path_factory.mktemp("rows")
    other = {"user": pa.array(range(10)), "item": pa.array(["x"] * 10)}
    table = pa.table(other | {column: values})
    outcomes = {}
    sources = {"table": table, "reader": table.to_reader(), "foreign": Foreign(table)}
    try:
        pyarrow.feather.write_feather(table, folder / "rows.arrow", compression="uncompressed")
        if len(wrappers) <= 1:
            sources["ipc"] = folder / "rows.arrow"
    except (pa.ArrowException, TypeError, OSError):
        pass
    options = {"use_dictionary": data.draw(st.booleans()), "store_schema": data.draw(st.booleans())}
    try:
        pq.write_table(table, folder / "rows.parquet", **options)
        sources["parquet"] = folder / "rows.parquet"
    except (pa.ArrowException, TypeError, OSError):
        pass
    for name, source in sources.items():
        try:
            outcomes[name] = counted(source)
        except DpselError:
            outcomes[name] = None
    # A file may declare less, such as a decimal of 128 bits for one of 32, and writes no nested dictionaries.
    in_memory = [outcome for name, outcome in outcomes.items() if name != "parquet"]
    assert all(outcome == in_memory[0] for outcome in in_memory), outcomes
    if in_memory[0] is not None:
        assert outcomes.get("parquet") in (None, in_memory[0]), outcomes


class _Foreign:
    """What a library that nobody knows exports."""

    def __init__(self, data):
        self._data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self._data.__arrow_c_stream__(requested_schema)


def test_null_rows_of_a_column_of_structs_are_no_users() -> None:
    parts = [pa.array([7, 8] * 30), pa.array(["a"] * 60)]
    structs = pa.StructArray.from_arrays(
        parts, ["user", "item"], mask=pa.array([row % 2 == 0 for row in range(60)])
    )
    with pytest.raises(SchemaError, match="is one column, whose null rows"):
        dpsel.select_partitions(
            _Foreign(pa.chunked_array([structs])),
            user="user",
            item="item",
            privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            max_items_per_user=1,
        )


@pytest.mark.parametrize("kind", ["U", "S"])
def test_texts_of_numpy_with_a_nul_are_not_cut_off(kind) -> None:
    texts = [f"a\0{user}" for user in range(60)]
    users = np.array(texts if kind == "U" else [text.encode() for text in texts])
    release = dpsel.select_partitions(
        {"user": users, "item": np.array(["tea"] * 60)},
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=40.0, delta=0.1),
        max_items_per_user=1,
        mechanism=dpsel.CountGaussian(),
        counts=0.5,
        insecure_test_key=bytes(32),
    )
    assert 55 < dict(release.items)["tea"] < 65


@pytest.mark.parametrize("unit", ["25s", "7D", "2ns", "h", "M", "Y"])
def test_times_of_numpy_whose_unit_would_be_lost_are_refused(unit) -> None:
    times = np.array([100] * 60, "M8[s]").astype(f"M8[{unit}]")
    budget = dpsel.Budget(dpsel.ApproxDP(epsilon=1.0, delta=1e-6))
    with pytest.raises(SchemaError, match="has times of datetime64"):
        dpsel.select_partitions(
            {"user": np.arange(60), "item": times},
            user="user",
            item="item",
            privacy=budget.share(1),
            max_items_per_user=1,
        )
    assert not budget.spent


def test_days_of_numpy_beyond_32_bits_are_not_cut_off() -> None:
    days = np.array([0, 2**32] * 30).astype("M8[D]")
    with pytest.raises(dpsel.DpselError):
        dpsel.select_partitions(
            {"user": np.arange(60), "item": days},
            user="user",
            item="item",
            privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            max_items_per_user=1,
        )
