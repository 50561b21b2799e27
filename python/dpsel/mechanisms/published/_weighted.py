"""Weights shared among a user's items, in one round."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel.mechanisms._base import SelectionMechanism, registered
from dpsel.mechanisms._parameters import ReleaseStep, check_release

__all__ = ["WeightedGaussian", "WeightedLaplace"]


@registered
@dataclass(frozen=True, slots=True, repr=False)
class WeightedLaplace(SelectionMechanism):
    """Share one unit of weight equally among a user's k items, 1/k each, and add Laplace noise.

    Users with few items count for more. Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin, "Differentially
    private set union" (ICML 2020), section "Weighted Laplace". Guarantees [`ApproxDP`][dpsel.ApproxDP].

    Args:
        release: ``"noise"``, or ``"curve"`` as in [`WeightedGaussian`][dpsel.WeightedGaussian].

    Raises:
        InvalidParameterError: If it is neither.

    Examples:
        >>> import dpsel
        >>> dpsel.WeightedLaplace()
        WeightedLaplace()
        >>> dpsel.WeightedLaplace(release="curve")
        WeightedLaplace(release='curve')
    """

    name = "weighted_laplace"
    guarantees = ("approx_dp",)
    sensitivity = "l1"
    weights = "noisy_weight"
    additive = True

    release: ReleaseStep = "noise"

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        check_release(self.release)


@registered
@dataclass(frozen=True, slots=True, repr=False)
class WeightedGaussian(SelectionMechanism):
    """Share one unit of squared weight among a user's k items, 1/sqrt(k) each, and add Gaussian noise.

    Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin, "Differentially private set union" (ICML 2020),
    section "Weighted Gaussian". Guarantees [`ApproxDP`][dpsel.ApproxDP] and [`ZCDP`][dpsel.ZCDP].

    With ``release="curve"`` there is no noise: an item is released with a probability that is the largest
    one for its weight. It releases more items, has no noisy weights, and guarantees
    [`ApproxDP`][dpsel.ApproxDP] only.

    Args:
        release: ``"noise"`` or ``"curve"``.

    Raises:
        InvalidParameterError: If it is neither.

    Examples:
        >>> import dpsel
        >>> dpsel.WeightedGaussian()
        WeightedGaussian()
        >>> dpsel.WeightedGaussian(release="curve")
        WeightedGaussian(release='curve')
    """

    name = "weighted_gaussian"
    guarantees = ("approx_dp", "zcdp")
    sensitivity = "l2"
    weights = "noisy_weight"
    additive = True

    release: ReleaseStep = "noise"

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        check_release(self.release)
