"""Every type of key can be written in every format, so no paid release is lost because of its output."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import dpsel
from dpsel.cli import main
from dpsel.cli._results import EXTENSIONS

USERS = 300
DAY = dt.datetime(2026, 11, 28, 9, 30, tzinfo=dt.UTC)
KEYS = {
    "small integer": pa.array([1], pa.int8()),
    "large integer": pa.array([2**64 - 1], pa.uint64()),
    "boolean": pa.array([True]),
    "text": pa.array(["a,\"b'\r\n"]),
    "view": pa.array(["a"], pa.string_view()),
    "bytes": pa.array([b"\xff\0"]),
    "fixed bytes": pa.array([b"\xff\0"], pa.binary(2)),
    "date": pa.array([DAY.date()]),
    "date of milliseconds": pa.array([DAY.date()], pa.date64()),
    "time": pa.array([DAY], pa.timestamp("ns")),
    "time of a zone": pa.array([DAY], pa.timestamp("us", "Europe/Oslo")),
    "time of no zone": pa.array([DAY], pa.timestamp("s", "Nowhere/Nothing")),
    "far time": pa.array([2**62], pa.timestamp("s")),
    "uuid": pa.array([b"0123456789abcdef"], pa.uuid()),
    "json": pa.array(["{}"], pa.json_()),
    "dictionary": pa.array(["a"]).dictionary_encode(),
    "list": pa.array([["a", "b"]]),
    "list of bytes": pa.array([[b"a"]]),
    "null": pa.nulls(1),
}


@pytest.mark.parametrize("more", [{}, {"with_weights": True}, {"counts": 0.3}], ids=str)
@pytest.mark.parametrize("key", KEYS)
def test_every_type_is_written_in_every_format(key, more, tmp_path) -> None:
    rows = pa.table({"user": range(USERS), "item": pa.concat_arrays([KEYS[key]] * USERS)})
    release = dpsel.select_partitions(
        rows,
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=4.0, delta=1e-4),
        max_items_per_user=2,
        **more,
    )
    assert len(release) == (2 if key == "list" else key != "null")
    for extension in EXTENSIONS:
        path = tmp_path / f"items{extension}"
        release.to_table().write(path)
        assert path.exists()


#: Places where no file can be written, also by the superuser.
PLACES = ["nowhere/out", "folder", "/proc/out", "rows.csv/out", "x" * 300]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("option", ["-o", "--report"])
@pytest.mark.parametrize("command", ["select", "top-k"])
def test_an_output_that_cannot_be_written_is_refused_before_payment(
    command, option, place, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("user,item\n" + "".join(f"{user},tea\n" for user in range(USERS)))
    end = ".csv" if option == "-o" else ".json"
    (tmp_path / f"folder{end}").mkdir()
    ledger = dpsel.Ledger("spent.jsonl", dpsel.ApproxDP(epsilon=100.0, delta=1e-3))
    before = {path.name for path in tmp_path.iterdir()}
    limit = ["--max-items-per-user", "1"] if command == "select" else ["--k", "1"]
    given = ["rows.csv", "--user", "user", "--item", "item", "--epsilon", "1", "--delta", "1e-6", *limit]
    paid = ["--ledger", "spent.jsonl", option, f"{place}{end}"]
    assert main([command, *given, *paid]) in (2, 3)
    assert ledger.spent == ()
    assert {path.name for path in tmp_path.iterdir()} == before
