"""Users of several columns: exact pairs, the same on every source, and time windows as users."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import dpsel
from dpsel.exceptions import DataError, InvalidParameterError, SchemaError
from support import KEY
from weak import WEAK

pytestmark = WEAK

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-3)
USERS, ITEMS = ["tenant", "id"], "item"


def released(data, user=USERS, item=ITEMS, **options):
    arguments = {"privacy": PRIVACY, "max_items_per_user": 2, "mechanism": dpsel.CountGaussian()}
    arguments |= {"with_weights": True, "insecure_test_key": KEY}
    return dpsel.select_partitions(data, user=user, item=item, **arguments | options)


ROWS = [("ab"[n % 2], n // 2 % 40, f"item {n % 7}") for n in range(900)]
COLUMNS = {name: [row[at] for row in ROWS] for at, name in enumerate([*USERS, ITEMS])}
SOURCES = {
    "pyarrow": lambda _: pa.table(COLUMNS),
    "polars": lambda _: pl.DataFrame(COLUMNS),
    "lazy": lambda _: pl.LazyFrame(COLUMNS | {"other": [0.5] * len(ROWS)}),
    "pandas": lambda _: pd.DataFrame(COLUMNS),
    "objects": lambda _: pd.DataFrame(COLUMNS).astype({"tenant": object, "item": object}),
    "columns": lambda _: COLUMNS,
    "records": lambda _: [dict(zip(COLUMNS, row, strict=True)) for row in ROWS],
    "pairs": lambda _: (((tenant, number), item) for tenant, number, item in ROWS),
    "groups": lambda _: [((tenant, number), [item]) for tenant, number, item in ROWS],
    "reversed": lambda _: pa.table(COLUMNS).select([ITEMS, *reversed(USERS)])[::-1],
    "parquet": lambda folder: _written(folder / "rows.parquet"),
    "ipc": lambda folder: _written(folder / "rows.arrow"),
    "ndjson": lambda folder: _written(folder / "rows.ndjson"),
}


def _written(path):
    table = pl.DataFrame(COLUMNS)
    {".parquet": table.write_parquet, ".arrow": table.write_ipc, ".ndjson": table.write_ndjson}[path.suffix](
        path
    )
    return path


@pytest.fixture(scope="module")
def expected():
    """The release of users that an injective text names: noisy weights without bounding are as many."""
    return released(pa.table(COLUMNS)).to_pylist()


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_gives_the_same_release(expected, tmp_path, name) -> None:
    release = released(SOURCES[name](tmp_path))
    assert release.to_pylist() == expected
    assert release.report["request"]["columns"]["user"] == USERS


def test_texts_of_csv_are_other_users_with_the_same_counts(tmp_path) -> None:
    """In CSV the number is a text, so digests differ, but not how many users there are."""
    pl.DataFrame(COLUMNS).write_csv(tmp_path / "rows.csv")
    texts = pl.DataFrame(COLUMNS).with_columns(pl.col("id").cast(pl.String))
    assert released(tmp_path / "rows.csv").to_pylist() == released(texts).to_pylist()


def users_of(rows, user=USERS) -> int:
    """The number of users of one item: by a weight whose noise is known from the same call with one user."""

    def weight(rows) -> float:
        options = {"privacy": dpsel.ApproxDP(epsilon=30.0, delta=0.9), "max_items_per_user": 1}
        columns = {name: [row[at] for row in rows] for at, name in enumerate([*USERS, ITEMS])}
        [(_, weight)] = released(columns, user, **options).to_pylist()
        return weight

    many = [("x", -number, "tea") for number in range(1, 31)]
    return round(weight([*many, *rows]) - weight(many))


@pytest.mark.parametrize(
    ("users", "number"),
    [
        ([("a", "bc"), ("ab", "c")], 2),
        ([("a", ""), ("", "a")], 2),
        ([("a\x00", "b"), ("a", "\x00b")], 2),
        ([("a", "b"), ("b", "a")], 2),
        ([('a", "b', "c"), ("a", 'b", "c')], 2),
        ([("a", "b"), ("a", "b")], 1),
        ([("a", "b"), ("a", "c"), ("d", "b")], 3),
    ],
)
def test_a_user_is_the_exact_pair(users, number) -> None:
    """Nothing is glued together: no two pairs are one user, whatever is in them."""
    texts = [(tenant, name, "tea") for tenant, name in users]
    columns = {name: [row[at] for row in texts] for at, name in enumerate([*USERS, ITEMS])}
    many = {name: [f"{name} {n}" for n in range(30)] for name in USERS} | {ITEMS: ["tea"] * 30}
    options = {"privacy": dpsel.ApproxDP(epsilon=30.0, delta=0.9), "max_items_per_user": 1}
    weights = [
        released({name: [*many[name], *more.get(name, [])] for name in many}, **options).to_pylist()[0][1]
        for more in ({}, columns)
    ]
    assert round(weights[1] - weights[0]) == number


def test_one_column_alone_has_fewer_users() -> None:
    rows = [("a", 1, "tea"), ("b", 1, "tea"), ("b", 2, "tea")]
    assert users_of(rows) == 3
    assert users_of(rows, "id") == 2
    assert users_of(rows, ["id"]) == 2


def test_rows_on_the_disk_make_the_same_release(expected, tmp_path) -> None:
    data = pa.table(COLUMNS)
    assert released(data, memory_limit="64MiB", scratch=tmp_path).to_pylist() == expected


def test_top_k_takes_them_too() -> None:
    arguments = {"k": 2, "privacy": dpsel.PureDP(epsilon=20.0), "domain": ["item 0", "item 1", "tea"]}
    top = dpsel.select_top_k(COLUMNS, user=USERS, item=ITEMS, ordered=False, **arguments)
    assert sorted(top.items) == ["item 0", "item 1"]


def test_public_lists_and_priors_go_with_them() -> None:
    data = pa.table(COLUMNS)
    release = released(data, with_weights=False, public_items=["tea"], exclude=["item 0"])
    assert ("tea", True) in release.to_pylist()
    assert "item 0" not in dict(release.to_pylist())
    greedy = dpsel.UnitGreedy(prior={f"item {n}": n for n in range(7)})
    assert len(released(data, with_weights=False, mechanism=greedy)) > 0


@pytest.mark.parametrize("missing", USERS)
def test_a_null_in_any_column_is_refused(missing) -> None:
    data = pa.table(COLUMNS)
    at = data.schema.get_field_index(missing)
    nulls = pa.array([None if row == 5 else value for row, value in enumerate(data[missing].to_pylist())])
    with pytest.raises(DataError, match=f"user column '{missing}' is null in row 6"):
        released(data.set_column(at, missing, nulls))
    pairs = [((None, 1) if missing == "tenant" else ("a", None), "tea")]
    with pytest.raises(DataError, match="the user is None at position 0"):
        released(pairs)


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ([], "user must name a column, got an empty list"),
        (["tenant", 3], "user and item must be names of columns, got int"),
        (["tenant", "tenant"], "user must be one or more distinct columns"),
        (["tenant", "item"], "item must be one or more distinct columns"),
    ],
)
def test_names_that_make_no_sense_are_refused(user, message) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        released(COLUMNS, user)


def test_users_of_another_shape_are_refused() -> None:
    with pytest.raises(SchemaError, match="the user at position 1 is not a tuple of 2 parts"):
        released([(("a", 1), "tea"), ("a", "tea")])
    with pytest.raises(SchemaError, match="no column 'nobody' to tell users apart"):
        released(pa.table(COLUMNS), ["tenant", "nobody"])


def test_the_report_checks_and_the_card_names_both() -> None:
    release = released(COLUMNS, insecure_test_key=None)
    assert dpsel.check(release).ok
    assert json.loads(release.report.to_json())["request"]["columns"]["user"] == USERS
    assert "<b>tenant and id</b>" in release.card()._protected()
