"""What is spent of a total, and what is left: exact sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, TypeVar

from dpsel.accounting import PureDP
from dpsel.accounting._amounts import for_neighbours, numbers
from dpsel.budget._rounding import decimal_root_down, round_down
from dpsel.exceptions import BudgetExceededError

if TYPE_CHECKING:
    from dpsel.accounting import Neighbours, Privacy
    from dpsel.accounting._cost import Cost

__all__ = ["Sums"]

#: The kind of guarantee that a budget is in.
Kind = TypeVar("Kind", bound="Privacy")


@dataclass(frozen=True, slots=True)
class Sums(Generic[Kind]):
    """A total, for whom it holds, and the amounts of each of its numbers that are spent."""

    total: Kind
    neighbours: Neighbours
    spent: dict[str, Fraction]

    @classmethod
    def none_of(cls, total: Kind, neighbours: Neighbours) -> Sums[Kind]:
        """Return sums of which nothing is spent."""
        return cls(total, neighbours, dict.fromkeys(numbers(total), Fraction(0)))

    def plus(self, cost: Cost, *, checked: bool = True) -> Sums[Kind]:
        """Return the sums with a further cost.

        Raises:
            BudgetExceededError: If it exceeds what is left, and that is checked.
        """
        sums = self
        for part in cost.parts:
            taken = for_neighbours(part, cost.neighbours, self.neighbours, self.total.kind)
            if checked:
                self._check(taken, sums.left())
            spent = sums.spent
            both = {name: self._composed(name, spent[name], amount) for name, amount in taken.items()}
            sums = replace(self, spent=both)
        return sums

    def left(self) -> dict[str, Fraction]:
        """Return what may still be spent of each number, exactly."""
        left = {}
        for name, total in numbers(self.total).items():
            gone = self.spent[name]
            # The x for which spending it composes to exactly the total.
            left[name] = (total - gone) / (1 - gone if self._deltas_overlap(name) else 1)
        return left

    def remaining(self) -> Kind | PureDP | None:
        """Return what may still be spent as a guarantee: pure without a delta, ``None`` if it is nothing."""
        left = self._rounded()
        if all(value > 0 for value in left.values()):
            return type(self.total)(**left)
        if left.get("rho"):
            # What (epsilon^2 / 2)-zCDP allows.
            return PureDP(epsilon=decimal_root_down(2 * self.left()["rho"]))
        return PureDP(epsilon=left["epsilon"]) if left.get("epsilon") else None

    def in_words(self) -> str:
        """Return what is left: a guarantee of the kind of the total, or the parts of which there is none."""
        left = self.remaining()
        return repr(left) if isinstance(left, type(self.total)) else self._parts_in_words()

    def _rounded(self) -> dict[str, float]:
        return {name: round_down(amount) for name, amount in self.left().items()}

    def _parts_in_words(self) -> str:
        left = self._rounded()
        if not any(left.values()):
            return "nothing left"
        (first, value), *others = left.items()
        words = [f"{first} {value!r} left" if value else f"no {first} left"]
        return ", ".join(words + [f"{name} {value!r}" if value else f"no {name}" for name, value in others])

    def _check(self, taken: dict[str, Fraction], left: dict[str, Fraction]) -> None:
        for name, amount in taken.items():
            if amount > left[name]:
                asked, remaining = f"spending {name} = {float(amount)!r}", round_down(left[name])
                if remaining <= 0:
                    raise BudgetExceededError(
                        f"{asked} exceeds the budget: no {name} remains ({self._parts_in_words()}). Nothing "
                        "was spent now; only a larger budget, which protects less, allows more releases"
                    )
                raise BudgetExceededError(
                    f"{asked} exceeds the remaining {remaining!r}; nothing was spent, so spend at most what "
                    "remains; share() makes equal parts that fit"
                )

    def _composed(self, name: str, spent: Fraction, amount: Fraction) -> Fraction:
        both = spent * amount if self._deltas_overlap(name) else 0
        return spent + amount - both

    def _deltas_overlap(self, name: str) -> bool:
        return name == "delta" and self.total.kind == "zcdp"
