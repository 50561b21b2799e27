"""Addresses: ``file://`` is a path of this machine with all its checks."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsel
from dpsel._ingest._remote import rows_at
from dpsel._request import NamedColumns
from dpsel.exceptions import DpselError, FileError, InvalidParameterError, MissingFileError, SchemaError
from dpsel.formats import local_path

PRIVACY = dpsel.ApproxDP(epsilon=4.0, delta=1e-4)


def select(data, item="item", **arguments):
    return dpsel.select_partitions(
        data, user="user", item=item, privacy=PRIVACY, max_items_per_user=5, **arguments
    )


def write(path: Path, items=("tea",), **columns) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [(user, item) for user in range(300) for item in items]
    users, items = (pa.array(list(values)) for values in zip(*rows, strict=True))
    pq.write_table(pa.table({"user": columns.get("users", users), "item": items}), path)
    return path


def forms(path: str) -> list[str]:
    """Every way to write a path as an address."""
    return [
        f"{start}{quote(path, safe='/*')}" for start in ("file://", "FILE://", "file:", "file://localhost")
    ]


@pytest.mark.parametrize("form", range(4))
@pytest.mark.parametrize("name", ["a b.parquet", "a[1].parquet", "100%.parquet", "ä?#.parquet"])
def test_an_address_of_a_file_is_its_path(tmp_path, form, name):
    address = forms(str(write(tmp_path / name)))[form]
    assert local_path(address) == str(tmp_path / name)
    assert select(address).to_pylist() == ["tea"]
    assert select([address]).to_pylist() == ["tea"]
    if "localhost" not in address:  # a Path has no two slashes
        assert select([Path(address)]).to_pylist() == ["tea"]
    assert dpsel.select_top_k(
        address, user="user", item="item", k=1, privacy=PRIVACY, max_items_per_user=5
    ).to_pylist() == ["tea"]


def test_what_is_escaped_is_no_wildcard(tmp_path):
    write(tmp_path / "b.parquet")
    assert select(f"file://{tmp_path}/*.parquet").to_pylist() == ["tea"]
    for escaped in ("%2A.parquet", "%3F.parquet", "%5Bb%5D.parquet"):
        with pytest.raises(FileError):
            select(f"file://{tmp_path}/{escaped}")


@pytest.mark.parametrize("form", range(4))
@pytest.mark.parametrize("named", ["", "*.parquet", "x.parquet"])
def test_an_address_of_a_file_does_not_pass_by_the_checks(tmp_path, form, named):
    write(tmp_path / "table" / "x.parquet")
    (tmp_path / "table" / "_delta_log").mkdir()
    with pytest.raises(FileError, match="a Delta table"):
        select(forms(f"{tmp_path}/table/{named}")[form])
    write(tmp_path / "rows" / "x.parquet")
    write(tmp_path / "rows" / "_temporary" / "y.parquet", ["hidden"])
    assert select(forms(f"{tmp_path}/rows")[form]).to_pylist() == ["tea"]
    with pytest.raises(FileError, match="a wildcard meets it"):
        select(forms(f"{tmp_path}/rows/*/*.parquet")[form])


def test_types_of_several_files_are_those_of_paths(tmp_path):
    write(tmp_path / "a.parquet", users=pa.array(range(300), pa.int32()))
    write(tmp_path / "b.parquet", users=pa.array(range(300), pa.int64()))
    assert select(f"file://{tmp_path}/*.parquet").to_pylist() == ["tea"]


@pytest.mark.parametrize("address", ["file://server/x.parquet", "file://C:/x.parquet"])
def test_a_file_of_another_machine_is_refused(address):
    with pytest.raises(InvalidParameterError, match="the name of another"):
        select(address)


def test_an_address_without_a_file_is_a_missing_file(tmp_path):
    for address in (*forms(f"{tmp_path}/absent.parquet"), "file:///x%00.parquet"):
        with pytest.raises((MissingFileError, FileError)):
            select(address)


@pytest.mark.parametrize("scheme", ["foo", "S3", "file", "memory"])
def test_other_schemes_do_not_pass_by_the_checks(tmp_path, monkeypatch, scheme):
    """polars takes them for paths of this machine."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / f"{scheme}:" / "x" / "x.parquet")
    (tmp_path / f"{scheme}:" / "x" / "_delta_log").mkdir()
    with pytest.raises(DpselError):
        select(f"{scheme}://x/*.parquet")


def test_a_result_does_not_replace_the_file_of_an_address(tmp_path, capfd):
    from dpsel.cli import main

    path = write(tmp_path / "x.parquet")
    arguments = ["--user", "user", "--item", "item", "--epsilon", "1", "--delta", "1e-6"]
    arguments += ["--max-items-per-user", "1", "-o", str(path)]
    assert main(["select", f"file://{path}", *arguments])
    assert "would overwrite an input file" in capfd.readouterr().err


@pytest.mark.parametrize("values", [("007", "7"), ("1", "2"), ("2026-01-01", "2026-01-02"), ("a%2Fb", "1")])
@pytest.mark.parametrize("unreleased", [None, "n/a"])
def test_values_of_folders_far_away_are_texts(tmp_path, values, unreleased):
    for value in values:
        write(tmp_path / f"year={value}" / "x.parquet")
    if unreleased:
        write(tmp_path / f"year={quote(unreleased, safe='')}" / "x.parquet", users=pa.array([1] * 300))
    frame = rows_at(pl, [f"{tmp_path}/**/*.parquet"], NamedColumns(["user"], ["year"]))
    expected = sorted(value.replace("%2F", "/") for value in values)
    assert select(frame, "year").to_pylist() == expected == select(str(tmp_path), "year").to_pylist()


def test_columns_of_the_files_are_not_taken_from_folders(tmp_path):
    write(tmp_path / "item=milk" / "x.parquet")
    frame = rows_at(pl, [f"{tmp_path}/**/*.parquet"], NamedColumns(["user"], ["item"]))
    assert select(frame).to_pylist() == ["tea"]


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.list_(pa.timestamp("us"))])
def test_int96_of_a_server_is_refused_before_it_is_read(tmp_path, kind):
    times = [
        dt.datetime(9999, 1, 1, tzinfo=dt.UTC).replace(tzinfo=None),
        dt.datetime(2500, 1, 1, tzinfo=dt.UTC).replace(tzinfo=None),
    ]
    values = pa.array(times if kind == pa.timestamp("us") else [times, times], kind)
    table = pa.table({"user": [1, 2], "time": values, "item": ["tea"] * 2})
    path = str(tmp_path / "x.parquet")
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, store_schema=False)
    for items in (["time"], ["item", "time"]):
        with pytest.raises(SchemaError, match="column 'time'.*INT96"):
            rows_at(pl, [path], NamedColumns(["user"], items))
    assert rows_at(pl, [path], NamedColumns(["user"], ["item"])).collect().height == 2
