"""No unselected item in any form of any result, whatever table came in."""

from __future__ import annotations

import base64

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import dpsel
from leak_forms import PUBLIC, ROWS, SECRET, arrow, forms, leaks
from support import KEY

SOURCES = {
    "dictionary": lambda: arrow().set_column(1, "item", arrow()["item"].dictionary_encode()),
    "string view": lambda: arrow().set_column(1, "item", arrow()["item"].cast(pa.string_view())),
    "polars": lambda: pl.from_arrow(arrow()),
    "polars categorical": lambda: pl.from_arrow(arrow()).with_columns(pl.col("item").cast(pl.Categorical)),
    "pandas categorical": lambda: arrow().to_pandas().astype({"item": "category"}),
    "duckdb": lambda: duckdb.from_arrow(arrow()),
    "pairs": lambda: ROWS,
}
NAMES = {"user": "user", "item": "item"}


@pytest.mark.parametrize("name", SOURCES)
def test_no_unselected_item(name, tmp_path):
    release = dpsel.select_partitions(
        SOURCES[name](), **NAMES, privacy=dpsel.ApproxDP(epsilon=3.0, delta=1e-6), max_items_per_user=3
    )
    assert release.to_pylist() == PUBLIC
    blobs = list(forms(release, tmp_path))
    assert leaks(blobs) == []
    assert sum(PUBLIC[0].encode() in blob for _, blob in blobs) >= 6


TOP_K = {
    # Two items reach the threshold; the third place stays empty.
    "limit domain": {"mechanism": dpsel.LimitDomain(candidates=3), "k": 3},
    "discover": {"mechanism": dpsel.Discover(), "k": 2},
    "with counts": {"mechanism": dpsel.Discover(), "k": 2, "counts": dpsel.PureDP(epsilon=1.0)},
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("case", TOP_K)
def test_no_unselected_item_of_a_top_k(name, case, tmp_path):
    release = dpsel.select_top_k(
        SOURCES[name](),
        **NAMES,
        privacy=dpsel.ApproxDP(epsilon=3.0, delta=1e-6),
        max_items_per_user=3,
        **TOP_K[case],
    )
    assert sorted(release.to_pylist()) == PUBLIC
    blobs = list(forms(release, tmp_path))
    assert leaks(blobs) == []
    assert sum(PUBLIC[0].encode() in blob for _, blob in blobs) >= 6


def test_rows_outside_a_public_list_leave_nothing(tmp_path):
    """The unpicked items of a public list are public, those of other rows are not."""
    release = dpsel.select_top_k(ROWS, k=2, domain=[*PUBLIC, "never held"], privacy=dpsel.PureDP(epsilon=3.0))
    blobs = list(forms(release, tmp_path))
    assert leaks(blobs) == []
    assert leaks(blobs, "never held") == []


def test_no_key_in_any_form(tmp_path):
    """Even a key that the caller gave: as bytes, in hexadecimal, in base 64."""
    arguments = {"privacy": dpsel.ApproxDP(epsilon=3.0, delta=1e-6), "insecure_test_key": KEY}
    releases = [
        dpsel.select_partitions(ROWS, max_items_per_user=3, **arguments),
        dpsel.select_top_k(ROWS, k=2, max_items_per_user=3, **arguments),
    ]
    spellings = [KEY, KEY.hex().encode(), base64.b64encode(KEY)[:40], repr(KEY)[2:-1].encode()]
    for release in releases:
        found = [form for form, blob in forms(release, tmp_path) if any(key in blob for key in spellings)]
        assert found == []


def test_the_search_finds_what_is_there(tmp_path):
    """The forms of a release that does hold the words, so that no search above is vacuous."""
    rows = [(user, f"{SECRET} of all") for user in range(500)]
    release = dpsel.select_partitions(
        rows, privacy=dpsel.ApproxDP(epsilon=3.0, delta=1e-6), max_items_per_user=1
    )
    found = leaks(list(forms(release, tmp_path)))
    assert {"capsule", "ipc", "pickle 5", "texts of Release", "dir", ".csv", "polars ipc"} <= set(found)
