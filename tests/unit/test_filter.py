"""``release.filter``: the rows of every kind of table whose item was released."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import operator
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsel
from dpsel.exceptions import DataError, FileError, InvalidParameterError, ReportError, SchemaError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
USERS = range(400)


def released(items, **options):
    """A release of exactly these items, which all users hold."""
    rows = [(user, item) for user in USERS for item in items]
    arguments = {"privacy": PRIVACY, "max_items_per_user": len(items)} | options
    release = dpsel.select_partitions(rows, **arguments)
    assert len(release) == len(items)
    return release


@pytest.fixture(scope="module")
def drinks():
    return released(["tea", "milk"])


@pytest.fixture(scope="module")
def trips():
    return released([("Oslo", 1), ("Lima", 2)], item=["city", "day"])


TABLE = {"item": ["tea", "gin", None, "milk"], "n": [1, 2, 3, 4]}
KEPT = [("tea", 1), ("milk", 4)]
LABELLED = [("tea", 1), ("other", 2), (None, 3), ("milk", 4)]


def rows_of(table):
    table = table.collect() if isinstance(table, pl.LazyFrame) else table
    if isinstance(table, pl.DataFrame):
        return table.rows()
    if isinstance(table, pd.DataFrame):
        plain = table.astype(object).where(table.notna(), None)
        return list(plain.itertuples(index=False, name=None))
    table = table.read_all() if isinstance(table, pa.RecordBatchReader) else table
    return list(zip(*(table.column(at).to_pylist() for at in range(table.num_columns)), strict=True))


class Stream:
    """An Arrow producer that no library knows."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(TABLE).__arrow_c_stream__(requested_schema)


SOURCES = {
    "polars": (lambda: pl.DataFrame(TABLE), pl.DataFrame),
    "lazy": (lambda: pl.LazyFrame(TABLE), pl.LazyFrame),
    "polars categorical": (
        lambda: pl.DataFrame(TABLE).with_columns(pl.col("item").cast(pl.Categorical)),
        pl.DataFrame,
    ),
    "pandas": (lambda: pd.DataFrame(TABLE), pd.DataFrame),
    "pandas object": (lambda: pd.DataFrame(TABLE).astype({"item": object}), pd.DataFrame),
    "pandas category": (lambda: pd.DataFrame(TABLE).astype({"item": "category"}), pd.DataFrame),
    "arrow": (lambda: pa.table(TABLE), pa.Table),
    "batch": (lambda: pa.RecordBatch.from_pydict(TABLE), pa.RecordBatch),
    "reader": (lambda: pa.table(TABLE).to_reader(max_chunksize=2), pa.RecordBatchReader),
    "dictionary": (
        lambda: pa.table({"item": pa.array(TABLE["item"]).dictionary_encode(), "n": TABLE["n"]}),
        pa.Table,
    ),
    "duckdb": (lambda: duckdb.from_arrow(pa.table(TABLE)), pa.RecordBatchReader),
    "stream": (Stream, pa.RecordBatchReader),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_kind_of_table_keeps_its_kind_and_loses_other_rows(drinks, name) -> None:
    make, kind = SOURCES[name]
    kept = drinks.filter(make())
    assert isinstance(kept, kind)
    assert rows_of(kept) == KEPT


@pytest.mark.parametrize("name", SOURCES)
def test_other_rows_come_under_one_label(drinks, name) -> None:
    make, kind = SOURCES[name]
    kept = drinks.filter(make(), other="other")
    assert isinstance(kept, kind)
    assert rows_of(kept) == LABELLED


def test_pandas_keeps_its_index_and_leaves_the_input_alone(drinks) -> None:
    frame = pd.DataFrame(TABLE, index=[10, 20, 30, 40])
    assert list(drinks.filter(frame).index) == [10, 40]
    assert list(drinks.filter(frame, other="x").index) == [10, 20, 30, 40]
    assert list(frame["item"].dropna()) == ["tea", "gin", "milk"]


def test_pairs_and_groups_of_items(drinks) -> None:
    rows = [(1, "tea"), (2, "gin"), (3, ["milk", "gin"]), (4, ["gin"]), (5, None)]
    assert drinks.filter(rows) == [(1, "tea"), (3, ["milk"])]
    labelled = [(1, "tea"), (2, "rest"), (3, ["milk", "rest"]), (4, ["rest"]), (5, None)]
    assert drinks.filter(iter(rows), other="rest") == labelled


def test_records_and_columns_by_name(drinks, trips) -> None:
    records = [{"item": item, "n": n} for item, n in zip(*TABLE.values(), strict=True)] + [{"n": 5}]
    as_records = [{"item": item, "n": n} for item, n in KEPT]
    assert drinks.filter(records) == as_records
    labelled = [{"item": item, "n": n} for item, n in LABELLED] + [{"n": 5, "item": None}]
    assert drinks.filter(records, other="other") == labelled
    assert drinks.filter(TABLE) == {"item": ["tea", "milk"], "n": [1, 4]}
    arrays = {"drink": np.array(["tea", "gin"]), "n": np.arange(2)}
    assert drinks.filter(arrays, item="drink", other="other") == {"drink": ["tea", "other"], "n": [0, 1]}
    groups = [{"item": ["tea", "gin"]}, {"item": ["gin"]}]
    assert drinks.filter(groups) == [{"item": ["tea"]}]
    days = {"city": ["Oslo", "Oslo", None], "day": [1, 2, 3]}
    assert trips.filter(days) == {"city": ["Oslo"], "day": [1]}
    assert trips.filter(days, other=("else", 0)) == {"city": ["Oslo", "else", None], "day": [1, 0, 3]}
    rows = [{"city": city, "day": day} for city, day in zip(*days.values(), strict=True)]
    assert trips.filter(rows) == [{"city": "Oslo", "day": 1}]
    with pytest.raises(SchemaError, match="no field named 'item'"):
        drinks.filter([{"drink": "tea"}])
    with pytest.raises(SchemaError, match="different lengths"):
        drinks.filter({"item": ["tea"], "n": []})
    with pytest.raises(SchemaError, match="row at position 1 is a tuple, but"):
        drinks.filter([{"item": "tea"}, ("tea",)])


def test_several_columns_are_one_item(trips) -> None:
    frame = pl.DataFrame(
        {"day": [1, 2, 2], "city": ["Oslo", "Oslo", "Lima"]}, schema_overrides={"day": pl.Int8}
    )
    assert trips.filter(frame).rows() == [(1, "Oslo"), (2, "Lima")]
    assert trips.filter(frame, other=("else", 0)).rows() == [(1, "Oslo"), (0, "else"), (2, "Lima")]
    renamed = frame.rename({"day": "d", "city": "c"})
    assert trips.filter(renamed, item=["c", "d"]).rows() == [(1, "Oslo"), (2, "Lima")]
    assert ("Oslo", 1) in trips
    assert ("Oslo", 2) not in trips
    assert "Oslo" not in trips
    assert trips.filter([(7, ("Oslo", 1)), (8, ("Oslo", 9))]) == [(7, ("Oslo", 1))]


@pytest.mark.parametrize(
    ("items", "other"),
    [
        ([1, 2], 3),
        ([dt.date(2026, 1, 1), dt.date(2026, 1, 2)], dt.date(2026, 1, 3)),
        ([dt.datetime(2026, 1, 1, 12), dt.datetime(2026, 1, 2)], dt.datetime(2026, 1, 1)),  # noqa: DTZ001 - no zone
        ([b"a", b"a longer key that is no single block of a digest"], b"b"),
        ([True], False),
    ],
)
def test_every_kind_of_key(items, other) -> None:
    release = released(items)
    frame = pl.DataFrame({"item": [*items, other]})
    assert release.filter(frame)["item"].to_list() == items
    assert all(item in release for item in items)
    assert other not in release


def test_equality_is_that_of_a_selection() -> None:
    release = released([1, 2])
    assert 1 in release
    assert "1" not in release
    assert 1.0 not in release
    assert True not in release
    assert release.filter(pl.DataFrame({"item": [1, 5]}, schema={"item": pl.UInt16}))["item"].to_list() == [1]
    with pytest.raises(SchemaError, match="has text, but the released items are integers"):
        release.filter(pl.DataFrame({"item": ["1"]}))


def test_large_unsigned_integers_are_found() -> None:
    large = 2**64 - 1
    frame = pl.DataFrame({"user": list(USERS), "item": [large] * 400}, schema_overrides={"item": pl.UInt64})
    release = dpsel.select_partitions(frame, user="user", item="item", privacy=PRIVACY, max_items_per_user=1)
    assert large in release
    assert large - 1 not in release
    assert release.filter(frame).height == 400


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda r: r.filter(pl.DataFrame({"x": ["tea"]})), SchemaError, "no column named 'item'"),
        (lambda r: r.filter(pl.DataFrame({"item": [1.5]})), SchemaError, "Float64"),
        (lambda r: r.filter(pl.DataFrame({"item": [["tea"]]})), SchemaError, "is a list"),
        (lambda r: r.filter(pl.DataFrame(TABLE), item=["item", "n"]), SchemaError, "2 were named"),
        (lambda r: r.filter(pl.DataFrame(TABLE), other="tea"), InvalidParameterError, "not released"),
        (lambda r: r.filter(pl.DataFrame(TABLE), other=("a", "b")), InvalidParameterError, "one label"),
        (lambda r: r.filter(pl.DataFrame(TABLE), item=3), InvalidParameterError, "names of columns"),
        (lambda r: r.filter(7), SchemaError, "cannot be filtered"),
        (lambda r: r.filter("rows.csv"), SchemaError, "release.filter_file"),
        (lambda r: r.filter([(1, "tea")], item="drink"), InvalidParameterError, "leave item= out"),
        (lambda r: r.filter([1, 2]), SchemaError, "(user, item)"),
        (lambda r: r.filter(pd.Series(["tea"])), SchemaError, "no table|not a table"),
    ],
)
def test_errors_name_the_problem(drinks, call, error, text) -> None:
    with pytest.raises(error, match=text.replace("(", r"\(").replace(")", r"\)")):
        call(drinks)


def test_a_label_must_keep_the_types_of_the_table() -> None:
    release = released([1, 2])
    for table in (pl.DataFrame({"item": [1, 9]}), pd.DataFrame({"item": [1, 9]}), pa.table({"item": [1, 9]})):
        with pytest.raises(InvalidParameterError, match="keeps its types"):
            release.filter(table, other="other")
        assert [row[0] for row in rows_of(release.filter(table, other=0))] == [1, 0]


LABEL_SOURCES = {
    "pairs": lambda items: list(enumerate(items)),
    "groups": lambda items: [(1, items)],
    "records": lambda items: [{"item": item} for item in items],
    "columns": lambda items: {"item": items},
    "object": lambda items: pd.DataFrame({"item": pd.Series(items, dtype=object)}),
    "pandas": lambda items: pd.DataFrame({"item": items}),
    "polars": lambda items: pl.DataFrame({"item": items}),
    "lazy": lambda items: pl.LazyFrame({"item": items}),
    "arrow": lambda items: pa.table({"item": items}),
}
REFUSED_LABELS = [
    ([1, 2], label) for label in (1, True, 1.0, float("nan"), "1", [1], 10**30, pd.NA, np.int64(2))
] + [(["1", "2"], label) for label in (1, float("nan"), b"1", ["x"], {}, "\ud800", "2")]


@pytest.mark.parametrize("source", LABEL_SOURCES)
def test_a_label_is_no_released_item_not_missing_and_of_the_kind_of_items(source) -> None:
    releases = {items: released(list(items)) for items in ((1, 2), ("1", "2"))}
    for items, label in REFUSED_LABELS:
        table = LABEL_SOURCES[source]([*items, "7" if items[0] == "1" else 7])
        with pytest.raises(InvalidParameterError, match="other must be"):
            releases[tuple(items)].filter(table, other=label)


@pytest.mark.parametrize("source", ["arrow", "polars", "pandas"])
def test_a_label_is_checked_as_the_column_holds_it(source) -> None:
    """A column of seconds would cut the label off to the released item."""
    second = dt.datetime(2026, 1, 1, 12)  # noqa: DTZ001 - no zone
    rows = pa.table({"item": pa.array([second, second + dt.timedelta(1)], pa.timestamp("ms"))})
    table = {"arrow": lambda: rows, "polars": lambda: pl.from_arrow(rows), "pandas": rows.to_pandas}[source]()
    label = second + dt.timedelta(microseconds=1)
    try:
        made = released([second]).filter(table, other=label)
    except InvalidParameterError:
        return
    assert rows_of(made)[1][0] != second


def test_rows_of_a_reader_and_a_column_that_fail_are_not_quoted(drinks) -> None:
    def batches():
        yield pa.record_batch({"item": ["tea"]})
        raise ValueError("secret row")

    class Column:
        def tolist(self):
            raise ValueError("secret row")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"item": pa.string()}), batches())
    for read in (lambda: drinks.filter(reader).read_all(), lambda: drinks.filter({"item": Column()})):
        with pytest.raises(DataError) as raised:
            read()
        assert "secret" not in str(raised.value)
        assert raised.value.__context__ is None


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_program_ends_a_filter(drinks, kind) -> None:
    def rows():
        yield (1, "tea")
        raise kind

    with pytest.raises(kind):
        drinks.filter(rows())


@pytest.mark.parametrize(
    ("name", "label"), [("in.csv", ""), ("in.ndjson", np.str_("x")), ("in.ndjson", float("nan"))]
)
def test_a_label_of_a_file_is_written_as_itself(drinks, tmp_path, name, label) -> None:
    source = tmp_path / name
    write(source, KEPT)
    with pytest.raises(InvalidParameterError, match="other must be"):
        drinks.filter_file(source, tmp_path / f"out.{name}", other=label)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_ngrams_are_refused() -> None:
    texts = [(user, "tea and milk") for user in USERS]
    release = dpsel.select_partitions(texts, privacy=PRIVACY, max_items_per_user=3, ngrams=(1, 1))
    with pytest.raises(InvalidParameterError, match="n-grams"):
        release.filter(texts)
    assert "tea" in release


def test_a_top_k_filters_too() -> None:
    rows = [(user, "tea") for user in USERS] + [(1, "gin")]
    top = dpsel.select_top_k(rows, k=1, domain=["tea", "gin"], privacy=dpsel.PureDP(epsilon=1.0))
    assert top.filter([(1, "tea"), (1, "gin")]) == [(1, "tea")]
    assert list(top) == ["tea"]
    assert "tea" in top
    counts = dpsel.top_k_from_counts([900, 1], k=1, privacy=dpsel.PureDP(epsilon=1.0))
    assert 0 in counts
    with pytest.raises(InvalidParameterError, match="counts"):
        counts.filter([(1, 0)])


# Files.


def write(path, rows, columns=("item", "n")):
    if path.suffix in {".csv", ".tsv"} or path.name.endswith(".csv.gz"):
        text = "\n".join(
            [",".join(columns), *(",".join("" if v is None else str(v) for v in row) for row in rows)]
        )
        text = text.replace(",", "\t") if ".tsv" in path.name else text
        text += "\n"
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    elif ".ndjson" in path.name:
        path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    else:
        table = pa.table({name: [row[at] for row in rows] for at, name in enumerate(columns)})
        if path.suffix == ".parquet":
            pq.write_table(table, path, row_group_size=1)
        else:
            opened = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
            with opened(str(path), table.schema) as writer:
                writer.write_table(table)


def read(path):
    if ".csv" in path.name or ".tsv" in path.name:
        data = path.read_bytes()
        lines = (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()[1:]
        fields = [line.split("\t" if ".tsv" in path.name else ",") for line in lines]
        return [(item or None, int(number)) for item, number in fields]
    if ".ndjson" in path.name:
        return [tuple(json.loads(line).values()) for line in path.read_text().splitlines()]
    if path.suffix == ".parquet":
        return rows_of(pq.read_table(path))
    opened = pa.ipc.open_stream if path.suffix == ".arrows" else pa.ipc.open_file
    return rows_of(opened(str(path)).read_all())


@pytest.mark.parametrize("extension", ["csv", "csv.gz", "tsv", "ndjson", "parquet", "arrow", "arrows"])
def test_files_to_files(drinks, tmp_path, extension) -> None:
    source, target = tmp_path / f"in.{extension}", tmp_path / f"out.{extension}"
    write(source, list(zip(TABLE["item"], TABLE["n"], strict=True)))
    drinks.filter_file(source, target)
    assert read(target) == KEPT
    drinks.filter_file(source, target, other="other")
    assert read(target) == LABELLED
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, target.name])


#: The name of a file, the rest of a call, and the text of rows with this delimiter.
FORMS = {
    "semicolons": ("rows.csv", dpsel.Csv(delimiter=";"), "item;n\ntea;1\ngin;2\nmilk;4\n"),
    "no extension": ("rows", dpsel.Csv(delimiter="|"), "item|n\ntea|1\ngin|2\nmilk|4\n"),
    "no header": ("rows.csv", dpsel.Csv(header=False), "tea,1\ngin,2\nmilk,4\n"),
    "tabs without a header": ("rows.tsv", dpsel.Csv(header=False), "tea\t1\ngin\t2\nmilk\t4\n"),
    "packed": ("rows.tab.gz", dpsel.Csv(header=False), "tea\t1\ngin\t2\nmilk\t4\n"),
    "only a format": ("rows.log", "ndjson", '{"item": "tea"}\n{"item": "gin"}\n{"item": "milk"}\n'),
}


@pytest.mark.parametrize("name", FORMS)
def test_files_whose_names_do_not_say_their_form(drinks, tmp_path, name) -> None:
    file, form, text = FORMS[name]
    source, target = tmp_path / file, tmp_path / f"kept-{file}"
    packed = file.endswith(".gz")
    source.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    column = "column_1" if isinstance(form, dpsel.Csv) and not form.header else "item"
    drinks.filter_file(source, target, item=column, file_format=form)
    made = target.read_bytes()
    kept = (gzip.decompress(made) if packed else made).decode()
    assert kept == "".join(line for line in text.splitlines(keepends=True) if "gin" not in line)
    drinks.filter_file(source, target, item=column, other="rest", file_format=form)
    made = target.read_bytes()
    labelled = (gzip.decompress(made) if packed else made).decode()
    assert labelled == text.replace("gin", "rest")


def test_an_empty_file_has_no_columns(drinks, tmp_path) -> None:
    (tmp_path / "rows.csv").write_text("")
    with pytest.raises(FileError, match="the file is empty"):
        drinks.filter_file(
            tmp_path / "rows.csv", tmp_path / "kept.csv", item="column_1", file_format=dpsel.Csv(header=False)
        )


@pytest.mark.parametrize("given", ["xml", 5, ["csv"], ";"])
def test_a_form_is_one_of_those_that_are_known(drinks, tmp_path, given) -> None:
    (tmp_path / "rows.csv").write_text("item\ntea\n")
    with pytest.raises(InvalidParameterError, match="file_format must be one of parquet, csv"):
        drinks.filter_file(tmp_path / "rows.csv", tmp_path / "kept.csv", file_format=given)


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("in.csv", 'item,n\n"tea,1\n', DataError),
        ("in.csv", "item,n\ntea\n", DataError),
        ("in.csv", "other,n\ntea,1\n", SchemaError),
        ("in.ndjson", '{"item": "tea"}\nsecret\n', DataError),
        ("in.ndjson", '{"item": 1.5}\n', SchemaError),
        ("in.parquet", "secret", FileError),
        ("in.txt", "tea", FileError),
        ("in.csv.gz", "\x1f\x8bsecret", FileError),
    ],
)
def test_damaged_files_leave_nothing_and_quote_nothing(drinks, tmp_path, name, text, error) -> None:
    source, target = tmp_path / name, tmp_path / name.replace("in.", "out.")
    source.write_text(text, encoding="latin-1")
    with pytest.raises(error) as raised:
        drinks.filter_file(source, target)
    assert "secret" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_is_not_written_over_itself_or_in_another_format(drinks, tmp_path) -> None:
    source = tmp_path / "in.csv"
    write(source, KEPT)
    with pytest.raises(FileError, match="the file that is read"):
        drinks.filter_file(source, source)
    with pytest.raises(FileError, match="same extension"):
        drinks.filter_file(source, tmp_path / "out.ndjson")
    with pytest.raises(FileNotFoundError):
        drinks.filter_file(tmp_path / "none.csv", tmp_path / "out.csv")


def test_a_file_is_not_written_where_its_name_tells_another_delimiter(drinks, tmp_path) -> None:
    """It would be read back with the other one."""
    source, target = tmp_path / "in.csv", tmp_path / "out.tsv"
    source.write_text("item,n\ntea,1\n")
    with pytest.raises(FileError, match="its name tells another delimiter"):
        drinks.filter_file(source, target, file_format=dpsel.Csv())
    assert not target.exists()
    drinks.filter_file(source, target, file_format=dpsel.Csv(delimiter=","))
    assert target.read_text() == source.read_text()


def split(folder, extension):
    """The table in two files of a folder."""
    rows = list(zip(TABLE["item"], TABLE["n"], strict=True))
    folder.mkdir()
    write(folder / f"a.{extension}", rows[:3])
    write(folder / f"b.{extension}", rows[3:])


@pytest.mark.parametrize("extension", ["csv", "csv.gz", "tsv", "ndjson", "parquet", "arrow", "arrows"])
@pytest.mark.parametrize("named", ["folder", "pattern", "list", "paths"])
def test_several_files_are_one_table_as_in_a_selection(drinks, tmp_path, extension, named) -> None:
    folder, target = tmp_path / "rows", tmp_path / f"out.{extension}"
    split(folder, extension)
    files = [folder / f"a.{extension}", folder / f"b.{extension}"]
    source = {
        "folder": folder,
        "pattern": str(folder / "*"),
        "list": [str(file) for file in files],
        "paths": tuple(files),
    }[named]
    drinks.filter_file(source, target)
    assert read(target) == KEPT
    drinks.filter_file(source, target, other="other")
    assert read(target) == LABELLED
    with pytest.raises(FileError, match="the file that is read"):
        drinks.filter_file(source, files[0])


@pytest.mark.parametrize("extension", ["csv", "parquet", "arrow"])
def test_files_of_other_columns_or_formats_make_no_table(drinks, tmp_path, extension) -> None:
    folder = tmp_path / "rows"
    split(folder, extension)
    write(folder / f"c.{extension}", [("tea", 1)], ("item", "m"))
    with pytest.raises(SchemaError, match="filter .* apart"):
        drinks.filter_file(folder, tmp_path / f"out.{extension}")
    (folder / f"c.{extension}").unlink()
    write(folder / "c.ndjson", KEPT)
    with pytest.raises(FileError, match="same extension"):
        drinks.filter_file(folder, tmp_path / f"out.{extension}")
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


def test_columns_that_folders_name_are_columns_of_the_rows(tmp_path) -> None:
    trips = released([("Oslo", "1"), ("Lima", "2")], item=["city", "day"])
    for day in ("1", "2"):
        folder = tmp_path / "rows" / f"day={day}"
        folder.mkdir(parents=True)
        write(folder / "part.parquet", [("Oslo", 1), ("Lima", 2)], ("city", "n"))
    target = tmp_path / "out.parquet"
    trips.filter_file(tmp_path / "rows", target)
    assert read(target) == [("Oslo", 1, "1"), ("Lima", 2, "2")]


@pytest.mark.parametrize("extension", ["csv", "csv.gz", "ndjson", "parquet", "arrow", "arrows"])
def test_standard_input_and_pipes_are_filtered(drinks, tmp_path, extension) -> None:
    source, target = tmp_path / f"in.{extension}", tmp_path / f"out.{extension}"
    write(source, list(zip(TABLE["item"], TABLE["n"], strict=True)))
    drinks.write(tmp_path / "items.csv")
    drinks.report.save(tmp_path / "items.json")
    kind = {"csv.gz": "csv", "arrow": "ipc", "arrows": "ipc"}.get(extension, extension)
    for name in ("-", "/dev/stdin"):
        words = ["filter", "items.csv", name, "--format", kind, "-q", "-o", str(target)]
        code = f"from dpsel.cli import main; raise SystemExit(main({words}))"
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, input=source.read_bytes())
        assert read(target) == KEPT


def test_zstandard_is_read_and_written(drinks, tmp_path) -> None:
    source, target = tmp_path / "in.csv.zst", tmp_path / "out.csv.zst"
    pl.DataFrame(TABLE).write_csv(source, compression="zstd")
    drinks.filter_file(source, target)
    assert pl.read_csv(target).rows() == KEPT


def test_lines_keep_their_ends_and_a_last_line_gets_one(drinks, tmp_path) -> None:
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbf"item",n\r\n"tea",1\r\ngin,2\r\n"milk","3"')
    drinks.filter_file(tmp_path / "a.csv", tmp_path / "b.csv")
    assert (tmp_path / "b.csv").read_bytes() == b'"item",n\r\n"tea",1\r\n"milk","3"\r\n'


def test_rows_of_many_batches_are_all_there(drinks, tmp_path) -> None:
    rows = [("tea" if number % 3 else "gin", number) for number in range(100_000)]
    write(tmp_path / "rows.csv", rows)
    drinks.filter_file(tmp_path / "rows.csv", tmp_path / "kept.csv")
    assert read(tmp_path / "kept.csv") == [row for row in rows if row[0] == "tea"]


@pytest.mark.parametrize("data", [7, [1, 2], {"a": 1}, None])
def test_what_is_no_path_is_no_file(drinks, tmp_path, data) -> None:
    with pytest.raises(SchemaError, match="no path of a file"):
        drinks.filter_file(data, tmp_path / "out.csv")


def test_levels_of_an_index_of_pandas_are_columns_as_in_a_selection(drinks) -> None:
    frame = pd.DataFrame(TABLE).fillna({"item": "gin"})
    for index in ("item", ["item", "n"], ["n", "item"]):
        indexed = frame.set_index(index, drop=True)
        kept = drinks.filter(indexed)
        assert kept.index.names == indexed.index.names
        assert kept.reset_index()["item"].to_list() == ["tea", "milk"]
        labelled = drinks.filter(indexed, other="other")
        assert labelled.index.names == indexed.index.names
        assert labelled.reset_index()["item"].to_list() == ["tea", "other", "other", "milk"]
        assert indexed.reset_index()["item"].to_list() == ["tea", "gin", "gin", "milk"]


# Reading a release back.


@pytest.mark.parametrize("extension", ["csv", "csv.gz", "ndjson", "parquet", "arrow", "arrows"])
def test_a_release_is_read_back(drinks, tmp_path, extension) -> None:
    path = tmp_path / f"items.{extension}"
    if extension == "csv.gz":
        write(path, [("milk", 0), ("tea", 0)])
    else:
        drinks.write(path)
    drinks.report.save(tmp_path / "items.json")
    loaded = dpsel.Release.load(path)
    assert list(loaded) == ["milk", "tea"]
    assert loaded.report == drinks.report
    assert dpsel.check(loaded).ok
    assert loaded.filter([(1, "tea"), (1, "gin")]) == [(1, "tea")]


def test_weights_marks_and_types_are_read_back(tmp_path) -> None:
    rows = [(user, user % 2) for user in range(2000)]
    release = dpsel.select_partitions(
        rows, privacy=PRIVACY, max_items_per_user=1, with_weights=True, public_items=[7]
    )
    for extension in ("parquet", "ndjson"):
        path = tmp_path / f"items.{extension}"
        release.write(path)
        loaded = dpsel.Release.load(path, release.report)
        assert list(loaded) == [0, 1, 7]
        assert loaded.to_table().columns == ["item", "public", "weight"]
        assert loaded.to_table().column("public") == [False, False, True]


def test_a_report_of_other_items_is_refused(drinks, trips, tmp_path) -> None:
    drinks.write(tmp_path / "items.csv")
    with pytest.raises(ReportError, match="'city'"):
        dpsel.Release.load(tmp_path / "items.csv", trips.report)
    with pytest.raises(FileNotFoundError):
        dpsel.Release.load(tmp_path / "items.csv")


# Sets.


def test_set_operations_keep_the_reports_and_add_costs_up(drinks) -> None:
    foods = released(["rice", "tea"])
    assert list(drinks & foods) == ["tea"]
    assert list(drinks - foods) == ["milk"]
    assert list(drinks | foods) == ["milk", "rice", "tea"]
    for both in (drinks & foods, drinks | foods, drinks - foods):
        assert both.reports == (drinks.report, foods.report)
        assert (both.cost.epsilon, both.cost.delta) == (2.0, 2e-6)
        assert "add up" in str(both)


def test_a_public_list_costs_nothing(drinks) -> None:
    for made in (drinks & ["tea", "gin"], drinks | ["gin"], drinks - {"tea"}, drinks | drinks):
        assert made.reports == (drinks.report,)
        assert made.cost == PRIVACY
    assert list(drinks - {"tea"}) == ["milk"]
    assert list((drinks | ["gin"]) - drinks) == ["gin"]


def test_values_of_two_kinds_are_not_taken_for_each_other() -> None:
    numbers = released([1, 2])
    assert list(numbers & [True, 2]) == [2]
    for other, kind in (
        (["1"], "str"),
        ([True], "bool"),
        ([(1, "a")], "(int, str)"),
        (released(["x"]), "str"),
    ):
        for operation in (operator.and_, operator.or_, operator.sub):
            with pytest.raises(SchemaError) as caught:
                operation(numbers, other)
            assert str(caught.value) == (
                f"the other set has items of type {kind}, but this one has int, so none of them could be "
                "equal; give its items as int"
            )
    assert list(numbers | []) == [1, 2]
    assert list((numbers - [1, 2]) | ["a"]) == ["a"]
    with pytest.raises(InvalidParameterError, match="one text"):
        numbers & "12"
    with pytest.raises(InvalidParameterError, match="got int"):
        numbers & 3


VIEWS = {
    "text": pa.array(["x", "y", None], pa.string_view()),
    "bytes": pa.array([b"x", b"y", None], pa.binary_view()),
    "lists": pa.array([["x"], [], None], pa.list_(pa.string_view())),
    "structs": pa.array([{"x": "x"}, {"x": None}, None], pa.struct([("x", pa.string_view())])),
    "large lists": pa.array([[b"x"], [], None], pa.large_list(pa.binary_view())),
}


@pytest.mark.parametrize("beside", VIEWS)
@pytest.mark.parametrize("other", [None, "else"])
def test_views_are_filtered_and_stay_views(beside, other, tmp_path) -> None:
    """As polars writes them; functions of pyarrow know none."""
    release = dpsel.select_partitions(
        [(user, "tea") for user in range(300)],
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        max_items_per_user=1,
    )
    rows = pa.table({"item": pa.array(["tea", "rare", None], pa.string_view()), "beside": VIEWS[beside]})
    left = [0] if other is None else [0, 1, 2]
    expected = [dict(row, item={"rare": other}.get(row["item"], row["item"])) for row in rows.to_pylist()]
    made = release.filter(rows, item="item", other=other)
    assert made.schema == rows.schema
    assert made.to_pylist() == [expected[at] for at in left]
    for name, new in (("rows.arrow", pa.ipc.new_file), ("rows.arrows", pa.ipc.new_stream)):
        with new(tmp_path / name, rows.schema) as writer:
            writer.write_table(rows)
        release.filter_file(tmp_path / name, tmp_path / f"out_{name}", item="item", other=other)
        data = (tmp_path / f"out_{name}").read_bytes()
        opened = pa.ipc.open_stream(data) if name == "rows.arrows" else pa.ipc.open_file(data)
        assert opened.schema == rows.schema
        assert opened.read_all().to_pylist() == made.to_pylist()


def test_types_that_pyarrow_has_no_filter_for_are_filtered() -> None:
    release = dpsel.select_partitions(
        [(user, "tea") for user in range(300)],
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        max_items_per_user=1,
    )
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["a", "b"]))
    rows = pa.table({"item": ["tea", "rare"], "beside": runs})
    made = release.filter(rows, item="item")
    assert made.schema == rows.schema
    assert made.to_pylist() == [{"item": "tea", "beside": "a"}]


def test_a_label_with_an_escape_stands_in_quotes(tmp_path) -> None:
    """Some readers take an escape outside quotes for one."""
    release = dpsel.select_partitions(
        [(user, "tea") for user in range(300)],
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        max_items_per_user=1,
    )
    (tmp_path / "rows.csv").write_text("user,item\n1,rare\n")
    form = dpsel.Csv(escape="\\")
    release.filter_file(
        tmp_path / "rows.csv", tmp_path / "out.csv", item="item", other="a\\b", file_format=form
    )
    assert (tmp_path / "out.csv").read_text() == 'user,item\n1,"a\\\\b"\n'
    frame = pd.read_csv(tmp_path / "out.csv", escapechar="\\", doublequote=False)
    assert list(frame["item"]) == ["a\\b"]
