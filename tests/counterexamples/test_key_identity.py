"""Known bug class: two values that are one key, or one value that is two keys.

Either a user counts twice, or an item's users are split or merged.
"""

from __future__ import annotations

import datetime as dt

import dpsel
import pyarrow as pa
import pytest

from reference import prf
from support import items_of, released, report_of, select, table, units_of

LOOSE = dpsel.ApproxDP(epsilon=2.0, delta=0.9)


def weights(data, *, mechanism=None) -> dict:
    mechanism = mechanism or dpsel.CountGaussian()
    return units_of(
        select(data, privacy=LOOSE, max_items_per_user=10, mechanism=mechanism, with_weights=True)
    )


def test_integer_1_and_text_1_and_true_are_different_items() -> None:
    """Same users, same key: equal noise would mean equal digests."""
    kinds = [1, "1", True, b"1", dt.date(1970, 1, 2)]
    found = [weights(table([(u, value) for u in range(9)])) for value in kinds]
    assert all(len(out) == 1 for out in found)
    assert len({next(iter(out.values())) for out in found}) == len(kinds)
    digests = {prf.item_digest(bytes(32), value) for value in kinds}
    assert len(digests) == len(kinds)


def test_text_is_compared_byte_by_byte() -> None:
    """No Unicode normalisation, no case folding, no trimming, and a NUL is a character."""
    distinct = ["a", "a\0", "A", " a", "\u00e9", "e\u0301", ""]
    data = table([(u, text) for u in range(9) for text in distinct])
    release = select(data, privacy=LOOSE, max_items_per_user=10, mechanism=dpsel.CountGaussian())
    assert items_of(release) == sorted(distinct, key=str.encode)


def test_dictionary_and_plain_columns_agree_even_with_repeated_and_unused_entries() -> None:
    """A dictionary may hold a value twice, or values that no row uses."""
    plain = pa.array(["x", "y", "x", "x"] * 10)
    users = pa.array([u // 4 for u in range(40)])
    dictionary = pa.array(["unused secret value", "x", "y", "x"])
    codes = pa.array([1, 2, 3, 1] * 10, pa.int8())
    encoded = pa.DictionaryArray.from_arrays(codes, dictionary)
    tables = [pa.table({"user": users, "item": column}) for column in (plain, encoded)]
    assert weights(tables[0]) == weights(tables[1])
    assert weights(tables[0]).keys() == {"x", "y"}


def test_a_user_is_one_user_in_every_width() -> None:
    rows = [(u, i) for u in range(10) for i in range(12)]
    first = weights(table(rows, user_type=pa.int8()))
    for kind in (pa.int64(), pa.uint16(), pa.uint64()):
        assert weights(table(rows, user_type=kind)) == first


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
@pytest.mark.parametrize("column", ["user", "item"])
def test_float_columns_are_refused(kind, column) -> None:
    """-0.0 and 0.0, and the many NaNs, make float keys ambiguous."""
    data = table([(1, 1)])
    floats = pa.array([0.5]).cast(kind)
    data = data.set_column(data.column_names.index(column), column, floats)
    with pytest.raises(dpsel.DpselError, match=f"(?s){column}.*(float|cast)"):
        weights(data)


def test_float_columns_inside_dictionaries_and_lists_are_refused() -> None:
    floats = pa.array([0.0, -0.0, float("nan")])
    for column in (floats.dictionary_encode(), pa.array([[0.5]] * 3)):
        with pytest.raises(dpsel.DpselError, match="item"):
            weights(pa.table({"user": [1, 2, 3], "item": column}))


def test_the_same_items_under_other_column_names_get_the_same_noise() -> None:
    data = table([(u, i) for u in range(9) for i in range(5)])
    renamed = data.rename_columns(["who", "what"])
    release = select(
        renamed,
        user="who",
        item="what",
        privacy=LOOSE,
        max_items_per_user=10,
        mechanism=dpsel.CountGaussian(),
        with_weights=True,
    )
    assert released(release).column_names == ["what", "weight"]
    assert released(release)["weight"].to_pylist() == list(
        released(
            select(
                data, privacy=LOOSE, max_items_per_user=10, mechanism=dpsel.CountGaussian(), with_weights=True
            )
        )["weight"].to_pylist()
    )
    assert report_of(release)["request"]["columns"]["user"] == "who"


def test_composite_items_do_not_run_together() -> None:
    """("ab", "c") and ("a", "bc") are different items."""
    pairs = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc")]
    users = [u for u in range(9) for _ in pairs]
    data = pa.table({"user": users, "a": [a for a, _ in pairs] * 9, "b": [b for _, b in pairs] * 9})
    release = select(
        data,
        item=["a", "b"],
        privacy=LOOSE,
        max_items_per_user=10,
        mechanism=dpsel.CountGaussian(),
        with_weights=True,
    )
    assert items_of(release) == sorted(pairs)
    assert len(set(units_of(release).values())) == len(pairs)
