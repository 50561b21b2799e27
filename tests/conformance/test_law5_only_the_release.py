"""Law 5: the released items and public parameters leave; nothing else of the data does."""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import pickle

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpsel
from dpsel.testing import ShapeError, check_shape, replay_release, shape
from shapes import DECLARED, FOUND, JSON_KINDS, KINDS, WRITTEN, neighbours, options
from strategies import KEY_TYPES, max_items, rows
from support import items_of, released, report_of, select, table

PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=1e-6)
#: Long enough not to be stored inside a string view; unlike anything else in a file.
SECRETS = [f"unselected secret number {i:04}" for i in range(300)]
PUBLIC = [f"published item number {i:04}" for i in range(3)]
ROWS = [(u, item) for u in range(400) for item in PUBLIC] + list(enumerate(SECRETS))

FRAMES = {
    "pyarrow": lambda d: d,
    "dictionary": lambda d: pa.table({n: d[n].combine_chunks().dictionary_encode() for n in d.column_names}),
    "string-view": lambda d: d.set_column(1, "item", d["item"].cast(pa.string_view())),
    "polars": pl.from_arrow,
    "polars-categorical": lambda d: pl.from_arrow(d).with_columns(pl.col("item").cast(pl.Categorical)),
    "polars-enum": lambda d: pl.from_arrow(d).with_columns(
        pl.col("item").cast(pl.Enum(sorted(SECRETS + PUBLIC)))
    ),
    "pandas": lambda d: d.to_pandas(),
    "pandas-categorical": lambda d: d.to_pandas().astype({"item": "category"}),
}


def _buffers(data: pa.Table) -> bytes:
    chunks = [chunk for column in data.columns for chunk in column.chunks]
    parents = [buffer for chunk in chunks for buffer in chunk.buffers() if buffer]
    return b"".join(buffer.to_pybytes() for buffer in parents)


def _forms(release) -> dict[str, bytes]:
    """Every form in which a result may be kept or sent."""
    data = released(release)
    ipc, parquet = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_file(ipc, data.schema) as out:
        out.write_table(data)
    pyarrow.parquet.write_table(data, parquet)
    items = release.items
    forms = {
        "buffers": _buffers(data),
        "ipc": ipc.getvalue(),
        "parquet": parquet.getvalue(),
        "release pickle": pickle.dumps(release),
        "items pickle": pickle.dumps(items),
        "report": release.report.to_json().encode(),
        "texts": (repr(release) + str(release) + repr(release.report)).encode(),
        "html": str(getattr(release, "_repr_html_", str)()).encode(),
    }
    if isinstance(items, pl.DataFrame):
        forms["polars ipc"] = items.write_ipc(None, compression="uncompressed").getvalue()
        forms["polars arrow"] = _buffers(items.to_arrow())
    if isinstance(items, pd.DataFrame):
        forms["pandas parquet"] = items.to_parquet()
    return forms


@pytest.mark.parametrize("frame", FRAMES)
def test_no_unselected_item_in_any_form(frame) -> None:
    source = FRAMES[frame](table(ROWS))
    release = select(source, privacy=PRIVACY, max_items_per_user=4, mechanism=dpsel.WeightedGaussian())
    assert items_of(release) == PUBLIC
    forms = _forms(release)
    # The marker that all secrets share, so that a fragment of one is found as well.
    leaks = [name for name, blob in forms.items() if b"unselected secret" in blob]
    assert leaks == []
    assert all(b"published item" in forms[name] for name in ("buffers", "ipc", "release pickle"))


def test_no_unselected_item_in_any_form_of_any_mechanism(case) -> None:
    """As above. Public tables of preferences hold the published items."""
    mechanism = case.mechanism
    if case.prior is not None:
        mechanism = dataclasses.replace(mechanism, prior=dict.fromkeys(PUBLIC, 1))
    rows = [(3 * user + n, item) for user in range(400) for n, item in enumerate(PUBLIC)]
    rows += [(10_000 + n, secret) for n, secret in enumerate(SECRETS)]
    arguments = {"privacy": PRIVACY, "max_items_per_user": case.bound(4), "mechanism": mechanism}
    release = select(table(rows), **arguments)
    assert items_of(release) == PUBLIC
    assert not [name for name, blob in _forms(release).items() if b"unselected secret" in blob]


@pytest.mark.parametrize("case_name", ["count", "weight"])
def test_no_buffer_is_larger_than_the_release_needs(case_name) -> None:
    release = select(
        table(ROWS),
        privacy=PRIVACY,
        max_items_per_user=4,
        mechanism=dpsel.WeightedGaussian(),
        with_weights=case_name == "weight",
    )
    assert released(release).nbytes < 1000
    assert len(_buffers(released(release))) < 2000


@given(rows=rows(), bound=max_items)
def test_items_are_sorted_and_each_once(case, rows, bound) -> None:
    release = select(
        table(rows),
        privacy=dpsel.ApproxDP(epsilon=4.0, delta=0.3),
        max_items_per_user=case.bound(bound),
        mechanism=case.mechanism,
    )
    found = items_of(release)
    assert found == sorted(set(found))
    assert set(found) <= {item for _, item in rows}


@pytest.mark.parametrize("kind", KEY_TYPES, ids=str)
def test_every_type_is_sorted_by_value_and_keeps_its_type(kind) -> None:
    pairs = [(u, kind.value(i)) for u in range(80) for i in range(10)]
    release = select(
        table(pairs, item_type=kind.arrow),
        privacy=dpsel.ApproxDP(epsilon=3.0, delta=0.1),
        max_items_per_user=10,
        mechanism=dpsel.CountGaussian(),
    )
    assert items_of(release) == sorted(kind.value(i) for i in range(10))
    expected = kind.arrow.value_type if pa.types.is_dictionary(kind.arrow) else kind.arrow
    assert released(release).schema.field("item").type == expected


@given(rows=rows())
def test_the_report_does_not_depend_on_the_data(case, rows) -> None:
    arguments = {"privacy": PRIVACY, "max_items_per_user": case.bound(3), "mechanism": case.mechanism}
    full, empty = (select(table(data), **arguments) for data in (rows, []))
    assert without_look(full) == without_look(empty)


def test_a_release_of_something_has_the_report_of_nothing(case) -> None:
    """Few of the tables above have items that are released."""
    privacy = dpsel.ApproxDP(epsilon=4.0, delta=0.3)
    arguments = {"privacy": privacy, "max_items_per_user": case.bound(3), "mechanism": case.mechanism}
    full = select(table([(user, item) for user in range(400) for item in range(3)]), **arguments)
    assert items_of(full)
    assert without_look(full) == without_look(select(table([]), **arguments))


def without_look(release) -> dict:
    """The report but for what a look may show, and what follows from that; see `test_matching_or.py`."""
    report = report_of(release)
    after_a_look = ("look", "calibration", "fingerprint") if "look" in report else ()
    return {name: value for name, value in report.items() if name not in after_a_look}


def test_the_report_has_no_unknown_field(case) -> None:
    """A new field is looked at by a person before it is published with every release."""
    arguments = {"max_items_per_user": case.bound(3), "mechanism": case.mechanism}
    report = report_of(select(table([]), privacy=PRIVACY, **arguments))
    known = {
        "format",
        "version",
        "task",
        "request",
        "chosen",
        "calibration",
        "guarantee",
        "cost",
        "key",
        "fingerprint",
    }
    looks = isinstance(case.mechanism, dpsel.MatchingOr)
    assert report.keys() <= known | ({"look"} if looks else set())
    assert not looks or report["look"].keys() == {"epsilon", "score", "margin", "lists", "rest"}
    assert report["request"].keys() == {
        "columns",
        "privacy",
        "max_items_per_user",
        "mechanism",
        "with_weights",
    }
    assert report["key"].keys() == {"commitment", "insecure_test_key"}
    assert report["cost"].keys() == {"items", "neighbours", "total"}


def test_weights_are_absent_unless_asked_for(case) -> None:
    arguments = {"privacy": PRIVACY, "max_items_per_user": case.bound(4), "mechanism": case.mechanism}
    rows = [(user, item) for user in range(400) for item in range(3)]
    assert released(select(table(rows), **arguments)).column_names == ["item"]
    if not case.has_weights:
        with pytest.raises(dpsel.DpselError, match="noisy weights"):
            select(table(rows), with_weights=True, **arguments)
        return
    assert released(select(table(rows), with_weights=True, **arguments)).column_names == ["item", "weight"]


SHAPED = {"privacy": PRIVACY, "max_items_per_user": 3, "mechanism": dpsel.WeightedGaussian()}


def shaped(rows, *, source, path, **arguments):
    """The release of rows that come as this kind of source, or the class of the error that refuses them."""
    try:
        return select((FOUND | DECLARED)[source](rows, path), **(SHAPED | arguments))
    except dpsel.DpselError as error:
        return type(error)


def looks_alike(one, other) -> bool:
    """Whether both released the same items. Values of two kinds that are written alike are no other items."""
    if not isinstance(one, dpsel.Release) or not isinstance(other, dpsel.Release):
        return False
    assert check_shape(one, other) or written(one) != written(other)
    return written(one) == written(other)


def written(release) -> list[str]:
    """The released rows as texts, in no particular order."""

    def text(value) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return str(value.isoformat() if isinstance(value, dt.date) else value).replace("+00:00", "Z")

    return sorted(str([text(value) for value in row.values()]) for row in released(release).to_pylist())


@pytest.mark.parametrize("source", FOUND)
@given(tables=st.data())
@settings(max_examples=60)
def test_one_user_does_not_change_the_shape(source, tables, tmp_path_factory) -> None:
    """Types, zones, widths, nullability, metadata, chunks, texts, report: all follow from the items."""
    before, after = tables.draw(neighbours(JSON_KINDS if source == "ndjson" else tuple(KINDS)))
    path, more = tmp_path_factory.mktemp("shape"), tables.draw(options(after))
    looks_alike(*(shaped(rows, source=source, path=path, **more) for rows in (before, after)))


@pytest.mark.parametrize("source", DECLARED)
@given(tables=neighbours(["text"]))
@settings(max_examples=15)
def test_one_user_does_not_change_the_shape_of_a_table(source, tables, tmp_path_factory) -> None:
    """Sources that declare their types: nothing is refused, so all releases of the same items count."""
    path = tmp_path_factory.mktemp("shape")

    def made(rows, key):
        texts = [(user, item if isinstance(item, str) else None) for user, item in rows]
        return select(DECLARED[source](texts, path), key=key, **SHAPED)

    assert replay_release(made, tables)


SWAYED = {
    "an empty release": ([(1, "tea")], [(1, 5)]),
    "no rows": ([], [(1, 5)]),
    "one binary row": ([(u, "tea") for u in range(200)], [*((u, "tea") for u in range(200)), (200, b"x")]),
    "a zone in the first row": (
        [(u, KINDS["aware"][0]) for u in range(200)],
        [(200, KINDS["aware"][2]), *((u, KINDS["aware"][0]) for u in range(200))],
    ),
    "an early large integer": ([(u, 7) for u in range(200)], [(200, 2**63), *((u, 7) for u in range(200))]),
    "all null but one": ([(u, None) for u in range(200)], [*((u, None) for u in range(200)), (200, "gin")]),
    "nanoseconds in one row": (
        [(u, KINDS["naive"][0]) for u in range(200)],
        [*((u, KINDS["naive"][0]) for u in range(200)), (200, KINDS["naive"][3])],
    ),
}


@pytest.mark.parametrize("source", FOUND)
@pytest.mark.parametrize("name", SWAYED)
def test_no_single_row_sways_the_type(source, name, tmp_path) -> None:
    """The neighbours that once did, in both orders of the rows; a refusal is not a release."""
    before, after = (shaped(rows, source=source, path=tmp_path) for rows in SWAYED[name])
    backwards = shaped(SWAYED[name][1][::-1], source=source, path=tmp_path)
    assert isinstance(before, dpsel.Release)
    refused = (dpsel.exceptions.SchemaError, dpsel.exceptions.DataError)
    for found in (after, backwards):
        assert found in refused or looks_alike(before, found)


@pytest.mark.parametrize("source", FOUND)
@pytest.mark.parametrize("kind", WRITTEN)
def test_no_single_row_sways_the_type_of_a_list(source, kind, tmp_path) -> None:
    """Public items come out as they were given unless a released value shows the kind of the data."""
    # Pairs have no integers beyond 64 bits with a sign, but a list of texts may.
    item, listed = KINDS[kind][kind == "large"], WRITTEN[kind]
    for lists in ({"public_items": listed}, {"exclude": listed}, {"public_items": [], "exclude": listed}):
        for few in ([], [(1, None)]):
            rows = [few, *([*few, (2, held)] for held in (item, listed[0]))]
            before, *after = (shaped(each, source=source, path=tmp_path, **lists) for each in rows)
            assert released(before)["item"].to_pylist() == sorted(lists.get("public_items", []))
            assert all(looks_alike(before, found) for found in after)
    numbered = (shaped(each, source=source, path=tmp_path, public_items=listed, counts=0.2) for each in rows)
    assert len({str(released(each).drop("users")) for each in numbered}) == 1


@pytest.mark.parametrize("source", FOUND)
@pytest.mark.parametrize("parts", [{"levels": "/"}, {"ngrams": (1, 2)}], ids=str)
def test_no_single_row_sways_the_columns_of_parts(source, parts, tmp_path) -> None:
    """Nor does it decide whether there is an error."""
    for lists in ({}, {"public_items": ["9", "10/1"]}, {"exclude": ["9"]}, {"public_items": []}):
        for few in ([], [(1, None)]):
            rows = (few, [*few, (2, "9/x y")])
            before, after = (shaped(each, source=source, path=tmp_path, **parts, **lists) for each in rows)
            assert looks_alike(before, after)
            assert ("level" in released(before).column_names) == ("levels" in parts)
        # Numbers have no parts.
        refused = shaped([(1, None)], source=source, path=tmp_path, **parts, public_items=[5])
        assert refused is dpsel.exceptions.SchemaError


def test_no_single_row_sways_a_column_of_a_tree() -> None:
    """A column of which nothing is released has the type of the list, or is text."""
    common = [(user, ("x", None)) for user in range(300)]
    for listed, type_ in (
        ([("y", 7)], pa.int64()),
        ([("y", "7")], pa.large_string()),
        ([("y", None)], pa.large_string()),
    ):
        for few in ([(1, (None, None))], common):
            rows = (few, [*few, (999, ("z", 8 if type_ == pa.int64() or listed[0][1] is None else "8"))])
            before, after = (
                select(iter(each), item=["a", "b"], levels=True, public_items=listed, **SHAPED)
                for each in rows
            )
            assert released(before).schema.field("b").type == type_
            assert looks_alike(before, after)
            assert listed[0] in [row[:2] for row in before.to_pylist()]


@pytest.mark.parametrize("source", [*FOUND, *DECLARED])
def test_an_empty_release_has_one_type(source, tmp_path) -> None:
    """Of sources without declared types it is text, whatever the rows hold; and it can be read."""
    kinds = ["text"] if source in DECLARED else JSON_KINDS[:-1] if source == "ndjson" else list(KINDS)[:-1]
    rows = [[(1, KINDS[kind][0]), (2, KINDS[kind][0])] for kind in kinds]
    releases = [shaped(few, source=source, path=tmp_path) for few in [*rows, rows[0][:0]]]
    releases = [release for release in releases if isinstance(release, dpsel.Release)]
    # 2^63 is refused in Python values, and an empty NDJSON file would be.
    assert len(releases) >= len(kinds)
    for release in releases:
        assert release.to_pylist() == []
        if source in FOUND:
            assert released(release).schema.types == [pa.string() if source == "csv" else pa.large_string()]
        assert check_shape(releases[0], release)


def test_every_kind_is_released_with_its_own_type(tmp_path) -> None:
    """So the tests above do not compare empty releases only."""
    expected = {
        "text": pa.large_string(),
        "bytes": pa.large_binary(),
        "int": pa.int64(),
        "bool": pa.bool_(),
        "date": pa.date32(),
        "naive": pa.timestamp("us"),
        "aware": pa.timestamp("us", "UTC"),
    }
    for source in ("pairs", "groups", "pandas objects", "pandas lists"):
        for kind, type_ in expected.items():
            release = shaped([(u, KINDS[kind][0]) for u in range(60)], source=source, path=tmp_path)
            assert released(release).schema.types == [type_]
            assert items_of(release) == [KINDS[kind][0]]
    json_kinds = {7: pa.int64(), 2**63: pa.uint64(), False: pa.bool_(), "tea": pa.large_string()}
    for first, type_ in json_kinds.items():
        release = shaped([(u, first) for u in range(60)], source="ndjson", path=tmp_path)
        assert (released(release).schema.types, items_of(release)) == ([type_], [first])


def test_parts_of_an_item_and_a_top_k_have_such_types_too() -> None:
    """Composite items settle each column; a top-k shares the way in and the way out."""
    for few in ([], [(1, (5, b"x"))], [(1, ("a", True))]):
        release = select(iter(few), item=["a", "b"], **SHAPED)
        assert released(release).schema == pa.schema({"a": pa.large_string(), "b": pa.large_string()})
    many = [(u, (7, dt.datetime(2024, 1, 1, tzinfo=dt.UTC))) for u in range(60)]
    release = select(many, item=["a", "b"], **SHAPED)
    assert released(release).schema == pa.schema({"a": pa.int64(), "b": pa.timestamp("us", "UTC")})
    arguments = {"k": 2, "privacy": PRIVACY, "mechanism": dpsel.LimitDomain(), "insecure_test_key": bytes(32)}
    empty = [dpsel.select_top_k(few, **arguments) for few in ([], [(1, 5)], [(1, b"x")])]
    assert all(check_shape(empty[0], other) for other in empty)


def test_a_shape_that_differs_is_found() -> None:
    """Not vacuous: other types of the same items, another report."""
    same = [(u, 1) for u in range(60)]
    one, other = select(table(same), **SHAPED), select(table(same, item_type=pa.int8()), **SHAPED)
    with pytest.raises(ShapeError, match="columns, buffers"):
        check_shape(one, other)
    with pytest.raises(ShapeError, match="texts, report"):
        check_shape(one, select(table(same), **(SHAPED | {"max_items_per_user": 2})))
    assert not check_shape(one, select(table([]), **SHAPED))
    assert shape(one) == shape(select(table(same), **SHAPED))
