"""Payments: the costs that a budget was charged, and whether a call stays within them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from dpsel.accounting import Cost
from dpsel.accounting._cost import NEIGHBOURS
from dpsel.budget._strength import warn_if_weak
from dpsel.exceptions import STAYS_SPENT, BudgetExceededError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel.accounting import NeighboursOfCounts, Privacy
    from dpsel.release import Report

    AnyCost = TypeVar("AnyCost", bound="Privacy | Cost")
    AnyPrivacy = TypeVar("AnyPrivacy", bound=Privacy)

__all__ = ["Payment", "Pledge", "begin_call", "stamped", "uncharged"]

#: In place of a payment: our own call on public or made-up data.
_UNCHARGED: Final = object()


@dataclass(eq=False, slots=True)
class Payment:
    """One entry of a budget. The parameters that were spent carry it into the call."""

    cost: Cost
    label: str
    report: Report | None = None
    used: bool = False
    on_report: Callable[[Report], None] | None = field(default=None, repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def settle(self, report: Report) -> None:
        """Enter the report of the call."""
        self.report = report
        if self.on_report is not None:
            self.on_report(report)

    def __enter__(self) -> Self:
        """Enter the block that reads the data."""
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Say of a failure that the cost stays spent, if a budget has paid it."""
        if error is not None and self.used:
            error.add_note(STAYS_SPENT)

    def take(self, cost: Cost) -> None:
        """Mark the entry as used by a call of this cost; refuse a call that costs more or differs."""
        covered = {self.cost.neighbours} | ({"any"} if self.cost.neighbours == "add_remove" else set())
        if cost.neighbours not in covered:
            raise InvalidParameterError(
                f"the budget was asked for {NEIGHBOURS[self.cost.neighbours]}, but the call is for "
                f"{NEIGHBOURS[cost.neighbours]}; spend dpsel.Cost(..., neighbours={cost.neighbours!r})"
            )
        if cost.counts is not None and cost.counts != self.cost.counts:
            spent = "nothing" if self.cost.counts is None else str(self.cost.counts)
            raise BudgetExceededError(
                f"the call publishes counts at {cost.counts}, for which {spent} was spent; "
                f"spend dpsel.Cost(items=..., counts={cost.counts}) for it"
            )
        with self._lock:
            used, self.used = self.used, True
        if used:
            raise BudgetExceededError(
                "these parameters were spent for one call, and one was begun with them, even if it failed; "
                "spend again for another one"
            )

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Leave the entry out of copies and pickles of parameters: the budget is in one process."""
        return _nothing, ()


@dataclass(frozen=True, eq=False, slots=True)
class Pledge:
    """A budget that pays for every call that its parameters are used in, when the call begins."""

    pay: Callable[[Cost], Payment]

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Leave it out of copies and pickles, as a payment."""
        return _nothing, ()


def _nothing() -> None:
    return None


def stamped(cost: AnyCost, payment: Payment | Pledge) -> AnyCost:
    """Return a copy of the parameters that carries the payment."""
    if isinstance(cost, Cost):
        return type(cost)(
            items=_with_payment(cost.items, payment), counts=cost.counts, neighbours=cost.neighbours
        )
    privacy: AnyCost = _with_payment(cost, payment)
    return privacy


def uncharged(privacy: AnyPrivacy) -> AnyPrivacy:
    """Return parameters for one call of ours on public or made-up data: it neither pays nor warns.

    They are an argument of that call alone. Code of others that runs inside it, such as a lazy source, makes
    calls with its own parameters, which pay.
    """
    copy: AnyPrivacy = _with_payment(privacy, _UNCHARGED)
    return copy


def _with_payment(privacy: Any, payment: object) -> Any:
    numbers = {name: value for name, value in privacy.to_json().items() if name != "kind"}
    copy = type(privacy)(**numbers)
    object.__setattr__(copy, "_payment", payment)
    return copy


def begin_call(
    privacy: Privacy,
    *,
    counts: Privacy | None = None,
    neighbours: NeighboursOfCounts = "add_remove",
    guaranteed: bool = True,
    private: bool = True,
) -> Payment:
    """Charge a call, right before data is read: all of its cost, at once.

    Args:
        privacy: The guarantee of the items.
        counts: The guarantee of the counts, if they have a budget of their own.
        neighbours: The kind of neighbours.
        guaranteed: False if the mechanism has no guarantee, which no budget can pay for.
        private: False with a test key, where there is nothing to warn of that the report does not say.

    Returns:
        Where the report of the call is entered.

    Raises:
        BudgetExceededError: If a budget was asked for less than the call costs.
        InvalidParameterError: If it was asked for other neighbours, or the mechanism has no guarantee.
    """
    cost = Cost(items=privacy, counts=counts, neighbours=neighbours)
    payment = privacy._payment  # noqa: SLF001 - set by `stamped` above
    if payment is _UNCHARGED:
        return Payment(cost, "")
    if isinstance(payment, Payment | Pledge):
        if not guaranteed:
            raise InvalidParameterError(
                "privacy comes from a budget, but this mechanism has no guarantee, which no budget covers; "
                "leave calibration= out for a private release"
            )
        if isinstance(payment, Pledge):
            payment = payment.pay(cost)
        payment.take(cost)
    if private:
        warn_if_weak(cost.total)
    return payment if isinstance(payment, Payment) else Payment(cost, "")
