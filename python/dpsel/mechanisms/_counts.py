"""Noise on numbers of users, in one round."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel.mechanisms._base import SelectionMechanism, registered

__all__ = ["CountGaussian", "CountLaplace"]


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
