"""Text whose bytes are not UTF-8."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet
import pytest

from refusals import SECRET, refused, run

LONG = SECRET.encode() + b"\xff and more than twelve bytes"


def careless(values, kind: pa.DataType) -> pa.Array:
    """A text column whose bytes nobody looked at."""
    declared = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}
    declared[pa.string_view()] = pa.binary_view()
    array = pa.array(values, declared[kind])
    return pa.Array.from_buffers(kind, len(array), array.buffers())


TEXTS = [pa.string(), pa.large_string(), pa.string_view()]


@pytest.mark.parametrize("invalid", [b"\xff\xfe", LONG, "ü".encode()[:1]], ids=["short", "long", "half"])
@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_invalid_utf8_in_memory(kind, invalid) -> None:
    """A string column whose buffer is not UTF-8, from a careless producer."""
    bad = careless([b"fine", None, "ü".encode(), invalid, b"\xbc"], kind)
    users = pa.array(range(5))
    keys, runs = pa.array([0, 0, 2, 3, 4], pa.int8()), pa.run_end_encoded(pa.int32(), kind)
    columns = [
        bad,
        pa.DictionaryArray.from_arrays(keys, bad, safe=False),
        pa.ListArray.from_arrays([0, 1, 2, 3, 4, 5], bad),
        pa.Array.from_buffers(runs, 5, [None], children=[pa.array([1, 2, 3, 4, 5], pa.int32()), bad]),
    ]
    for column in columns:
        refused(
            pa.table({"user": users, "item": column}),
            match="column 'item' .* UTF-8 in row 4",
            kind=ValueError,
        )
    names = [pa.array(["b"] * 5, kind), careless([b"c"] * 3 + [invalid] * 2, kind)]
    batches = [pa.table({"user": user, "item": pa.array(["a"] * 5)}) for user in names]
    refused(pa.concat_tables(batches), match="column 'user' .* row 9")
    two = pa.table({"user": users, "other": users, "item": bad})
    refused(two, item=["other", "item"], match="column 'item' .* row 4")
    refused(pa.table({"user": users, "item": bad}), ngrams=(1, 1), match="column 'item' .* row 4")


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_bytes_that_no_row_uses_need_not_be_utf8(kind) -> None:
    values = careless([b"\xff", b"fine"], kind)
    unused = pa.DictionaryArray.from_arrays(pa.array([1, None, 1], pa.int8()), values, safe=False)
    run(pa.table({"user": [1, 2, 3], "item": unused}))
    run(pa.table({"user": [1], "item": values.slice(1)}))
    run(pa.table({"user": [1, 2, 3], "item": pa.array(["ü", "你", "😀"], kind)}))
    hidden = pa.array([False, True]).buffers()[1]
    null = pa.Array.from_buffers(kind, 2, [hidden, *values.buffers()[1:]])
    run(pa.table({"user": [1, 2], "item": null}))
