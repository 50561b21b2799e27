"""Attacks on nodes of trees: which of them come out, in releases as they ship on copies of small trees.

A tree has no scores beside it. That a node comes out is a cut of its score, and tables differ in where it is.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dpsel._arguments import as_int
from dpsel.accounting import PureDP
from dpsel.accounting._privacy import uncharged
from dpsel.auditing import _score_attacks
from dpsel.auditing._events import Samples
from dpsel.auditing._sampling import copies_at_once
from dpsel.auditing._score_attacks import Attack
from dpsel.auditing._scored import gaussian_epsilon, is_scored, scored
from dpsel.auditing._search import Claim
from dpsel.auditing._tree_tables import SEPARATOR, of_one_node, of_users
from dpsel.auditing._verdicts import sampled
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms._base import item_bound
from dpsel.selection import select_partitions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpsel.accounting import ApproxDP, Privacy
    from dpsel.auditing._cases import Case
    from dpsel.auditing._findings import Finding
    from dpsel.auditing._tree_tables import TreeNeighbours
    from dpsel.mechanisms import SelectionMechanism

__all__ = [
    "TreeAttack",
    "TreeSampler",
    "audit_trees",
    "cases_of_trees",
    "checked_levels",
    "of_trees",
    "on_nodes",
    "on_one_node",
]

#: Levels of a tree: a selection takes no more, and a node of one level has none above it.
_LEVELS: Final = (2, 32)


def checked_levels(levels: Any) -> int | None:
    """Return the levels of the trees, or refuse them; ``None`` for tables without trees."""
    if levels is None:
        return None
    least, most = _LEVELS
    if not least <= (number := as_int("levels", levels)) <= most:
        raise InvalidParameterError(f"levels must be from {least} to {most}, got {number}")
    return number


def cases_of_trees(cases: list[Case], *, named: bool) -> list[Case]:
    """Return the cases whose mechanisms have lines of descent; refuse others that were named."""
    found = [case for case in cases if _has_lines(case)]
    if not found or (named and len(found) < len(cases)):
        raise InvalidParameterError(
            "levels= is for steered, the mechanism with lines of descent; to others nodes are items like any "
            "other, so audit them without levels="
        )
    return found


def _has_lines(case: Case) -> bool:
    is_selection = not (case.is_top_k or case.is_look or case.is_counts)
    return is_selection and is_scored(case.mechanism)


def audit_trees(
    case: Case, privacy: ApproxDP | PureDP | None, bound: int | None, levels: int, rows: int, alpha: float
) -> Iterator[Finding]:
    """Audit releases of trees of so many levels."""
    if isinstance(privacy, PureDP):
        raise InvalidParameterError(
            "privacy must be ApproxDP for releases of trees, got PureDP; give a delta as well"
        )
    attacks = list(of_trees(case.mechanism, privacy, bound, levels))
    for attack in attacks:
        found = attack.run(rows, alpha / len(attacks))
        yield sampled(f"{case.name}, {levels} levels", attack.claim, found)


def of_trees(
    mechanism: SelectionMechanism, privacy: ApproxDP | None, bound: int | None, levels: int
) -> Iterator[TreeAttack]:
    """Return attacks on the whole claim, and on the most that a user may add to the score of one node."""
    yield on_nodes(mechanism, privacy or _score_attacks.LOOSE, bound or _score_attacks.LOOSE_BOUND, levels)
    if bound is None:
        # So that lines are cut.
        yield on_nodes(mechanism, privacy or _score_attacks.ALONE, levels - 1, levels)
    if attack := on_one_node(
        mechanism, privacy or _score_attacks.CLEAR, bound or _score_attacks.CLEAR_BOUND, levels
    ):
        yield attack


def on_nodes(mechanism: SelectionMechanism, privacy: ApproxDP, bound: int, levels: int) -> TreeAttack:
    """Return the attack on the claim itself."""
    rounds = scored(mechanism, privacy, bound)
    claim = Claim(privacy.epsilon, privacy.delta)
    tables = of_users(rounds, item_bound(mechanism, bound), levels, claim)
    return TreeAttack(mechanism, privacy, bound, claim, tables, rounds)


def on_one_node(
    mechanism: SelectionMechanism, privacy: ApproxDP, bound: int, levels: int
) -> TreeAttack | None:
    """Return the attack on the most that a user of all nodes that it may keep adds to the score of one.

    The claim is that of a normal number that moves by the cap. ``None`` if the cap is a user's whole weight,
    or if the limit leaves no nodes beside a line.
    """
    rounds = scored(mechanism, privacy, bound)
    kept = item_bound(mechanism, bound)
    size = rounds.size(kept)
    if size.cap >= size.norm or kept <= levels:
        return None
    claim = Claim(gaussian_epsilon(size.cap / rounds.sigma, privacy.delta), privacy.delta)
    tables = of_one_node(rounds, kept, levels, claim)
    return TreeAttack(mechanism, privacy, bound, claim, tables, rounds)


@dataclass(frozen=True, slots=True)
class TreeAttack(Attack):
    """Pairs of neighbouring tables of trees, and what is claimed about them."""

    def sampler(self, keys: Iterator[bytes] | None) -> TreeSampler:
        """Return what draws outcomes on the tables."""
        return TreeSampler(self.mechanism, self.privacy, self.bound, keys)


@dataclass(frozen=True, slots=True)
class TreeSampler:
    """Releases of nodes on disjoint copies of a gadget; the cost is in rows.

    The outcome of a copy is the set of its own nodes that come out, as bits. Copies meet in nodes above them
    that all share. These need no weight after the first round, whatever happens in one copy, so copies are
    independent.
    """

    mechanism: SelectionMechanism
    privacy: Privacy
    max_items_per_user: int
    keys: Iterator[bytes] | None = None

    def draw(self, tables: TreeNeighbours, cost: int) -> Samples:
        """Return outcomes of as many copies as fit into ``cost`` rows."""
        copies = max(1, cost // (tables.size + tables.common))
        return Samples(
            self._outcomes(tables, copies, with_user=False), self._outcomes(tables, copies, with_user=True)
        )

    def _outcomes(self, tables: TreeNeighbours, copies: int, *, with_user: bool) -> Counter[int]:
        if not (with_user or tables.groups):
            # Nothing comes out of an empty table.
            return Counter({0: copies})
        size = tables.size + tables.common
        at_once = copies_at_once(self.mechanism, copies, size)
        users = tables.paths(at_once, with_user=with_user)
        found: Counter[int] = Counter()
        # Calls of few copies would have few users of the nodes that copies share.
        for _ in range(max(1, copies // at_once)):
            released = select_partitions(
                users,
                privacy=uncharged(self.privacy),
                max_items_per_user=self.max_items_per_user,
                mechanism=self.mechanism,
                levels=SEPARATOR,
                insecure_test_key=next(self.keys) if self.keys else None,
            ).items
            found.update(tables.masks(released, at_once))
        return found
