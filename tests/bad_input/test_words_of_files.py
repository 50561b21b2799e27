"""Files that are refused in the right words, and no word of their rows."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsel
from dpsel.exceptions import DataError, DpselError, FileError, SchemaError

PRIVACY = dpsel.ApproxDP(epsilon=4.0, delta=1e-4)


def select(data, **arguments):
    return dpsel.select_partitions(
        data, **({"user": "user", "item": "item"} | arguments), privacy=PRIVACY, max_items_per_user=5
    ).to_pylist()


RECORDS = b"".join(b'{"user": %d, "item": "tea", "note": "x"}\n' % user for user in range(300))


@pytest.mark.parametrize("at", [0, 200])
@pytest.mark.parametrize("bad", [b'{"user": 1, "item": "tea", "note": "\xff"}', b'{"\xff": 1}', b"\xff"])
def test_a_field_of_ndjson_that_is_not_needed_is_utf8_too(tmp_path, at, bad):
    lines = RECORDS.splitlines()
    lines.insert(at, bad)
    path = tmp_path / "x.ndjson"
    path.write_bytes(b"\n".join(lines))
    release = dpsel.select_partitions(
        [(user, "tea") for user in range(300)], privacy=PRIVACY, max_items_per_user=5
    )
    for call in (lambda: select(path), lambda: release.filter_file(path, tmp_path / "out.ndjson")):
        with pytest.raises(DataError, match=f"line {at + 1} is not valid UTF-8"):
            call()


@pytest.mark.parametrize("blank", [b"\f", b"\v", b"\xc2\xa0", b"\0", b"\xe2\x80\xa8"])
@pytest.mark.parametrize("where", ["before", "behind", "alone"])
def test_only_white_space_of_json_is_around_a_record(tmp_path, blank, where):
    line = {"before": blank + b"{}", "behind": b"{}" + blank, "alone": blank}[where]
    (tmp_path / "x.ndjson").write_bytes(RECORDS + line + b"\n")
    with pytest.raises(DpselError, match="line 301 is not a JSON object"):
        select(tmp_path / "x.ndjson")


@pytest.mark.parametrize("blank", [b" ", b"\t", b"\r", b" \t\r"])
def test_white_space_of_json_does_not_matter(tmp_path, blank):
    lines = blank + b"\n" + RECORDS.replace(b"{", blank + b"{").replace(b"}", b"}" + blank) + blank
    (tmp_path / "x.ndjson").write_bytes(lines)
    assert select(tmp_path / "x.ndjson") == ["tea"]


@pytest.mark.parametrize("names", [{"item": "drug"}, {"user": "person"}, {"item": ["item", "drug"]}])
def test_fields_of_ndjson_are_not_quoted(tmp_path, names):
    """The keys of a record may be users or items."""
    (tmp_path / "x.ndjson").write_bytes(b'{"ada": "hiv", "user": 1, "item": 2}\n' * 3)
    with pytest.raises(SchemaError, match="to one of its fields$") as caught:
        select(tmp_path / "x.ndjson", **names)
    assert "ada" not in str(caught.value)


@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("column", ["user", "item"])
def test_text_of_parquet_that_is_not_utf8_is_called_so(tmp_path, dictionary, column):
    bad = pa.array([b"secret\xff"] * 300, pa.binary()).view(pa.string())
    table = pa.table({"user": pa.array(map(str, range(300))), "item": ["tea"] * 300})
    table = table.set_column(table.column_names.index(column), column, bad)
    pq.write_table(table, tmp_path / "x.parquet", use_dictionary=dictionary)
    with pytest.raises(DpselError, match="UTF-8") as caught:
        select(tmp_path / "x.parquet")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("stream", [False, True])
def test_a_type_that_only_polars_has_is_named(tmp_path, stream):
    frame = pl.DataFrame(
        {"user": range(300), "item": ["tea"] * 300, "large": pl.Series([1] * 300, dtype=pl.Int128)}
    )
    path = tmp_path / ("x.arrows" if stream else "x.arrow")
    (frame.write_ipc_stream if stream else frame.write_ipc)(path)
    with pytest.raises(FileError, match="Int128 of polars"):
        select(path)
