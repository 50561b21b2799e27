"""The optimal rule for users of one item each."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel.mechanisms._base import SelectionMechanism, registered

__all__ = ["OneItem"]


@registered
@dataclass(frozen=True, slots=True, repr=False)
class OneItem(SelectionMechanism):
    """Release an item of n users with the largest probability there is, for ``max_items_per_user=1`` only.

    No noise and no threshold: no other rule releases any number of users with a larger probability.
    Desfontaines, Voss, Gipson and Mandayam, "Differentially private partition selection" (PoPETs 2022).
    Guarantees [`ApproxDP`][dpsel.ApproxDP]. It has no noisy weights.

    Examples:
        >>> import dpsel
        >>> dpsel.OneItem()
        OneItem()
    """

    name = "one_item"
    guarantees = ("approx_dp",)
    sensitivity = "one_item"
    weights = "none"
    additive = True
