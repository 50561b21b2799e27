"""Noise on all counts, and the items with the k largest."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel.mechanisms._base import TopKMechanism, registered

__all__ = ["Gamma", "LaplaceTopK"]


@registered
@dataclass(frozen=True, slots=True)
class Gamma(TopKMechanism):
    """Noise of probability proportional to e^(-epsilon max |z|) on all counts, and the k largest.

    Steinke and Ullman (2017), on integers. Its noisy counts are free (``counts="free"``). For comparison:
    its noise grows with the number of items. Guarantees [`PureDP`][dpsel.PureDP].

    Examples:
        >>> import dpsel
        >>> dpsel.Gamma()
        Gamma()
    """

    name = "gamma"
    guarantees = ("pure_dp",)
    ordered = True
    finds_domain = False


@registered
@dataclass(frozen=True, slots=True)
class LaplaceTopK(TopKMechanism):
    """Discrete Laplace noise on all counts, and the k largest.

    Best where ``max_items_per_user`` is far below k; then its noisy counts are free (``counts="free"``).
    Guarantees [`PureDP`][dpsel.PureDP].

    Examples:
        >>> import dpsel
        >>> dpsel.LaplaceTopK()
        LaplaceTopK()
    """

    name = "laplace_top_k"
    guarantees = ("pure_dp",)
    ordered = True
    finds_domain = False
