"""Tables in memory: every refusal names the column and the position, and no value."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet
import pytest

import dpsel
from reference import mechanisms as reference
from refusals import GOOD, SECRET, refused, run
from support import KEY, items_of, released, rounds_of, table, units_of


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
    untyped = run(pa.table({"user": [1, 2, 3], "item": pa.nulls(3)}))
    assert (untyped.to_pylist(), released(untyped).schema.types) == ([], [pa.null()])


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
    refused(lines, user="who", match="field 'who' to tell users apart; set user= to one of its fields$")
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
        refused(data, **names, match=r"item= .*; rename the item column, or leave with_weights out")
        refused(
            data, **names | {"item": ["other", "weight"]}, match="leave with_weights out", kind=ValueError
        )
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
    broke_off = "its Arrow stream broke off with an error after 10 rows; .*read the source without dpsel"
    refused(reader, match=broke_off)
    again = pa.RecordBatchReader.from_batches(GOOD.schema, batches())
    assert "the disk is on fire" not in refused(Wrapped(again), match=broke_off)

    def pairs():
        yield (1, 2)
        raise OSError("the disk is on fire")

    refused(pairs(), match="it raised OSError at position 1; its message may quote a value")


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
    with pytest.raises(dpsel.DpselError, match="broke off with an error after 10 rows"):
        run(reader(OSError("KeyboardInterrupt")))


def test_memory_limit_is_honoured() -> None:
    rows = table([(u, u * 1000 + i) for u in range(3000) for i in range(10)])
    refused(rows, memory_limit=10_000, match="memory_limit")
    run(rows, memory_limit=10**9)
