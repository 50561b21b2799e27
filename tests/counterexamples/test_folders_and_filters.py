"""Folder columns, filters and estimates: what is missed, mixed up or quoted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import dpsel

if TYPE_CHECKING:
    from pathlib import Path

PRIVACY = dpsel.ApproxDP(epsilon=4.0, delta=1e-4)
COUNTS = dpsel.Counts(count="rows", max_rows_per_item=50, share=0.5)
KEY = bytes(32)


def select(data, item, **arguments):
    return dpsel.select_partitions(
        data, user="user", item=item, privacy=PRIVACY, max_items_per_user=2, **arguments
    )


def write(path: Path, item: str) -> None:
    polars = pytest.importorskip("polars")
    path.parent.mkdir(parents=True, exist_ok=True)
    polars.DataFrame({"user": list(range(300)), "item": [item] * 300}).write_parquet(path)


@pytest.fixture
def folder(tmp_path):
    """Two files, in folders that name a year."""
    for year, item in ((1, "tea"), (2, "salt")):
        write(tmp_path / f"year={year}" / "x.parquet", item)
    return tmp_path


@pytest.mark.parametrize("item", ["item", ["item", "year"]])
def test_a_link_to_no_file_is_an_error_and_not_left_out(folder, item) -> None:
    file = folder / "year=2" / "x.parquet"
    file.unlink()
    file.symlink_to("/nowhere/x.parquet")
    with pytest.raises(dpsel.DpselError):
        select(str(folder), item)


@pytest.mark.parametrize("item", ["item", ["item", "year"]])
def test_a_pattern_means_the_same_files_with_and_without_folder_columns(folder, item) -> None:
    write(folder / "year=2" / "more.parquet", "milk")
    assert "milk" in str(select(f"{folder}/*/*.parquet", item).to_pylist())
    write(folder / "year=2" / ".hidden.parquet", "gin")
    with pytest.raises(dpsel.exceptions.FileError, match="a wildcard meets it"):
        select(f"{folder}/*/*.parquet", item)


@pytest.mark.parametrize("item", ["item", ["item", "year"]])
def test_a_file_that_is_named_twice_counts_once(folder, item) -> None:
    arguments = {"counts": COUNTS, "insecure_test_key": KEY}
    once = select(str(folder), item, **arguments).to_pylist()
    assert select([str(folder), str(folder)], item, **arguments).to_pylist() == once


def test_a_column_of_the_files_does_not_become_one_of_folders(tmp_path) -> None:
    """What ``user`` is must not depend on whether another column is one of folders."""
    polars = pytest.importorskip("polars")
    for group in ("A", "B"):
        path = tmp_path / f"user={group}" / "year=1" / "x.parquet"
        path.parent.mkdir(parents=True)
        users = [f"{group}{number}" for number in range(300)]
        polars.DataFrame({"user": users, "item": ["tea"] * 300}).write_parquet(path)
    assert len(select(str(tmp_path), "item")) == len(select(str(tmp_path), ["item", "year"])) == 1


def test_a_damaged_first_file_is_an_error_of_ours(folder) -> None:
    (folder / "year=1" / "x.parquet").write_bytes(b"not a file of this format")
    with pytest.raises(dpsel.DpselError):
        select(str(folder), ["item", "year"])


@pytest.mark.parametrize("file_format", [None, dpsel.Csv()])
@pytest.mark.parametrize(
    "text", ["a text \ud800", "a text \ud800/*", "a text \0/*", "~a text \ud800", "~a text \0"]
)
def test_texts_that_can_be_no_paths_are_an_error_of_ours(text, file_format) -> None:
    """Python's own exception holds the text."""
    with pytest.raises(dpsel.DpselError) as caught:
        select([text], "item", file_format=file_format)
    assert "a text" not in texts_behind(caught.value)


@pytest.fixture(scope="module")
def keys():
    rows = [(user, "5") for user in range(300)]
    return dpsel.select_partitions(rows, privacy=PRIVACY, max_items_per_user=1)


def texts_behind(error: BaseException | None) -> str:
    """What an exception and those behind it hold."""
    told = ""
    while error is not None:
        told += f"{error} {getattr(error, 'object', '')!r}"
        error = error.__context__
    return told


@pytest.mark.parametrize(
    ("name", "rows", "other"),
    [
        ("rows.csv", b"user,item\n1,SECRET\xff\n", None),
        ("rows.ndjson", b'{"item": "SECRET\xff"}\n', None),
        ("rows.ndjson", b'{"item": "SECRET\\ud800"}\n', "others"),
    ],
)
def test_no_exception_of_a_filter_holds_a_row(keys, tmp_path, name, rows, other) -> None:
    source = tmp_path / name
    source.write_bytes(rows)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is asserted below
        keys.filter_file(source, tmp_path / f"out_{name}", other=other)
    assert isinstance(caught.value, dpsel.DpselError)
    assert "SECRET" not in texts_behind(caught.value)


def test_what_a_generator_says_stays_out_of_the_error_of_a_filter(keys) -> None:
    def rows():
        yield (1, "5")
        raise ValueError("SECRET row")

    with pytest.raises(dpsel.exceptions.DataError) as caught:
        keys.filter(rows())
    assert "SECRET" not in texts_behind(caught.value)


@pytest.mark.parametrize("taking", ["filter", "select"])
def test_an_error_of_ours_comes_without_what_a_generator_was_about(keys, taking) -> None:
    def rows():
        yield (1, "5")
        try:
            int("SECRET row")
        except ValueError:
            dpsel.ApproxDP(epsilon=-1.0, delta=1e-6)

    read = {
        "filter": keys.filter,
        "select": lambda rows: dpsel.select_partitions(rows, privacy=PRIVACY, max_items_per_user=2),
    }
    with pytest.raises(dpsel.exceptions.InvalidParameterError) as caught:
        read[taking](rows())
    assert "SECRET" not in texts_behind(caught.value)


def test_a_record_of_many_lists_is_an_error_of_ours(keys, tmp_path) -> None:
    source = tmp_path / "rows.ndjson"
    source.write_text('{"item": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with pytest.raises(dpsel.DpselError):
        keys.filter_file(source, tmp_path / "out.ndjson")


@pytest.mark.parametrize("other", [5, ""])
def test_a_label_of_a_file_is_no_released_item_and_no_missing_one(keys, tmp_path, other) -> None:
    """In a CSV file the number 5 is the text 5, and an empty text is missing."""
    source, target = tmp_path / "rows.csv", tmp_path / "out.csv"
    source.write_text("user,item\n1,5\n2,rare\n")
    with pytest.raises(dpsel.DpselError):
        keys.filter_file(source, target, other=other)


def test_a_label_of_rows_is_of_the_kind_of_the_items(keys) -> None:
    with pytest.raises(dpsel.DpselError):
        keys.filter([(1, "5"), (2, "rare")], other=5)


def test_a_long_field_and_a_mark_of_byte_order_are_read_as_in_a_selection(keys, tmp_path) -> None:
    import gzip

    source, target = tmp_path / "rows.csv", tmp_path / "out.csv"
    source.write_text("user,item\n1,5\n2," + "x" * 140_000 + "\n")
    keys.filter_file(source, target)
    assert target.read_text() == "user,item\n1,5\n"
    packed, made = tmp_path / "rows.csv.gz", tmp_path / "out.csv.gz"
    packed.write_bytes(gzip.compress("\ufeffitem,user\n5,1\n".encode()))
    keys.filter_file(packed, made)
    assert gzip.decompress(made.read_bytes()).endswith(b"5,1\n")


def test_estimates_far_below_all_that_can_come_out_are_numbers() -> None:
    """Users of many items count little in each, so numbers lie far below the users that an item needs."""
    numpy, polars = pytest.importorskip("numpy"), pytest.importorskip("polars")
    users, items = 700, 2500
    rows = {"user": numpy.repeat(range(users), items), "item": numpy.tile(range(items), users)}
    release = dpsel.select_partitions(
        polars.DataFrame(rows),
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=12.0, delta=1e-5),
        max_items_per_user=items,
        counts=dpsel.Counts(share=0.5, max_counted_items=1),
        min_users=450,
        mechanism=dpsel.CountGaussian(),
        insecure_test_key=bytes([3]) * 32,
    )
    assert len(release.shrunken_counts()) == len(release) > 0


def test_a_sparse_matrix_is_the_same_rows_in_every_form() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    users = [user for user in range(300) for _ in range(3)]
    matrix = sparse.coo_matrix(([1] * 900, (users, [0] * 900)), shape=(300, 1))
    arguments = {"privacy": PRIVACY, "max_items_per_user": 1, "counts": COUNTS, "insecure_test_key": KEY}
    made = [dpsel.select_partitions(form, **arguments).to_pylist() for form in (matrix, matrix.tocsr())]
    assert made[0] == made[1], json.dumps(made)
