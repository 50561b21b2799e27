"""A budget that is spent, refuses to be overspent, and can be handed to other accountants."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Generic, TypeVar

from dpsel._arguments import as_int
from dpsel._tables import Display, Displayed
from dpsel.accounting import PureDP, checked_privacy
from dpsel.accounting._amounts import numbers
from dpsel.accounting._cost import Cost, as_cost, checked_neighbours
from dpsel.budget._display import display_of, latest
from dpsel.budget._dp_accounting import accounted
from dpsel.budget._label import checked_label
from dpsel.budget._payment import Payment, Pledge, refuse_paid, stamped, unpaid
from dpsel.budget._process import OfOneProcess
from dpsel.budget._rounding import round_down
from dpsel.budget._sums import Sums
from dpsel.exceptions import BudgetExceededError, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpsel.accounting import Neighbours, Privacy
    from dpsel.budget._dp_accounting import Accounted
    from dpsel.release import Report

    AnyCost = TypeVar("AnyCost", bound=Privacy | Cost)

__all__ = ["Budget", "Spent"]

#: The kind of guarantee that a budget is in.
Kind = TypeVar("Kind", bound="Privacy")


@dataclass(frozen=True, slots=True)
class Spent:
    """One entry of a budget: the cost, a label, and the report of the call, if it was made."""

    cost: Cost
    label: str
    report: Report | None = None


class Budget(OfOneProcess, Displayed, Generic[Kind]):
    """A total guarantee for several releases of the same users.

    Epsilons and deltas add up (basic composition: Dwork and Roth, 2014, Theorem 3.16); so do rhos, and deltas
    a and b of zCDP become 1 - (1 - a)(1 - b) (Bun and Steinke, 2016, Lemma 8.2). The sums are exact, of the
    decimals that people write: ten times 0.1 is 1. The float 0.1 is slightly above a tenth, so the call that
    is paid for runs with the float below. Use [`share`][dpsel.Budget.share] for equal parts, and
    [`remaining`][dpsel.Budget.remaining] for the last release.

    A budget is asked for the whole cost of a call: items and counts, for one kind of neighbours. The
    parameters that [`spend`][dpsel.Budget.spend] returns carry that cost. A call refuses them if it has other
    counts or neighbours, or if an earlier call used them.

    Threads may share a budget. It is for one process: a copy of it is the budget itself, a pickle is refused,
    and so is its use after a fork. Processes share a [`Ledger`][dpsel.Ledger].

    Args:
        total: The guarantee that all releases together must have.
        neighbours: ``"add_remove"`` one user, or ``"swap"`` one for another. In a budget for swaps a cost for
            adding or removing a user counts twice, by group privacy: epsilon as 2 epsilon, delta as
            delta (1 + e^epsilon). The converse is refused, since no such bound holds.

    Raises:
        InvalidParameterError: If it is no privacy parameter, or the kind of neighbours is not known.

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

    __slots__ = ("_entries", "_lock", "_sums")

    def __init__(self, total: Kind, *, neighbours: Neighbours = "add_remove") -> None:
        """Start with nothing spent."""
        super().__init__()
        self._lock = threading.Lock()
        self._start(total, neighbours)

    def _start(self, total: Kind, neighbours: Neighbours) -> None:
        refuse_paid("total", checked_privacy(total))
        # Calls for neighbours="any" are paid from a budget for adding and removing.
        checked_neighbours(neighbours, ("add_remove", "swap"))
        self._sums = Sums.none_of(total, neighbours)
        self._entries: list[Payment] = []

    @contextmanager
    def _turn(self) -> Iterator[IO[bytes] | None]:
        """Keep others from reading and spending; refuse another process, whose lock may be a dead one."""
        self.refuse_elsewhere()
        with self._lock:
            yield None

    @property
    def total(self) -> Kind:
        """The guarantee of all releases together."""
        return self._sums.total

    @property
    def neighbours(self) -> Neighbours:
        """What the guarantee is for."""
        return self._sums.neighbours

    @property
    def spent(self) -> tuple[Spent, ...]:
        """What was spent, in order."""
        with self._turn():
            return self._records()

    def _records(self) -> tuple[Spent, ...]:
        return tuple(Spent(entry.cost, entry.label, entry.report) for entry in self._entries)

    @property
    def remaining(self) -> Kind | PureDP | None:
        """What may still be spent, rounded down: without a delta if none is left, and ``None`` if nothing is.

        Examples:
            >>> import dpsel
            >>> budget = dpsel.Budget(dpsel.ApproxDP(epsilon=1.0, delta=1e-6))
            >>> paid = budget.spend(dpsel.ApproxDP(epsilon=0.5, delta=1e-6))
            >>> budget
            Budget(total=ApproxDP(epsilon=1.0, delta=1e-06), remaining=epsilon 0.5 left, no delta, entries=1)
            >>> budget.remaining
            PureDP(epsilon=0.5)
        """
        with self._turn():
            return self._sums.remaining()

    def share(self, parts: int, label: str = "") -> Kind:
        """Return the total divided into equal parts, rounded down so that all of them can be spent.

        A call with ``privacy=budget.share(4)`` is paid from the budget when it begins, right before data is
        read; each further call with the same value is paid again.

        Args:
            parts: Number of releases.
            label: What they are for.

        Returns:
            The cost of one part.

        Raises:
            InvalidParameterError: If it is not a whole number above 0.

        Examples:
            >>> import dpsel
            >>> budget = dpsel.Budget(dpsel.PureDP(epsilon=1.0))
            >>> budget.share(4)
            PureDP(epsilon=0.25)
            >>> release = dpsel.top_k_from_counts([900, 20], k=1, privacy=budget.share(4))
            >>> budget.remaining
            PureDP(epsilon=0.75)
        """
        if (number := as_int("parts", parts)) < 1:
            raise InvalidParameterError(
                f"parts must be at least 1, got {number}; give the number of releases"
            )
        # Also right for deltas of zCDP, which compose to at most their sum.
        shares = {name: round_down(amount / number) for name, amount in numbers(self._sums.total).items()}
        for name, value in shares.items():
            if value <= 0:
                raise InvalidParameterError(
                    f"parts = {number} are too many: no float is small enough for a part of {name}; "
                    "give fewer parts"
                )
        return self.on_use(type(self._sums.total)(**shares), label)

    def on_use(self, privacy: AnyCost, label: str = "") -> AnyCost:
        """Return parameters that are paid for from the budget by every call that uses them, when it begins.

        So nothing is spent if the call is refused for its parameters, or for columns or files that a source
        declares.
        [`spend`][dpsel.Budget.spend] pays at once.

        Args:
            privacy: What a call costs, as for ``spend``.
            label: What it is for.

        Returns:
            An equal value. The call raises ``BudgetExceededError`` if its cost exceeds what then remains.

        Examples:
            >>> import dpsel
            >>> budget = dpsel.Budget(dpsel.PureDP(epsilon=1.0))
            >>> privacy = budget.on_use(dpsel.PureDP(epsilon=0.6), "top drink")
            >>> release = dpsel.top_k_from_counts([900, 20], k=1, privacy=privacy)
            >>> budget.spent[0].label
            'top drink'
        """
        self._asked(privacy)
        return stamped(privacy, Pledge(self._book, checked_label(label), self._place()))

    def spend(self, cost: AnyCost | None, label: str = "") -> AnyCost:
        """Take ``cost`` off the budget and return it, for use as ``privacy=`` of one call.

        It is spent even if the release then fails: a failure may depend on the data.

        Args:
            cost: What the call will cost: a guarantee for items alone, or a [`Cost`][dpsel.Cost] with its
                counts and neighbours; of the kind of the total, pure under an approximate one, or any
                under zCDP. The ``cost`` of a report books a release that was made elsewhere. ``None``, as
                [`remaining`][dpsel.Budget.remaining] is in the end, is refused.
            label: What it is for.

        Returns:
            An equal cost, which the call recognises. Copies pay for that one call together.
            Of a ``Cost`` pass ``items`` as ``privacy=``.

        Raises:
            BudgetExceededError: If it exceeds what remains; nothing is spent then.
            InvalidParameterError: If the kinds do not fit, of guarantees or of neighbours.

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

            With counts:

            >>> budget = dpsel.Budget(dpsel.PureDP(epsilon=2.0))
            >>> items, counts = dpsel.PureDP(epsilon=1.0), dpsel.PureDP(epsilon=0.5)
            >>> paid = budget.spend(dpsel.Cost(items=items, counts=counts))
            >>> dpsel.select_top_k(
            ...     rows, k=1, domain=["tea", "gin"], privacy=paid.items, counts=paid.counts
            ... ).items
            ['tea']
            >>> budget.remaining
            PureDP(epsilon=0.5)
        """
        if cost is None:
            raise BudgetExceededError("nothing remains of the budget; nothing was spent")
        payment = Payment(unpaid(self._asked(cost)), checked_label(label))
        try:
            self._book(payment)
            return stamped(cost, payment)
        except BaseException as error:
            payment.note(error)
            raise

    def _place(self) -> object:
        """Return what is equal for all handles of this budget, and for no other."""
        return self

    def _asked(self, cost: AnyCost) -> Cost:
        """Return a whole cost, for which no other budget pays."""
        asked = as_cost(cost, self._sums.neighbours)
        for part in asked.parts:
            refuse_paid("the cost", part, self._place())
        return asked

    def _book(self, payment: Payment) -> None:
        """Enter a cost; refuse one that exceeds what remains."""
        with self._turn():
            if self._is_booked(payment):
                return
            # At once, so that an interrupt finds both or none.
            self._sums, payment.stands = self._sums.plus(payment.cost), True
            self._entries.append(payment)

    def _is_booked(self, payment: Payment) -> bool:
        """Whether this is a step that an entry pays for already."""
        booked = payment.step is not None and any(entry.step == payment.step for entry in self._entries)
        payment.stands = payment.stands or booked
        return booked

    def to_dp_accounting(self) -> Accounted:
        """Return the entries as events of Google's ``dp_accounting``, and the delta beside them.

        A call that was made with Gaussian noise becomes a Gaussian event, with the probability that noise
        decides about an item of one user beside it; several of them compose more tightly than by their
        parameters alone. A call that looks at the rows first has no such event. A zCDP cost becomes a
        zCDP event. An (epsilon, delta)-DP cost becomes a zCDP event of epsilon^2 / 2, and its exact privacy
        loss distribution is used as well where all entries have one.

        Returns:
            The event, the delta beside it, and the total as (epsilon, delta) by the better accountant.

        Raises:
            ImportError: If ``dp_accounting`` is not installed.
            InvalidParameterError: If the budget is not for adding or removing a user.
        """
        if self._sums.neighbours != "add_remove":
            raise InvalidParameterError(
                "to_dp_accounting is for adding or removing one user, and the budget is for "
                f"{self._sums.neighbours!r}; keep a budget with neighbours='add_remove'"
            )
        with self._turn():
            entries = tuple(self._entries)
        return accounted(entries)

    def _seen(self) -> Display:
        """Return what is shown, while others are kept from it."""
        return display_of(self._entries, self._sums.total, self._sums.in_words())

    def _display(self) -> Display:
        try:
            with self._turn():
                return self._seen()
        except BudgetExceededError:
            # The copy of another process.
            return Display([repr(self)])

    def _repr_html_(self) -> str:
        return latest(self._display()).html()

    def __repr__(self) -> str:
        """Total, remaining and number of entries."""
        relation = "" if self._sums.neighbours == "add_remove" else f", neighbours={self._sums.neighbours!r}"
        if self.is_elsewhere:
            return f"Budget(total={self._sums.total!r}{relation}, of another process)"
        with self._turn():
            left = f"remaining={self._sums.in_words()}, entries={len(self._entries)}"
        return f"Budget(total={self._sums.total!r}{relation}, {left})"
