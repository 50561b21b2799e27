"""Rust against the reference, bit for bit: items and integer weights."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpsel
from mechanisms import MECHANISMS, Case
from reference import mechanisms as reference
from reference import prf
from strategies import KEY_TYPES, approx_dp, keys, max_items, rows, zcdp
from support import KEY, items_of, report_of, rounds_of, select, table, units_of

#: Popular items 0..9 of 40 users, and 30 items with one user each.
CRAFTED = [(u, i) for u in range(40) for i in range(10) if (u * 7 + i * 11) % 10 >= i] + [
    (u, 10 + u) for u in range(30)
]
PRIVACY = dpsel.ApproxDP(epsilon=3.0, delta=0.05)
SIPS = next(case for case in MECHANISMS if case.name == "sips")


def agrees(case, data: pa.Table, pairs, *, privacy, bound: int, key: bytes = KEY, item="item") -> dict:
    """Run both and compare; what was released."""
    release = select(
        data,
        item=item,
        privacy=privacy,
        max_items_per_user=bound,
        mechanism=case.mechanism,
        with_weights=True,
        key=key,
    )
    expected = reference.select(case.name, pairs, rounds_of(release), case.kept(bound), key)
    assert units_of(release) == expected
    assert items_of(release) == sorted(expected)
    return expected


@given(rows=rows(), bound=max_items, key=keys, data=st.data())
def test_random_tables(case, rows, bound, key, data) -> None:
    privacy = data.draw(st.one_of(approx_dp, zcdp) if case.zcdp else approx_dp)
    agrees(case, table(rows), rows, privacy=privacy, bound=bound, key=key)


@pytest.mark.parametrize("kind", KEY_TYPES, ids=str)
def test_item_types(kind) -> None:
    pairs = [(u, kind.value(i)) for u, i in CRAFTED if i < 20]
    data = table(pairs, item_type=kind.arrow)
    assert agrees(SIPS, data, pairs, privacy=PRIVACY, bound=4)


@pytest.mark.parametrize("kind", KEY_TYPES, ids=str)
def test_user_types(kind) -> None:
    pairs = [(kind.value(u), i) for u, i in CRAFTED if u < 20]
    data = table(pairs, user_type=kind.arrow)
    assert agrees(SIPS, data, pairs, privacy=PRIVACY, bound=4)


def test_boolean_items_and_users(case) -> None:
    pairs = [(u, u % 3 == 0) for u in range(60)] + [(u, True) for u in range(30)]
    assert agrees(case, table(pairs), pairs, privacy=PRIVACY, bound=1)
    pairs = [(False, i) for i in range(5)] + [(True, i) for i in range(5)]
    agrees(case, table(pairs), pairs, privacy=dpsel.ApproxDP(epsilon=20.0, delta=0.4), bound=2)


def test_crafted_table_releases_some_items_and_not_others(case) -> None:
    distinct = {item for _, item in CRAFTED}
    out = agrees(case, table(CRAFTED), CRAFTED, privacy=PRIVACY, bound=6)
    assert 0 < len(out) < len(distinct)


def test_every_bound_around_the_number_of_items(case) -> None:
    pairs = [(u, i) for u in range(30) for i in range(u % 7)]
    for bound in range(1, 9):
        agrees(case, table(pairs), pairs, privacy=PRIVACY, bound=bound)


@pytest.mark.parametrize(
    "columns",
    [
        {"a": pa.int16(), "b": pa.string()},
        {"a": pa.string(), "b": pa.string()},
        {"a": pa.date32(), "b": pa.bool_(), "c": pa.binary()},
        {"a": pa.timestamp("us", "UTC"), "b": pa.uint64()},
    ],
    ids=lambda columns: "+".join(map(str, columns.values())),
)
def test_composite_items(columns) -> None:
    make = {
        pa.int16(): lambda i: i - 4,
        pa.string(): lambda i: "ab"[: i % 3] * (i + 1),
        pa.date32(): lambda i: dt.date(1970, 1, 3) - dt.timedelta(days=i),
        pa.bool_(): lambda i: i % 2 == 0,
        pa.binary(): lambda i: bytes([i]) * (i * 11),
        pa.timestamp("us", "UTC"): lambda i: dt.datetime(2026, 1, 1, i, tzinfo=dt.UTC),
        pa.uint64(): lambda i: 2**64 - 1 - i,
    }
    pairs = [(u, tuple(make[t](i) for t in columns.values())) for u, i in CRAFTED if i < 20]
    data = {"user": pa.array([u for u, _ in pairs])}
    for n, (name, type_) in enumerate(columns.items()):
        data[name] = pa.array([item[n] for _, item in pairs], type_)
    assert agrees(SIPS, pa.table(data), pairs, privacy=PRIVACY, bound=4, item=list(columns))


def test_null_items_are_dropped(case) -> None:
    pairs = CRAFTED + [(u, None) for u in range(40)]
    agrees(case, table(pairs), pairs, privacy=PRIVACY, bound=3)


@pytest.mark.parametrize("mechanism", [dpsel.Steered(rounds=1), dpsel.CountGaussian()], ids=str)
def test_noise_of_more_items_than_are_drawn_without_tables(mechanism) -> None:
    """After 512 draws the noise of nearly all items comes from polynomials."""
    pairs = [(4 * item + n, item) for item in range(1_100) for n in range(4)]
    privacy = dpsel.ApproxDP(epsilon=4.0, delta=0.01)
    out = agrees(Case(mechanism), table(pairs), pairs, privacy=privacy, bound=1)
    assert 600 < len(out) < 1_100


def test_commitment_is_the_documented_one() -> None:
    release = select(
        table(CRAFTED), privacy=PRIVACY, max_items_per_user=3, mechanism=dpsel.WeightedGaussian()
    )
    assert report_of(release)["key"] == {"commitment": prf.commitment(KEY), "insecure_test_key": True}


@pytest.mark.slow
@given(rows=rows(users=200, items=60, max_rows=1500), bound=st.integers(1, 20), key=keys)
def test_larger_tables(case, rows, bound, key) -> None:
    agrees(case, table(rows), rows, privacy=dpsel.ApproxDP(epsilon=1.0, delta=1e-3), bound=bound, key=key)
