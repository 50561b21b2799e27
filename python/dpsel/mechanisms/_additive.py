"""One round of weights that do not depend on an order of users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpsel.mechanisms._shared import ReleaseStep, check_alpha, check_release, written


@dataclass(frozen=True, slots=True)
class CountLaplace:
    """Count users per item and add Laplace noise.

    Every user gives weight 1 to each of at most ``max_items_per_user`` items; the noise grows in proportion
    to that limit. The classic of Korolova, Kenthapadi, Mishra and Ntoulas, "Releasing search queries and
    clicks privately" (WWW 2009); the threshold is exact for any number of new items of one user. Guarantees
    :class:`~dpsel.ApproxDP`. With ``with_weights=True`` its weights are noisy numbers of users.

    Examples:
        >>> import dpsel
        >>> dpsel.CountLaplace()
        CountLaplace()
    """

    name: ClassVar[str] = "count_laplace"


@dataclass(frozen=True, slots=True)
class CountGaussian:
    """Count users per item and add Gaussian noise.

    As :class:`CountLaplace`, but the noise grows with the square root of ``max_items_per_user`` only, which
    is better from a few items on. Analysed in Desfontaines, Voss, Gipson and Mandayam, "Differentially
    private partition selection" (PoPETs 2022). Guarantees :class:`~dpsel.ApproxDP` and
    :class:`~dpsel.ZCDP`. With ``with_weights=True`` its weights are noisy numbers of users.

    Examples:
        >>> import dpsel
        >>> dpsel.CountGaussian()
        CountGaussian()
    """

    name: ClassVar[str] = "count_gaussian"


@dataclass(frozen=True, slots=True)
class WeightedLaplace:
    """Share one unit of weight equally among a user's k items, 1/k each, and add Laplace noise.

    Users with few items count for more. Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin, "Differentially
    private set union" (ICML 2020), section "Weighted Laplace". Guarantees :class:`~dpsel.ApproxDP`.

    Args:
        release: ``"noise"``, or ``"curve"`` as in :class:`WeightedGaussian`.

    Raises:
        InvalidParameterError: If it is neither.

    Examples:
        >>> import dpsel
        >>> dpsel.WeightedLaplace()
        WeightedLaplace()
        >>> dpsel.WeightedLaplace(release="curve")
        WeightedLaplace(release='curve')
    """

    name: ClassVar[str] = "weighted_laplace"
    release: ReleaseStep = "noise"

    def __post_init__(self) -> None:
        """Check at once: a mechanism that exists is valid."""
        check_release(self.release)

    def __repr__(self) -> str:
        """As it would be written."""
        return written(self)


@dataclass(frozen=True, slots=True)
class WeightedGaussian:
    """Share one unit of squared weight among a user's k items, 1/sqrt(k) each, and add Gaussian noise.

    Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin, "Differentially private set union" (ICML 2020),
    section "Weighted Gaussian". Guarantees :class:`~dpsel.ApproxDP` and :class:`~dpsel.ZCDP`.

    With ``release="curve"`` there is no noise: an item is released with a probability that is the largest
    one for its weight. It releases more items, has no noisy weights, and guarantees
    :class:`~dpsel.ApproxDP` only.

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

    name: ClassVar[str] = "weighted_gaussian"
    release: ReleaseStep = "noise"

    def __post_init__(self) -> None:
        """Check at once: a mechanism that exists is valid."""
        check_release(self.release)

    def __repr__(self) -> str:
        """As it would be written."""
        return written(self)


@dataclass(frozen=True, slots=True)
class OneItem:
    """Release an item of n users with the largest probability there is, for ``max_items_per_user=1`` only.

    No noise and no threshold: no other rule releases any number of users with a larger probability.
    Desfontaines, Voss, Gipson and Mandayam, "Differentially private partition selection" (PoPETs 2022).
    Guarantees :class:`~dpsel.ApproxDP`. It has no noisy weights.

    Examples:
        >>> import dpsel
        >>> dpsel.OneItem()
        OneItem()
    """

    name: ClassVar[str] = "one_item"


@dataclass(frozen=True, slots=True)
class Mad:
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

    name: ClassVar[str] = "mad"
    alpha: float = 2.0

    def __post_init__(self) -> None:
        """Check at once: a mechanism that exists is valid."""
        check_alpha(self)
