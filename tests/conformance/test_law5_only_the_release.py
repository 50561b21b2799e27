"""Law 5: the released items and public parameters leave; nothing else of the data does."""

from __future__ import annotations

import dataclasses
import io
import pickle

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given

import dpsel
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
    assert report_of(select(table(rows), **arguments)) == report_of(select(table([]), **arguments))


def test_a_release_of_something_has_the_report_of_nothing(case) -> None:
    """Few of the tables above have items that are released."""
    privacy = dpsel.ApproxDP(epsilon=4.0, delta=0.3)
    arguments = {"privacy": privacy, "max_items_per_user": case.bound(3), "mechanism": case.mechanism}
    full = select(table([(user, item) for user in range(400) for item in range(3)]), **arguments)
    assert items_of(full)
    assert report_of(full) == report_of(select(table([]), **arguments))


def test_the_report_has_no_unknown_field(case) -> None:
    """A new field is looked at by a person before it is published with every release."""
    arguments = {"max_items_per_user": case.bound(3), "mechanism": case.mechanism}
    report = report_of(select(table([]), privacy=PRIVACY, **arguments))
    known = {"version", "request", "chosen", "calibration", "guarantee", "key"}
    assert report.keys() <= known
    assert report["request"].keys() == {
        "columns",
        "privacy",
        "max_items_per_user",
        "mechanism",
        "with_weights",
    }
    assert report["key"].keys() == {"commitment", "insecure_test_key"}


def test_weights_are_absent_unless_asked_for(case) -> None:
    arguments = {"privacy": PRIVACY, "max_items_per_user": case.bound(4), "mechanism": case.mechanism}
    rows = [(user, item) for user in range(400) for item in range(3)]
    assert released(select(table(rows), **arguments)).column_names == ["item"]
    if not case.has_weights:
        with pytest.raises(dpsel.DpselError, match="noisy weights"):
            select(table(rows), with_weights=True, **arguments)
        return
    assert released(select(table(rows), with_weights=True, **arguments)).column_names == ["item", "weight"]
