"""What a path stands for: tables whose files are not their rows, folders in patterns, marks of tools."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpsel
from dpsel.exceptions import FileError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
NAMED = {"user": "user", "item": "item", "privacy": PRIVACY, "max_items_per_user": 3}


def select(data, **arguments):
    return dpsel.select_partitions(data, **(NAMED | {"insecure_test_key": bytes(32)} | arguments))


def top_k(data, **arguments):
    return dpsel.select_top_k(data, k=1, **(NAMED | arguments))


def compare(data, **arguments):
    return dpsel.compare(data, public_data=True, **(NAMED | arguments))


def written(path, item="tea", users=range(400)):
    """A file of an item that so many users hold."""
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame({"user": list(users), "item": [item] * len(users)})
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".arrow":
        frame.write_ipc(path)
    else:
        frame.write_csv(path)
    return path


def noted(path, text="{}"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def delta(table):
    """A table whose first file was replaced: its rows are deleted, and the file stays."""
    written(table / "part-00000-1.snappy.parquet", "deleted")
    written(table / "part-00001-2.snappy.parquet")
    log = [{"add": {"path": "part-00000-1.snappy.parquet"}}]
    noted(table / "_delta_log" / f"{0:020}.json", "\n".join(map(json.dumps, log)))
    noted(table / "_delta_log" / f"{1:020}.json", '{"remove": {"path": "part-00000-1.snappy.parquet"}}')


def iceberg(table):
    written(table / "data" / "00000-0-1.parquet", "deleted")
    written(table / "data" / "00001-0-2.parquet")
    noted(table / "metadata" / "00001-2f.metadata.json")


def iceberg_of_a_folder_catalog(table):
    written(table / "data" / "00000-0-1.parquet", "deleted")
    noted(table / "metadata" / "version-hint.text", "1")


def hudi(table):
    written(table / "day=1" / "a_0-1-0_001.parquet", "deleted")
    written(table / "day=1" / "a_0-2-0_002.parquet")
    noted(table / ".hoodie" / "hoodie.properties", "hoodie.table.name=t")


def paimon(table):
    written(table / "bucket-0" / "data-1-0.parquet", "deleted")
    for mark in ("snapshot/LATEST", "schema/schema-0", "manifest/manifest-1"):
        noted(table / mark)


def hive(table):
    written(table / "base_0000001" / "bucket_00000.parquet", "deleted")
    written(table / "base_0000002_v0000012" / "bucket_00000.parquet")


def hive_deltas(table):
    written(table / "delta_0000001_0000001_0000" / "000000_0.parquet", "deleted")


def spark_stream(table):
    written(table / "part-00000-1.parquet", "deleted")
    noted(table / "_spark_metadata" / "0", "v1\n")


def ducklake(table):
    written(table / "main" / "t" / "ducklake-01988.parquet", "deleted")


def saved_data_set(table):
    written(table / "data-00000-of-00001.arrow", "deleted")
    noted(table / "state.json")
    noted(table / "dataset_info.json")


TABLES = [
    delta, iceberg, iceberg_of_a_folder_catalog, hudi, paimon, hive, hive_deltas, spark_stream, ducklake,
    saved_data_set,
]  # fmt: skip


def names_of(table):
    """Every kind of path that leads to rows of a table."""
    files = [path for path in sorted(table.rglob("*")) if path.suffix in (".parquet", ".arrow")]
    link, one = table.parent / "link", table.parent / f"one{files[0].suffix}"
    link.symlink_to(table, target_is_directory=True)
    one.symlink_to(files[0])
    relative = Path(os.path.relpath(files[0].parent))
    inner = "" if files[0].parent == table else "**/"
    yield from (
        table,
        f"{table}{os.sep}",
        table / "." / "..",
        table.parent,
        f"{table}/{inner}*{files[0].suffix}",
    )
    yield from (
        f"{table.parent}/t*",
        files[0].parent,
        files[0],
        [files[0]],
        [str(files[0])],
        link,
        one,
        relative,
    )


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
@pytest.mark.parametrize(
    "door", [select, top_k, pytest.param(compare, marks=pytest.mark.long("many comparisons"))]
)
def test_a_table_of_a_lakehouse_is_not_read_by_its_files(tmp_path, table, door) -> None:
    table(tmp_path / "lake" / "table")
    budget = dpsel.Budget(PRIVACY)
    charged = {} if door is compare else {"privacy": budget.on_use(PRIVACY)}
    for path in names_of(tmp_path / "lake" / "table"):
        with pytest.raises(FileError, match="belongs to .*; read it with") as caught:
            door(path, **charged)
        assert "'deleted'" not in str(caught.value)
    assert budget.remaining == PRIVACY


def test_the_marks_of_a_table_elsewhere_do_not_matter(tmp_path) -> None:
    delta(tmp_path / "lake" / "table")
    plain = written(tmp_path / "lake" / "plain" / "base_of_all" / "metadata" / "rows.parquet")
    noted(plain.parent / "notes" / "manifest" / "a")
    assert select(plain).to_pylist() == ["tea"]
    copied = tmp_path / "copy.parquet"
    shutil.copy(tmp_path / "lake" / "table" / "part-00000-1.snappy.parquet", copied)
    assert select(copied).to_pylist() == ["deleted"]


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("pattern", ["*{}", "**/*{}", "r*", "*", "**"])
def test_a_pattern_reads_files_and_folders_that_it_meets(tmp_path, suffix, pattern) -> None:
    """Half of the users are in a file, and half in a folder of the same form of name, as Spark writes it."""
    folder = tmp_path / "in"
    written(folder / f"r1{suffix}", users=range(200))
    written(folder / f"r2{suffix}" / f"part-00000{suffix}", users=range(200, 400))
    noted(folder / f"r2{suffix}" / "_SUCCESS", "")
    noted(folder / f"r2{suffix}" / f".part-00000{suffix}.crc", "")
    if pattern == "**/*{}":
        (folder / f"r2{suffix}" / "_SUCCESS").unlink()
    if pattern != "**":
        found = dpsel.select_partitions(
            folder / pattern.format(suffix), **NAMED, mechanism=dpsel.CountGaussian(), with_weights=True,
            insecure_test_key=bytes(32),
        )  # fmt: skip
        whole = dpsel.select_partitions(
            folder, **NAMED, mechanism=dpsel.CountGaussian(), with_weights=True, insecure_test_key=bytes(32)
        )
        assert found.to_arrow().to_pylist() == whole.to_arrow().to_pylist()
    else:
        assert select(folder / pattern).to_pylist() == ["tea"]


def test_a_wildcard_does_not_read_marks_of_tools_or_leave_them_out(tmp_path) -> None:
    written(tmp_path / "rows.parquet")
    written(tmp_path / "_temporary" / "0" / "rows.parquet", "uncommitted")
    written(tmp_path / ".ipynb_checkpoints" / "rows.parquet", "old")
    assert select(tmp_path).to_pylist() == ["tea"]
    for pattern in ("**/*.parquet", "*/*/*.parquet", "*"):
        with pytest.raises(FileError, match="a wildcard meets it"):
            select(tmp_path / pattern)
    assert select(tmp_path / "*.parquet").to_pylist() == ["tea"]
    assert select(tmp_path / "_temporary" / "**" / "*.parquet").to_pylist() == ["uncommitted"]
    assert select(tmp_path / "_t*" / "0" / "*.parquet").to_pylist() == ["uncommitted"]


@pytest.mark.parametrize(
    "mark", ["dataset_info.json", "rows.csv.crc", "Thumbs.db", "README.md", "more.parquet"]
)
def test_a_file_of_another_kind_in_a_folder_is_refused(tmp_path, mark) -> None:
    written(tmp_path / "rows.csv")
    noted(tmp_path / mark, "user,item\n1,mark\n")
    for file_format in (None, "csv", dpsel.Csv(), dpsel.Csv(",", header=False)):
        with pytest.raises(FileError, match="several extensions|does not tell the format|not a Parquet file"):
            select(tmp_path, file_format=file_format)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_a_folder_is_refused_and_not_waited_for(tmp_path) -> None:
    written(tmp_path / "rows.csv")
    os.mkfifo(tmp_path / "more.csv")
    for path in (tmp_path, tmp_path / "*.csv", f"{tmp_path}/m*"):
        with pytest.raises(FileError, match="it is a pipe, a socket or a device"):
            select(path)


ODD = st.text(st.sampled_from("xy*?[]{}~%$#!&=+,; 20'\\^é"), min_size=1, max_size=8)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(folder=ODD, value=ODD, name=ODD)
def test_no_character_of_a_path_is_expanded(tmp_path, folder, value, name) -> None:
    """With decoys that a pattern of these characters would meet."""
    shutil.rmtree(tmp_path)
    top = tmp_path / f"x{folder}"
    below = top / f"day={value}"
    written(below / f"x{name}.parquet")
    for decoy in (tmp_path / "xx", tmp_path / "xy"):
        if decoy != top:
            written(decoy / f"day={value}" / f"x{name}.parquet", "decoy")
    for path in (top, below / f"x{name}.parquet"):
        assert select(path).to_pylist() == ["tea"]
        [(day, item)] = select(path, item=["day", "item"]).to_pylist()
        assert (day, item) == (unquote(value), "tea")


def test_a_file_whose_name_no_pattern_matches_is_not_left_out(tmp_path) -> None:
    """Names are bytes on Unix, and patterns are texts."""
    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "a.csv").write_text("user,item\n1,tea\n")
    try:
        (folder / os.fsdecode(b"b\xff.csv")).write_text("user,item\n2,ale\n")
    except OSError:
        pytest.skip("this file system holds Unicode names only")
    for source in (folder, f"{folder}/*.csv", f"{folder}/**"):
        with pytest.raises(FileError, match="a name that is not valid Unicode"):
            dpsel.select_partitions(
                source,
                user="user",
                item="item",
                privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
                max_items_per_user=1,
            )


def test_two_stars_at_the_end_leave_no_file_out(tmp_path) -> None:
    (tmp_path / "below").mkdir()
    for path, drink in ((tmp_path / "top.csv", "tea"), (tmp_path / "below" / "x.csv", "ale")):
        path.write_text("user,item\n" + "".join(f"{user},{drink}\n" for user in range(300)))
    release = dpsel.select_partitions(
        f"{tmp_path}/**",
        user="user",
        item="item",
        privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-6),
        max_items_per_user=2,
    )
    assert sorted(release.items.to_pylist()) == ["ale", "tea"]
