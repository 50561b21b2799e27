"""What one call costs: its items and its published counts, for one kind of neighbours.

A budget is asked for it, reports state it, and a release compares it with what was spent.

Examples:
    >>> import dpsel
    >>> cost = dpsel.Cost(items=dpsel.PureDP(epsilon=1.0), counts=dpsel.PureDP(epsilon=0.5))
    >>> cost.total
    PureDP(epsilon=1.5)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, Overflow
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core
from dpsel._arguments import type_name
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Collection

    from dpsel.accounting import Privacy
    from dpsel.typing import NeighboursOfCounts

__all__ = ["Cost"]

#: The kinds of neighbours that a cost can be for, and in words.
NEIGHBOURS: Final = {
    "add_remove": "adding or removing one user",
    "swap": "replacing one user by another",
    "any": "one user who changes counts in any direction",
}

#: Decimal arithmetic rounds `exp` correctly; one step further is above the real number.
_DIGITS: Final = Context(prec=40, traps=[Overflow])


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The privacy cost of one call.

    Args:
        items: The guarantee of the items, ``privacy=`` of the call.
        counts: What the counts that are published with them cost on top, if they have a budget of their own.
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
        from dpsel._request import checked_privacy

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
        kind, values = _core.composed_privacy(_as_core(self.items), _as_core(self.counts))
        return _of_core(kind, values)

    def __str__(self) -> str:
        """One line for a person."""
        counts = "" if self.counts is None else f" and {self.counts} for counts"
        return f"{self.items}{counts}, for {NEIGHBOURS[self.neighbours]}"


def checked_neighbours(neighbours: object, known: Collection[str] = NEIGHBOURS) -> None:
    """Refuse a kind of neighbours that is not known here."""
    if not isinstance(neighbours, str) or neighbours not in known:
        raise InvalidParameterError(
            f"neighbours must be one of {', '.join(map(repr, known))}, got {neighbours!r}; "
            "most guarantees are for adding or removing a user"
        )


def as_cost(cost: object, neighbours: NeighboursOfCounts) -> Cost:
    """Return a cost; a guarantee alone is that of items, for the neighbours given."""
    if isinstance(cost, Cost):
        return cost
    from dpsel._request import checked_privacy

    return Cost(items=checked_privacy(cost), neighbours=neighbours)


def amounts(part: Privacy, kind: str) -> dict[str, Fraction]:
    """Return exactly what a part takes from a budget of this kind.

    Raises:
        InvalidParameterError: If it has no guarantee of that kind.
    """
    own = {name: Fraction(value) for name, value in part.to_json().items() if name != "kind"}
    if part.kind == kind:
        return own
    if kind == "approx_dp" and part.kind == "pure_dp":
        return own | {"delta": Fraction(0)}
    if kind == "zcdp":
        # (epsilon, delta)-DP is delta-approximately (epsilon^2 / 2)-zCDP: accounting.md, section 9.
        return {"rho": own["epsilon"] ** 2 / 2, "delta": own.get("delta", Fraction(0))}
    raise InvalidParameterError(
        f"a cost of kind {type_name(part)} does not fit a budget of kind {_name(kind)}; "
        "use the same kind for both, or a ZCDP budget, into which all of them fit"
    )


def for_neighbours(part: Privacy, have: str, want: str, kind: str) -> dict[str, Fraction]:
    """Return what a part takes from a budget for other neighbours: group privacy, or a refusal."""
    # Whoever is added or removed changes counts in one direction, which is among all of them.
    if have == want or (have, want) == ("any", "add_remove"):
        return amounts(part, kind)
    if (have, want) not in {("add_remove", "swap"), ("any", "swap")}:
        raise InvalidParameterError(
            f"a guarantee for {NEIGHBOURS[have]} gives none for {NEIGHBOURS[want]}, for which the budget is; "
            f'use neighbours="{want}" in the call, or a budget of its own'
        )
    if part.kind == "zcdp":
        raise InvalidParameterError(
            f"a ZCDP guarantee for {NEIGHBOURS[have]} is not converted to one for {NEIGHBOURS[want]}; "
            'use neighbours="swap" in the call, or ApproxDP for both'
        )
    # Replacing a user is removing one and adding another: epsilon twice, and delta (1 + e^epsilon).
    own = amounts(part, part.kind)
    epsilon, delta = own["epsilon"], own.get("delta", Fraction(0))
    doubled = {"epsilon": 2 * epsilon, "delta": delta * (1 + exp_up(epsilon)) if delta else Fraction(0)}
    if kind == "zcdp":
        return {"rho": doubled["epsilon"] ** 2 / 2, "delta": doubled["delta"]}
    if kind == "approx_dp":
        return doubled
    amounts(part, kind)  # refuses deltas under a pure budget
    return {"epsilon": doubled["epsilon"]}


def exp_up(exponent: Fraction) -> Fraction:
    """Return an upper bound of e^exponent, within a relative 1e-12.

    Beyond 10^1000 it is that number: no delta survives either.
    """
    try:
        power = _DIGITS.exp(Decimal(math.nextafter(float(exponent), math.inf)))
    except Overflow:
        return Fraction(10) ** 1000
    return min(Fraction(_DIGITS.next_plus(power)), Fraction(10) ** 1000)


def _as_core(privacy: Privacy) -> tuple[str, list[float]]:
    return privacy.kind, [value for name, value in privacy.to_json().items() if name != "kind"]


def _kinds() -> dict[str, Any]:
    from dpsel.accounting import ZCDP, ApproxDP, PureDP

    return {cls.kind: cls for cls in (PureDP, ApproxDP, ZCDP)}


def _name(kind: str) -> str:
    return type_name_of(_kinds()[kind])


def type_name_of(cls: type) -> str:
    """Return the name that a message gives a class of this package."""
    return f"{cls.__module__}.{cls.__qualname__}"


def of_json(fields: dict[str, Any]) -> Privacy:
    """Return the guarantee that stands in a request or report."""
    values = dict(fields)
    privacy: Privacy = _kinds()[values.pop("kind")](**values)
    return privacy


def _of_core(kind: str, values: list[float]) -> Privacy:
    names = (
        ("epsilon",)
        if kind == "pure_dp"
        else ("epsilon", "delta")
        if kind == "approx_dp"
        else ("rho", "delta")
    )
    return of_json({"kind": kind} | dict(zip(names, values, strict=True)))
