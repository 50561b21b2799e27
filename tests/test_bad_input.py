"""Bad input gives a clear error or a correct result: never a panic, a partial file or a leaked file.

A message says what was wrong, why it matters and which argument mends it, and holds no value of the data.
"""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import dpsel
from reference import mechanisms as reference
from support import KEY, items_of, released, rounds_of, select, table, units_of

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
SIPS = dpsel.Sips()
SECRET = "zxqv-secret"


def run(data, **arguments):
    arguments = {"privacy": PRIVACY, "max_items_per_user": 5, "mechanism": SIPS} | arguments
    return select(data, **arguments)


def refused(data, *, match: str, kind: type = dpsel.DpselError, **arguments) -> str:
    """The call fails with a message that matches and names no value of the data."""
    with pytest.raises(kind, match=match) as caught:
        run(data, **arguments)
    assert isinstance(caught.value, dpsel.DpselError)
    assert SECRET not in str(caught.value)
    assert "panic" not in str(caught.value).lower()
    return str(caught.value)


GOOD = table([(u, f"{SECRET}{u}") for u in range(10)])


# Parameters


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: dpsel.ApproxDP(epsilon=x, delta=1e-6),
        lambda x: dpsel.ZCDP(rho=x, delta=1e-6),
        lambda x: dpsel.PureDP(epsilon=x),
    ],
    ids=["ApproxDP", "ZCDP", "PureDP"],
)
def test_budget_that_is_no_positive_number(make, value) -> None:
    with pytest.raises(ValueError, match=r"(epsilon|rho) must be .* above 0") as caught:
        run(GOOD, privacy=make(value))
    assert isinstance(caught.value, dpsel.DpselError)


@pytest.mark.parametrize("delta", [0, -1e-9, 1, 1.0, 2.0, math.nan, math.inf])
@pytest.mark.parametrize(
    "make",
    [
        lambda d: dpsel.ApproxDP(epsilon=1.0, delta=d),
        lambda d: dpsel.ZCDP(rho=1.0, delta=d),
    ],
    ids=["ApproxDP", "ZCDP"],
)
def test_delta_outside_0_1(make, delta) -> None:
    with pytest.raises(ValueError, match="delta must be above 0 and below 1") as caught:
        run(GOOD, privacy=make(delta))
    assert isinstance(caught.value, dpsel.DpselError)


@pytest.mark.parametrize("bound", [0, -1, 10**8, 2**70])
def test_bound_outside_its_range(bound) -> None:
    refused(GOOD, max_items_per_user=bound, match="max_items_per_user must", kind=ValueError)


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_items_per_user": 2.5},
        {"max_items_per_user": "10"},
        {"max_items_per_user": None},
        {"max_items_per_user": True},
        {"privacy": 1.0},
        {"privacy": None},
        {"mechanism": "sips please"},
        {"mechanism": dpsel.Sips},
        {"user": 3},
        {"item": []},
        {"threads": 0},
        {"threads": -1},
        {"memory_limit": -5},
        {"ngrams": (0, 1)},
        {"ngrams": (3, 2)},
        {"ngrams": (1, 99)},
        {"item": ["item", "item"]},
        {"item": "user"},
    ],
    ids=str,
)
def test_arguments_that_make_no_sense(arguments) -> None:
    name = next(iter(arguments))
    with pytest.raises((dpsel.DpselError, TypeError, ValueError), match=name):
        run(GOOD, **arguments)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dpsel.Sips(rounds=0),
        lambda: dpsel.Sips(rounds=-1),
        lambda: dpsel.Sips(ratio=0.0),
        lambda: dpsel.Sips(ratio=1.5),
        lambda: dpsel.Sips(ratio=math.nan),
        lambda: dpsel.Sips(rounds=10**6),
    ],
)
def test_mechanism_parameters_out_of_range(make) -> None:
    with pytest.raises(ValueError, match="rounds|ratio") as caught:
        run(GOOD, mechanism=make())
    assert isinstance(caught.value, dpsel.DpselError)


def test_privacy_decisions_have_no_defaults() -> None:
    whole = {"user": "user", "item": "item", "privacy": PRIVACY, "max_items_per_user": 3}
    for name in whole:
        rest = {k: v for k, v in whole.items() if k != name}
        with pytest.raises((TypeError, dpsel.DpselError), match=name):
            dpsel.select_partitions(GOOD, **rest)
    with pytest.raises(TypeError):
        dpsel.select_partitions(GOOD, "user", "item", PRIVACY, 3)


# Tables


def test_empty_data_gives_an_empty_release_of_the_same_type(case) -> None:
    empty = pa.table({"user": pa.array([], pa.int32()), "item": pa.array([], pa.string())})
    release = run(empty, mechanism=case.mechanism, with_weights=True)
    assert items_of(release) == []
    assert released(release).schema.field("item").type == pa.string()
    no_batches = pa.Table.from_batches([], empty.schema)
    assert items_of(run(no_batches, mechanism=case.mechanism)) == []


def test_a_table_of_null_items_only() -> None:
    nulls = pa.table({"user": [1, 2, 3], "item": pa.array([None] * 3, pa.string())})
    assert items_of(run(nulls)) == []


def test_one_user_only(case) -> None:
    """Right, not merely quiet: the reference agrees, and nothing of a lone user comes out at delta 1e-6."""
    rows = [(1, i) for i in range(1000)]
    release = run(table(rows), mechanism=case.mechanism, with_weights=True)
    assert units_of(release) == reference.select(case.name, rows, rounds_of(release), 5, KEY) == {}


def test_all_users_equal_and_all_items_unique() -> None:
    same = [(u, i) for u in range(500) for i in range(5)]
    assert items_of(run(table(same), mechanism=dpsel.WeightedGaussian())) == list(range(5))
    unique = [(u, 10 * u + i) for u in range(500) for i in range(5)]
    assert items_of(run(table(unique), mechanism=dpsel.WeightedGaussian())) == []


def test_a_user_with_a_million_items(case) -> None:
    crowd = [(u, -1) for u in range(2000)]
    users = pa.array([u for u, _ in crowd] + [-7] * 1_000_000, pa.int64())
    items = pa.array([i for _, i in crowd] + list(range(1_000_000)), pa.int64())
    release = run(pa.table({"user": users, "item": items}), mechanism=case.mechanism)
    assert items_of(release) == [-1]


def test_missing_columns_name_the_argument_and_the_columns_there_are() -> None:
    there = "'user', 'item'"
    refused(GOOD, user="who", match=f"no column 'who' to tell users apart; set user= to one .*: {there}$")
    refused(GOOD, item="what", match=f"no column 'what' to take items from; set item= to one .*: {there}$")
    refused(GOOD, item=["item", "what"], match=f"'what' to take items from; set item= to one .*: {there}$")


def test_missing_columns_of_text_files_name_the_argument(tmp_path) -> None:
    lines, rows = tmp_path / "rows.ndjson", tmp_path / "rows.csv"
    lines.write_text(f'{{"user": "a", "item": "{SECRET}"}}\n')
    rows.write_text(f"user,item\na,{SECRET}\n")
    refused(lines, user="who", match="field 'who' to tell users apart; set user= to one .*: 'user', 'item'$")
    refused(lines, item="what", match="field 'what' to take items from; set item= to one of its fields")
    # Without a header line the names would be data, so they are not listed.
    refused(rows, user="who", match=r"rows\.csv has 2 columns, none named 'who' .*; set user= to a name")
    refused(rows, item="what", match="none named 'what' to take items from; set item= to a name")


def test_an_item_column_that_the_weights_would_hide(tmp_path) -> None:
    """Refused before any data is read, whatever the source: the command line has a test of its own."""

    def rows():
        raise AssertionError("the data was read")
        yield

    names = {"user": "user", "item": "weight", "with_weights": True}
    schema = pa.schema({"user": pa.int64(), "weight": pa.int64()})
    sources = [
        rows(),
        pa.table({"user": [1], "weight": [1]}),
        pa.RecordBatchReader.from_batches(schema, rows()),
        tmp_path / "absent.parquet",
    ]
    for data in sources:
        refused(data, **names, match=r"item= .*; rename the item column, or set with_weights=False")
        refused(data, **names | {"item": ["other", "weight"]}, match="with_weights=False", kind=ValueError)
    plain = pa.table({"user": list(range(500)), "weight": [1] * 500})
    release = run(plain, **names | {"with_weights": False})
    assert release.to_table().columns == ["weight"]
    weighted = run([(u, 1) for u in range(500)], user="weight", item="item", with_weights=True)
    assert weighted.to_table().columns == ["item", "weight"]


def test_null_users_are_refused_by_position() -> None:
    data = pa.table({"user": [SECRET, SECRET, None], "item": [1, 2, 3]})
    refused(data, match="(?s)null.*(user|row)|(user|row).*null")


@pytest.mark.parametrize(
    "item",
    [
        pa.array([0.5]),
        pa.array([{"a": SECRET}]),
        pa.array([[(SECRET, 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array([[[1]]]),
    ],
    ids=lambda array: str(array.type),
)
def test_item_types_that_are_refused(item) -> None:
    refused(pa.table({"user": [1], "item": item}), match="item", kind=TypeError)


def test_user_types_that_are_refused() -> None:
    refused(pa.table({"user": [0.5], "item": [1]}), match="user", kind=TypeError)
    refused(pa.table({"user": pa.array([[1]]), "item": [1]}), match="user", kind=TypeError)


@pytest.mark.parametrize(
    "data", [None, 5, "", b"x", 1j, [1, 2], [(1,)], [(1, 2, 3)], {"user": [1]}], ids=repr
)
def test_things_that_are_no_table(data) -> None:
    with pytest.raises((dpsel.DpselError, TypeError)) as caught:
        run(data)
    assert len(str(caught.value)) > 20


def test_lazy_frames_are_refused_with_the_fix_or_collected() -> None:
    import polars as pl

    lazy = pl.from_arrow(GOOD).lazy()
    try:
        result = run(lazy)
    except dpsel.DpselError as error:
        result, refusal = None, str(error)
    if result is None:
        assert "collect()" in refusal
    else:
        assert items_of(result) == items_of(run(GOOD))


def test_a_source_that_fails_in_the_middle() -> None:
    def batches():
        yield GOOD.to_batches()[0]
        raise OSError("the disk is on fire")

    reader = pa.RecordBatchReader.from_batches(GOOD.schema, batches())
    with pytest.raises(Exception, match="the disk is on fire"):
        run(reader)

    def pairs():
        yield (1, 2)
        raise OSError("the disk is on fire")

    with pytest.raises(OSError, match="the disk is on fire"):
        run(pairs())


class Wrapped:
    """Somebody's own object with the Arrow stream method."""

    def __init__(self, reader):
        self.reader = reader

    def __arrow_c_stream__(self, requested_schema=None):
        return self.reader.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("through", [lambda reader: reader, Wrapped], ids=["reader", "wrapped"])
def test_ctrl_c_in_a_generator_behind_an_arrow_stream(through) -> None:
    def batches(error):
        yield GOOD.to_batches()[0]
        raise error

    def reader(error):
        return through(pa.RecordBatchReader.from_batches(GOOD.schema, batches(error)))

    with pytest.raises(KeyboardInterrupt):
        run(reader(KeyboardInterrupt))
    # Only the exception itself counts, not what another one says.
    with pytest.raises(dpsel.DpselError, match="KeyboardInterrupt"):
        run(reader(OSError("KeyboardInterrupt")))


def test_memory_limit_is_honoured() -> None:
    rows = table([(u, u * 1000 + i) for u in range(3000) for i in range(10)])
    refused(rows, memory_limit=10_000, match="memory_limit")
    run(rows, memory_limit=10**9)


# Files


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
        (f'user,item\na,x\n\n"{SECRET}\nc,y', 3),
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


@pytest.mark.parametrize(
    "text", ['a,"x"', 'a,"x"\n', 'a,"x\n"\r\n', 'a,"x""y"', 'a,x"y', 'a,"x"y"', 'a,""', "a,", 'a,"x"\n\n']
)
def test_quotes_that_are_closed_or_inside_a_field(tmp_path, text) -> None:
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


LONG = SECRET.encode() + b"\xff and more than twelve bytes"


def careless(values, kind: pa.DataType) -> pa.Array:
    """A text column whose bytes nobody looked at."""
    declared = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    declared[pa.string_view()] = pa.binary_view()
    array = pa.array(values, declared[kind])
    return pa.Array.from_buffers(kind, len(array), array.buffers())


TEXTS = [pa.string(), pa.large_string(), pa.string_view()]


@pytest.mark.parametrize("invalid", [b"\xff\xfe", LONG, "ü".encode()[:1]], ids=["short", "long", "half"])
@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_invalid_utf8_in_memory(kind, invalid) -> None:
    """A string column whose buffer is not UTF-8, from a careless producer."""
    bad = careless([b"fine", None, "ü".encode(), invalid, b"\xbc"], kind)
    users = pa.array(range(5))
    keys, runs = pa.array([0, 0, 2, 3, 4], pa.int8()), pa.run_end_encoded(pa.int32(), kind)
    columns = [
        bad,
        pa.DictionaryArray.from_arrays(keys, bad, safe=False),
        pa.ListArray.from_arrays([0, 1, 2, 3, 4, 5], bad),
        pa.Array.from_buffers(runs, 5, [None], children=[pa.array([1, 2, 3, 4, 5], pa.int32()), bad]),
    ]
    for column in columns:
        refused(
            pa.table({"user": users, "item": column}),
            match="column 'item' .* UTF-8 in row 4",
            kind=ValueError,
        )
    names = [pa.array(["b"] * 5, kind), careless([b"c"] * 3 + [invalid] * 2, kind)]
    batches = [pa.table({"user": user, "item": pa.array(["a"] * 5)}) for user in names]
    refused(pa.concat_tables(batches), match="column 'user' .* row 9")
    two = pa.table({"user": users, "other": users, "item": bad})
    refused(two, item=["other", "item"], match="column 'item' .* row 4")
    refused(pa.table({"user": users, "item": bad}), ngrams=(1, 1), match="column 'item' .* row 4")


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_bytes_that_no_row_uses_need_not_be_utf8(kind) -> None:
    values = careless([b"\xff", b"fine"], kind)
    unused = pa.DictionaryArray.from_arrays(pa.array([1, None, 1], pa.int8()), values, safe=False)
    run(pa.table({"user": [1, 2, 3], "item": unused}))
    run(pa.table({"user": [1], "item": values.slice(1)}))
    run(pa.table({"user": [1, 2, 3], "item": pa.array(["ü", "你", "😀"], kind)}))
    hidden = pa.array([False, True]).buffers()[1]
    null = pa.Array.from_buffers(kind, 2, [hidden, *values.buffers()[1:]])
    run(pa.table({"user": [1, 2], "item": null}))


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may read everything")
def test_unreadable_file(tmp_path) -> None:
    path = tmp_path / "locked.parquet"
    _parquet(path)
    path.chmod(0)
    refused(path, match=r"locked\.parquet")


# Output files and interruption, through the command line


def command(*arguments: object, **options) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "dpsel.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


def job(source: Path, *more: object) -> list[object]:
    return [
        "select",
        source,
        "--user",
        "user",
        "--item",
        "item",
        "--epsilon",
        "3",
        "--delta",
        "1e-6",
        "--max-items-per-user",
        "5",
        *more,
    ]


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "in" / "rows.parquet"
    path.parent.mkdir()
    rows = [(u, f"item {i}") for u in range(800) for i in range(6)]
    pyarrow.parquet.write_table(table(rows), path)
    return path


def test_command_line_errors_are_one_line_without_traceback(tmp_path, source) -> None:
    for arguments in (
        job(tmp_path / "absent.parquet"),
        job(source, "--max-items-per-user", "0"),
        job(source)[:-2],
        ["select", source, "--user", "nobody", *job(source)[4:]],
    ):
        done = command(*arguments)
        assert done.returncode not in (0, 101, -6, -11)
        assert done.stdout == ""
        assert done.stderr
        assert "Traceback" not in done.stderr
        assert "panicked" not in done.stderr


def test_output_is_written_whole_or_not_at_all(tmp_path, source) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    out, report = folder / "items.parquet", folder / "report.json"
    done = command(*job(source, "-o", out, "--report", report))
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["items.parquet", "report.json"]
    assert pyarrow.parquet.read_table(out)["item"].to_pylist() == [f"item {i}" for i in range(6)]


def test_a_failed_run_leaves_the_old_output_alone(tmp_path, source) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    out = folder / "items.parquet"
    out.write_text("as it was")
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(source.read_bytes()[:-100])
    done = command(*job(cut, "-o", out))
    assert done.returncode != 0
    assert [p.name for p in folder.iterdir()] == ["items.parquet"]
    assert out.read_text() == "as it was"


def test_output_folder_that_is_not_there(tmp_path, source) -> None:
    done = command(*job(source, "-o", tmp_path / "absent" / "items.parquet"))
    assert done.returncode != 0
    assert "absent" in done.stderr
    assert not (tmp_path / "absent").exists()


@pytest.fixture
def full_disk(tmp_path):
    """A file system of 16 KiB, if this user may mount one."""
    folder = tmp_path / "full"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if (
        not mount
        or not umount
        or subprocess.run(
            [mount, "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("mounting a small tmpfs is not allowed here; /dev/full is tested instead")
    yield folder
    subprocess.run([umount, folder], check=True)


def _many_items(path: Path) -> None:
    rows = [(u, f"a rather long item with number {i}") for u in range(400) for i in range(3000)]
    pyarrow.parquet.write_table(table(rows), path)


def test_full_disk_leaves_nothing_behind(full_disk, tmp_path) -> None:
    source = tmp_path / "many.parquet"
    _many_items(source)
    arguments = job(source, "-o", full_disk / "items.csv")
    arguments[arguments.index("5")] = "3000"
    arguments[arguments.index("3")] = "20"
    done = command(*arguments)
    assert done.returncode != 0
    assert "items.csv" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(full_disk.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_full_standard_output(source) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dpsel.cli", *map(str, job(source))],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode not in (0, -6, -11)
    assert "Traceback" not in done.stderr
    assert done.stderr


ENDLESS = """
    import sys, dpsel
    def pairs():
        n = 0
        while True:
            n += 1
            if n == 1000:
                print("running", flush=True)
            yield (n, n)
    try:
        dpsel.select_partitions(
            pairs(), privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
            max_items_per_user=3, mechanism=dpsel.Sips(),
        )
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(77)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is not sent to a child there")
def test_ctrl_c_stops_a_running_job(tmp_path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ENDLESS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    try:
        assert child.stdout.readline() == "running\n"
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 77, err
    assert out == "interrupted\n"
    assert "panicked" not in err
    assert time.monotonic() - start < 10
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT is not sent to a child there")
def test_ctrl_c_on_the_command_line_leaves_no_output(tmp_path) -> None:
    fifo, out = tmp_path / "rows.csv", tmp_path / "out" / "items.csv"
    out.parent.mkdir()
    os.mkfifo(fifo)
    child = subprocess.Popen(
        [sys.executable, "-m", "dpsel.cli", *map(str, job(fifo, "-o", out))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # For reading as well, so that opening does not wait for a child that has ended already.
        pipe = os.open(fifo, os.O_RDWR)
        os.write(pipe, b"user,item\n" + b"a,b\n" * 1000)
        time.sleep(1.5)
        child.send_signal(signal.SIGINT)
        time.sleep(0.5)
        os.close(pipe)
        _, err = child.communicate(timeout=30)
    finally:
        child.kill()
        child.wait()
    assert child.returncode != 0
    assert "panicked" not in err
    assert list(out.parent.iterdir()) == []
