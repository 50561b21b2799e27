"""The charge of a guarantee to a budget of another kind or for other neighbours, in exact fractions."""

from __future__ import annotations

import math
from decimal import Context, Decimal, Overflow
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dpsel._arguments import class_name, type_name
from dpsel.accounting._cost import NEIGHBOURS
from dpsel.accounting._privacy import KINDS, is_reported
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from dpsel.accounting._privacy import Privacy

__all__ = ["as_written", "exp_up", "for_neighbours", "numbers"]

#: Decimal arithmetic rounds `exp` correctly; the next number up is above the real value.
_DIGITS: Final = Context(prec=40, traps=[Overflow])


def numbers(privacy: Privacy) -> dict[str, Fraction]:
    """Return the numbers of a guarantee by name, exactly: the decimals, or the floats of a report."""
    exact = Fraction if is_reported(privacy) else as_written
    return {name: exact(getattr(privacy, name)) for name in privacy.to_json() if name != "kind"}


def as_written(value: float) -> Fraction:
    """Return the shortest decimal that writes a float."""
    return Fraction(repr(value))


def amounts(part: Privacy, kind: str) -> dict[str, Fraction]:
    """Return the exact amounts that a guarantee takes from a budget of this kind.

    Raises:
        InvalidParameterError: If it has no guarantee of that kind.
    """
    own = numbers(part)
    if part.kind == kind:
        return own
    if kind == "approx_dp" and part.kind == "pure_dp":
        return own | {"delta": Fraction(0)}
    if kind == "zcdp":
        # (epsilon, delta)-DP is delta-approximately (epsilon^2 / 2)-zCDP: accounting.md, section 9.
        return {"rho": own["epsilon"] ** 2 / 2, "delta": own.get("delta", Fraction(0))}
    raise InvalidParameterError(
        f"a cost of kind {type_name(part)} does not fit a budget of kind {class_name(KINDS[kind])}; "
        "use the same kind for both, or a ZCDP budget, into which all of them fit"
    )


def for_neighbours(part: Privacy, have: str, want: str, kind: str) -> dict[str, Fraction]:
    """Return the amounts from a budget for other neighbours, by group privacy; refuse if there are none."""
    # A user who is added or removed changes counts in one direction, a special case of any direction.
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
    # Replacing a user is removing one and adding another, two changes of the kind that the guarantee is for:
    # epsilon twice, and delta (1 + e^epsilon).
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

    Above 10^1000 the bound is that number, with which any delta exceeds 1 as well.
    """
    try:
        power = _DIGITS.exp(Decimal(math.nextafter(float(exponent), math.inf)))
    except Overflow:
        return Fraction(10) ** 1000
    return min(Fraction(_DIGITS.next_plus(power)), Fraction(10) ** 1000)
