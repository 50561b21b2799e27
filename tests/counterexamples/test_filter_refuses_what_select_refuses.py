"""Whatever a selection refuses to read, a filter of the same files refuses in the same words."""

from __future__ import annotations

import gzip
import io
import os
import struct
import threading
import zlib
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import dpsel
from dpsel.exceptions import DpselError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
ROWS = 300


def table(item="tea", rows=ROWS):
    types = pa.schema([("user", pa.int64()), ("item", pa.string())])
    return pa.table({"user": list(range(rows)), "item": [item] * rows}, schema=types)


def parquet(rows=None, **options):
    out = io.BytesIO()
    pq.write_table(table() if rows is None else rows, out, compression="none", **options)
    return out.getvalue()


def ipc(*tables, stream=False):
    out = io.BytesIO()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(out, table().schema) as writer:
        for rows in tables or (table(),):
            writer.write_table(rows)
    return out.getvalue()


CSV = ("user,item\n" + "".join(f"{user},tea\n" for user in range(ROWS))).encode()
NDJSON = "".join(f'{{"user": {user}, "item": "tea"}}\n' for user in range(ROWS)).encode()
CHECKED = parquet(write_page_checksum=True, use_dictionary=False, write_statistics=False)
STREAM, FILE = ipc(table(), table(), stream=True), ipc(table(), table())
PACKED = gzip.compress(CSV)
SHORT = 10


def with_key(key):
    return parquet(table().replace_schema_metadata({key: "{}"}))


#: Bytes that are damaged, or are no table of their own, by the name of their file.
DAMAGED = {
    "half.parquet": parquet()[: len(parquet()) // 2],
    "no_footer.parquet": parquet()[:-1],
    "checksum.parquet": CHECKED.replace(b"tea", b"tex"),
    "joined.parquet": parquet() + parquet(table("milk")),
    "joined_with_short.parquet": parquet() + parquet(table("milk", SHORT)),
    "joined_with_long.parquet": parquet(table("milk", SHORT)) + parquet(),
    "joined_with_none.parquet": parquet() + parquet(table("milk", 0)),
    "three.parquet": parquet() + parquet(table("milk")) + parquet(table("gin")),
    "behind_a_half.parquet": parquet()[:500] + parquet(),
    "behind_text.parquet": b"text" + parquet(),
    "before_text.parquet": parquet() + b"text",
    "before_zeros.parquet": parquet() + bytes(64),
    "iceberg.parquet": with_key("iceberg.schema"),
    "hudi.parquet": with_key("org.apache.hudi.bloomfilter"),
    "text.parquet": CSV,
    "packed.parquet": gzip.compress(parquet()),
    "no_mark.arrows": STREAM[:-8],
    "half_mark.arrows": STREAM[:-4],
    "half.arrows": STREAM[: len(STREAM) // 2],
    "two.arrows": STREAM + STREAM,
    "zeros.arrows": STREAM + bytes(64),
    "half.arrow": FILE[: len(FILE) // 2],
    "joined.arrow": FILE + ipc(table("milk"), table("milk")),
    "joined_with_short.arrow": FILE + ipc(table("milk", SHORT)),
    "joined_with_long.arrow": ipc(table("milk", SHORT)) + FILE,
    "joined_with_none.arrow": FILE + ipc(table("milk", 0)),
    "behind_text.arrow": b"text" + FILE,
    "before_text.arrow": FILE + b"text",
    "half.csv.gz": PACKED[: len(PACKED) // 2],
    "no_checksum.csv.gz": PACKED[:-8],
    "checksum.csv.gz": PACKED[:-8] + struct.pack("<II", zlib.crc32(b"x"), len(CSV)),
    "and_text.csv.gz": PACKED + b"text",
    "half.csv.zst": zstandard.compress(CSV)[:-3],
    "twice.csv.gz": gzip.compress(PACKED),
    "utf_16.csv": CSV.decode().encode("utf-16"),
    "utf_32.csv": CSV.decode().encode("utf-32"),
    "quotes.csv": CSV + b'5,"te"a\n',
    "half.ndjson": NDJSON[:-4],
    "twice.ndjson": NDJSON + b'{"user": 1, "item": "a", "item": "b"}\n',
}


@pytest.fixture(scope="module")
def tea():
    rows = [(user, "tea") for user in range(ROWS)]
    return dpsel.select_partitions(rows, privacy=PRIVACY, max_items_per_user=1)


def selected(source, **arguments):
    return dpsel.select_partitions(
        source, user="user", item="item", privacy=PRIVACY, max_items_per_user=1, **arguments
    )


def words(call):
    with pytest.raises(DpselError) as caught:
        call()
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_refused_alike(tea, name, tmp_path) -> None:
    source, target = tmp_path / name, tmp_path / f"out_{name}"
    source.write_bytes(DAMAGED[name])
    refused = words(lambda: selected(source))
    assert words(lambda: tea.filter_file(source, target, item="item")) == refused
    assert not target.exists()


def through(pipe, data):
    with suppress(BrokenPipeError):
        pipe.write_bytes(data)


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_in_a_pipe_is_refused_alike(tea, name, tmp_path) -> None:
    pipe, target = tmp_path / name, tmp_path / f"out_{name}"
    refused = []
    for read in (selected, lambda source: tea.filter_file(source, target, item="item")):
        # A new one: the reader of the one before may still have it open, and would take what is written now.
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        thread = threading.Thread(target=through, args=(pipe, DAMAGED[name]))
        thread.start()
        refused.append(words(lambda read=read: read(pipe)))
        thread.join()
    assert refused[0] == refused[1]


WHOLE = {
    "rows.parquet": parquet(),
    "none.parquet": parquet(table(rows=0)),
    "indexes.parquet": parquet(write_page_index=True, row_group_size=50),
    "rows.arrow": FILE,
    "rows.arrows": STREAM,
    "none.arrow": ipc(table(rows=0)),
    "members.csv.gz": gzip.compress(CSV[:1000]) + gzip.compress(CSV[1000:]),
    "frames.csv.zst": zstandard.compress(CSV[:1000]) + zstandard.compress(CSV[1000:]),
}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("piped", [False, True])
def test_whole_files_are_read_by_both(tea, name, piped, tmp_path) -> None:
    source, target = tmp_path / name, tmp_path / f"out_{name}"
    if not piped:
        source.write_bytes(WHOLE[name])
        selected(source)
        tea.filter_file(source, target, item="item")
    else:
        os.mkfifo(source)
        thread = threading.Thread(target=through, args=(source, WHOLE[name]))
        thread.start()
        tea.filter_file(source, target, item="item")
        thread.join()
    assert target.stat().st_size > 0
    assert selected(target).to_pylist() == selected(as_file(name, tmp_path)).to_pylist()


def as_file(name, folder):
    """The same bytes as a file."""
    plain = folder / f"plain_{name}"
    plain.write_bytes(WHOLE[name])
    return plain


def mark(folder, name):
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith("/"):
        place.mkdir()
    else:
        place.write_bytes(b"")


#: Each mark in a folder, as the library writes it, and the words of the error.
MARKS = {
    "_delta_log/": "a Delta table",
    "deletion_vector_1.bin": "a Delta table",
    ".hoodie/": "a Hudi table",
    ".hoodie_partition_metadata": "a Hudi table",
    ".hoodie_partition_metadata.parquet": "a Hudi table",
    "metadata/v1.metadata.json": "an Iceberg table",
    "metadata/version-hint.text": "an Iceberg table",
    "_spark_metadata/": "the output of a Spark stream",
    "_started_123": "a transaction of Databricks",
    "_committed_123": "a transaction of Databricks",
}


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows", "csv", "ndjson"])
@pytest.mark.parametrize("name", MARKS)
def test_files_of_tables_are_refused_alike(tea, name, form, tmp_path) -> None:
    data = {"parquet": parquet(), "arrow": FILE, "arrows": STREAM, "csv": CSV, "ndjson": NDJSON}[form]
    folder = tmp_path / "table"
    folder.mkdir()
    (folder / f"rows.{form}").write_bytes(data)
    target = tmp_path / f"out.{form}"
    (tmp_path / "link").symlink_to(folder)
    tea.filter_file(folder, target, item="item")
    mark(folder, name)
    for source in (folder, f"{folder}/*.{form}", folder / f"rows.{form}", tmp_path / "link"):
        refused = words(lambda source=source: selected(source))
        # A pattern may meet the mark itself.
        assert MARKS[name] in refused[1] or "a wildcard meets it" in refused[1]
        assert words(lambda source=source: tea.filter_file(source, target, item="item")) == refused
