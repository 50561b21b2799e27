"""Exponential mechanisms: over whole answers, or one item after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dpsel._arguments import is_one_of, type_name
from dpsel.exceptions import InvalidParameterError
from dpsel.mechanisms._base import TopKMechanism, registered

__all__ = ["GumbelPeel", "Joint", "JointSet"]


@registered
@dataclass(frozen=True, slots=True)
class Joint(TopKMechanism):
    """The exponential mechanism over sequences of k items, drawn exactly in one pass over the counts.

    Gillenwater, Joseph, Munoz Medina and Ribero, "A joint exponential mechanism for differentially private
    top-k" (ICML 2022). Best under pure differential privacy where the counts have gaps. Guarantees
    [`PureDP`][dpsel.PureDP] and [`ZCDP`][dpsel.ZCDP], for users of any number of items.

    Examples:
        >>> import dpsel
        >>> dpsel.Joint()
        Joint()
    """

    name = "joint"
    guarantees = ("pure_dp", "zcdp")
    ordered = True
    finds_domain = False


@registered
@dataclass(frozen=True, slots=True)
class JointSet(TopKMechanism):
    """The exponential mechanism over sets of k items: far more accurate where no order is needed.

    The canonical mechanism of Shekelyan and Loukides, "Differentially private top-k selection via canonical
    Lipschitz mechanism" (2022), drawn exactly. Guarantees [`PureDP`][dpsel.PureDP] and [`ZCDP`][dpsel.ZCDP].

    Examples:
        >>> import dpsel
        >>> dpsel.JointSet().ordered
        False
    """

    name = "joint_set"
    guarantees = ("pure_dp", "zcdp")
    ordered = False
    finds_domain = False


@registered
@dataclass(frozen=True, slots=True)
class GumbelPeel(TopKMechanism):
    """Exponential mechanisms one after the other: the law of Gumbel noise on every count (CDP-Peel).

    Durfee and Rogers (NeurIPS 2019). Best for many items under approximate differential privacy.

    Args:
        conversion: ``"tight"``, or ``"paper"`` for the smaller budget per pick of the Joint paper.

    Examples:
        >>> import dpsel
        >>> dpsel.GumbelPeel(conversion="paper")
        GumbelPeel(conversion='paper')
    """

    name = "gumbel_peel"
    guarantees = ("pure_dp", "approx_dp", "zcdp")
    ordered = True
    finds_domain = False

    conversion: Literal["tight", "paper"] = "tight"

    def __post_init__(self) -> None:
        """Check the name."""
        if not is_one_of(self.conversion, "tight", "paper"):
            raise InvalidParameterError(
                f'conversion must be "tight" or "paper", got {type_name(self.conversion)}; '
                '"tight" is at least as accurate for the same guarantee'
            )
