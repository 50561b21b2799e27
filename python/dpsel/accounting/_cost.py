"""The cost of one call: its items and its published counts, for one kind of neighbours."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from dpsel import _core_calls
from dpsel._arguments import type_name
from dpsel.accounting._privacy import (
    KINDS,
    ZCDP,
    ApproxDP,
    Privacy,
    PureDP,
    checked_privacy,
    derived,
    of_json,
)
from dpsel.exceptions import InvalidParameterError
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Cost", "Neighbours", "NeighboursOfCounts", "PublishedCounts"]

Neighbours: TypeAlias = Literal["add_remove", "swap"]
"""The pairs of tables that must be hard to tell apart: one user added or removed, or replaced by another."""

NeighboursOfCounts: TypeAlias = Literal["add_remove", "swap", "any"]
"""The same for lists of counts, or lists of which every count may change in any direction."""

PublishedCounts: TypeAlias = PureDP | ApproxDP | ZCDP | Literal["free"] | None
"""The guarantee of noisy counts that a top-k publishes with its items."""

#: Each kind of neighbours in words.
NEIGHBOURS: Final = {
    "add_remove": "adding or removing one user",
    "swap": "replacing one user by another",
    "any": "one user who changes counts in any direction",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The privacy cost of one call.

    Args:
        items: The guarantee of the items, ``privacy=`` of the call.
        counts: The guarantee of published counts, on top of the items, if they have a budget of their own.
        neighbours: ``"add_remove"`` one user, ``"swap"`` one for another, or ``"any"`` direction of counts.

    Raises:
        InvalidParameterError: If a part is no privacy parameter or the kind of neighbours is not known.

    Examples:
        >>> import dpsel
        >>> dpsel.Cost(items=dpsel.ZCDP(rho=0.5, delta=1e-6), counts=dpsel.PureDP(epsilon=1.0)).total
        ZCDP(rho=1.0, delta=1e-06)
    """

    items: Privacy
    counts: Privacy | None = None
    neighbours: NeighboursOfCounts = "add_remove"

    def __post_init__(self) -> None:
        """Check the parts."""
        checked_privacy(self.items)
        if self.counts is not None:
            checked_privacy(self.counts)
        checked_neighbours(self.neighbours)

    @property
    def parts(self) -> tuple[Privacy, ...]:
        """The guarantees that are spent: of the items, and of the counts if there are any."""
        return (self.items,) if self.counts is None else (self.items, self.counts)

    @property
    def total(self) -> Privacy:
        """What items and counts guarantee together, rounded up.

        Epsilons and deltas add up. Together with zCDP a part of (epsilon, delta) counts as
        delta-approximate zCDP with rho = epsilon^2 / 2.

        Raises:
            InvalidParameterError: If the sum is no guarantee any more, such as a delta of 1.
        """
        if self.counts is None:
            return self.items
        kind, values = _core_calls.composed_privacy(_as_core(self.items), _as_core(self.counts))
        names = [each.name for each in fields(KINDS[kind]) if each.name != "_payment"]
        total = of_json({"kind": kind} | dict(zip(names, values, strict=True)))
        return derived(total, self.items)

    def __str__(self) -> str:
        """One line for a person."""
        counts = "" if self.counts is None else f" and {self.counts} for counts"
        return f"{self.items}{counts}, for {NEIGHBOURS[self.neighbours]}"


def checked_neighbours(neighbours: object, known: Collection[str] = NEIGHBOURS) -> None:
    """Refuse a kind of neighbours that is not known here."""
    if not isinstance(neighbours, str) or neighbours not in known:
        shown = quoted(neighbours) if isinstance(neighbours, str) else type_name(neighbours)
        raise InvalidParameterError(
            f"neighbours must be one of {', '.join(map(repr, known))}, got {shown}; "
            "most guarantees are for adding or removing a user"
        )


def as_cost(cost: object, neighbours: NeighboursOfCounts) -> Cost:
    """Return a cost; a guarantee alone is the cost of items for the given neighbours."""
    if isinstance(cost, Cost):
        return cost
    return Cost(items=checked_privacy(cost), neighbours=neighbours)


def _as_core(privacy: Privacy) -> tuple[str, list[float]]:
    return privacy.kind, [value for name, value in privacy.to_json().items() if name != "kind"]
