"""A limit that is a private quantile of the users' numbers of distinct items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpsel._arguments import as_int, as_number
from dpsel.exceptions import InvalidParameterError

__all__ = ["Quantile"]

_MOST_ITEMS = 10_000_000


@dataclass(frozen=True, slots=True)
class Quantile:
    """A limit that is taken from the data: so many of the users have at most as many distinct items.

    ``select_partitions(..., max_items_per_user=dpsel.Quantile(0.95))`` looks at the numbers of users of 1, 2,
    3, 4, 6, 8, 12, 16, ... items, with noise, and takes the least of these sizes that is a limit for enough
    of them. The selection has the rest of the budget. The report has the noisy numbers, the limit and both
    budgets. The proof is in <https://dpsel.github.io/dpsel/algorithms/quantile/>.

    The noise makes the limit uncertain. Under ``ApproxDP`` each number is within 3 / (share x epsilon) users
    of the true one with 95 %: 150 at an epsilon of 1 and the usual share. So have at least
    1,000 / (share x epsilon) users. A release, its report and its card say how far the limit may be off, and
    [`plan`][dpsel.plan] says it before.

    Args:
        quantile: The part of the users that have at most so many items, above 0 and below 1.
        share: The part of epsilon, or of rho, that the limit costs, above 0 and below 1.
        most: The largest limit that can be found.

    Raises:
        InvalidParameterError: If a value is out of range.

    Examples:
        >>> import dpsel
        >>> rows = [(user, item) for user in range(30_000) for item in range(1 + user % 5)]
        >>> release = dpsel.select_partitions(
        ...     rows,
        ...     privacy=dpsel.ApproxDP(epsilon=2.0, delta=1e-6),
        ...     max_items_per_user=dpsel.Quantile(0.5, share=0.05),
        ... )
        >>> release.report["look"]["limit"]
        3
    """

    quantile: float
    share: float = 0.02
    most: int = 1_000

    def __post_init__(self) -> None:
        """Check every value."""
        fixes = {
            "quantile": "it is the part of the users who have at most so many items, and 0.95 is usual",
            "share": "it is the part of the budget that the limit costs, and 0.02 is usual",
        }
        for name, fix in fixes.items():
            value = as_number(name, getattr(self, name))
            if not 0 < value < 1:
                raise InvalidParameterError(f"{name} must be above 0 and below 1, got {value}; {fix}")
            object.__setattr__(self, name, value)
        most = as_int("most", self.most)
        if not 1 <= most <= _MOST_ITEMS:
            raise InvalidParameterError(
                f"most must be between 1 and 10,000,000, got {most}; no larger limit can be found"
            )
        object.__setattr__(self, "most", most)

    def to_json(self) -> dict[str, Any]:
        """Return the quantile as it stands in requests and reports."""
        return {"quantile": self.quantile, "share": self.share}
