"""Replays: the same key on neighbouring tables, and the exact distance of their histograms."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpsel.release import Release

__all__ = [
    "TEST_KEY",
    "UNIT",
    "Distance",
    "SensitivityError",
    "check_distance",
    "distance",
    "replay",
    "weight_units",
]

UNIT: Final = 1 << 30
"""Integer units in one unit of weight."""

TEST_KEY: Final = bytes(range(32))
"""A release key that everybody knows: for ``insecure_test_key=``, never for a private release."""

Weight: TypeAlias = int | float | Fraction
Histogram: TypeAlias = Mapping[Any, Weight]
Rows: TypeAlias = "Sequence[tuple[int, int]]"


class SensitivityError(AssertionError):
    """Two histograms are further apart than declared.

    Examples:
        >>> from dpsel import testing
        >>> testing.check_distance({"tea": 1}, {"tea": 3}, linf=1)
        Traceback (most recent call last):
        dpsel.testing._replay.SensitivityError: linf is 2, which is more than 1
    """


@dataclass(frozen=True, slots=True)
class Distance:
    """How far two histograms are apart, exactly; an item that is missing has weight 0.

    Args:
        l0: Number of items whose weights differ.
        l1: Sum of the differences.
        l2_squared: Sum of their squares; squared, so that it is exact.
        linf: The largest difference.
        lowered: Number of items whose weight is smaller afterwards.

    Examples:
        >>> from dpsel import testing
        >>> testing.distance({"tea": 0.5}, {"tea": 0.75}).l2_squared
        Fraction(1, 16)
    """

    l0: int
    l1: int | Fraction
    l2_squared: int | Fraction
    linf: int | Fraction
    lowered: int


def distance(before: Histogram, after: Histogram) -> Distance:
    """Return how far two histograms are apart.

    Args:
        before: Item -> weight.
        after: The same, with one more user.

    Returns:
        All norms of the difference, exactly; floating-point weights count with their exact values.

    Examples:
        >>> from dpsel import testing
        >>> testing.distance({}, dict.fromkeys("abc", 0.1 + 0.2)).l1 > 0.9
        True
    """
    changes: list[Any] = [
        _exact(after.get(item, 0)) - _exact(before.get(item, 0)) for item in {**before, **after}
    ]
    sizes = [abs(change) for change in changes if change]
    return Distance(
        l0=len(sizes),
        l1=sum(sizes),
        l2_squared=sum(size * size for size in sizes),
        linf=max(sizes, default=0),
        lowered=sum(change < 0 for change in changes),
    )


def check_distance(
    before: Histogram,
    after: Histogram,
    *,
    l0: Weight | None = None,
    l1: Weight | None = None,
    l2_squared: Weight | None = None,
    linf: Weight | None = None,
) -> Distance:
    """Raise unless two histograms are as near to each other as declared.

    Args:
        before: Item -> weight.
        after: The same, with one more user.
        l0: The most items that may differ.
        l1: The most that the differences may add up to.
        l2_squared: The most that the squares of the differences may add up to.
        linf: The largest difference of one item.

    Returns:
        The distance.

    Raises:
        SensitivityError: If it is larger than declared.

    Examples:
        >>> from dpsel import testing
        >>> testing.check_distance({"tea": 7}, {"tea": 8, "gin": 1}, l0=2, l2_squared=2).l1
        2
    """
    found = distance(before, after)
    declared = {"l0": l0, "l1": l1, "l2_squared": l2_squared, "linf": linf}
    for name, most in declared.items():
        value = getattr(found, name)
        if most is not None and value > _exact(most):
            raise SensitivityError(f"{name} is {value}, which is more than {most}")
    return found


def replay(
    histogram: Callable[[Rows, bytes], Histogram],
    tables: tuple[Rows, Rows],
    *,
    key: bytes = TEST_KEY,
    l0: Weight | None = None,
    l1: Weight | None = None,
    l2_squared: Weight | None = None,
    linf: Weight | None = None,
) -> Distance:
    """Run the same computation on two neighbouring tables under the same key, and check the distance.

    Args:
        histogram: Takes rows, pairs of (user, item), and the key of all randomness; returns item -> weight.
            It has to be the code that a release runs, up to the noise.
        tables: Without and with the user, as from [`neighbours`][dpsel.testing.neighbours].
        key: All choices (which items of a user are kept, who comes first) have to follow from it.
        l0: As in [`check_distance`][dpsel.testing.check_distance], and so the other three.
        l1: As there.
        l2_squared: As there.
        linf: As there.

    Returns:
        The distance of both histograms.

    Raises:
        SensitivityError: If it is larger than declared.

    Examples:
        >>> from collections import Counter
        >>> from dpsel import testing
        >>> def rows_per_item(rows, key):
        ...     return Counter(item for _, item in rows)
        >>> testing.replay(rows_per_item, ([(1, 5)], [(1, 5), (2, 5), (2, 5)]), linf=1)
        Traceback (most recent call last):
        dpsel.testing._replay.SensitivityError: linf is 2, which is more than 1
    """
    before, after = (dict(histogram(rows, key)) for rows in tables)
    return check_distance(before, after, l0=l0, l1=l1, l2_squared=l2_squared, linf=linf)


def weight_units(release: Release) -> dict[Hashable, int]:
    """Return the noisy weights of a release as integers, in units of 1/[`UNIT`][dpsel.testing.UNIT].

    Under the same key an item has the same noise, so two releases differ by the difference of their weights.

    Args:
        release: Of ``select_partitions(..., with_weights=True)``.

    Returns:
        Item -> noisy weight; items of several columns are tuples.

    Raises:
        InvalidParameterError: If the release has no weights.

    Examples:
        >>> import dpsel
        >>> from dpsel import testing
        >>> def select(rows, key):
        ...     release = dpsel.select_partitions(
        ...         rows,
        ...         privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-3),
        ...         max_items_per_user=1,
        ...         mechanism=dpsel.CountLaplace(),
        ...         with_weights=True,
        ...         insecure_test_key=key,
        ...     )
        ...     return testing.weight_units(release)
        >>> rows = [(user, "tea") for user in range(100)]
        >>> testing.replay(select, (rows, [*rows, (100, "tea")]), linf=testing.UNIT).l0
        1
    """
    from dpsel.exceptions import InvalidParameterError

    table = release.to_table()
    if table.columns[-1] != "weight":
        raise InvalidParameterError("the release has no weights; ask for them with with_weights=True")
    *items, weights = (table.column(name) for name in table.columns)
    keys = items[0] if len(items) == 1 else list(zip(*items, strict=True))
    return {key: int(weight * UNIT) for key, weight in zip(keys, weights, strict=True)}


def _exact(weight: Weight) -> int | Fraction:
    return weight if isinstance(weight, int) else Fraction(weight)
