"""Payments: the costs that a budget was charged, and whether a call stays within them."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

from dpsel._arguments import type_name
from dpsel.accounting import Cost
from dpsel.accounting._cost import NEIGHBOURS
from dpsel.accounting._privacy import is_free, is_uncharged, with_payment
from dpsel.budget._process import OfOneProcess
from dpsel.budget._strength import warn_if_weak
from dpsel.exceptions import STAYS_SPENT, BudgetExceededError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpsel.accounting import NeighboursOfCounts, Privacy
    from dpsel.release import Report

    AnyCost = TypeVar("AnyCost", bound="Privacy | Cost")

__all__ = ["Payment", "Pledge", "begin_call", "payment_of", "refuse_paid", "stamped", "unpaid"]


class Payment(OfOneProcess):
    """One entry of a budget. The parameters that were spent carry it into one call of this process."""

    __slots__ = ("_call", "_lock", "cost", "label", "on_report", "report", "stands", "step")

    def __init__(self, cost: Cost, label: str, call: Call | None = None, *, step: str | None = None) -> None:
        """Make an entry that is in no budget yet, for this call, or for the first one that takes it.

        A ``step`` is booked once, however often it is paid for.
        """
        super().__init__()
        self.step = step
        self.cost, self.label, self._call = cost, label, call
        self.report: Report | None = None
        self.on_report: Callable[[Report], None] | None = None
        #: Whether a budget has been charged.
        self.stands = False
        self._lock = threading.Lock()

    def settle(self, report: Report) -> None:
        """Enter the report of the call."""
        self.report = report
        if self.on_report is not None:
            self.on_report(report)

    def note(self, error: BaseException, call: Call | None = None) -> None:
        """Say of an error that ends the call that the cost stays spent, if a budget has been charged."""
        if self.stands and self._call is call and STAYS_SPENT not in getattr(error, "__notes__", ()):
            error.add_note(STAYS_SPENT)

    def take(self, call: Call) -> None:
        """Mark the entry as used by a call; refuse a second one, and one that costs more or differs."""
        # A lock that a fork copied while it was held is never given back, so the process comes first.
        self.refuse_elsewhere()
        self.compare(call.cost)
        with self._lock:
            self._call = self._call or call
        if self._call is not call:
            raise BudgetExceededError(
                "these parameters were spent for one call, and one was begun with them, even if it failed; "
                "spend again for another one"
            )

    def compare(self, cost: Cost) -> None:
        """Refuse a call that costs more or differs."""
        covered = {self.cost.neighbours} | ({"any"} if self.cost.neighbours == "add_remove" else set())
        if cost.neighbours not in covered:
            raise InvalidParameterError(
                f"the budget was asked for {NEIGHBOURS[self.cost.neighbours]}, but the call is for "
                f"{NEIGHBOURS[cost.neighbours]}; spend dpsel.Cost(..., neighbours={cost.neighbours!r})"
            )
        if cost.items != self.cost.items:
            raise BudgetExceededError(
                f"the call has privacy={cost.items}, but {self.cost.items} was spent for its items; "
                f"spend {cost.items} for it"
            )
        if cost.counts is not None and cost.counts != self.cost.counts:
            spent = "nothing" if self.cost.counts is None else str(self.cost.counts)
            raise BudgetExceededError(
                f"the call publishes counts at {cost.counts}, for which {spent} was spent; "
                f"spend dpsel.Cost(items=..., counts={cost.counts}) for it"
            )


class Pledge:
    """A budget that pays for every call that its parameters are used in, when the call begins.

    Copies are paid from the same budget. A pickle has the budget in it, so it is refused for a budget of one
    process.
    """

    __slots__ = ("label", "pay", "place")

    def __init__(self, pay: Callable[[Payment], None], label: str, place: object) -> None:
        """Remember the method of the budget that pays, for what, and what all handles of the budget share."""
        self.pay, self.label, self.place = pay, label, place

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the budget with it, in every protocol."""
        return type(self), (self.pay, self.label, self.place)


def _is_one(payment: Payment | Pledge | None, other: Payment | Pledge) -> bool:
    """Whether both are paid at once: by one entry, or from one budget."""
    if isinstance(payment, Pledge) and isinstance(other, Pledge):
        return payment.place == other.place
    return payment is other


class Call:
    """A block that is paid for when it is entered. A failure in it says that the cost stays spent."""

    __slots__ = ("_payment", "_pledge", "cost", "step")

    def __init__(self, cost: Cost, paid: Payment | Pledge | None, *, step: str | None = None) -> None:
        """Remember what pays, if anything does."""
        self.cost, self.step = cost, step
        self._pledge = paid if isinstance(paid, Pledge) else None
        self._payment = paid if isinstance(paid, Payment) else None

    def __enter__(self) -> Self:
        """Pay."""
        try:
            if self._pledge is not None:
                self._payment = Payment(unpaid(self.cost), self._pledge.label, self, step=self.step)
                self._pledge.pay(self._payment)
            elif self._payment is not None:
                self._payment.take(self)
            return self  # noqa: TRY300 - an interrupt here is noted, too
        except BaseException as error:
            self._note(error)
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Say of a failure that the cost stays spent, if a budget has paid it."""
        if error is not None:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        if self._payment is not None:
            self._payment.note(error, self)

    def settle(self, report: Report) -> None:
        """Enter the report of the call in what has paid for it."""
        if self._payment is not None:
            self._payment.settle(report)


def stamped(cost: AnyCost, payment: Payment | Pledge) -> AnyCost:
    """Return a copy of the parameters that carries the payment."""
    paid: AnyCost = _each_part(cost, lambda part: with_payment(part, payment))
    return paid


def unpaid(cost: Cost) -> Cost:
    """Return a copy that no budget pays for, as a record."""
    record: Cost = _each_part(
        cost, lambda part: part if payment_of(part) is None else with_payment(part, None)
    )
    return record


def refuse_paid(what: str, privacy: Privacy, own: object = None) -> None:
    """Refuse parameters that another budget pays for: it would not be charged, as one pays for a call.

    ``own`` is the place of the budget that takes them.
    """
    payment = payment_of(privacy)
    if payment is not None and not (isinstance(payment, Pledge) and payment.place == own):
        raise InvalidParameterError(
            f"{what} is what another budget, which would not be charged for it here, pays for; spend it "
            f"there, and give plain numbers here, such as {privacy!r}"
        )


def _each_part(cost: Any, change: Callable[[Any], Any]) -> Any:
    if not isinstance(cost, Cost):
        return change(cost)
    return replace(
        cost, items=change(cost.items), counts=None if cost.counts is None else change(cost.counts)
    )


def begin_call(
    privacy: Privacy,
    *,
    counts: Privacy | None = None,
    neighbours: NeighboursOfCounts = "add_remove",
    guaranteed: bool = True,
    private: bool = True,
    step: str | None = None,
) -> Call:
    """Check the payment of a call; return the block that charges all of its cost at once, and reads data.

    Args:
        privacy: The guarantee of the items.
        counts: The guarantee of the counts, if they have a budget of their own.
        neighbours: The kind of neighbours.
        guaranteed: False if the mechanism has no guarantee, which no budget can pay for.
        private: False with a test key, where there is nothing to warn of that the report does not say.
        step: Signs that a budget books once only, also if the call is repeated.

    Returns:
        The block, which takes the report of the call.

    Raises:
        BudgetExceededError: If a budget was asked for less than the call costs.
        InvalidParameterError: If it was asked for other neighbours, the mechanism has no guarantee, or the
            counts come from another budget than the items.
    """
    cost = Cost(items=privacy, counts=counts, neighbours=neighbours)
    if is_uncharged(privacy):
        return Call(cost, None)
    payment = payment_of(privacy)
    of_counts = None if counts is None else payment_of(counts)
    if of_counts is not None and not _is_one(payment, of_counts):
        what = "a budget, but privacy= does not" if payment is None else "another budget than privacy="
        raise InvalidParameterError(
            f"counts= comes from {what}, and one budget pays for a call; "
            "spend dpsel.Cost(items=..., counts=...), and pass both parts"
        )
    if payment is not None:
        if not guaranteed:
            raise InvalidParameterError(
                "privacy comes from a budget, but this mechanism has no guarantee, which no budget covers; "
                "leave calibration= out for a private release"
            )
        if isinstance(payment, Payment):
            payment.compare(cost)
    if private:
        # Before the payment: where warnings are errors, nothing is spent.
        warn_if_weak(cost.total)
    return Call(cost, payment, step=step)


def payment_of(privacy: Privacy) -> Payment | Pledge | None:
    """Return what pays for parameters, if anything does."""
    payment = privacy._payment  # noqa: SLF001 - set by `stamped` above
    if payment is None or is_free(privacy):
        return None
    if isinstance(payment, Payment | Pledge):
        return payment
    raise InvalidParameterError(
        f"privacy is a copy of what a budget pays for, with {type_name(payment)} in place of its payment; "
        "use copy.deepcopy, or take it from the budget again"
    )
