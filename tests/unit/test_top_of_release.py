"""``release.top``: the largest keys of all or of each group, from published keys and numbers alone."""

from __future__ import annotations

import datetime as dt
import pickle

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpsel
from dpsel.exceptions import InvalidParameterError
from dpsel.release import Release

PRIVACY = dpsel.ApproxDP(epsilon=5.0, delta=1e-6)
SIZES = {("no", 1): 900, ("no", 2): 500, ("no", 3): 700, ("pe", 1): 1200, ("pe", 2): 300}
ROWS = [(user, key) for key, size in SIZES.items() for user in range(size)]
TABLE = {
    "user": [user for user, _ in ROWS],
    "country": [country for _, (country, _) in ROWS],
    "place": pl.Series([place for _, (_, place) in ROWS], dtype=pl.Int16),
}
COLUMNS = ["country", "place"]
LARGEST = {1: [("no", 1), ("pe", 1)], 2: [("no", 1), ("no", 3), ("pe", 1), ("pe", 2)]}


def released(data, **options):
    named = {} if data is ROWS else {"user": "user"}
    arguments = {"item": COLUMNS, "max_items_per_user": 5, "counts": 0.5} | named | options
    return dpsel.select_partitions(data, privacy=PRIVACY, insecure_test_key=bytes(32), **arguments)


@pytest.fixture(scope="module")
def keys():
    release = released(ROWS)
    assert len(release) == len(SIZES)
    return release


def test_without_groups_the_largest_keys_come_first(keys):
    assert [row[:2] for row in keys.top(3)] == [("pe", 1), ("no", 1), ("no", 3)]
    assert len(keys.top(100)) == len(SIZES)


@pytest.mark.parametrize("k", [1, 2])
def test_each_group_has_its_own_list_and_a_small_one_a_shorter_list(keys, k):
    assert [row[:2] for row in keys.top(k, by="country")] == LARGEST[k]
    assert [row[:2] for row in keys.top(3, by="country")] == [
        ("no", 1),
        ("no", 3),
        ("no", 2),
        *LARGEST[2][2:],
    ]


def test_groups_of_any_item_columns_are_sorted_by_their_values(keys):
    assert [row[:2] for row in keys.top(1, by="place")] == [("pe", 1), ("no", 2), ("no", 3)]
    both = [row[:2] for row in keys.top(9, by=["place", "country"])]
    assert both == sorted(SIZES, key=lambda key: key[::-1])


def test_people_see_the_order_of_the_table(tmp_path):
    pl.DataFrame(TABLE).write_parquet(tmp_path / "rows.parquet")
    found = released(tmp_path / "rows.parquet").top(2, by="country")
    for shown in (found, pickle.loads(pickle.dumps(found))):
        assert [tuple(line.split()[:2]) for line in str(shown).splitlines()[3:]] == [
            (country, str(place)) for country, place in LARGEST[2]
        ]
        page = shown._repr_html_()
        places = [page.index(str(row[2])) for row in shown]
        assert places == sorted(places)


@pytest.mark.parametrize("kind", ["file", "bare", "polars", "pandas", "pyarrow", "list"])
def test_nodes_of_one_level(kind, tmp_path, monkeypatch):
    table = pl.DataFrame(TABLE).with_columns(pl.col("place").cast(str))
    table.write_parquet(tmp_path / "rows.parquet")
    data = {"polars": table, "pandas": table.to_pandas(), "pyarrow": table.to_arrow()}.get(
        kind, tmp_path / "rows.parquet"
    )
    if kind == "list":
        data = [(user, (country, place)) for user, country, place in table.rows()]
    if kind == "bare":
        monkeypatch.setattr("dpsel.release._top.find_spec", lambda _: None)
    named = {} if kind == "list" else {"user": "user"}
    tree = dpsel.select_partitions(
        data, **named, item=COLUMNS, levels=True, privacy=PRIVACY, max_items_per_user=8, counts=0.5
    )

    def keys_of(found):
        rows = found.itertuples(index=False, name=None) if isinstance(found, pd.DataFrame) else found
        rows = rows.rows() if isinstance(rows, pl.DataFrame) else rows
        if isinstance(rows, pa.Table):
            rows = [tuple(row.values()) for row in rows.to_pylist()]
        return [row[:2] for row in rows]

    texts = {k: [(country, str(place)) for country, place in keys] for k, keys in LARGEST.items()}
    assert keys_of(tree.top(1, by="country", level=2)) == texts[1]
    assert keys_of(tree.top(2, by="country", level=2)) == texts[2]
    assert [key[0] for key in keys_of(tree.top(9, level=1))] == ["pe", "no"]
    with pytest.raises(InvalidParameterError, match="level must be at most 2"):
        tree.top(1, level=3)
    with pytest.raises(InvalidParameterError, match="level must be at least 1"):
        tree.top(1, level=0)


def test_a_level_without_a_released_node_has_an_empty_list(tmp_path):
    table = pl.DataFrame(TABLE).with_columns(pl.lit(None, pl.String).alias("place"))
    table.write_parquet(tmp_path / "rows.parquet")
    for data in (table, table.to_pandas(), table.to_arrow(), tmp_path / "rows.parquet"):
        tree = released(data, levels=True)
        assert len(tree) == len({"no", "pe"})
        found = tree.top(3, level=2)
        assert len(found) == 0
        assert pa.table(found).schema.types == pa.table(tree.items).schema.types


def test_a_level_is_of_a_tree(keys):
    with pytest.raises(InvalidParameterError, match="these items are no nodes; leave it out"):
        keys.top(1, level=1)


def test_equal_numbers_are_sorted_by_their_keys(tmp_path):
    release = released(ROWS)
    release.report.save(tmp_path / "keys.json")
    lines = ["country,place,users", *(f"{country},{place},7" for country, place in sorted(SIZES))]
    (tmp_path / "keys.csv").write_text("\n".join(lines) + "\n")
    tied = Release.load(tmp_path / "keys.csv")
    assert list(tied.top(4)) == [("no", "1", 7), ("no", "2", 7), ("no", "3", 7), ("pe", "1", 7)]
    assert list(tied.top(1, by="country")) == [("no", "1", 7), ("pe", "1", 7)]


KINDS = {
    "polars": lambda table: table,
    "lazy": lambda table: table.lazy(),
    "pandas": lambda table: table.to_pandas(),
    "categories": lambda table: table.to_pandas().astype({"country": "category"}),
    "pyarrow": lambda table: table.to_arrow(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_is_of_the_kind_and_has_the_types_of_the_release(kind):
    release = released(KINDS[kind](pl.DataFrame(TABLE)))
    found, whole = release.top(1, by="country"), release.items
    assert type(found) is type(whole)
    if isinstance(found, pd.DataFrame):
        assert found.dtypes.equals(whole.dtypes)
        assert list(found.index) == [0, 1]
        rows = list(found.itertuples(index=False, name=None))
    elif isinstance(found, pa.Table):
        assert found.schema == whole.schema
        rows = list(zip(*found.to_pydict().values(), strict=True))
    else:
        assert found.schema == whole.schema
        rows = found.rows()
    assert [row[:2] for row in rows] == LARGEST[1]


@pytest.mark.parametrize("extension", ["parquet", "csv", "ndjson", "arrow"])
def test_files_and_what_is_read_back_have_the_same_list(extension, tmp_path):
    pl.DataFrame(TABLE).write_parquet(tmp_path / "rows.parquet")
    release = released(tmp_path / "rows.parquet", with_weights=True, public_items=[("xx", 9)])
    release.report.save(tmp_path / "keys.json")
    release.write(tmp_path / f"keys.{extension}")
    whole, found = release.to_arrow(), release.top(1, by="country").to_arrow()
    assert found.schema.types == whole.schema.types
    assert found.column_names == whole.column_names
    assert [(row["country"], row["place"]) for row in found.to_pylist()] == [*LARGEST[1], ("xx", 9)]
    read = Release.load(tmp_path / f"keys.{extension}")
    again = read.top(1, by="country")
    assert again.column("users") == found["users"].to_pylist()
    assert again.columns == read.to_table().columns


def test_without_pyarrow_the_values_are_the_same(tmp_path, monkeypatch):
    pl.DataFrame(TABLE).write_parquet(tmp_path / "rows.parquet")
    release = released(tmp_path / "rows.parquet", with_weights=True)
    with_types = release.top(2, by="country")
    monkeypatch.setattr("dpsel.release._top.find_spec", lambda _: None)
    without = release.top(2, by="country")
    assert {name: without.column(name) for name in without.columns} == {
        name: with_types.column(name) for name in with_types.columns
    }


def test_rows_dates_and_a_pickled_release():
    day = dt.date(2026, 1, 1)
    rows = [(user, day) for user in range(900)]
    counts = dpsel.Counts(share=0.5, count="rows", max_rows_per_item=2)
    release = dpsel.select_partitions(rows, privacy=PRIVACY, max_items_per_user=1, counts=counts)
    [(found, number)] = pickle.loads(pickle.dumps(release)).top(3)
    assert found == day
    assert 600 < number < 1200


def test_a_release_of_nothing_has_an_empty_list():
    release = released(pl.DataFrame(TABLE).head(2))
    assert release.top(3, by="country").equals(release.items)
    assert len(release.items) == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"k": 0}, "k must be at least 1, got 0"),
        ({"k": 1.5}, "k must be a whole number"),
        ({"k": 1, "by": "city"}, "'city' is none of 'country', 'place'"),
        ({"k": 1, "by": ["country", "users"]}, "'users' is none of"),
        ({"k": 1, "by": 3}, "give texts"),
    ],
)
def test_bad_arguments_are_refused(keys, arguments, text):
    with pytest.raises(InvalidParameterError, match=text):
        keys.top(**arguments)


def test_numbers_are_needed_and_a_top_k_is_refused(tmp_path):
    with pytest.raises(InvalidParameterError, match="asked to, with counts="):
        released(ROWS, counts=None, with_weights=True).top(1)
    picked = dpsel.select_top_k(
        ROWS,
        item=COLUMNS,
        k=2,
        privacy=PRIVACY,
        max_items_per_user=5,
        counts=dpsel.PureDP(epsilon=1.0),
    )
    picked.to_table().write(tmp_path / "picks.csv")
    picked.report.save(tmp_path / "picks.json")
    counted = dpsel.top_k_from_counts([9, 2], k=1, privacy=dpsel.PureDP(epsilon=1.0))
    for each in (picked, counted, Release.load(tmp_path / "picks.csv")):
        with pytest.raises(InvalidParameterError, match="the release is a top-k already"):
            each.top(1)
