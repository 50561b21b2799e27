"""Compressed text: every valid form of gzip and Zstandard is read, and the rest is refused by its name."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import struct
import subprocess
import sys
import zipfile
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import dpsel
from dpsel.exceptions import FileError

CSV = ("user,item\n" + "".join(f"{user},tea\n" for user in range(400))).encode()
NDJSON = "".join(f'{{"user": {user}, "item": "tea"}}\n' for user in range(400)).encode()
TEXTS = {".csv": CSV, ".ndjson": NDJSON}
SELECT = {"user": "user", "item": "item", "privacy": dpsel.ApproxDP(epsilon=1.0, delta=1e-6)}
SELECT |= {"max_items_per_user": 1}


def select(path, **arguments):
    return dpsel.select_partitions(path, **SELECT, **arguments).to_pylist()


def member(data, *, name=b"", comment=b"", extra=b"", header_crc=False, text=False):
    """A gzip member with the given fields in its header (RFC 1952)."""
    flags = text | 2 * header_crc | 4 * bool(extra) | 8 * bool(name) | 16 * bool(comment)
    header = b"\x1f\x8b\x08" + bytes([flags]) + struct.pack("<IBB", 1, 0, 255)
    header += struct.pack("<H", len(extra)) + extra if extra else b""
    header += b"".join(field + b"\0" for field in (name, comment) if field)
    header += struct.pack("<H", zlib.crc32(header) & 0xFFFF) if header_crc else b""
    deflate = zlib.compressobj(wbits=-15)
    return header + deflate.compress(data) + deflate.flush() + struct.pack("<II", zlib.crc32(data), len(data))


def skippable(size=9, number=0):
    return struct.pack("<II", 0x184D2A50 + number, size) + bytes(size)


def frame(data, **options):
    return zstandard.ZstdCompressor(**options).compress(data)


def streamed(data):
    out = io.BytesIO()
    with zstandard.ZstdCompressor().stream_writer(out, closefd=False) as writer:
        writer.write(data)
    return out.getvalue()


def long_window(data, log):
    parameters = zstandard.ZstdCompressionParameters(window_log=log, write_content_size=False)
    out = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=parameters).stream_writer(out, closefd=False) as writer:
        writer.write(data)
    return out.getvalue()


VALID = {
    "gzip": gzip.compress,
    "every field": lambda d: member(d, name=b"a", comment=b"c", extra=b"AB\1\0x", header_crc=True, text=True),
    "members": lambda d: gzip.compress(d[:1000]) + member(d[1000:2000], name=b"x") + gzip.compress(d[2000:]),
    "an empty member": lambda d: gzip.compress(b"") + gzip.compress(d) + gzip.compress(b""),
    "blocks": lambda d: b"".join(member(d[a : a + 99], extra=b"BC\2\0\0\0") for a in range(0, len(d), 99)),
    "padded": lambda d: gzip.compress(d) + bytes(700_000),
    "zstd": frame,
    "frames": lambda d: frame(d[:1000]) + streamed(d[1000:]),
    "skippable first": lambda d: skippable(4, 15) + frame(d),
    "skippable between": lambda d: frame(d[:99]) + skippable(0, 3) + frame(d[99:]) + skippable(),
    "no checksum": lambda d: frame(d, write_checksum=False),
    "no size": streamed,
    "largest window": lambda d: long_window(d, 27),
}  # fmt: skip


@pytest.mark.parametrize("suffix", TEXTS)
@pytest.mark.parametrize("form", VALID)
def test_every_valid_form_is_read(tmp_path, form, suffix) -> None:
    data = VALID[form](TEXTS[suffix])
    for name in (f"rows{suffix}", f"rows{suffix}.gz", f"rows{suffix}.zst"):
        (tmp_path / name).write_bytes(data)
        assert select(tmp_path / name) == ["tea"]
    command = [sys.executable, "-m", "dpsel.cli", "select", "-", "--format", suffix[1:], "--user", "user"]
    command += ["--item", "item", "--epsilon", "1", "--delta", "1e-6", "--max-items-per-user", "1"]
    done = subprocess.run(command, input=data, capture_output=True, check=True)
    assert done.stdout.decode().split() == ["item", "tea"]


def changed(data, at):
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


DICTIONARY = zstandard.ZstdCompressionDict(
    zstandard.train_dictionary(2000, [b"user,item %d" % n for n in range(4000)]).as_bytes()
)
DAMAGED = {
    "gzip cut off": (lambda d: gzip.compress(d)[:-9], "truncated"),
    "gzip without its end": (lambda d: gzip.compress(d)[:-3], "truncated"),
    "second member cut off": (lambda d: gzip.compress(d) + gzip.compress(d)[:7], "truncated"),
    "gzip checksum": (lambda d: changed(gzip.compress(d), -6), "gzip data is damaged"),
    "gzip length": (lambda d: changed(gzip.compress(d), -2), "gzip data is damaged"),
    "gzip header": (lambda d: changed(member(d, name=b"abc", header_crc=True), 11), "gzip data is damaged"),
    "gzip and text": (lambda d: gzip.compress(d) + d, "other bytes follow the gzip data"),
    "gzip, zeros and text": (lambda d: gzip.compress(d) + bytes(9) + d, "other bytes follow the gzip data"),
    "gzip, zeros and gzip": (lambda d: gzip.compress(d) + bytes(9) + gzip.compress(d), "other bytes follow"),
    "zstd cut off": (lambda d: frame(d)[:-9], "truncated"),
    "zstd checksum": (lambda d: changed(frame(d, write_checksum=True), -2), "Zstandard data is damaged"),
    "zstd and text": (lambda d: frame(d) + d, "other bytes follow the Zstandard data"),
    "zstd dictionary": (lambda d: frame(d, dict_data=DICTIONARY), "with a dictionary"),
    "zstd window": (lambda d: long_window(d * 2, 28), "window of more than 128 MiB"),
    "gzip twice": (lambda d: gzip.compress(gzip.compress(d)), "it is gzip"),
    "zstd in gzip": (lambda d: gzip.compress(frame(d)), "it is Zstandard"),
    "bzip2": (bz2.compress, "it is bzip2, .* decompress it first"),
    "bzip2 of nothing": (lambda _: bz2.compress(b""), "it is bzip2"),
    "xz": (lzma.compress, "it is xz"),
    "lzma": (lambda d: lzma.compress(d, lzma.FORMAT_ALONE), "it is lzma"),
    "lz4": (lambda d: pa.compress(d, "lz4", asbytes=True), "it is LZ4"),
    "compress": (lambda d: b"\x1f\x9d\x90" + d, "it is compress"),
    "7z": (lambda d: b"7z\xbc\xaf\x27\x1c" + d, "it is 7-Zip"),
}  # fmt: skip


@pytest.mark.parametrize("suffix", TEXTS)
@pytest.mark.parametrize("form", DAMAGED)
def test_the_rest_is_refused_by_its_name(tmp_path, form, suffix) -> None:
    made, reason = DAMAGED[form]
    for name in (f"rows{suffix}", f"rows{suffix}.gz", "rows"):
        (tmp_path / name).write_bytes(made(TEXTS[suffix]))
        with pytest.raises(FileError, match=reason):
            select(tmp_path / name, file_format=suffix[1:])


def zipped(data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("rows.csv", data)
    return out.getvalue()


def parquet(_):
    out = io.BytesIO()
    pq.write_table(pa.table({"user": [1], "item": ["a"]}), out)
    return out.getvalue()


def arrow(_):
    out = io.BytesIO()
    table = pa.table({"user": [1], "item": ["a"]})
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


@pytest.mark.parametrize(
    ("made", "file_format", "reason"),
    [
        (zipped, "csv", "it is zip"), (parquet, "csv", "it is Parquet.*file_format"),
        (arrow, "ndjson", "it is Arrow IPC"), (gzip.compress, "parquet", "it is gzip"),
        (zipped, "parquet", "it is zip"), (arrow, "parquet", "it is Arrow IPC"),
        (frame, "ipc", "it is Zstandard"), (parquet, "ipc", "it is Parquet"),
    ],
)  # fmt: skip
def test_a_file_of_another_format_is_called_by_its_name(tmp_path, made, file_format, reason) -> None:
    (tmp_path / "rows").write_bytes(made(CSV))
    with pytest.raises(FileError, match=reason):
        select(tmp_path / "rows", file_format=file_format)


@pytest.mark.parametrize("extension", ["bz2", "xz", "lz4", "zip", "Z", "br", "7z", "snappy"])
def test_an_extension_of_another_compression_is_refused_with_the_way(tmp_path, extension) -> None:
    (tmp_path / f"rows.csv.{extension}").write_bytes(b"1")
    with pytest.raises(FileError, match="which is not read here; decompress it first"):
        select(tmp_path / f"rows.csv.{extension}")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(CSV)), max_size=5), st.data())
def test_any_division_into_members_or_frames_is_the_text(cuts, data) -> None:
    import tempfile
    from pathlib import Path

    ends = sorted([0, *cuts, len(CSV)])
    pieces = [CSV[a:b] for a, b in itertools.pairwise(ends)]
    packed = data.draw(st.sampled_from([gzip.compress, member, frame, streamed]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_bytes(b"".join(map(packed, pieces)))
        assert select(path) == ["tea"]
