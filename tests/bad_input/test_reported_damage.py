"""Damage that a file reports: checksums of pages, numbers of rows, batches that a footer leaves out."""

from __future__ import annotations

import io
from itertools import combinations

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsel
from dpsel.exceptions import DpselError, FileError

ROWS = 400
PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
SELECT = {"user": "user", "item": "item", "max_items_per_user": 2}


def select(path, **arguments):
    return dpsel.select_partitions(path, **(SELECT | {"privacy": PRIVACY} | arguments)).to_pylist()


def table(item="tea", *, lists=False):
    return pa.table({"user": [str(n) for n in range(ROWS)], "item": [[item] if lists else item] * ROWS})


def with_checksums(rows, **options):
    out = io.BytesIO()
    pq.write_table(rows, out, write_page_checksum=True, compression="none", **options)
    return out.getvalue()


PAGES = [
    {"use_dictionary": False},
    {},
    {"data_page_version": "2.0"},
    {"use_dictionary": False, "data_page_size": 99},
]


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("options", PAGES, ids=str)
@pytest.mark.parametrize("folder", [".", "day=1"])
def test_a_page_that_is_not_as_its_checksum_says_is_refused(tmp_path, options, lists, folder) -> None:
    """Another letter in an item is a valid file but for the checksum, also in folders that name a column."""
    data = with_checksums(table(lists=lists), write_statistics=False, **options)
    path = tmp_path / folder / "rows.parquet"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    columns = {"item": ["day", "item"]} if folder != "." and not lists else {}
    if not columns and folder != ".":
        pytest.skip("lists are no part of an item of several columns")
    assert select(tmp_path, **columns)
    path.write_bytes(data.replace(b"tea", b"tex"))
    budget = dpsel.Budget(PRIVACY)
    with pytest.raises(FileError, match="does not have its checksum"):
        select(tmp_path, privacy=budget.on_use(PRIVACY), **columns)


def zigzag(number):
    """A positive number of up to 13 bits as Thrift's compact protocol has it, in two bytes."""
    return bytes([0x80 | (2 * number & 0x7F), 2 * number >> 7])


@pytest.mark.parametrize("stated", [300, 500])
@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("folder", [".", "day=1"])
def test_numbers_of_rows_that_contradict_the_rows_are_refused(tmp_path, stated, lists, folder) -> None:
    """Every choice of the numbers in the footer, also where these agree and the pages do not."""
    data = with_checksums(table(lists=lists), write_statistics=False, use_dictionary=False)
    places = _places(data, stated)
    path = tmp_path / folder / "rows.parquet"
    path.parent.mkdir(exist_ok=True)
    columns = {"item": ["day", "item"]} if folder != "." else {}
    if columns and lists:
        pytest.skip("lists are no part of an item of several columns")
    for count in range(1, len(places) + 1):
        for chosen in combinations(places, count):
            changed = bytearray(data)
            for at in chosen:
                changed[at : at + 2] = zigzag(stated)
            path.write_bytes(changed)
            # The number of values in lists is not that of rows.
            if lists and _numbers(changed)[:3] == _numbers(data)[:3]:
                continue
            with pytest.raises(FileError, match="rows|malformed"):
                select(tmp_path, **columns)


def _numbers(data):
    """The rows of the file and of its row group, and the values of both columns."""
    metadata = pq.ParquetFile(io.BytesIO(bytes(data))).metadata
    group = metadata.row_group(0)
    return metadata.num_rows, group.num_rows, *(group.column(at).num_values for at in range(2))


def _places(data, stated):
    """Where the footer has these numbers; other numbers in it may be the same by chance."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    same = [at for at in range(start, len(data)) if data[at : at + 2] == zigzag(ROWS)]
    changed = {at: data[:at] + zigzag(stated) + data[at + 2 :] for at in same}
    places = [at for at in same if _numbers(changed[at]) != _numbers(data)]
    assert len(places) == 4
    return places


def ipc(tables, *, stream=False):
    out = io.BytesIO()
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(out, tables[0].schema) as writer:
        for each in tables:
            writer.write_table(each)
    return out.getvalue()


@pytest.mark.parametrize("writer", ["pyarrow", "polars", "dictionary"])
def test_a_footer_that_leaves_a_batch_out_is_refused(tmp_path, writer) -> None:
    if writer == "polars":
        out = io.BytesIO()
        pl.concat([pl.from_arrow(table("tea")), pl.from_arrow(table("milk"))], rechunk=False).write_ipc(
            out, record_batch_size=ROWS
        )
        data = out.getvalue()
    else:
        tables = [table("tea"), table("milk")]
        if writer == "dictionary":
            tables = [each.set_column(1, "item", each["item"].dictionary_encode()) for each in tables]
            tables = pa.concat_tables(tables).unify_dictionaries()
            tables = [tables.slice(0, ROWS), tables.slice(ROWS)]
        data = ipc(tables)
    path = tmp_path / "rows.arrow"
    path.write_bytes(data)
    assert select(path) == ["milk", "tea"]
    size = int.from_bytes(data[-10:-6], "little", signed=True)
    footer = slice(len(data) - 10 - size, len(data) - 10)
    # The number of blocks stands before them, and they are in ascending order or not.
    places = [at for at in range(footer.start, footer.stop) if data[at : at + 4] == b"\2\0\0\0"]
    refused = 0
    for at in places:
        path.write_bytes(data[:at] + b"\1" + data[at + 1 :])
        try:
            assert select(path) == ["milk", "tea"]
        except DpselError as error:
            refused += "does not list every batch" in str(error)
    assert refused >= 1


@pytest.mark.parametrize("rest", ["a stream", "zeros", "text", "a byte"])
def test_what_follows_a_stream_is_refused_and_not_left_out(tmp_path, rest) -> None:
    whole = ipc([table()], stream=True)
    path = tmp_path / "rows.arrows"
    path.write_bytes(whole)
    assert select(path) == ["tea"]
    more = {
        "a stream": ipc([table("milk")], stream=True),
        "zeros": bytes(64),
        "text": b"x" * 50,
        "a byte": b"x",
    }
    path.write_bytes(whole + more[rest])
    with pytest.raises(FileError, match="other bytes follow the stream|malformed"):
        select(path)
    reader, writer = io.BytesIO(path.read_bytes()), tmp_path / "pipe"
    _through(writer, reader.getvalue())


def _through(path, data):
    import os
    from threading import Thread

    os.mkfifo(path)
    thread = Thread(target=lambda: _fed(path, data))
    thread.start()
    with pytest.raises(FileError, match="other bytes follow the stream|malformed"):
        select(path, file_format="ipc")
    thread.join()


def _fed(path, data):
    from contextlib import suppress

    with suppress(BrokenPipeError):
        path.write_bytes(data)
