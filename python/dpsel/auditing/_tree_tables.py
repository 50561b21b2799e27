"""Neighbouring tables of nodes of trees: whoever has a node has all nodes above it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel.auditing._neighbours import Neighbours
from dpsel.auditing._scored import tail
from dpsel.release._wording import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpsel.auditing._scored import Scored
    from dpsel.auditing._search import Claim

__all__ = ["SEPARATOR", "TreeNeighbours", "of_one_node", "of_users"]

#: What stands between the parts of a path.
SEPARATOR: Final = "/"
#: What no node of a copy begins with, because these are numbers.
_STEM: Final = "stem"
#: How many times as many users as they need the nodes of lines that are cut have.
_DEMAND: Final = 3
#: Beyond so many standard deviations above the threshold no score is looked at.
_REACH: Final = 6.0


@dataclass(frozen=True, slots=True)
class TreeNeighbours(Neighbours):
    """Neighbouring tables whose items are nodes: a row has a node, and its user those above it, too.

    ``parents`` has the place of the node directly above each item, or -1. ``stem`` nodes stand above all of
    them, and above what copies share. They are the same in all copies, and so in such demand that they soon
    need no weight.
    """

    parents: tuple[int, ...] = ()
    stem: int = 0

    def paths(self, copies: int, *, with_user: bool) -> list[tuple[int, list[str]]]:
        """Return the users of ``copies`` disjoint copies with the paths of their nodes."""
        lines = [self._line(place) for place in range(self.width)]
        width, own = self.width, copies * self.width
        stem = [_STEM] * self.stem

        def path(item: int) -> str:
            copy, place = divmod(item, width)
            nodes = [copy * width + node for node in lines[place]] if item < own else [item]
            return SEPARATOR.join([*stem, *map(str, nodes)])

        users = self.users(copies, with_user=with_user)
        return [(user, [path(item) for item in items]) for user, items in users]

    def masks(self, released: Iterable[Any], copies: int) -> list[int]:
        """Return for each copy its released nodes as bits, without those that copies share."""
        masks, width = [0] * copies, self.width
        for path, *_ in released:
            node = path.rpartition(SEPARATOR)[2]
            copy, place = (copies, 0) if node == _STEM else divmod(int(node), width)
            if copy < copies:
                masks[copy] |= 1 << place
        return masks

    def _line(self, place: int) -> list[int]:
        """Return a node behind those above it in its copy."""
        parent = self.parents[place]
        return [*([] if parent < 0 else self._line(parent)), place]


def of_users(
    rounds: Scored, bound: int, levels: int, claim: Claim
) -> tuple[tuple[TreeNeighbours, float], ...]:
    """Return tables in which a user moves shared nodes or has nodes of nobody else, and their parts of rows.

    Args:
        rounds: Those of the releases.
        bound: The most nodes that a user keeps.
        levels: Of the trees.
        claim: About the releases.
    """
    high = min(levels, bound)
    weighted = [
        (_below_stem(0, high), 2.0),
        *((_below_stem(users, high), 4.0) for users in _apart(rounds, high, rounds.size(high).cap, claim)),
        (_alone(bound, levels, f"{quantity(bound, 'node')} of nobody else, in lines"), 2.0),
        (_alone(levels, levels, "a line of nobody else in 9 rows", rows=9), 0.3),
        (_alone(4 * bound, levels, "more nodes of nobody else than the limit, in lines"), 0.3),
    ]
    if high > 1:
        weighted += [(_line(rounds, high), 1.0), (_own_below(rounds, high), 1.0)]
    if bound < levels:
        weighted.append((_cut(rounds, bound), 1.0))
    total = math.fsum(part for _, part in weighted)
    return tuple((tables, part / total) for tables, part in weighted)


def of_one_node(
    rounds: Scored, bound: int, levels: int, claim: Claim
) -> tuple[tuple[TreeNeighbours, float], ...]:
    """Return tables in which a user of as many nodes as it keeps spends as much as it may on one.

    The other nodes of the user need no weight. They are the same in all copies, as are those above the one.
    """
    found = []
    for users in _apart(rounds, levels, rounds.size(bound).cap, claim):
        name = (
            f"a node of {quantity(users, 'other')} below {quantity(levels - 1, 'node')} in demand, "
            f"and a user of {quantity(bound, 'node')}"
        )
        tables = TreeNeighbours(
            name, ((users, (0,)),), (0,), common=bound - levels, parents=(-1,), stem=levels - 1
        )
        found.append(tables)
    return tuple((tables, 1 / len(found)) for tables in found)


def _apart(rounds: Scored, high: int, moved: float, claim: Claim) -> list[int]:
    """Return the numbers of users of a node at which one more makes most of a release, and of none.

    The score is taken as a normal number, to which each user adds its weight. What is above the node gets
    weight in the first round only.
    """
    size, first = rounds.size(high), rounds.steps[0].share
    each = size.cap * (1 - first) + first * min(size.cap, size.norm / math.sqrt(high))

    def chances(users: int) -> tuple[float, float]:
        missing = rounds.threshold - users * each
        return tail(missing / rounds.sigma), tail((missing - moved) / rounds.sigma)

    def there(users: int) -> float:
        without, with_user = chances(users)
        return _needed_epsilon(with_user, without, claim.delta)

    def back(users: int) -> float:
        without, with_user = chances(users)
        return _needed_epsilon(1 - without, 1 - with_user, claim.delta)

    tried = range(1, 2 + math.ceil((rounds.threshold + _REACH * rounds.sigma) / each))
    return sorted({max(tried, key=there), max(tried, key=back)})


def _needed_epsilon(likely: float, rare: float, delta: float) -> float:
    return math.log((likely - delta) / rare) if likely > delta and rare > 0 else -math.inf


def _below_stem(users: int, high: int) -> TreeNeighbours:
    of_whom = f"of {quantity(users, 'other')}" if users else "of nobody else"
    below = f" below {quantity(high - 1, 'node')} in demand" if high > 1 else ""
    groups = ((users, (0,)),) if users else ()
    return TreeNeighbours(f"a node {of_whom}{below}", groups, (0,), parents=(-1,), stem=high - 1)


def _line(rounds: Scored, high: int) -> TreeNeighbours:
    users = _needed(rounds, high)
    nodes = quantity(high, "node")
    return TreeNeighbours(
        f"a line of {nodes} of {quantity(users, 'other')}",
        ((users, (high - 1,)),),
        (high - 1,),
        parents=tuple(range(-1, high - 1)),
    )


def _own_below(rounds: Scored, high: int) -> TreeNeighbours:
    """A user's own nodes must not decide how much others give to a node above these."""
    users = _needed(rounds, 1)
    return TreeNeighbours(
        f"a node of {quantity(users, 'other')} with {quantity(high - 1, 'node')} of nobody else below",
        ((users, (0,)),),
        (high - 1,),
        parents=tuple(range(-1, high - 1)),
    )


def _alone(number: int, levels: int, name: str, *, rows: int = 1) -> TreeNeighbours:
    """Return a user of so many nodes in lines, whose rows have the lowest ones."""
    parents = tuple(-1 if place % levels == 0 else place - 1 for place in range(number))
    lowest = tuple(place for place in range(number) if place + 1 == number or parents[place + 1] < 0)
    return TreeNeighbours(name, (), lowest * rows, parents=parents)


def _cut(rounds: Scored, bound: int) -> TreeNeighbours:
    """Return lines of others that have one node more than the limit, and a user of the highest node alone.

    If the others kept their lowest nodes, the noise of this user would decide about all of these.
    """
    users = _DEMAND * _needed(rounds, bound)
    return TreeNeighbours(
        f"a user of the highest node of {quantity(users, 'other')}, whose lines are cut",
        ((users, (bound,)),),
        (0,),
        parents=tuple(range(-1, bound)),
    )


def _needed(rounds: Scored, nodes: int) -> int:
    """Return how many users lift so many nodes, the same ones, almost to the threshold."""
    size = rounds.size(nodes)
    return max(1, math.ceil(rounds.threshold / min(size.cap, size.norm / math.sqrt(nodes))) - 1)
