"""Assignments: as many users as possible fill one slot each of their items."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel._arguments import as_flag
from dpsel.mechanisms._base import SelectionMechanism, registered

__all__ = ["Matching"]


@registered
@dataclass(frozen=True, slots=True, repr=False)
class Matching(SelectionMechanism):
    """Assign every user to one slot of one of its items, so that as many slots as possible are filled.

    Every item has slots, in a fixed order: first the slots that make a release likely, one item after the
    other. A slot is filled if users can be assigned to it and to all slots that were filled before. So one
    user fills at most one slot more, and an item is released with the optimal probability of
    [`OneItem`][dpsel.OneItem] for its filled slots (with screening, for what of epsilon the screening
    leaves). [`UnitGreedy`][dpsel.UnitGreedy] assigns users once and for all; here they move. Guarantees
    [`ApproxDP`][dpsel.ApproxDP] for users of any number of items: ``max_items_per_user`` only limits time and
    memory. It has no noisy weights. This step uses one thread. The proof is in
    <https://dpsel.github.io/dpsel/algorithms/matching/>.

    Args:
        screening: Whether a first assignment, seen through noise for a part of epsilon, sets the order: items
            that seem able to fill their slots come first. Without it the order is random.

    Raises:
        InvalidParameterError: If the argument is neither True nor False.

    Examples:
        >>> import dpsel
        >>> dpsel.Matching()
        Matching(screening=False)
    """

    name = "matching"
    guarantees = ("approx_dp",)
    sensitivity = "one_item"
    weights = "none"
    additive = False

    screening: bool = False

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        object.__setattr__(self, "screening", as_flag("screening", self.screening))
