"""Nodes of trees: `levels=` over every kind of source, with every option that is honoured or refused."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpsel
from dpsel.exceptions import DataError, InvalidParameterError, SchemaError

PRIVACY = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
OPTIONS = {
    "privacy": PRIVACY,
    "max_items_per_user": 20,
    "mechanism": "steered",
    "insecure_test_key": bytes(32),
}
COLUMNS = ["country", "region", "city"]

ROWS = [
    *((user, ("no", "oslo", 1)) for user in range(300)),
    *((user, ("no", "troms", None)) for user in range(250)),
    *((user, ("se", None, None)) for user in range(100, 400)),
    *((user, ("se", "alone", user)) for user in range(10)),
]
#: What comes out, with the level of each node.
NODES = [
    ("no", None, None, 1),
    ("no", "oslo", None, 2),
    ("no", "oslo", 1, 3),
    ("no", "troms", None, 2),
    ("se", None, None, 1),
]


def columns() -> dict[str, list]:
    parts = zip(*(item for _, item in ROWS), strict=True)
    return {"user": [user for user, _ in ROWS], **dict(zip(COLUMNS, map(list, parts), strict=True))}


def path_of(item: tuple) -> str:
    return "/".join(str(part) for part in item if part is not None)


def select(data, **options):
    return dpsel.select_partitions(
        data, **{"user": "user", "item": COLUMNS, "levels": True, **OPTIONS, **options}
    )


SOURCES = {
    "pairs": lambda: ROWS,
    "polars": lambda: pl.DataFrame(columns()),
    "lazy": lambda: pl.LazyFrame(columns()),
    "pyarrow": lambda: pa.table(columns()),
    "dict": columns,
    "records": lambda: pl.DataFrame(columns()).to_dicts(),
    "dictionary": lambda: pa.table(
        {name: pa.array(values).dictionary_encode() for name, values in columns().items()}
    ),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_has_the_same_tree(source) -> None:
    release = select(SOURCES[source](), user=None if source == "pairs" else "user")
    assert list(map(tuple, release.to_table().to_pylist())) == NODES
    assert list(release) == [node[:3] for node in NODES]
    assert release.to_table().columns == [*COLUMNS, "level"]


def test_pandas_keeps_its_integers_and_nulls() -> None:
    frame = pd.DataFrame(columns()).astype({"city": "Int64"})
    found = select(frame).items
    assert found["city"].isna().tolist() == [True, True, False, True, True]
    assert found["city"].dropna().tolist() == [1]
    assert found["level"].tolist() == [node[3] for node in NODES]


def test_paths_are_the_same_tree() -> None:
    found = select([(user, path_of(item)) for user, item in ROWS], user=None, item=None, levels="/")
    assert found.items == [(path_of(node[:3]), node[3]) for node in NODES]


def test_files_are_the_same_tree(tmp_path) -> None:
    pl.DataFrame(columns()).write_parquet(tmp_path / "rows.parquet")
    found = select(tmp_path / "rows.parquet")
    assert found.to_table().to_pylist() == NODES
    found.to_table().write(tmp_path / "nodes.csv")
    lines = (tmp_path / "nodes.csv").read_text().splitlines()
    assert lines[:3] == ["country,region,city,level", "no,,,1", "no,oslo,,2"]


def test_types_and_nulls_are_those_of_the_schema() -> None:
    """With nothing released, too: no type depends on rows."""
    for privacy in (PRIVACY, dpsel.ApproxDP(epsilon=0.01, delta=1e-12)):
        found = pa.table(select(pa.table(columns()), privacy=privacy))
        assert [str(field.type) for field in found.schema] == ["string", "string", "int64", "int64"]
        assert all(field.nullable for field in found.schema)


@pytest.mark.parametrize(
    "mechanism",
    ["sips", "count_laplace", "count_gaussian", "weighted_gaussian", "policy_gaussian", "mad", "auto"],
)
def test_with_a_node_all_above_it_come_out(mechanism) -> None:
    rows = [(user, path_of((part % 7, user % 5, part % 3))) for user in range(400) for part in range(5)]
    found = dict(
        select(rows, user=None, item=None, levels="/", mechanism=mechanism, max_items_per_user=2).items
    )
    assert found
    assert all(path.rpartition("/")[0] in found for path in found if "/" in path)


def test_public_nodes_come_out_with_those_above_them() -> None:
    found = select(ROWS, user=None, public_items=[("dk", "aarhus", None)]).items
    assert ("dk", None, None, 1, True) in found
    assert ("dk", "aarhus", None, 2, True) in found
    assert [node for node in found if node[0] != "dk"] == [(*node, False) for node in NODES]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("a//b", "public_items must have paths without empty parts, .* of levels= once between two parts"),
        ("a/", "public_items must have paths without empty parts"),
        ("", "public_items must have paths without empty parts"),
        ("/".join("x" * 33), "public_items must have paths of at most 32 levels, and one has 33"),
    ],
)
def test_a_public_path_that_is_no_node_is_not_blamed_on_the_rows(path, words) -> None:
    budget = dpsel.Budget(PRIVACY)
    with pytest.raises(InvalidParameterError, match=words):
        dpsel.select_partitions(
            [(1, "a/b")],
            user="user",
            item="path",
            levels="/",
            public_items=["a/b", path],
            privacy=budget.on_use(PRIVACY),
            max_items_per_user=3,
        )
    assert budget.spent == ()


def test_public_nodes_take_nothing_of_a_limit() -> None:
    found = select(ROWS, user=None, public_items=[("no", "troms", None)], max_items_per_user=3).items
    assert {("no", None, None, 1, True), ("no", "troms", None, 2, True)} <= set(found)
    assert ("no", "oslo", 1, 3, False) in found


def test_nodes_below_an_excluded_one_are_no_part_of_the_rest() -> None:
    cut = [(user, ("no", None, None) if item[:2] == ("no", "oslo") else item) for user, item in ROWS]
    options = {"user": None, "rest": 0.5, "insecure_test_key": bytes(32)}
    found, wanted = select(ROWS, exclude=[("no", "oslo", None)], **options), select(cut, **options)
    assert found.items == wanted.items
    assert found.rest == wanted.rest


def test_an_excluded_node_takes_its_subtree_out() -> None:
    found = select(ROWS, user=None, exclude=[("no", "oslo", None)]).items
    assert found == [NODES[0], NODES[3], NODES[4]]
    assert select(ROWS, user=None, exclude=[("no", None, None)]).items == [NODES[4]]
    both = [("no", "oslo", None), ("no", "troms", None)]
    assert select(ROWS, user=None, exclude=both).items == [NODES[0], NODES[4]]


def test_a_node_that_is_public_and_excluded_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="have an item in common"):
        select(ROWS, user=None, exclude=[("no", None, None)], public_items=[("no", "oslo", None)])


def test_counts_are_of_users_of_every_node() -> None:
    found = {node[:3]: node[4] for node in select(ROWS, user=None, counts=0.3).items}
    assert 150 < found["no", None, None] < 450
    assert 150 < found["se", None, None] < 490


def test_filter_takes_rows_of_released_nodes() -> None:
    release = select(pl.DataFrame(columns()))
    kept = release.filter(pl.DataFrame(columns()))
    assert len(kept) == 300 + 250 + 300
    assert ("no", "troms", None) in release
    assert ("se", "alone", None) not in release


EXPECTED = [*[("no", "oslo", 1)] * 300, *[("no", "troms", None)] * 250, *[("se", None, None)] * 310]


def test_rolling_up_gives_rows_their_lowest_released_node() -> None:
    table = pl.DataFrame(columns())
    release = select(table)
    found = release.filter(table, roll_up=True)
    assert found.schema == table.schema
    assert found.select(COLUMNS).rows() == EXPECTED
    assert release.filter(table.to_arrow(), roll_up=True).select(COLUMNS).to_pylist() == [
        dict(zip(COLUMNS, node, strict=True)) for node in EXPECTED
    ]
    frame = pd.DataFrame(columns()).astype({"city": "Int64"})
    rolled = release.filter(frame, roll_up=True)
    assert rolled["city"].isna().sum() == 560
    assert rolled.dtypes.equals(frame.dtypes)
    assert release.filter(ROWS, roll_up=True) == [
        (user, node) for (user, _), node in zip(ROWS, EXPECTED, strict=True)
    ]
    paths = select([(user, path_of(item)) for user, item in ROWS], user=None, item=None, levels="/")
    assert paths.filter([(1, "no/oslo/2/x"), (2, "dk"), (3, "se")], roll_up=True) == [
        (1, "no/oslo"),
        (3, "se"),
    ]


def test_rolling_up_is_refused_where_it_means_nothing() -> None:
    flat = dpsel.select_partitions([(user, "a") for user in range(300)], **OPTIONS)
    with pytest.raises(InvalidParameterError, match="these items are no nodes"):
        flat.filter([(1, "a")], roll_up=True)
    release = select(pl.DataFrame(columns()))
    with pytest.raises(InvalidParameterError, match="both say what stands in place"):
        release.filter(pl.DataFrame(columns()), roll_up=True, other="other")
    with pytest.raises(SchemaError, match="cannot be rolled up"):
        release.filter(pl.LazyFrame(columns()), roll_up=True)


def test_a_release_is_loaded_again(tmp_path) -> None:
    release = select(pl.DataFrame(columns()))
    for name in ("nodes.csv", "nodes.parquet", "nodes.ndjson"):
        release.to_table().write(tmp_path / name)
        release.report.save(tmp_path / "report.json")
        again = dpsel.Release.load(tmp_path / name, tmp_path / "report.json")
        assert again.to_table().columns == [*COLUMNS, "level"]
        assert len(again) == len(NODES)


def test_empty_texts_of_a_tree_are_loaded_again(tmp_path) -> None:
    """They are values of their own, and no fields below a node."""
    rows = [
        (user, item) for user in range(400) for item in (("no", "", "a"), ("no", "oslo", "a"), ("", "", "b"))
    ]
    release = select(rows)
    assert {("no", "", None), ("no", "", "a"), ("", None, None), ("", "", "b")} <= set(release)
    for name in ("nodes.csv", "nodes.parquet", "nodes.ndjson"):
        release.write(tmp_path / name)
        release.report.save(tmp_path / "report.json")
        assert list(dpsel.Release.load(tmp_path / name, tmp_path / "report.json")) == list(release)


REFUSED = [
    ({"item": "country"}, InvalidParameterError, "levels=True needs several item columns"),
    ({"levels": "/"}, InvalidParameterError, "names several columns"),
    ({"item": "country", "levels": ""}, InvalidParameterError, "an empty text, which separates nothing"),
    ({"levels": 3}, InvalidParameterError, "levels must be True or the separator"),
    ({"item": "country", "levels": "\ud800"}, InvalidParameterError, "half of a surrogate pair"),
    ({"item": "country", "levels": "/", "ngrams": (1, 2)}, InvalidParameterError, "leave one out"),
    (
        {"item": "country", "levels": "/", "tokenizer": str.split},
        InvalidParameterError,
        "leave one of them out",
    ),
    (
        {"item": "country", "levels": "/", "tokenizer": "chars"},
        InvalidParameterError,
        "leave one of them out",
    ),
    ({"item": "city", "levels": "/"}, SchemaError, "levels= needs text"),
    (
        {"rest": dpsel.Rest(share=0.1, max_rows_per_user=5)},
        InvalidParameterError,
        "would not be a number of rows",
    ),
    ({"with_weights": True}, InvalidParameterError, "a node that comes out with one below it has none"),
    (
        {"counts": dpsel.Counts(share=0.2, count="rows", max_rows_per_item=3)},
        InvalidParameterError,
        "count users instead",
    ),
    ({"item": [f"c{n}" for n in range(33)]}, InvalidParameterError, "32 item columns at most"),
    ({"item": ["country", "level"]}, InvalidParameterError, "adds a column 'level'"),
]


@pytest.mark.parametrize(("options", "error", "words"), REFUSED, ids=[words for *_, words in REFUSED])
def test_bad_arguments_are_refused_before_anything_is_spent(options, error, words) -> None:
    budget = dpsel.Budget(PRIVACY)
    with pytest.raises(error, match=words):
        select(pl.DataFrame(columns()), **{"privacy": budget.on_use(PRIVACY), **options})
    assert budget.spent == ()


def test_a_limit_of_memory_changes_nothing(tmp_path) -> None:
    """The disk itself is tested in Rust, with tables of a few rows."""
    assert (
        select(ROWS, user=None, scratch=tmp_path, memory_limit="1GiB").items == select(ROWS, user=None).items
    )


@pytest.mark.parametrize("path", ["", "/", "/no", "no/", "no//oslo", "/".join("a" * 33)])
def test_paths_with_empty_parts_or_of_too_many_are_refused(path) -> None:
    with pytest.raises(DataError, match="empty part|32 levels") as caught:
        select([(1, "no"), (2, path)], user=None, item=None, levels="/")
    assert "oslo" not in str(caught.value)


def test_a_value_below_a_null_is_refused_with_the_columns_and_no_value() -> None:
    rows = [*ROWS, (7, ("no", None, 3))]
    with pytest.raises(DataError, match="a value in item column 'city' and a null in 'region'"):
        select(rows, user=None)


def test_rows_of_nulls_alone_are_dropped() -> None:
    rows = [*ROWS, *((user, (None, None, None)) for user in range(400))]
    assert select(rows, user=None).items == select(ROWS, user=None).items


@pytest.mark.long("needs more rows than a chunk has")
@pytest.mark.parametrize("source", ["pairs", "records", "dict"])
def test_a_level_that_comes_after_many_rows(source) -> None:
    rows = [*((user, ("no", None)) for user in range(70_000)), *((user, ("no", 7)) for user in range(400))]
    named = [{"user": user, "country": country, "city": city} for user, (country, city) in rows]
    given = {
        "pairs": lambda: rows,
        "records": lambda: named,
        "dict": lambda: {key: [row[key] for row in named] for key in named[0]},
    }[source]()
    user = None if source == "pairs" else "user"
    assert select(given, user=user, item=["country", "city"]).to_table().to_pylist() == [
        ("no", None, 1),
        ("no", 7, 2),
    ]


def test_a_short_first_chunk_and_deeper_rows_after_it() -> None:
    table = pa.table(columns())
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=3))
    assert select(stream).to_table().to_pylist() == NODES
