"""Weights that return to their users where an item has more than it needs."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel.mechanisms._base import SelectionMechanism, registered
from dpsel.mechanisms._parameters import check_alpha

__all__ = ["Mad", "Mad2R"]


@registered
@dataclass(frozen=True, slots=True, repr=False)
class Mad(SelectionMechanism):
    """Give back to users what items have beyond a limit; each puts up to a third of it on its items.

    A user of k items gives 1/sqrt(k) to each. What an item has beyond the limit returns to those who gave it.
    Items are released by a curve, as with ``WeightedGaussian(release="curve")``. Users do not have to come in
    order. After the idea of Chen, Cohen-Addad, Epasto and Zadimoghaddam, "Scalable private partition
    selection via adaptive weighting" (ICML 2025); the construction and its proof are in
    ``docs/algorithms/mad.md``. Guarantees :class:`~dpsel.ApproxDP`. It has no noisy weights. :class:`Mad2R`
    has two rounds.

    Args:
        alpha: How far above even odds the limit lies, in distances from there to odds of 27 : 5; at
            least 0.

    Raises:
        InvalidParameterError: If the argument is no number or outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.Mad()
        Mad(alpha=2.0)
    """

    name = "mad"
    guarantees = ("approx_dp",)
    sensitivity = "l2_and_slack"
    weights = "none"

    alpha: float = 2.0

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        check_alpha(self)


@registered
@dataclass(frozen=True, slots=True, repr=False)
class Mad2R(SelectionMechanism):
    """Look at noisy weights of all items, then run :class:`Mad` on what they leave.

    The first round takes a fifth of the budget and publishes nothing. After it users leave out items without
    a chance and give less to items that have more than they need; the second round decides by a release
    curve. What it costs does not grow with ``max_items_per_user``. After the two-round algorithm of Chen,
    Cohen-Addad, Epasto and Zadimoghaddam, "Scalable private partition selection via adaptive weighting"
    (ICML 2025); the construction and its proof are in ``docs/algorithms/mad2r.md``. Guarantees
    :class:`~dpsel.ApproxDP`. It has no noisy weights. :class:`Steered` looks more often.

    Args:
        alpha: As for :class:`Mad`, in the second round.

    Raises:
        InvalidParameterError: If the argument is no number or outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.Mad2R()
        Mad2R(alpha=2.0)
    """

    name = "mad2r"
    guarantees = ("approx_dp",)
    sensitivity = "l2_and_slack"
    weights = "none"

    alpha: float = 2.0

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        check_alpha(self)
