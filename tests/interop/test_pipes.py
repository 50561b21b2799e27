"""What can be read once gives what its file gives: pipes of every kind, in every format."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import dpsel
from dpsel.exceptions import DataError, FileError, InvalidParameterError, MemoryLimitError, MissingFileError
from named_pipes import fed

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the names of pipes are those of Unix")

KEY = bytes(range(32))
PRIVACY = dpsel.ZCDP(rho=1e3, delta=1e-3)
#: A few bytes, some that fit into the buffer of a pipe, and more than all buffers on the way hold together.
ITEMS = {"tiny": 2, "small": 4, "large": 6}
USERS = {"tiny": 3, "small": 150, "large": 40_000}


def table(size):
    """Rows of which every single one changes a noisy weight."""
    users, items = USERS[size], ITEMS[size]
    user = [f"user {n // items} of a longer name" for n in range(users * items)]
    item = [f'item {n % items}, "{n % items}"' for n in range(users * items)]
    return pa.table({"other": list(range(len(user))), "user": user, "item": item})


def as_csv(table, path):
    pyarrow.csv.write_csv(table, path)


def as_ndjson(table, path):
    path.write_text(table.to_pandas().to_json(orient="records", lines=True), encoding="utf-8")


def as_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=5000)


def gzipped(write):
    def packed(table, path):
        write(table, path)
        path.write_bytes(gzip.compress(path.read_bytes()))

    return packed


def with_zstandard(write):
    def packed(table, path):
        write(table, path)
        path.write_bytes(pa.compress(path.read_bytes(), codec="zstd", asbytes=True))

    return packed


FORMATS = {
    "csv": ("csv", as_csv),
    "csv.gz": ("csv", gzipped(as_csv)),
    "csv.zst": ("csv", with_zstandard(as_csv)),
    "ndjson": ("ndjson", as_ndjson),
    "ndjson.gz": ("ndjson", gzipped(as_ndjson)),
    "arrows": ("ipc", as_stream),
    "arrow": ("ipc", lambda table, path: pyarrow.feather.write_feather(table, path, compression="zstd")),
    "parquet": ("parquet", pyarrow.parquet.write_table),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file of each format and size, and what it releases."""
    folder = tmp_path_factory.mktemp("files")
    made = {}

    def file(name, size):
        if (name, size) not in made:
            file_format, write = FORMATS[name]
            path = folder / f"{size}.{name}"
            write(table(size), path)
            made[name, size] = path, file_format, released(path, file_format)
        return made[name, size]

    return file


def released(source, file_format=None, **arguments):
    release = dpsel.select_partitions(
        source,
        user="user",
        item="item",
        privacy=PRIVACY,
        max_items_per_user=6,
        mechanism=dpsel.CountGaussian(),
        with_weights=True,
        insecure_test_key=KEY,
        file_format=file_format,
        **arguments,
    )
    return release.to_pylist()


READ = """
import json, sys, dpsel
release = dpsel.select_partitions(
    sys.argv[1], user="user", item="item", privacy=dpsel.ZCDP(rho=1e3, delta=1e-3), max_items_per_user=6,
    mechanism=dpsel.CountGaussian(), with_weights=True, insecure_test_key=bytes(range(32)),
    file_format=sys.argv[2],
)
print(json.dumps(release.to_pylist()))
"""


def read_by_shell(command, path, file_format):
    """What a program releases to which a shell passes the file through a pipe."""
    shell = shutil.which("bash")
    assert shell, "bash is there"
    reader = f"'{sys.executable}' -c '{READ.replace(chr(39), chr(34))}'"
    script = command.format(reader=reader, path=path, format=file_format)
    run = subprocess.run([shell, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return [tuple(row) if isinstance(row, list) else row for row in json.loads(run.stdout)]


@pytest.mark.parametrize("size", USERS)
@pytest.mark.parametrize("name", FORMATS)
def test_standard_input_gives_what_the_file_gives(files, name, size):
    path, file_format, expected = files(name, size)
    assert size == "tiny" or expected, "something is released"
    assert read_by_shell("cat '{path}' | {reader} - {format}", path, file_format) == expected


WAYS = {
    "named": "cat '{path}' | {reader} /dev/stdin {format}",
    "descriptor": "cat '{path}' | {reader} /dev/fd/0 {format}",
    "another descriptor": "{reader} /dev/fd/7 {format} 7< <(cat '{path}')",
    "process substitution": "{reader} <(cat '{path}') {format}",
    "redirected": "{reader} - {format} < '{path}'",
    "redirected by name": "{reader} /dev/stdin {format} < '{path}'",
    "in small pieces": "(head -c 1 '{path}'; sleep 0.2; tail -c +2 '{path}') | {reader} - {format}",
}


@pytest.mark.long("large files in four forms and every way")
@pytest.mark.parametrize("name", ["csv", "ndjson.gz", "arrows", "parquet"])
@pytest.mark.parametrize("way", WAYS)
def test_every_name_of_a_pipe_gives_what_the_file_gives(files, way, name):
    path, file_format, expected = files(name, "large")
    assert read_by_shell(WAYS[way], path, file_format) == expected


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("name", FORMATS)
def test_a_named_pipe_gives_what_the_file_gives(files, tmp_path, name, threads):
    path, file_format, expected = files(name, "large")
    pipe = fed(tmp_path / f"pipe.{name}", path)
    assert released(pipe, threads=threads) == expected
    assert pipe.is_fifo(), file_format


def test_pipes_and_files_are_one_table(files, tmp_path):
    path, _, expected = files("csv", "small")
    lines = path.read_text().splitlines(keepends=True)
    half = len(lines) // 2
    (tmp_path / "file.csv").write_text("".join(lines[:half]))
    pipe = fed(tmp_path / "pipe.csv", "".join([lines[0], *lines[half:]]).encode())
    assert released([tmp_path / "file.csv", pipe]) == expected


def test_a_field_that_shows_its_type_late_is_read_from_the_first_record(tmp_path):
    nothing = ['{"user": "nobody", "item": null}\n'] * 20_000
    rows = [f'{{"user": "user {n // 2}", "item": "item {n % 2}"}}\n' for n in range(400)]
    text = "".join(rows[:3] + nothing + rows[3:])
    (tmp_path / "file.ndjson").write_text(text)
    expected = released(tmp_path / "file.ndjson")
    assert len(expected) == 2
    assert released(fed(tmp_path / "pipe.ndjson", text.encode())) == expected
    late = "".join(nothing + rows).encode()
    assert released(fed(tmp_path / "late.ndjson", late)) == expected
    with pytest.raises(MemoryLimitError):
        released(fed(tmp_path / "limited.ndjson", late), memory_limit=300_000)


def test_a_stream_that_is_cut_off_is_no_stream(files, tmp_path):
    whole = files("arrows", "large")[0].read_bytes()
    for number, end in enumerate([len(whole) - 8, len(whole) - 9, len(whole) // 2, 400, 6, 3, 0]):
        with pytest.raises(FileError, match=r"truncated|Arrow IPC"):
            released(fed(tmp_path / f"{number}.arrows", whole[:end]))


def test_lengths_that_a_pipe_does_not_keep_are_refused(files, tmp_path):
    whole = bytearray(files("arrows", "small")[0].read_bytes())
    for number, at in enumerate([4, 5, 6, 7]):
        broken = whole.copy()
        broken[at] ^= 0x7F
        with pytest.raises(FileError, match=r"truncated|Arrow IPC"):
            released(fed(tmp_path / f"{number}.arrows", bytes(broken)))


def test_what_is_read_from_its_end_is_held_within_the_memory_limit(files, tmp_path):
    for name in ("parquet", "arrow"):
        path = files(name, "large")[0]
        with pytest.raises(MemoryLimitError, match="reading a pipe into memory"):
            released(fed(tmp_path / f"pipe.{name}", path), memory_limit=path.stat().st_size // 2)


def test_an_empty_pipe_is_an_error(tmp_path):
    for name in FORMATS:
        with pytest.raises(FileError):
            released(fed(tmp_path / f"empty.{name}", b""))


def test_a_pipe_under_two_names_is_refused(files, tmp_path):
    path, _, _ = files("ndjson", "large")
    pipe = fed(tmp_path / "pipe.ndjson", path)
    again = tmp_path / "again.ndjson"
    again.hardlink_to(pipe)
    with pytest.raises(FileError, match="a pipe can be read once"):
        released([pipe, again])
    os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))


def test_the_standard_input_after_another_name_of_it_is_not_missing():
    script = (
        "import os, dpsel\n"
        "paths = [f'/proc/{os.getpid()}/fd/0', '-']\n"
        "try: dpsel.select_partitions(paths, user='u', item='i', file_format='csv',\n"
        "    privacy=dpsel.ZCDP(rho=1, delta=0.1), max_items_per_user=1)\n"
        "except dpsel.exceptions.FileError as error: print(type(error).__name__, error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        input="u,i\n1,2\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stdout.startswith("FileError "), run
    assert "a pipe can be read once" in run.stdout


def test_the_same_name_of_a_pipe_counts_once(files, tmp_path):
    path, _, expected = files("ndjson", "small")
    pipe = fed(tmp_path / "pipe.ndjson", path)
    assert released([pipe, pipe]) == expected


def test_an_error_behind_the_first_buffer_has_its_line(tmp_path):
    lines = [f"user {n},item\n" for n in range(50_000)]
    lines[40_000] = "a,secret,field\n"
    with pytest.raises(DataError, match="line 40002") as caught:
        released(fed(tmp_path / "pipe.csv", "".join(["user,item\n", *lines]).encode()))
    assert "secret" not in str(caught.value)


def test_the_standard_input_has_a_name_in_errors():
    for data, message in (("-", "cannot read standard input: the file is empty"), (["-"], "standard input")):
        script = (
            "import sys, dpsel\n"
            f"try: dpsel.select_partitions({data!r}, user='u', item='i', file_format='csv',\n"
            "    privacy=dpsel.ZCDP(rho=1, delta=0.1), max_items_per_user=1)\n"
            "except dpsel.exceptions.FileError as error: print(type(error).__name__, error)\n"
        )
        run = subprocess.run(
            [sys.executable, "-c", script], input="", capture_output=True, text=True, timeout=60, check=True
        )
        assert run.stdout.startswith(f"{FileError.__name__} "), run
        assert message in run.stdout


def test_a_pipe_that_nobody_writes_to_can_be_interrupted(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    script = f"""
import dpsel, sys
print("ready", flush=True)
try:
    dpsel.select_partitions({str(tmp_path / "pipe.csv")!r}, user="user", item="item",
        privacy=dpsel.ZCDP(rho=1, delta=0.1), max_items_per_user=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert out == "interrupted\n", err
    assert time.monotonic() - sent < 5


def test_a_comparison_reads_more_than_once_and_refuses_pipes(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for data in ("-", tmp_path / "pipe.csv", "/dev/stdin", ["/dev/fd/0"]):
        with pytest.raises(InvalidParameterError, match="readable more than once"):
            dpsel.compare(
                data, user="user", item="item", privacy=PRIVACY, max_items_per_user=1, public_data=True
            )


def test_a_file_that_has_the_name_of_the_standard_input(files, tmp_path, monkeypatch):
    path, file_format, expected = files("csv", "small")
    monkeypatch.chdir(tmp_path)
    shutil.copy(path, "-")
    assert released("./-", file_format) == expected
    with pytest.raises(MissingFileError):
        released("./missing", file_format)
