"""What a list covers: users with all, some or none of their items in it, and rows, in plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import prf
from .noise import UNIT, noise

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

REST = 16
#: At most 2^32 of users and of rows.
LARGEST = UNIT << 32


def of_user(rows: Mapping[Hashable, int], listed: set[Hashable], most: int | None) -> list[int]:
    """What a user adds to the five sums, in grid steps, given the number of rows of each of its items."""
    if not rows:
        return [0] * 5
    inside = [item for item in rows if item in listed]
    kind = 0 if len(inside) == len(rows) else 1 if inside else 2
    added = [UNIT if place == kind else 0 for place in range(3)]
    if most is None:
        return [*added, 0, 0]
    counted = {item: min(number, most) for item, number in rows.items()}
    total = sum(counted.values())
    each = UNIT if total <= most else UNIT * most // total
    covered = sum(counted[item] for item in inside)
    return [*added, covered * each, (total - covered) * each]


def sums(held: Iterable[Mapping[Hashable, int]], listed: set[Hashable], most: int | None) -> list[int]:
    """The exact sums of all users, in grid steps."""
    found = [0] * 5
    for rows in held:
        found = [total + more for total, more in zip(found, of_user(rows, listed, most), strict=True)]
    return found


def published(exact: list[int], scales: tuple[float, float | None], key: bytes) -> list[int]:
    """The published numbers; `scales` has the standard deviations of users and, if counted, of rows."""
    subkey = prf.subkey(key, REST, 0)
    sigmas = [scales[0]] * 3 + ([] if scales[1] is None else [scales[1]] * 2)
    noisy = [
        min(total, LARGEST) + noise("gaussian", sigma, prf.aes(subkey, place))
        for place, (total, sigma) in enumerate(zip(exact, sigmas, strict=False))
    ]
    return [(number + UNIT // 2) // UNIT for number in noisy]
