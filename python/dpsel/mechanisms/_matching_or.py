"""A choice between Matching and another mechanism, by a private look at what Matching would fill."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

from dpsel import _core_calls
from dpsel._arguments import as_number, type_name
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms._base import SelectionMechanism, registered
from dpsel.mechanisms._matching import Matching
from dpsel.mechanisms._rounds import Steered

__all__ = ["SHORT", "MatchingOr"]

#: What it takes where lists are short.
SHORT: Final = Matching(screening=True)
_OTHERWISE: Final = Steered(reach=3)


@registered
@dataclass(frozen=True, slots=True, repr=False)
class MatchingOr(SelectionMechanism):
    """Look whether lists are short, and then take ``Matching(screening=True)``, or another mechanism.

    Lists are short if [`Matching`][dpsel.Matching] fills most of the items that enough users hold. The look
    is one noisy number of that, and costs ``share`` of epsilon. The chosen mechanism has the rest of epsilon,
    and delta. The number has to be above 0 by more than its noise, so with few users lists count as long. The
    report has the noisy number, the choice and both budgets. Guarantees [`ApproxDP`][dpsel.ApproxDP]. It has
    no noisy weights, and needs all rows in memory. The proof is in
    <https://dpsel.github.io/dpsel/algorithms/matching_or/>.

    Args:
        otherwise: The mechanism for long lists, and for few users. Not one that orders items while rows are
            read, such as [`UnitGreedy`][dpsel.UnitGreedy].
        share: The part of epsilon that the look costs, above 0 and below 1.

    Raises:
        InvalidParameterError: If ``share`` is out of range, or the mechanism cannot be chosen by a look.

    Examples:
        >>> import dpsel
        >>> dpsel.MatchingOr(dpsel.Sips())
        MatchingOr(otherwise=Sips(rounds=3, ratio=0.3333333333333333))
        >>> rows = [(user, (user + step) % 4_000) for user in range(20_000) for step in range(3)]
        >>> release = dpsel.select_partitions(
        ...     rows,
        ...     privacy=dpsel.ApproxDP(epsilon=6.0, delta=1e-6),
        ...     max_items_per_user=10,
        ...     mechanism=dpsel.MatchingOr(),
        ... )
        >>> release.report["look"]["lists"]
        'short'
    """

    name = "matching_or"
    guarantees = ("approx_dp",)
    sensitivity = "chosen"
    weights = "none"
    additive = False

    otherwise: SelectionMechanism = _OTHERWISE
    share: float = 0.01

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        if not isinstance(self.otherwise, SelectionMechanism):
            raise InvalidParameterError(
                f"otherwise must be a mechanism of select_partitions, got {type_name(self.otherwise)}; "
                "use one such as dpsel.Steered(reach=3)"
            )
        object.__setattr__(self, "share", as_number("share", self.share))
        _core_calls.validate(mechanism=self.to_json())

    @property
    def reach(self) -> int:
        """How many times ``max_items_per_user`` items a user keeps at most, with either mechanism."""
        return getattr(self.otherwise, "reach", 1)

    def __repr__(self) -> str:
        """Return the mechanism as code, without arguments that have their defaults."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        shown = [
            f"{each.name}={given[each.name]!r}" for each in fields(self) if given[each.name] != each.default
        ]
        return f"MatchingOr({', '.join(shown)})"

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism as it stands in requests and reports, with the other one inside."""
        # `super()` does not work in a class with slots: it has been made again.
        return SelectionMechanism.to_json(self) | {"otherwise": self.otherwise.to_json()}
