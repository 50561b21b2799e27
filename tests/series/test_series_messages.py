"""What errors of a series say: what is true of a series, and what can be done."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpsel
from dpsel.cli import main
from dpsel.exceptions import InvalidParameterError, MemoryLimitError, SchemaError, SeriesError
from series_support import GIVEN, KEY, created, held

Row = namedtuple("Row", "user thing")  # noqa: PYI024 - as programs have them
STAYS = r"; rename the columns of the data(?: \(.*\))?, since the series was made for those named 'user' and"


def counted(folder, **options: Any) -> dpsel.CountSeries:
    return dpsel.CountSeries.create(
        folder / "numbers", **(GIVEN | {"key": KEY, "max_releases_per_item": 1} | options)
    )


def written(folder, name: str, content: str) -> str:
    (folder / name).write_text(content)
    return str(folder / name)


WRONG = {
    "csv": lambda folder: written(folder, "a.csv", "user,thing\n1,2\n"),
    "ndjson": lambda folder: written(folder, "a.ndjson", '{"user": 1, "thing": 2}\n'),
    "table": lambda _: pa.table({"user": [1], "thing": [2]}),
    "twice": lambda _: pa.table([pa.array([1])] * 3, names=["user", "user", "item"]),
    "polars": lambda _: pl.DataFrame({"person": [1], "item": [2]}),
    "pandas": lambda _: pd.DataFrame({"person": [1], "item": [2]}),
    "dict": lambda _: {"user": [1], "thing": [2]},
    "other dict": lambda _: {"person": [1], "thing": [2]},
    "records": lambda _: [{"user": 1, "thing": 2}],
    "named tuples": lambda _: [Row(1, 2)],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_column_is_renamed_in_the_data(tmp_path, name) -> None:
    """A call of a series names no columns."""
    for series, more in ((created(tmp_path), {}), (counted(tmp_path), {"items": [1]})):
        with pytest.raises(SchemaError, match=STAYS) as refused:
            series.release(WRONG[name](tmp_path), "one", **more)
        assert "user=" not in str(refused.value)
        assert "item=" not in str(refused.value)


def test_a_wrong_type_is_no_wrong_name(tmp_path) -> None:
    with pytest.raises(SchemaError, match="cast the column to integer or string") as refused:
        created(tmp_path).release(pa.table({"user": [1.5], "item": [1]}), "one")
    assert "rename" not in str(refused.value)


def test_a_wrong_column_from_the_shell(tmp_path, capfd) -> None:
    key = written(tmp_path, "key", KEY.hex())
    dpsel.Series.create(tmp_path / "lists", **(GIVEN | {"key": key}))
    rows = written(tmp_path, "rows.csv", "person,item\n1,2\n")
    assert main(["series", "release", str(tmp_path / "lists"), rows, "--key", key, "--name", "one"]) == 3
    told = capfd.readouterr().err
    assert "since the series was made for those named 'user' and 'item'" in told
    assert "--user" not in told


@pytest.mark.parametrize("make", [created, counted])
def test_the_limit_of_items_is_no_random_choice(tmp_path, make) -> None:
    with pytest.raises(
        InvalidParameterError, match="must be at least 1, got 0; give the most items"
    ) as refused:
        make(tmp_path, max_items_per_user=0)
    assert "random" not in str(refused.value)


def test_a_full_series_of_numbers_speaks_of_no_thresholds(tmp_path) -> None:
    series = counted(tmp_path, releases=1)
    series.release(held("tea"), "one", items=["tea"])
    with pytest.raises(
        SeriesError, match="1 releases, which its noise and its cost are for; create"
    ) as refused:
        series.release(held("tea"), "two")
    assert "threshold" not in str(refused.value)


def test_too_little_memory_says_what_works(tmp_path) -> None:
    rows = held("tea", users=20_000)
    for series, more in ((created(tmp_path), {}), (counted(tmp_path), {"items": ["tea"]})):
        with pytest.raises(MemoryLimitError, match="give a larger memory_limit=, or pass distinct pairs of"):
            series.release(rows, "one", memory_limit=1000, **more)
