"""Running a mechanism on neighbouring tables, many times."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from dpsel import _core_calls
from dpsel._request import top_k_request
from dpsel.accounting._privacy import uncharged
from dpsel.auditing._events import Samples
from dpsel.selection import select_partitions
from dpsel.top_k import select_top_k

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpsel.accounting import Privacy
    from dpsel.auditing._neighbours import Neighbours
    from dpsel.mechanisms import SelectionMechanism, TopKMechanism

__all__ = [
    "CountSampler",
    "DiscoverSampler",
    "Sampler",
    "SelectSampler",
    "TopKSampler",
    "copies_at_once",
    "looks",
]

#: The most rows of one call.
_ROWS_PER_CALL: Final = 400_000


def copies_at_once(mechanism: SelectionMechanism, copies: int, rows: int) -> int:
    """Return how many disjoint copies of a table of so many rows one call has, each a sample.

    An item is decided by its own pseudorandom words and by the users that are connected with it, so copies
    are independent and each has the law that a table alone has. A look at the whole table, which chooses
    another mechanism, connects them all: one more user in each copy is many more for the look. So such a
    mechanism gets one copy in a call.
    """
    return 1 if looks(mechanism) else min(copies, max(1, _ROWS_PER_CALL // max(1, rows)))


def looks(mechanism: SelectionMechanism) -> bool:
    """Whether a mechanism looks at the whole table before it chooses another one."""
    return mechanism.sensitivity == "chosen"


class Sampler(Protocol):
    """Draws outcomes on neighbouring inputs of its kind."""

    def draw(self, tables: Any, cost: int) -> Samples:
        """Return outcomes on both tables; ``cost`` says how many, in units of the sampler."""
        ...


@dataclass(frozen=True, slots=True)
class SelectSampler:
    """Partition selection on disjoint copies of a gadget; the cost is in rows, with a look in calls."""

    mechanism: SelectionMechanism
    privacy: Privacy
    max_items_per_user: int
    least_copies: int = 300
    #: The rows of both tables that were made last: the same ones are drawn from several times.
    _made: dict[bool, tuple[Neighbours, int, list[Any]]] = field(default_factory=dict, init=False)

    def draw(self, tables: Neighbours, cost: int) -> Samples:
        """Return as many outcomes as fit into ``cost``, and at least some if the gadget is large."""
        is_alone = looks(self.mechanism)
        copies = cost if is_alone else max(self.least_copies, cost // tables.size, cost // 100)
        return Samples(
            self._outcomes(tables, copies, with_user=False), self._outcomes(tables, copies, with_user=True)
        )

    def _outcomes(self, tables: Neighbours, copies: int, *, with_user: bool) -> Counter[int]:
        found: Counter[int] = Counter()
        at_once = copies_at_once(self.mechanism, copies, tables.size)
        users = self._users(tables, at_once, with_user=with_user)
        while copies > 0:
            number = min(at_once, copies)
            items = select_partitions(
                users[: len(users) // at_once * number],
                privacy=uncharged(self.privacy),
                max_items_per_user=self.max_items_per_user,
                mechanism=self.mechanism,
            ).items
            found.update(_masks(items, tables.width, number))
            copies -= number
        return found

    def _users(self, tables: Neighbours, copies: int, *, with_user: bool) -> list[Any]:
        made = self._made.get(with_user)
        if made is None or made[:2] != (tables, copies):
            made = self._made[with_user] = (tables, copies, tables.users(copies, with_user=with_user))
        return made[2]


def _masks(items: Iterable[int], width: int, copies: int) -> list[int]:
    """Return for each copy the released items as bits."""
    masks = [0] * copies
    for item in items:
        masks[item // width] |= 1 << item % width
    return masks


@dataclass(frozen=True, slots=True)
class TopKSampler:
    """A top-k from counts; inputs are pairs of lists of counts, the cost is in draws."""

    mechanism: TopKMechanism
    privacy: Privacy
    k: int
    max_items_per_user: int | None = None
    _request: str = field(init=False)

    def __post_init__(self) -> None:
        """Make the request once."""
        request = top_k_request(self.k, self.privacy, self.mechanism, bound=self.max_items_per_user).json
        object.__setattr__(self, "_request", request)

    def draw(self, tables: tuple[list[int], list[int]], cost: int) -> Samples:
        """Draw from the counts without the user, and from those with it."""
        job = _core_calls.Job(self._request)
        without, with_user = (
            Counter(tuple(_core_calls.top_k_counts(counts, job)[0]) for _ in range(cost)) for counts in tables
        )
        return Samples(without, with_user)


@dataclass(frozen=True, slots=True)
class CountSampler:
    """A top-k that publishes the noisy counts it goes by; the outcome is the smallest of these.

    Numbers above the smallest true count with the user all tell the same, and count as that. Inputs are
    pairs of lists of as many counts as are published, the cost is in draws.
    """

    mechanism: TopKMechanism
    privacy: Privacy
    k: int
    max_items_per_user: int | None = None

    def draw(self, tables: tuple[list[int], list[int]], cost: int) -> Samples:
        """Draw from the counts without the user, and from those with it."""
        bound = self.max_items_per_user
        request = top_k_request(self.k, self.privacy, self.mechanism, bound=bound, counts="free")
        job = _core_calls.Job(request.json)
        most = min(tables[1])
        without, with_user = (Counter(_least(counts, job, most) for _ in range(cost)) for counts in tables)
        return Samples(without, with_user)


def _least(counts: list[int], job: _core_calls.Job, most: int) -> float:
    _, published, _ = _core_calls.top_k_counts(counts, job)
    return float(min(most, *(count for count in published if count is not None)))


@dataclass(frozen=True, slots=True)
class DiscoverSampler:
    """A top-k that finds its items in rows; inputs are neighbouring tables, the cost is in calls."""

    mechanism: TopKMechanism
    privacy: Privacy
    k: int
    max_items_per_user: int

    def draw(self, tables: Neighbours, cost: int) -> Samples:
        """Draw from both tables."""
        without, with_user = (
            Counter(self._one(tables.rows(with_user=added)) for _ in range(cost)) for added in (False, True)
        )
        return Samples(without, with_user)

    def _one(self, rows: list[tuple[int, int]]) -> tuple[int, ...]:
        release = select_top_k(
            rows,
            k=self.k,
            privacy=uncharged(self.privacy),
            mechanism=self.mechanism,
            max_items_per_user=self.max_items_per_user,
        )
        return tuple(release.items)
