"""Text files: what is read is what was written, for every reader, or it is refused in words."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dpsel
from dpsel.exceptions import DataError, DpselError, InvalidParameterError, SchemaError
from support import KEY

EASY = {"privacy": dpsel.ApproxDP(epsilon=8.0, delta=1e-4), "max_items_per_user": 100}
SELECT = EASY | {"user": "user", "item": "item", "insecure_test_key": KEY}
USERS = range(100)

#: Characters that readers of text take differently.
HARD = "\"'\\,;\t\r\n #=\ufeff\x00\x0b\x85\xa0\u2028aé0"
TEXTS = st.text(HARD, max_size=5)


def select(path, **options):
    return list(dpsel.select_partitions(path, **(SELECT | options)))


def items_of(tmp_path, lines, name="rows.csv", head="user,item\n", **options):
    """The items of records, each of which a hundred users hold."""
    path = tmp_path / name
    path.write_bytes(head.encode() + b"".join(f"{user},".encode() + line for user in USERS for line in lines))
    return select(path, **options)


REFUSED = {
    "a quote in a field": (b'5" disk\n', "quote within a field"),
    "a space before a quote": (b' "tea"\n', "quote within a field"),
    "text after a quote": (b'"tea"x\n', "text after a closing quote"),
    "a space after a quote": (b'"tea" \n', "text after a closing quote"),
    "a backslash before a quote": (b'"say \\"hi\\""\n', r"Csv\(escape=\)"),
    "an open quote": (b'"tea\n', "is not closed|text after a closing quote"),
    "a bare carriage return": (b"tea\rmilk\n", "carriage return without a line feed"),
    "lines that end with one": (b"tea\r", "carriage return without a line feed"),
    "two of them": (b"tea\r\r\n", "carriage return without a line feed"),
    "a field too many": (b"tea,\n", "as many fields"),
    "bytes of no text": (b"te\xff\n", "not valid UTF-8"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_readers_take_differently_is_refused(tmp_path, name) -> None:
    line, text = REFUSED[name]
    with pytest.raises(DataError, match=text) as caught:
        items_of(tmp_path, [line])
    assert "tea" not in str(caught.value)
    release = dpsel.select_partitions([(user, "tea") for user in USERS], **EASY)
    with pytest.raises(DataError, match=text):
        release.filter_file(tmp_path / "rows.csv", tmp_path / "kept.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.ndjson"])
def test_another_encoding_is_named(tmp_path, encoding, name) -> None:
    text = '{"user": 1, "item": "tea"}\n' if "ndjson" in name else "user,item\n1,tea\n"
    data = text.encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(DataError, match="UTF-16"):
        select(tmp_path / name)


def test_headers(tmp_path) -> None:
    assert items_of(tmp_path, [b"tea\n"], head='\ufeff"user","item"\r\n') == ["tea"]
    assert items_of(tmp_path, [b"tea\n"], head='\n\n"us""er","item"\r\n', user='us"er') == ["tea"]
    with pytest.raises(SchemaError, match="several columns named 'item'"):
        items_of(tmp_path, [b"tea,x\n"], head="user,item,item\n")
    for line in ("sep=;\r\n", '"SEP=;"\n'):
        with pytest.raises(DataError, match="instruction for Excel"):
            items_of(tmp_path, [b"tea\n"], head=line)
    numbered = {"user": "column_1", "item": "column_2", "file_format": dpsel.Csv(header=False)}
    with pytest.raises(DataError, match="instruction for Excel"):
        items_of(tmp_path, [b"tea\n"], head="sep=,\n", **numbered)


def test_blank_lines_are_no_rows_and_empty_fields_are_missing(tmp_path) -> None:
    assert items_of(tmp_path, [b'""\n', b"\n\r\n", b"tea\r\n", b"# note\n", b"NA\n"]) == [
        "# note",
        "NA",
        "tea",
    ]
    (tmp_path / "one.csv").write_text('word\ntea\n\n""\ntea')
    release = dpsel.select_partitions([(user, "tea") for user in USERS], **EASY)
    release.filter_file(tmp_path / "one.csv", tmp_path / "kept.csv", item="word", other="x")
    assert (tmp_path / "kept.csv").read_text() == 'word\ntea\n""\ntea\n'


def test_numbers_are_texts_as_they_are_written(tmp_path) -> None:
    assert items_of(tmp_path, [b"007\n", b"7\n", b"+7\n", b"1e3\n", b"true\n"]) == [
        "+7",
        "007",
        "1e3",
        "7",
        "true",
    ]


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), end=st.sampled_from(["\n", "\r\n"]))
@example(rows=[("a", "b\rc")], end="\n")
def test_standard_texts_are_read_as_by_the_standard_library(tmp_path_factory, rows, end) -> None:
    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    written = io.StringIO()
    writer = csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator=end)
    writer.writerows([("user", "item"), *((f"{n} {user}", text) for n in USERS for user, text in rows)])
    path.write_text(written.getvalue(), encoding="utf-8", newline="")
    read = list(csv.reader(io.StringIO(written.getvalue(), newline=""), strict=True))[1:]
    assert select(path) == sorted({item for _, item in read if item}, key=str.encode)


@settings(max_examples=150, deadline=None)
@given(text=st.text('"\\,\r\n a', min_size=1, max_size=12))
def test_any_text_is_read_as_by_the_standard_library_or_refused(tmp_path_factory, text) -> None:
    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    whole = "user,item\n" + "".join(f"{user},{text}\n" for user in USERS)
    path.write_text(whole, encoding="utf-8", newline="")
    try:
        found = select(path)
    except DpselError:
        return
    rows = [row for row in csv.reader(io.StringIO(whole, newline=""), strict=True) if row][1:]
    assert all(len(row) == 2 for row in rows)
    users = Counter(item for _, item in set(map(tuple, rows)) if item)
    # An item of half of the users may come out or not.
    assert {item for item, count in users.items() if count == len(USERS)} <= set(found) <= set(users)


#: What Spark writes for these texts by its defaults: in quotes, a backslash stands before some characters.
SPARK = {
    'say "hi"': b'"say \\"hi\\""',
    "a\\": b"a\\",
    '\\"': b'"\\\\\\""',
    '"': b'"\\""',
    "a,b\\": b'"a,b\\\\"',
    "a\\b,c": b'"a\\\\b,c"',
    "a\nb": b'"a\nb"',
    'x\\"y,': b'"x\\\\\\"y,"',
    "\\\\": b"\\\\",
}


def test_the_form_of_spark_is_read_if_it_is_named(tmp_path) -> None:
    lines = [written + b"\n" for written in SPARK.values()]
    spark = dpsel.Csv(escape="\\")
    assert items_of(tmp_path, lines, file_format=spark) == sorted(SPARK, key=str.encode)
    with pytest.raises(DataError, match="as Spark writes them"):
        select(tmp_path / "rows.csv")
    release = dpsel.select_partitions([(user, 'say "hi"') for user in USERS], **EASY)
    kept = tmp_path / "kept.csv"
    release.filter_file(tmp_path / "rows.csv", kept, file_format=spark)
    assert kept.read_bytes() == b"user,item\n" + b"".join(b'%d,"say \\"hi\\""\n' % user for user in USERS)
    release.filter_file(tmp_path / "rows.csv", kept, other='"\\', file_format=spark)
    assert select(kept, file_format=spark) == ['"\\', 'say "hi"']


def test_quotes_are_characters_if_there_are_none(tmp_path) -> None:
    form = dpsel.Csv(quote="")
    assert items_of(tmp_path, [b'5" disk\n', b'"open\n'], file_format=form) == ['"open', '5" disk']
    assert items_of(tmp_path, [b"'a,b'\n"], file_format=dpsel.Csv(quote="'")) == ["a,b"]
    release = dpsel.select_partitions([(user, '"open') for user in USERS], **EASY)
    with pytest.raises(InvalidParameterError, match="not quoted"):
        release.filter_file(
            tmp_path / "rows.csv", tmp_path / "kept.csv", other="a,b", file_format=dpsel.Csv(quote="")
        )


@pytest.mark.parametrize(
    "wrong",
    [{"quote": "''"}, {"quote": ","}, {"delimiter": '"'}, {"escape": "\n"}, {"escape": "\\", "quote": ""}],
)
def test_a_character_has_one_meaning(wrong) -> None:
    with pytest.raises(InvalidParameterError, match="must"):
        dpsel.Csv(**({"delimiter": ","} | wrong))


RECORDS = {
    "a field twice": ('"item": "tea", "item": "milk"', "field twice"),
    "a fraction": ('"item": 1.0', "Float64"),
    "an exponent": ('"item": 1e0', "Float64"),
    "more than 64 bits": ('"item": 18446744073709551616', "Float64"),
    "half a character": ('"item": "\\ud800"', "not a JSON object"),
    "no number": ('"item": NaN', "not a JSON object"),
    "a comma too many": ('"item": "tea",', "not a JSON object"),
    "two objects": ('"item": "tea"} {"item": "milk"', "not a JSON object"),
    "a list": ('"item": "tea"}]', "not a JSON object"),
}


@pytest.mark.parametrize("name", RECORDS)
def test_records_of_two_meanings_are_refused_by_both(tmp_path, name) -> None:
    fields, text = RECORDS[name]
    path = tmp_path / "rows.ndjson"
    path.write_text("".join(f'{{"user": {user}, {fields}}}\n' for user in USERS))
    with pytest.raises(DpselError, match=text):
        select(path)
    release = dpsel.select_partitions([(user, "tea") for user in USERS], **EASY)
    with pytest.raises(DpselError, match=text):
        release.filter_file(path, tmp_path / "kept.ndjson")


def test_escapes_of_one_text_are_one_item(tmp_path) -> None:
    path = tmp_path / "rows.ndjson"
    forms = ("A", "\\u0041")
    path.write_text("".join(f'\n{{"user": {user}, "item": "{forms[user % 2]}"}}\r\n' for user in USERS))
    assert select(path) == ["A"]
    release = dpsel.select_partitions([(user, "B") for user in USERS], **EASY)
    release.filter_file(path, tmp_path / "kept.ndjson", other='"')
    rows = [json.loads(line) for line in (tmp_path / "kept.ndjson").read_text().splitlines()]
    assert rows == [{"user": user, "item": '"'} for user in USERS]


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file, strict=True)][1:]


def of_pyarrow(path):
    table = pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(column_types={"item": pa.string()}),
    )
    return table["item"].to_pylist()


def of_duckdb(path):
    rows = duckdb.read_csv(
        str(path), all_varchar=True, header=True, delimiter=",", quotechar='"', escapechar='"'
    )
    return [row[0] for row in rows.fetchall()]


READERS = {
    "csv": lambda path: [row[0] for row in rows_of(path)],
    "polars": lambda path: pl.read_csv(path, infer_schema=False)["item"].to_list(),
    "pandas": lambda path: pd.read_csv(path, dtype=str, keep_default_na=False)["item"].to_list(),
    "pyarrow": of_pyarrow,
    "duckdb": of_duckdb,
}


@settings(max_examples=40, deadline=None)
@given(texts=st.sets(TEXTS.filter(bool), min_size=1, max_size=12))
@example(texts={"a\rb", "\t", "\x0b", " a", "a ", '"', "#", "\\", "a,b", "a\r\nb", "\ufeffa", "x\x00y"})
def test_written_items_are_read_back_by_every_reader(tmp_path_factory, texts) -> None:
    path = tmp_path_factory.mktemp("csv") / "items.csv"
    release = dpsel.select_partitions([(user, text) for user in USERS for text in texts], **EASY)
    release.write(path)
    release.report.save(path.with_suffix(".json"))
    assert list(dpsel.Release.load(path)) == list(release)
    for name, read in READERS.items():
        assert read(path) == list(release), name
    assert list(release) == sorted(texts, key=str.encode)
    kept = path.with_name("kept.csv")
    release.filter_file(path, kept)
    assert kept.read_bytes() == path.read_bytes()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), TEXTS.filter(bool)), min_size=1, max_size=20), st.booleans())
@example([(1, "a\rb"), (2, "a\nb")], False)
def test_filtered_rows_are_read_as_the_rows_that_came_in(tmp_path_factory, rows, packed) -> None:
    """The other fields of a row may hold anything; every reader finds these rows, each as it was."""
    folder = tmp_path_factory.mktemp("filter")
    release = dpsel.select_partitions([(user, "tea") for user in USERS], **EASY)
    rows = [(note, str(number), "tea" if number % 2 else "gin") for number, note in rows]
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([("item", "number", "drink"), *rows])
    data = text.getvalue().encode()
    source = folder / ("rows.csv.gz" if packed else "rows.csv")
    source.write_bytes(gzip.compress(data) if packed else data)
    kept = folder / "kept.csv"
    release.filter_file(source, kept, item="drink")
    want = [row for row in rows if row[2] == "tea"]
    assert rows_of(kept) == want
    release.filter_file(source, kept, item="drink", other='"\r, ')
    for name, read in READERS.items():
        assert read(kept) == [row[0] for row in rows], name
    assert [row[2] for row in rows_of(kept)] == ["tea" if row[2] == "tea" else '"\r, ' for row in rows]
