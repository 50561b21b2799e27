"""Top-k without a public list of items: the items are secret, which needs delta."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel._arguments import as_flag, as_int, as_number, at_least_one
from dpsel.accounting import Counts
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms._base import TopKMechanism, registered

__all__ = ["Discover", "LimitDomain", "SelectAndCount"]


@registered
@dataclass(frozen=True, slots=True)
class LimitDomain(TopKMechanism):
    """Exponential mechanisms among the largest counts of the data, with a stop above the last of them.

    After Durfee and Rogers (NeurIPS 2019). Finds the items itself, and may return fewer than k. Guarantees
    [`ApproxDP`][dpsel.ApproxDP].

    Args:
        candidates: Number of the largest counts that compete; by default ten times k.

    Examples:
        >>> import dpsel
        >>> dpsel.LimitDomain(candidates=500)
        LimitDomain(candidates=500)
    """

    name = "limit_domain"
    guarantees = ("approx_dp",)
    ordered = True
    finds_domain = True

    candidates: int | None = None

    def __post_init__(self) -> None:
        """Check the type."""
        if self.candidates is not None:
            object.__setattr__(self, "candidates", at_least_one("candidates", self.candidates))


@registered
@dataclass(frozen=True, slots=True)
class Discover(TopKMechanism):
    """Select partitions with one part of the budget, then a top-k of what was selected.

    After Dick, Joseph and Raman (2026). Finds the items itself, and may return fewer than k. Guarantees
    [`ApproxDP`][dpsel.ApproxDP] and [`ZCDP`][dpsel.ZCDP]; ``max_items_per_user`` is needed.

    Args:
        share: The part of epsilon or rho that the selection gets; all of delta goes there.
        ordered: Whether the answer has an order.

    Examples:
        >>> import dpsel
        >>> dpsel.Discover(share=0.25)
        Discover(share=0.25, ordered=True)
    """

    name = "discover"
    guarantees = ("approx_dp", "zcdp")
    finds_domain = True
    needs_rows = True

    share: float = 0.5
    ordered: bool = True

    def __post_init__(self) -> None:
        """Check the parameters; JSON cannot carry a share that is not finite to the core."""
        object.__setattr__(self, "share", as_number("share", self.share))
        if not 0 < self.share < 1:
            raise InvalidParameterError(
                f"share must be above 0 and below 1, got {self.share:g}; "
                "0.5 gives both halves of the job the same"
            )
        object.__setattr__(self, "ordered", as_flag("ordered", self.ordered))


@registered
@dataclass(frozen=True, slots=True)
class SelectAndCount(TopKMechanism):
    """Select partitions and count their users in one budget; the answer has the largest noisy counts.

    [`Steered`][dpsel.Steered] selects, and [`Counts`][dpsel.Counts] are taken of what it selects. Finds the
    items itself, and may return fewer than k. Its counts are published for nothing (``counts="free"``).
    Guarantees [`ApproxDP`][dpsel.ApproxDP] and [`ZCDP`][dpsel.ZCDP]; ``max_items_per_user`` is needed.

    Args:
        share: The part of the budget that counts cost.
        max_counted_items: A user of ``m`` more selected items counts ``sqrt(max_counted_items / m)`` in each
            of them. The noise grows with its root.

    Examples:
        >>> import dpsel
        >>> dpsel.SelectAndCount(max_counted_items=30)
        SelectAndCount(share=0.3, max_counted_items=30)
    """

    name = "select_and_count"
    guarantees = ("approx_dp", "zcdp")
    ordered = True
    finds_domain = True
    needs_rows = True

    share: float = 0.3
    max_counted_items: int = 10

    def __post_init__(self) -> None:
        """Check the parameters, which are those of counts beside a selection."""
        asked = Counts(share=self.share, max_counted_items=self.max_counted_items)
        object.__setattr__(self, "share", asked.share)
        object.__setattr__(self, "max_counted_items", as_int("max_counted_items", self.max_counted_items))
