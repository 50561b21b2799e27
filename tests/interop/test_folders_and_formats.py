"""Folders, columns that folders name, other delimiters, and files without a header line."""

from __future__ import annotations

import os
import sys

import polars as pl
import pytest

import dpsel
from dpsel.exceptions import DataError, FileError, InvalidParameterError, SchemaError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
SELECT = {"user": "u", "item": "i", "privacy": PRIVACY, "max_items_per_user": 2}
SELECT |= {"insecure_test_key": bytes(32)}
ROWS = [(user, item) for user in range(600) for item in ("tea", "a, b")]


def written(path, rows, **options):
    frame = pl.DataFrame(rows, schema=["u", "i"], orient="row").cast({"u": pl.String})
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".ndjson":
        frame.write_ndjson(path)
    else:
        frame.write_csv(path, **options)
    return path


def in_folders(folder, extension):
    """Half of the rows for each of two days, and marks of tools."""
    for day, part in ((1, ROWS[:600]), (2, ROWS[600:])):
        written(folder / f"day={day}" / f"part{extension}", part)
    (folder / "_SUCCESS").write_text("")
    (folder / "_logs").mkdir()
    (folder / "_logs" / "log.txt").write_text("hunter2")
    (folder / "day=1" / ".part.crc").write_text("hunter2")
    return folder


@pytest.mark.parametrize("extension", [".csv", ".ndjson", ".parquet"])
def test_a_folder_is_all_files_in_it_and_below(tmp_path, extension) -> None:
    one = written(tmp_path / f"one{extension}", ROWS)
    folder = in_folders(tmp_path / "rows [1]", extension)
    expected = dpsel.select_partitions(one, **SELECT)
    assert list(expected) == ["a, b", "tea"]
    for path in (folder, str(folder), f"{folder}{os.sep}", [folder / "day=1", folder / "day=2", one]):
        assert list(dpsel.select_partitions(path, **SELECT)) == ["a, b", "tea"]
    compared = dpsel.compare(
        folder, user="u", item="i", privacy=PRIVACY, max_items_per_user=2, public_data=True, seed=1
    )
    assert all(row["items"] == 2 for row in compared.rows)


def test_a_folder_with_an_unknown_or_no_file_is_refused(tmp_path) -> None:
    folder = in_folders(tmp_path / "rows", ".csv")
    (folder / "day=2" / "more.xlsx").write_text("")
    with pytest.raises(FileError, match=r"more\.xlsx: the name does not tell the format"):
        dpsel.select_partitions(folder, **SELECT)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="there is no file in this folder"):
        dpsel.select_partitions(tmp_path / "empty", **SELECT)


def test_columns_that_folders_name_are_users_and_items(tmp_path) -> None:
    folder = in_folders(tmp_path / "rows", ".parquet")
    for path in (folder, f"{folder}/*/*.parquet", [folder / "day=1", folder / "day=2" / "part.parquet"]):
        items = dpsel.select_partitions(path, **(SELECT | {"item": ["day", "i"]})).to_pylist()
        assert items == [("1", "a, b"), ("1", "tea"), ("2", "a, b"), ("2", "tea")]
    # One person, a user of each day: 400 days are enough users, and one is not.
    for day in range(400):
        written(tmp_path / "days" / f"day={day}" / "part.parquet", [(1, "tea")])
    days = SELECT | {"max_items_per_user": 1}
    assert dpsel.select_partitions(tmp_path / "days", **days).to_pylist() == []
    assert dpsel.select_partitions(tmp_path / "days", **(days | {"user": ["u", "day"]})).to_pylist() == [
        "tea"
    ]


def test_a_column_of_the_file_is_not_taken_from_its_folder(tmp_path) -> None:
    written(tmp_path / "i=gin" / "part.parquet", ROWS)
    assert dpsel.select_partitions(tmp_path, **SELECT).to_pylist() == ["a, b", "tea"]


def test_users_of_other_widths_are_the_same_users_and_other_types_are_refused(tmp_path) -> None:
    rows = tmp_path / "all=1"
    for day, kind in ((1, pl.Int32), (2, pl.Int64)):
        frame = pl.DataFrame({"u": pl.Series(range(600), dtype=kind), "i": ["tea"] * 600})
        (rows / f"day={day}").mkdir(parents=True)
        frame.write_parquet(rows / f"day={day}" / "part.parquet")
    select = SELECT | {"item": ["all", "i"], "counts": dpsel.Counts(share=0.5)}
    [(everything, item, users)] = dpsel.select_partitions(tmp_path, **select).to_pylist()
    assert (everything, item) == ("1", "tea")
    assert 500 < users < 700  # and not 1,200
    written(rows / "day=3" / "part.parquet", ROWS)
    with pytest.raises(SchemaError, match="column 'u' of .* has type .* in files before it"):
        dpsel.select_partitions(tmp_path, **select)


def test_a_column_of_some_files_or_of_some_folders_is_refused(tmp_path) -> None:
    folder = in_folders(tmp_path / "rows", ".parquet")
    more = written(folder / "part.parquet", ROWS)
    select = SELECT | {"item": ["day", "i"]}
    with pytest.raises(SchemaError, match="column 'day' is named by some folders or files and not by all"):
        dpsel.select_partitions(folder, **select)
    pl.read_parquet(more).with_columns(day=pl.lit("hunter2")).write_parquet(more)
    with pytest.raises(SchemaError, match="column 'day' is named by some folders or files and not by all"):
        dpsel.select_partitions(folder, **select)
    written(tmp_path / "twice" / "day=1" / "day=2" / "part.parquet", ROWS)
    with pytest.raises(SchemaError, match="two folders of one path name the same column"):
        dpsel.select_partitions(tmp_path / "twice", **select)


def test_folders_above_the_given_path_name_no_columns(tmp_path, monkeypatch) -> None:
    written(tmp_path / "u=hunter2" / "rows" / "day=1" / "part.parquet", ROWS)
    rows = tmp_path / "u=hunter2" / "rows"
    frame = pl.read_parquet(rows / "day=1" / "part.parquet")
    frame.rename({"u": "id"}).write_parquet(rows / "day=1" / "part.parquet")
    select = SELECT | {"item": ["day", "i"]}
    monkeypatch.chdir(rows / "day=1")
    for path in (rows, f"{rows}/*/*.parquet", rows / "day=1", "part.parquet", "./*"):
        with pytest.raises(SchemaError, match="no column 'u'"):
            dpsel.select_partitions(path, **select)
        found = dpsel.select_partitions(path, **(select | {"user": "id"})).to_pylist()
        assert found == [("1", "a, b"), ("1", "tea")]


def test_values_of_folders_are_what_their_names_stand_for(tmp_path) -> None:
    written(tmp_path / "day=a%2Fb" / "part.parquet", ROWS)
    written(tmp_path / "day=__HIVE_DEFAULT_PARTITION__" / "part.parquet", ROWS)
    select = SELECT | {"item": ["day", "i"]}
    assert dpsel.select_partitions(tmp_path, **select).to_pylist() == [("a/b", "a, b"), ("a/b", "tea")]


@pytest.mark.parametrize("item", ["i", ["day", "i"]])
def test_two_names_of_one_file_are_one_file(tmp_path, monkeypatch, item) -> None:
    select = SELECT | {"item": item, "counts": dpsel.Counts(count="rows", max_rows_per_item=3, share=0.5)}
    file = written(tmp_path / "day=1" / "part.parquet", ROWS)
    monkeypatch.chdir(file.parent)
    once = dpsel.select_partitions("part.parquet", **select).to_pylist()
    for paths in (["part.parquet", "./part.parquet"], [str(file), "part.parquet"], [tmp_path, file]):
        assert dpsel.select_partitions(paths, **select).to_pylist() == once


def test_folders_of_other_formats_name_no_columns(tmp_path) -> None:
    folder = in_folders(tmp_path, ".csv")
    with pytest.raises(SchemaError, match="none named 'day'"):
        dpsel.select_partitions(folder, **(SELECT | {"item": ["day", "i"]}))


def test_columns_that_folders_name_need_no_library(tmp_path, monkeypatch) -> None:
    folder = in_folders(tmp_path, ".parquet")
    for library in ("polars", "pyarrow", "pandas", "duckdb"):
        monkeypatch.setitem(sys.modules, library, None)
    items = dpsel.select_partitions(folder, **(SELECT | {"item": ["day", "i"]})).to_pylist()
    assert items == [("1", "a, b"), ("1", "tea"), ("2", "a, b"), ("2", "tea")]


def test_users_and_items_may_both_be_told_by_folders_alone(tmp_path) -> None:
    """The files need to have no needed column, and a missing value in a folder is no item."""
    for user in range(400):
        written(tmp_path / f"who={user}" / "what=tea" / "part.parquet", [(1, "x"), (2, "y")])
    written(tmp_path / "who=0" / "what=__HIVE_DEFAULT_PARTITION__" / "part.parquet", [(1, "x")])
    by_folders = SELECT | {"user": "who", "item": "what"}
    assert dpsel.select_partitions(tmp_path, **by_folders).to_pylist() == ["tea"]
    written(tmp_path / "who=__HIVE_DEFAULT_PARTITION__" / "what=tea" / "part.parquet", [(1, "x")])
    with pytest.raises(DataError, match="user column 'who' is null"):
        dpsel.select_partitions(tmp_path, **by_folders)


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " "])
@pytest.mark.parametrize("header", [True, False])
def test_other_delimiters_and_no_header_line(tmp_path, delimiter, header) -> None:
    path = written(tmp_path / "rows.txt", ROWS, separator=delimiter, include_header=header)
    columns = {} if header else {"user": "column_1", "item": "column_2"}
    file_format = dpsel.Csv(delimiter=delimiter, header=header)
    release = dpsel.select_partitions(path, **(SELECT | columns), file_format=file_format)
    assert release.to_pylist() == ["a, b", "tea"]
    top = dpsel.select_top_k(
        path, user=(SELECT | columns)["user"], item=(SELECT | columns)["item"], k=1,
        privacy=dpsel.PureDP(epsilon=9.0), domain=["tea", "gin"], file_format=file_format,
    )  # fmt: skip
    assert top.to_pylist() == ["tea"]


@pytest.mark.parametrize(
    ("name", "separator"), [("r.tsv", "\t"), ("r.TAB", "\t"), ("r.csv", ","), ("r.txt", ",")]
)
def test_without_a_delimiter_the_name_tells_it(tmp_path, name, separator) -> None:
    path = written(tmp_path / name, ROWS, separator=separator, include_header=False)
    columns = SELECT | {"user": "column_1", "item": "column_2"}
    for source in (path, tmp_path, str(tmp_path / "r.*")):
        release = dpsel.select_partitions(source, **columns, file_format=dpsel.Csv(header=False))
        assert release.to_pylist() == ["a, b", "tea"]
    written(tmp_path / ("s.csv" if separator == "\t" else "s.tsv"), ROWS)
    with pytest.raises(
        (InvalidParameterError, FileError), match="files of which only some|several extensions"
    ):
        dpsel.select_partitions(tmp_path, **columns, file_format=dpsel.Csv(header=False))


def test_without_a_header_line_the_first_row_counts(tmp_path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("".join(f"{user};tea\n" for user in range(400)))
    weights = []
    for header in (True, False):
        first = {"user": "0", "item": "tea"} if header else {"user": "column_1", "item": "column_2"}
        release = dpsel.select_partitions(
            path, **(SELECT | first), mechanism=dpsel.CountGaussian(), with_weights=True,
            file_format=dpsel.Csv(";", header=header),
        )  # fmt: skip
        weights.append(release.to_arrow().column("weight")[0].as_py())
    # The same key, so the same noise for the same item: one user more is one more.
    assert weights[1] - weights[0] == pytest.approx(1.0, abs=1e-6)


def test_what_is_wrong_is_said(tmp_path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("1;hunter2\n2;tea\n")
    with pytest.raises(SchemaError, match="2 columns and no header line, and none is 'i'") as caught:
        dpsel.select_partitions(path, **SELECT, file_format=dpsel.Csv(";", header=False))
    assert "column_1 to column_2" in str(caught.value)
    with pytest.raises(SchemaError, match="separated by ';'; for another delimiter set ") as caught:
        dpsel.select_partitions(path, **SELECT, file_format=dpsel.Csv(";"))
    assert "hunter2" not in str(caught.value)
    with pytest.raises(SchemaError, match=r"file_format=dpsel.Csv\(header=False\)"):
        dpsel.select_partitions(path, **SELECT, file_format=dpsel.Csv(";"))
    with pytest.raises(SchemaError, match="has 1 column, none named"):
        dpsel.select_partitions(path, **SELECT, file_format=dpsel.Csv(","))
    path.write_text("1;tea\n2;hunter2;3\n")
    named = SELECT | {"user": "column_1", "item": "column_2"}
    with pytest.raises(DataError, match="line 2 .* as many fields as the first line") as caught:
        dpsel.select_partitions(path, **named, file_format=dpsel.Csv(";", header=False))
    assert "hunter2" not in str(caught.value)
    for wrong in ("", ";;", "é", '"', "\n", 3):
        with pytest.raises(InvalidParameterError, match="delimiter must be one character of ASCII"):
            dpsel.Csv(delimiter=wrong)
    with pytest.raises(InvalidParameterError, match="header must be True or False"):
        dpsel.Csv(header="no")
