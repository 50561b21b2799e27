"""A budget that is spent, refuses to be overspent, and can be handed to other accountants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from dpsel._arguments import type_name
from dpsel.exceptions import BudgetExceededError, InvalidParameterError

if TYPE_CHECKING:
    from dpsel.accounting import Privacy

    AnyPrivacy = TypeVar("AnyPrivacy", bound=Privacy)

__all__ = ["Budget", "Spent"]


@dataclass(frozen=True, slots=True)
class Spent:
    """One entry of a budget: what was spent, and for what."""

    cost: Privacy
    label: str


class Budget:
    """A total guarantee for several releases of the same users.

    Costs add up: epsilons and deltas (basic composition), or rhos and deltas (Bun and Steinke, 2016). The sums
    are exact, so no rounding hides an overspend: spending the float 0.1 ten times exceeds 1.0 by a hair.
    Spend :attr:`remaining` for the last release.

    Args:
        total: The guarantee that all releases together must have.

    Raises:
        InvalidParameterError: If it is no privacy parameter.

    Examples:
        >>> import dpsel
        >>> budget = dpsel.Budget(dpsel.ZCDP(rho=0.5, delta=1e-6))
        >>> first = budget.spend(dpsel.ZCDP(rho=0.25, delta=5e-7), "queries")
        >>> budget.remaining
        ZCDP(rho=0.25, delta=5e-07)
        >>> budget.spend(dpsel.ZCDP(rho=0.3, delta=1e-7), "words")
        Traceback (most recent call last):
        dpsel.exceptions.BudgetExceededError: ...
    """

    __slots__ = ("_left", "_spent", "_total")

    def __init__(self, total: Privacy) -> None:
        """Start with nothing spent."""
        from dpsel._request import checked_privacy

        self._total: Privacy = checked_privacy(total)
        self._left: dict[str, Fraction] = _amounts(self._total)
        self._spent: list[Spent] = []

    @property
    def total(self) -> Privacy:
        """The guarantee of all releases together."""
        return self._total

    @property
    def spent(self) -> tuple[Spent, ...]:
        """What was spent, in order."""
        return tuple(self._spent)

    @property
    def remaining(self) -> Privacy | None:
        """What may still be spent, rounded down; ``None`` if a part of it is used up."""
        left = {name: _round_down(amount) for name, amount in self._left.items()}
        return type(self._total)(**left) if all(value > 0 for value in left.values()) else None

    def spend(self, cost: AnyPrivacy, label: str = "") -> AnyPrivacy:
        """Take ``cost`` off the budget and return it, for use as ``privacy=`` of the release.

        It is spent even if the release then fails: a failure may depend on the data.

        Args:
            cost: What the release will cost; of the same kind as the total, or pure under an approximate total.
            label: What it is for.

        Returns:
            The cost.

        Raises:
            BudgetExceededError: If it exceeds what remains; nothing is spent then.
            InvalidParameterError: If the kinds do not fit.

        Examples:
            >>> import dpsel
            >>> budget = dpsel.Budget(dpsel.ApproxDP(epsilon=1.0, delta=1e-6))
            >>> rows = [(user, "tea") for user in range(500)]
            >>> dpsel.select_partitions(
            ...     rows,
            ...     privacy=budget.spend(dpsel.ApproxDP(epsilon=0.5, delta=1e-7), "drinks"),
            ...     max_items_per_user=1,
            ... ).items
            ['tea']
        """
        from dpsel._request import checked_privacy

        amounts = _amounts(checked_privacy(cost))
        if not amounts.keys() <= self._left.keys():
            raise InvalidParameterError(
                f"a cost of kind {type_name(cost)} does not fit a budget of kind {type_name(self._total)}; "
                "use the same kind for both"
            )
        after = {name: left - amounts.get(name, Fraction(0)) for name, left in self._left.items()}
        for name, left in after.items():
            if left < 0:
                raise BudgetExceededError(
                    f"spending {name} = {float(amounts[name])!r} exceeds the remaining "
                    f"{_round_down(self._left[name])!r}; nothing was spent, so spend at most budget.remaining"
                )
        self._left = after
        self._spent.append(Spent(cost, label))
        return cost

    def to_dp_accounting(self) -> Any:
        """Return what was spent as one event of Google's ``dp_accounting``.

        A zCDP cost with a delta becomes a zCDP event together with a (0, delta) event.

        Returns:
            A ``dp_accounting.ComposedDpEvent``.

        Raises:
            ImportError: If ``dp_accounting`` is not installed.
        """
        try:
            import dp_accounting
        except ImportError as error:
            raise ImportError("to_dp_accounting needs the package 'dp-accounting'; install it with pip") from error
        events = [event for entry in self._spent for event in _events(dp_accounting, entry.cost.to_json())]
        return dp_accounting.ComposedDpEvent(events)

    def __repr__(self) -> str:
        """Total, remaining and number of entries."""
        return f"Budget(total={self._total!r}, remaining={self.remaining!r}, entries={len(self._spent)})"


def _amounts(privacy: Privacy) -> dict[str, Fraction]:
    amounts = {name: Fraction(value) for name, value in privacy.to_json().items() if name != "kind"}
    return amounts


def _round_down(amount: Fraction) -> float:
    nearest = amount.numerator / amount.denominator
    return nearest if Fraction(nearest) <= amount else math.nextafter(nearest, -math.inf)


def _events(library: Any, cost: dict[str, Any]) -> list[Any]:
    if cost["kind"] == "zcdp":
        return [library.ZCDpEvent(cost["rho"]), library.EpsilonDeltaDpEvent(0.0, cost["delta"])]
    return [library.EpsilonDeltaDpEvent(cost["epsilon"], cost.get("delta", 0.0))]
