"""A choice between two mechanisms, by a private look at the lengths of the lists of users."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

from dpsel import _core_calls
from dpsel._arguments import as_count, as_number, type_name
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms._base import SelectionMechanism, registered
from dpsel.mechanisms._matching import Matching
from dpsel.mechanisms._rounds import Steered

__all__ = ["ByLength"]

_SHORT: Final = Matching(screening=True)
_LONG: Final = Steered(reach=3)


@registered
@dataclass(frozen=True, slots=True, repr=False)
class ByLength(SelectionMechanism):
    """Look at the lengths of users' lists, and then take a mechanism for short lists or one for long ones.

    The look takes two noisy numbers from the data: of the users with at most ``size`` distinct items, and of
    those with more. It costs ``share`` of epsilon. The chosen mechanism has the rest of epsilon, and delta.
    Lists count as short if at most ``percent`` per cent of the users have more than ``size`` items, by a
    margin of three times the scale of the noise. So with few users they count as long. The report has the
    noisy numbers, the choice and both budgets. Guarantees [`ApproxDP`][dpsel.ApproxDP]. It has no noisy
    weights, and does not run on a cluster. The proof is in <https://dpsel.github.io/dpsel/algorithms/by_length/>.

    Args:
        short: The mechanism for short lists. Not one that orders items while rows are read, such as
            [`UnitGreedy`][dpsel.UnitGreedy].
        long: The mechanism for long lists, and for few users.
        size: The most items of a short list, before ``max_items_per_user``.
        percent: The most per cent of the users that may have longer lists.
        share: The part of epsilon that the look costs, above 0 and below 1.

    Raises:
        InvalidParameterError: If an argument is out of range, or a mechanism cannot be chosen by a look.

    Examples:
        >>> import dpsel
        >>> dpsel.ByLength(size=16)
        ByLength(size=16)
        >>> dpsel.ByLength().short, dpsel.ByLength().long
        (Matching(screening=True), Steered(rounds=30, reach=3))
        >>> rows = [(user, item) for user in range(20_000) for item in range(3)]
        >>> release = dpsel.select_partitions(
        ...     rows,
        ...     privacy=dpsel.ApproxDP(epsilon=6.0, delta=1e-6),
        ...     max_items_per_user=10,
        ...     mechanism=dpsel.ByLength(),
        ... )
        >>> release.report["look"]["lists"]
        'short'
    """

    name = "by_length"
    guarantees = ("approx_dp",)
    sensitivity = "chosen"
    weights = "none"
    additive = False

    short: SelectionMechanism = _SHORT
    long: SelectionMechanism = _LONG
    size: int = 32
    percent: int = 2
    share: float = 0.01

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        for name in ("short", "long"):
            if not isinstance(given := getattr(self, name), SelectionMechanism):
                raise InvalidParameterError(
                    f"{name} must be a mechanism of select_partitions, got {type_name(given)}; "
                    "use one such as dpsel.Matching()"
                )
        object.__setattr__(self, "size", as_count("size", self.size))
        object.__setattr__(self, "percent", as_count("percent", self.percent))
        object.__setattr__(self, "share", as_number("share", self.share))
        _core_calls.validate(mechanism=self.to_json())

    @property
    def reach(self) -> int:
        """How many times ``max_items_per_user`` items a user keeps at most, with either mechanism."""
        return max(getattr(each, "reach", 1) for each in (self.short, self.long))

    def __repr__(self) -> str:
        """Return the mechanism as code, without arguments that have their defaults."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        shown = [
            f"{each.name}={given[each.name]!r}" for each in fields(self) if given[each.name] != each.default
        ]
        return f"ByLength({', '.join(shown)})"

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism as it stands in requests and reports, with both mechanisms inside."""
        # `super()` does not work in a class with slots: it has been made again.
        stated = SelectionMechanism.to_json(self)
        return stated | {"short": self.short.to_json(), "long": self.long.to_json()}
