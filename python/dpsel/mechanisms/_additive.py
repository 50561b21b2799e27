"""One round of weights that do not depend on an order of users."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel.mechanisms._base import SelectionMechanism, registered
from dpsel.mechanisms._parameters import ReleaseStep, check_release

__all__ = ["CountGaussian", "CountLaplace", "WeightedGaussian", "WeightedLaplace"]


@registered
@dataclass(frozen=True, slots=True, repr=False)
class CountLaplace(SelectionMechanism):
    """Count users per item and add Laplace noise.

    Every user gives weight 1 to each of at most ``max_items_per_user`` items; the noise grows in proportion
    to that limit. The classic of Korolova, Kenthapadi, Mishra and Ntoulas, "Releasing search queries and
    clicks privately" (WWW 2009); the threshold is exact for any number of new items of one user. Guarantees
    [`ApproxDP`][dpsel.ApproxDP]. With ``with_weights=True`` its weights are noisy numbers of users.

    Examples:
        >>> import dpsel
        >>> dpsel.CountLaplace()
        CountLaplace()
    """

    name = "count_laplace"
    guarantees = ("approx_dp",)
    sensitivity = "count_l1"
    weights = "noisy_weight"
    additive = True


@registered
@dataclass(frozen=True, slots=True, repr=False)
class CountGaussian(SelectionMechanism):
    """Count users per item and add Gaussian noise.

    As [`CountLaplace`][dpsel.CountLaplace], but the noise grows with the square root of
    ``max_items_per_user`` only, which is better from a few items on. Analysed in Desfontaines, Voss, Gipson
    and Mandayam, "Differentially private partition selection" (PoPETs 2022). Guarantees
    [`ApproxDP`][dpsel.ApproxDP] and [`ZCDP`][dpsel.ZCDP]. With ``with_weights=True`` its weights are noisy
    numbers of users.

    Examples:
        >>> import dpsel
        >>> dpsel.CountGaussian()
        CountGaussian()
    """

    name = "count_gaussian"
    guarantees = ("approx_dp", "zcdp")
    sensitivity = "count_l2"
    weights = "noisy_weight"
    additive = True


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
