"""Adaptive weights: the excess of frequent items returns to their users and goes to other items."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel.mechanisms._base import SelectionMechanism, registered
from dpsel.mechanisms._parameters import check_alpha

__all__ = ["Mad", "Mad2R"]


@registered
@dataclass(frozen=True, slots=True, repr=False)
class Mad(SelectionMechanism):
    """Cut off weight above a limit; each user puts up to a third of its share of that on its items again.

    A user of k items gives 1/sqrt(k) to each. The weight of an item above the limit returns to the users who
    gave it. Items are released by a curve, as with ``WeightedGaussian(release="curve")``. The result does not
    depend on an order of users. After the idea of Chen, Cohen-Addad, Epasto and Zadimoghaddam, "Scalable
    private partition selection via adaptive weighting" (ICML 2025); the construction and its proof are in
    <https://dpsel.github.io/dpsel/algorithms/mad/>. Guarantees [`ApproxDP`][dpsel.ApproxDP]. It has no noisy
    weights. [`Mad2R`][dpsel.Mad2R] has two rounds.

    Args:
        alpha: Distance of the limit above the weight of even odds, at least 0. The unit is the distance
            from even odds to odds of 27 : 5.

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
    additive = False

    alpha: float = 2.0

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        check_alpha(self)


@registered
@dataclass(frozen=True, slots=True, repr=False)
class Mad2R(SelectionMechanism):
    """Screen all items by noisy weights, then run [`Mad`][dpsel.Mad] on the others.

    The screening round takes a fifth of the budget and publishes nothing. After it users leave out items that
    cannot reach the threshold, and give less to items above their target. The second round decides by a
    release curve. The cost does not grow with ``max_items_per_user``. After the two-round algorithm of Chen,
    Cohen-Addad, Epasto and Zadimoghaddam, "Scalable private partition selection via adaptive weighting"
    (ICML 2025); the construction and its proof are in
    <https://dpsel.github.io/dpsel/algorithms/mad2r/>. Guarantees [`ApproxDP`][dpsel.ApproxDP]. It has no
    noisy weights. [`Steered`][dpsel.Steered] has more rounds.

    Args:
        alpha: As for [`Mad`][dpsel.Mad], in the second round.

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
    additive = False

    alpha: float = 2.0

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        check_alpha(self)
