"""Sets made from releases, which keep the reports that they rest on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpsel._arguments import type_name
from dpsel._tables import Display, Displayed, first_rows
from dpsel.accounting import Cost
from dpsel.exceptions import InvalidParameterError, SchemaError
from dpsel.release._wording import notation, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dpsel.accounting import Privacy
    from dpsel.release._report import Report

__all__ = ["ItemSet"]


class ItemSet(Displayed):
    """Items of one or several releases, with the reports of all of them.

    It is what ``&``, ``|`` and ``-`` make of a release and of another one, or of a public list. Whatever is
    made from released items alone is post-processing. So with a public list the guarantee is that of the
    release. With two releases of the same users it is that of both **together**: their costs add up, also
    for ``a & b`` and ``a - b``, which show less than both lists. A list that was looked up in the private
    data is not public, and no guarantee covers the result.

    The values of both must have a type in common: the integer 1 and the text "1" are never equal.

    Args:
        items: The items, as Python values.
        reports: The reports of the releases, each once.

    Examples:
        >>> import dpsel
        >>> privacy = dpsel.ApproxDP(epsilon=1.0, delta=1e-6)
        >>> drinks = dpsel.select_partitions(
        ...     [(user, "tea") for user in range(500)], privacy=privacy, max_items_per_user=1
        ... )
        >>> foods = dpsel.select_partitions(
        ...     [(user, "rice") for user in range(500)], privacy=privacy, max_items_per_user=1
        ... )
        >>> both = drinks | foods
        >>> list(both), both.cost
        (['rice', 'tea'], ApproxDP(epsilon=2.0, delta=2e-06))
        >>> (drinks - ["tea"]).cost
        ApproxDP(epsilon=1.0, delta=1e-06)
    """

    __slots__ = ("_items", "reports")

    reports: tuple[Report, ...]
    """The reports of the releases that the set rests on."""

    def __init__(self, items: Iterable[Any], reports: tuple[Report, ...]) -> None:
        """Keep each item and each report once."""
        # The type of a value is a part of it: in Python True equals 1.
        self._items = {_key(item): item for item in items}
        self.reports = tuple({report["fingerprint"]: report for report in reports}.values())

    @property
    def cost(self) -> Privacy:
        """What all releases cost together, if their users are the same: sums, rounded up.

        Raises:
            InvalidParameterError: If one has no guarantee, if they are for different kinds of neighbours, or
                if the sum is no guarantee any more.
        """
        costs = [report.cost for report in self.reports]
        if len({cost.neighbours for cost in costs}) > 1:
            raise InvalidParameterError(
                "the releases are for different kinds of neighbours, so their costs do not add up; use a "
                "budget, dpsel.Budget(..., neighbours=...), for both"
            )
        total = costs[0].total
        for cost in costs[1:]:
            total = Cost(items=total, counts=cost.total, neighbours=cost.neighbours).total
        return total

    def __contains__(self, item: object) -> bool:
        """Whether an item is in the set, as a value of the same type."""
        return _key(item) in self._items

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the items, sorted where they have an order."""
        try:
            return iter(sorted(self._items.values()))
        except TypeError:
            return iter([self._items[key] for key in sorted(self._items, key=repr)])

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        """Whether both have the same items of the same reports."""
        if not isinstance(other, ItemSet):
            return NotImplemented
        marks, others = ({report["fingerprint"] for report in each.reports} for each in (self, other))
        return self.keys() == other.keys() and marks == others

    def __hash__(self) -> int:
        """Agree with equality."""
        return hash(self.keys())

    def __and__(self, other: Iterable[Any]) -> ItemSet:
        """Return the items that are in both."""
        theirs = self._beside(other)
        known = theirs.keys()
        return self._of([key for key in self._items if key in known], theirs)

    def __or__(self, other: Iterable[Any]) -> ItemSet:
        """Return the items that are in either."""
        theirs = self._beside(other)
        return ItemSet([*self._items.values(), *theirs], self.reports + theirs.reports)

    def __sub__(self, other: Iterable[Any]) -> ItemSet:
        """Return the items that are not in the other."""
        theirs = self._beside(other)
        known = theirs.keys()
        return self._of([key for key in self._items if key not in known], theirs)

    def keys(self) -> frozenset[Any]:
        """Return the items with their types, as they are compared."""
        return frozenset(self._items)

    def _beside(self, other: Iterable[Any]) -> ItemSet:
        """Return the other operand as a set; refuse one of which no item can be equal to one of this set."""
        theirs = _as_set(other)
        ours, others = set(map(_kind, self)), set(map(_kind, theirs))
        if ours and others and ours.isdisjoint(others):
            raise SchemaError(
                f"the other set has items of type {_shown(others)}, but this one has {_shown(ours)}, so none "
                f"of them could be equal; give its items as {_shown(ours)}"
            )
        return theirs

    def _of(self, keys: list[Any], other: ItemSet) -> ItemSet:
        return ItemSet([self._items[key] for key in keys], self.reports + other.reports)

    def _display(self) -> Display:
        return first_rows([str(self)], {"item": self}, len(self))

    def __str__(self) -> str:
        """What it is, for a person."""
        guarantees = " and ".join(notation(report["request"]["privacy"]) for report in self.reports)
        together = "; the costs add up if the users are the same" if len(self.reports) > 1 else ""
        sources = quantity(len(self.reports), "release")
        return f"{quantity(len(self), 'item')} from {sources}: {guarantees}{together}"

    def __repr__(self) -> str:
        """One line."""
        return f"<dpsel.ItemSet: {self}>"


def _key(item: Any) -> Any:
    return tuple(map(_key, item)) if isinstance(item, tuple) else (type(item).__name__, item)


def _kind(item: Any) -> Any:
    """Return the type of an item, which says nothing of its value."""
    return tuple(map(_kind, item)) if isinstance(item, tuple) else type(item).__name__


def _shown(kinds: set[Any]) -> str:
    """Return types for a message: str, or (str, int) for items of several columns."""
    names = (kind if isinstance(kind, str) else f"({', '.join(map(str, kind))})" for kind in kinds)
    return " and ".join(sorted(names))


def _as_set(other: Iterable[Any]) -> ItemSet:
    """Return another set, a release as a set, or a public list as one without reports."""
    if isinstance(other, ItemSet):
        return other
    made = getattr(other, "_as_set", None)
    if made is not None:
        found: ItemSet = made()
        return found
    if isinstance(other, str | bytes):
        raise InvalidParameterError("a set operation needs items, got one text; put it into a list")
    if not hasattr(other, "__iter__"):
        raise InvalidParameterError(
            f"a set operation needs a release or a list of items, got {type_name(other)}; put it into a list"
        )
    return ItemSet(other, ())
