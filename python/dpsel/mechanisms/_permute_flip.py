"""Permute-and-flip: over whole answers, or one item after the other."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel.mechanisms._base import TopKMechanism, registered

__all__ = ["PermuteFlipJoint", "PermuteFlipPeel"]


@registered
@dataclass(frozen=True, slots=True)
class PermuteFlipJoint(TopKMechanism):
    """Permute-and-flip over sequences of k items (PNF-Joint), exactly and for every k.

    Permute-and-flip of McKenna and Sheldon (NeurIPS 2020) with the loss of [`Joint`][dpsel.Joint]. Never
    worse than that, and the same but for about the reciprocal of the number of good sequences: of use for
    few items.
    Guarantees [`PureDP`][dpsel.PureDP].

    Examples:
        >>> import dpsel
        >>> dpsel.PermuteFlipJoint()
        PermuteFlipJoint()
    """

    name = "permute_flip_joint"
    guarantees = ("pure_dp",)
    ordered = True
    finds_domain = False


@registered
@dataclass(frozen=True, slots=True)
class PermuteFlipPeel(TopKMechanism):
    """Permute-and-flip one item after the other (PNF-Peel), exactly.

    McKenna and Sheldon, "Permute-and-flip" (NeurIPS 2020). Guarantees [`PureDP`][dpsel.PureDP].

    Examples:
        >>> import dpsel
        >>> dpsel.PermuteFlipPeel()
        PermuteFlipPeel()
    """

    name = "permute_flip_peel"
    guarantees = ("pure_dp",)
    ordered = True
    finds_domain = False
