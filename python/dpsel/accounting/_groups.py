"""Group privacy: what a guarantee for one user says about several together."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from dpsel._arguments import at_least_one
from dpsel.accounting._amounts import exp_up
from dpsel.accounting._privacy import ZCDP, ApproxDP, PureDP, checked_privacy, derived
from dpsel.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from dpsel.accounting._privacy import Privacy

__all__ = ["for_group"]


def for_group(privacy: Privacy, users_per_group: int, *, delta: float | None = None) -> PureDP | ApproxDP:
    """Return what a guarantee for one user says about any group of users, rounded up.

    With k users epsilon becomes k epsilon, and delta becomes
    delta (1 + e^epsilon + ... + e^((k - 1) epsilon)) (Dwork and Roth, 2014, Theorem 2.2; Vadhan, 2017, Lemma
    2.2). zCDP is converted to (epsilon, delta) first.

    The same holds for one person behind several users: somebody with three accounts is a group of three, and
    if a user is one day of a person, a person of 30 days is a group of 30.

    Args:
        privacy: The guarantee for one user.
        users_per_group: How many users are added or removed together.
        delta: For zCDP: the delta of one user at which it is converted; by default twice its own.

    Returns:
        The guarantee for the group.

    Raises:
        InvalidParameterError: If nothing is left of it: delta would be 1 or more.

    Examples:
        >>> import dpsel
        >>> dpsel.for_group(dpsel.PureDP(epsilon=0.5), 3)
        PureDP(epsilon=1.5)
        >>> group = dpsel.for_group(dpsel.ApproxDP(epsilon=1.0, delta=1e-8), 3)
        >>> group.epsilon, group.delta < 1.2e-7
        (3.0, True)
    """
    users = at_least_one("users_per_group", users_per_group)
    checked_privacy(privacy)
    if isinstance(privacy, ZCDP):
        privacy = privacy.to_approx_dp(delta=2 * privacy.delta if delta is None else delta)
    elif delta is not None:
        raise InvalidParameterError("delta is for zCDP, which has none of its own kind; leave it out")
    if users == 1:
        return privacy
    epsilon = Fraction(privacy.epsilon)
    total = _round_up(users * epsilon)
    if isinstance(privacy, PureDP):
        return derived(PureDP(epsilon=total), privacy)
    # Each term is rounded up. Very long sums are bounded by the number of terms times the last one.
    last = exp_up((users - 1) * epsilon)
    grown = Fraction(privacy.delta) * _sum(users, epsilon, last)
    delta = _round_up(grown) if grown < 1 else 1.0
    if delta >= 1:
        raise InvalidParameterError(
            f"users_per_group = {users} is too many: delta would be 1 or more, so nothing is guaranteed; "
            "lower it, or epsilon and delta"
        )
    return derived(ApproxDP(epsilon=total, delta=delta), privacy)


#: Sums of more terms are bounded from above.
_EXACT = 1_000


def _sum(terms: int, epsilon: Fraction, last: Fraction) -> Fraction:
    if terms <= _EXACT and last < Fraction(10) ** 100:
        return sum((exp_up(number * epsilon) for number in range(1, terms)), start=Fraction(1))
    return terms * last


def _round_up(amount: Fraction) -> float:
    nearest = amount.numerator / amount.denominator
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)
