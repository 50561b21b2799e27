"""Files that are cut, damaged, empty or not there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet
import pytest

import dpsel
from children import finish
from refusals import GOOD, SECRET, refused, run
from support import items_of, table

if TYPE_CHECKING:
    from pathlib import Path


def test_file_that_is_not_there(tmp_path) -> None:
    refused(tmp_path / "absent.parquet", match="absent.parquet")
    refused(str(tmp_path / "*.parquet"), match=r"\*\.parquet")


def test_file_of_an_unknown_kind(tmp_path) -> None:
    path = tmp_path / "data.xyz"
    path.write_text(SECRET)
    refused(path, match=r"data\.xyz")


def test_a_folder_instead_of_a_file(tmp_path) -> None:
    folder = tmp_path / "folder.parquet"
    folder.mkdir()
    refused(folder, match=r"folder\.parquet")


def _parquet(path: Path) -> bytes:
    pyarrow.parquet.write_table(table([(u, f"{SECRET}{u}") for u in range(5000)]), path)
    return path.read_bytes()


@pytest.mark.parametrize("keep", [0, 1, 4, 100, 0.3, 0.5, 0.9, -1, -4, -8])
def test_truncated_parquet(tmp_path, keep) -> None:
    path = tmp_path / "cut.parquet"
    whole = _parquet(path)
    path.write_bytes(whole[: int(len(whole) * keep) if isinstance(keep, float) else keep])
    refused(path, match=r"cut\.parquet")


def test_damaged_parquet(tmp_path) -> None:
    """Flipped bytes in the pages: an error, or the rows as they stand; no panic."""
    path = tmp_path / "damaged.parquet"
    whole = bytearray(_parquet(path))
    refusals = []
    for position in range(4, len(whole) - 8, max(1, len(whole) // 60)):
        broken = whole.copy()
        broken[position] ^= 0xFF
        path.write_bytes(broken)
        try:
            run(path)
        except dpsel.DpselError as error:
            refusals.append(str(error))
    assert refusals
    for refusal in refusals:
        assert SECRET not in refusal
        assert "panic" not in refusal
        assert "damaged.parquet" in refusal


@pytest.mark.long("reads a file for each byte of its footer")
def test_a_decoder_that_panics_prints_nothing(tmp_path, capfd) -> None:
    """Numbers of the footer turned negative make it panic; its message is not ours to print."""
    path = tmp_path / "negative.parquet"
    whole = bytearray(_parquet(path))
    length = int.from_bytes(whole[-8:-4], "little")
    gave_up = 0
    for position in range(len(whole) - 8 - length, len(whole) - 8):
        broken = whole.copy()
        broken[position] ^= 1  # the sign, in the first byte of a number
        path.write_bytes(broken)
        try:
            run(path)
        except dpsel.DpselError as error:
            gave_up += "its decoder gave up" in str(error)
    assert gave_up
    assert capfd.readouterr() == ("", "")


CSV_FAULTS = {
    "too many fields": f"user,item\na,{SECRET}\nb,{SECRET},surplus\n",
    "too few fields": f"user,item\na,{SECRET}\nb\n",
    "open quote": f'user,item\na,"{SECRET}\nb,x\n',
    "no such column": f"who,what\na,{SECRET}\n",
    "header only of another table": SECRET,
}


@pytest.mark.parametrize("fault", CSV_FAULTS)
def test_malformed_csv(tmp_path, fault) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(CSV_FAULTS[fault])
    refused(path, match=r"bad\.csv")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f'user,item\na,"{SECRET}\nb,x\n', 2),
        (f'user,item\na,x\n\n"{SECRET}\nc,y', 4),
        (f'user,item\na,"x\ny"\nb,"{SECRET}""\n', 3),
        (f'user,item\na,x\nb,{SECRET}\nc,"', 4),
        (f'user,item,"other\na,{SECRET},x\n', 1),
        ("user,item\n" + "a,x\n" * 16_383 + f'b,"{SECRET}\n', 16_385),
        ("user,item\n" + "a,x\n" * 40_000 + f'b,"{SECRET}\n', 40_002),
    ],
    ids=[
        "in a field",
        "other fields missing",
        "escaped",
        "at the end",
        "header",
        "full batch",
        "later batch",
    ],
)
def test_open_quotes_name_the_line(tmp_path, text, line) -> None:
    path = tmp_path / "open.csv"
    path.write_text(text)
    refused(
        path, match=rf"open\.csv: a quote opened in line {line} .* is not closed; close it", kind=ValueError
    )


@pytest.mark.parametrize("text", ['a,"x"', 'a,"x"\n', 'a,"x\n"\r\n', 'a,"x""y"', 'a,""', "a,", 'a,"x"\n\n'])
def test_quotes_that_are_closed(tmp_path, text) -> None:
    path = tmp_path / "fine.csv"
    path.write_text("user,item\nb,z\n" + text)
    run(path)


def test_empty_files(tmp_path) -> None:
    for name in ("empty.csv", "empty.ndjson", "empty.arrow", "empty.parquet"):
        path = tmp_path / name
        path.touch()
        refused(path, match=name)
    header = tmp_path / "header.csv"
    header.write_text("user,item\n")
    assert items_of(run(header)) == []


def test_malformed_json_lines(tmp_path) -> None:
    path = tmp_path / "bad.ndjson"
    path.write_text(f'{{"user": "a", "item": "{SECRET}"}}\n{{"user": "b", "item": "{SECRET}\n')
    refused(path, match=r"bad\.ndjson")


@pytest.mark.parametrize("keep", [0.3, 0.7, -3])
def test_truncated_arrow_file(tmp_path, keep) -> None:
    path = tmp_path / "cut.arrow"
    with pa.ipc.new_file(path, GOOD.schema) as out:
        out.write_table(GOOD)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep) if isinstance(keep, float) else keep])
    refused(path, match=r"cut\.arrow")


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_arrow_stream_cut_between_two_batches(tmp_path, batches) -> None:
    path, mark = tmp_path / "cut.arrows", b"\xff\xff\xff\xff\0\0\0\0"
    with path.open("wb") as out, pa.ipc.new_stream(out, GOOD.schema) as stream:
        for _ in range(batches):
            stream.write_table(GOOD)
    run(path)
    whole = path.read_bytes()
    path.write_bytes(whole.removesuffix(mark))
    assert path.stat().st_size == len(whole) - len(mark)
    refused(path, match=r"cut\.arrows.*end mark")


def test_truncated_gzip(tmp_path) -> None:
    import gzip

    path = tmp_path / "cut.csv.gz"
    path.write_bytes(gzip.compress(b"user,item\n" + b"a,b\n" * 10_000)[:-30])
    refused(path, match=r"cut\.csv\.gz")


def test_invalid_utf8(tmp_path) -> None:
    path = tmp_path / "latin1.csv"
    path.write_bytes(b"user,item\na," + SECRET.encode() + b"\xe9\xff\n")
    refused(path, match=r"(?i)latin1\.csv.*utf-?8|utf-?8.*latin1\.csv")


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may read everything")
def test_unreadable_file(tmp_path) -> None:
    path = tmp_path / "locked.parquet"
    _parquet(path)
    path.chmod(0)
    refused(path, match=r"locked\.parquet")


LENGTHS = """
    import io, struct
    data = pa.table({"user": [f"a user {n}" for n in range(50)], "item": ["an item of some length"] * 50})
    outcomes = set()
    for make, suffix in ((pa.ipc.new_file, ".arrow"), (pa.ipc.new_stream, ".arrows")):
        for compression in (None, "zstd", "lz4"):
            sink = io.BytesIO()
            with make(sink, data.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as out:
                out.write_table(data, max_chunksize=30)
            honest = sink.getvalue()
            for at in range(8, len(honest) - 8, 4):
                claim = bytearray(honest)
                struct.pack_into("<q", claim, at, 1 << 52)
                open("claim" + suffix, "wb").write(claim)
                try:
                    dpsel.select_partitions("claim" + suffix, user="user", item="item",
                                            privacy=dpsel.ZCDP(rho=1.0, delta=1e-6), max_items_per_user=2)
                    outcomes.add("read")
                except dpsel.DpselError as error:
                    outcomes.add(type(error).__name__)
    print(sorted(outcomes))
"""


@pytest.mark.long("thousands of damaged files")
def test_no_length_in_an_arrow_file_ends_the_process(tmp_path) -> None:
    """Found by the search: a failed allocation cannot be caught. In a process of its own, for that reason."""
    assert "FileError" in finish(LENGTHS, tmp_path)
