"""A budget that is spent, refuses to be overspent, and can be handed to other accountants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from dpsel._arguments import as_int, type_name
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

    Epsilons and deltas add up (basic composition: Dwork and Roth, 2014, Theorem 3.16); so do rhos, and deltas
    a and b of zCDP become 1 - (1 - a)(1 - b) (Bun and Steinke, 2016, Lemma 8.2). The sums are exact
    fractions, so no rounding hides an overspend: the float 0.1 is a hair more than a tenth, and ten of them
    exceed 1.0. Use :meth:`share` for equal parts, and :attr:`remaining` for the last release.

    Args:
        total: The guarantee that all releases together must have.

    Raises:
        InvalidParameterError: If it is no privacy parameter.

    Examples:
        >>> import dpsel
        >>> budget = dpsel.Budget(dpsel.ZCDP(rho=0.5, delta=1e-6))
        >>> first = budget.spend(dpsel.ZCDP(rho=0.25, delta=5e-7), "queries")
        >>> budget.remaining.rho
        0.25
        >>> budget.spend(dpsel.ZCDP(rho=0.3, delta=1e-7), "words")
        Traceback (most recent call last):
        dpsel.exceptions.BudgetExceededError: ...
    """

    __slots__ = ("_entries", "_spent", "_total")

    def __init__(self, total: Privacy) -> None:
        """Start with nothing spent."""
        from dpsel._request import checked_privacy

        self._total: Privacy = checked_privacy(total)
        self._spent = dict.fromkeys(_amounts(self._total), Fraction(0))
        self._entries: list[Spent] = []

    @property
    def total(self) -> Privacy:
        """The guarantee of all releases together."""
        return self._total

    @property
    def spent(self) -> tuple[Spent, ...]:
        """What was spent, in order."""
        return tuple(self._entries)

    @property
    def remaining(self) -> Privacy | None:
        """What may still be spent, rounded down; ``None`` if a part of it is used up."""
        left = {name: _round_down(amount) for name, amount in self._left().items()}
        return type(self._total)(**left) if all(value > 0 for value in left.values()) else None

    def share(self, parts: int) -> Privacy:
        """Return one of so many equal parts of the total, rounded down so that all of them can be spent.

        Args:
            parts: Number of releases.

        Returns:
            The cost that each of them may have.

        Raises:
            InvalidParameterError: If it is not a whole number above 0.

        Examples:
            >>> import dpsel
            >>> dpsel.Budget(dpsel.PureDP(epsilon=1.0)).share(4)
            PureDP(epsilon=0.25)
        """
        if (number := as_int("parts", parts)) < 1:
            raise InvalidParameterError(
                f"parts must be at least 1, got {number}; give the number of releases"
            )
        # Also right for deltas of zCDP, which compose to at most their sum.
        shares = {name: _round_down(amount / number) for name, amount in _amounts(self._total).items()}
        return type(self._total)(**shares)

    def spend(self, cost: AnyPrivacy, label: str = "") -> AnyPrivacy:
        """Take ``cost`` off the budget and return it, for use as ``privacy=`` of the release.

        It is spent even if the release then fails: a failure may depend on the data.

        Args:
            cost: What the release will cost: of the kind of the total, or pure under an approximate one.
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
        if not self._fits(cost):
            raise InvalidParameterError(
                f"a cost of kind {type_name(cost)} does not fit a budget of kind {type_name(self._total)}; "
                "use the same kind for both"
            )
        left = self._left()
        for name, amount in amounts.items():
            if amount > left[name]:
                raise BudgetExceededError(
                    f"spending {name} = {float(amount)!r} exceeds the remaining "
                    f"{_round_down(left[name])!r}; nothing was spent, so spend at most budget.remaining"
                )
        for name, amount in amounts.items():
            self._spent[name] = self._composed(name, self._spent[name], amount)
        self._entries.append(Spent(cost, label))
        return cost

    def _fits(self, cost: Privacy) -> bool:
        kinds = (self._total.kind, cost.kind)
        return kinds[0] == kinds[1] or kinds == ("approx_dp", "pure_dp")

    def _composed(self, name: str, spent: Fraction, amount: Fraction) -> Fraction:
        both = spent * amount if self._deltas_overlap(name) else 0
        return spent + amount - both

    def _left(self) -> dict[str, Fraction]:
        left = {}
        for name, total in _amounts(self._total).items():
            spent = self._spent[name]
            # The x for which spending it composes to exactly the total.
            left[name] = (total - spent) / (1 - spent if self._deltas_overlap(name) else 1)
        return left

    def _deltas_overlap(self, name: str) -> bool:
        return name == "delta" and self._total.kind == "zcdp"

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
            message = "to_dp_accounting needs the package 'dp-accounting'; install it with pip"
            raise ImportError(message) from error
        events = [event for entry in self._entries for event in _events(dp_accounting, entry.cost.to_json())]
        return dp_accounting.ComposedDpEvent(events)

    def __repr__(self) -> str:
        """Total, remaining and number of entries."""
        return f"Budget(total={self._total!r}, remaining={self.remaining!r}, entries={len(self._entries)})"


def _amounts(privacy: Privacy) -> dict[str, Fraction]:
    return {name: Fraction(value) for name, value in privacy.to_json().items() if name != "kind"}


def _round_down(amount: Fraction) -> float:
    nearest = amount.numerator / amount.denominator
    return nearest if Fraction(nearest) <= amount else math.nextafter(nearest, -math.inf)


def _events(library: Any, cost: dict[str, Any]) -> list[Any]:
    if cost["kind"] == "zcdp":
        return [library.ZCDpEvent(cost["rho"]), library.EpsilonDeltaDpEvent(0.0, cost["delta"])]
    return [library.EpsilonDeltaDpEvent(cost["epsilon"], cost.get("delta", 0.0))]
