"""Columns of Spark: collations, and the types that tasks get. This needs no Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dpsel._ingest._spark_types import check_collation
from dpsel.exceptions import SchemaError
from dpsel.spark._schema import as_declared


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UTF8_BINARY_RTRIM", "UNICODE", "UNICODE_CI", "de_AI"])
def test_users_under_a_collation_are_refused(collation) -> None:
    with pytest.raises(SchemaError, match=f"user column 'u' .* has the collation {collation}, under which"):
        check_collation("user", "u", collation)
    check_collation("item", "i", collation)
    check_collation("user", "u", "UTF8_BINARY")


@pytest.mark.parametrize(
    ("found", "declared", "same"),
    [
        (pa.large_string(), pa.string(), True),
        (pa.large_binary(), pa.binary(), True),
        (pa.timestamp("us", "Asia/Tokyo"), pa.timestamp("us", "UTC"), True),
        (pa.large_list(pa.field("element", pa.large_string(), False)), pa.list_(pa.string()), True),
        (pa.string(), pa.int64(), False),
        (pa.int32(), pa.int64(), False),
        (pa.binary(), pa.string(), False),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), False),
        (pa.timestamp("ns", "UTC"), pa.timestamp("us", "UTC"), False),
        (pa.list_(pa.int32()), pa.list_(pa.int64()), False),
        (pa.decimal128(20, 0), pa.decimal128(18, 0), False),
    ],
    ids=str,
)
def test_a_task_takes_what_is_declared_and_nothing_else(found, declared, same) -> None:
    """Otherwise a user whose rows come as another type in another partition would be two users."""
    batch = pa.record_batch([pa.nulls(1, found)], ["column0"])
    schema = pa.schema([("user", declared)])
    if same:
        assert as_declared(batch, schema).schema == pa.schema([("user", found)])
        return
    with pytest.raises(
        SchemaError, match=r"Spark declares column 'user' as .*, but a task got .*declared type"
    ):
        as_declared(batch, schema)
