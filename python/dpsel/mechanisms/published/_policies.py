"""Policies: users, one after the other, raise their items towards a cutoff."""

from __future__ import annotations

from dataclasses import dataclass

from dpsel._arguments import as_count
from dpsel.mechanisms._base import SelectionMechanism, registered
from dpsel.mechanisms._parameters import ReleaseStep, check_alpha, check_release

__all__ = ["PolicyGaussian", "PolicyLaplace"]


@registered
@dataclass(frozen=True, slots=True, repr=False)
class PolicyLaplace(SelectionMechanism):
    """Let users, one after the other, raise their items up to a cutoff at equal speed; add Laplace noise.

    An item at the cutoff gains no more, so the weight of later users goes to their other items. This step
    uses one thread, because users come in a fixed order. Gopi, Gulhane, Kulkarni, Shen, Shokouhi and
    Yekhanin, "Differentially private set union" (ICML 2020), section "Policy Laplace". Guarantees
    [`ApproxDP`][dpsel.ApproxDP].

    Args:
        alpha: How far above the threshold the cutoff lies, in scales of the noise; at least 0.
            With a curve: above the weight of even odds, in distances from there to odds of 27 : 5.
        passes: Passes over all users, each with an equal part of a user's budget; at least 1.
        release: ``"noise"``, or ``"curve"`` as in [`WeightedGaussian`][dpsel.WeightedGaussian].

    Raises:
        InvalidParameterError: If an argument is no number or outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.PolicyLaplace(alpha=2)
        PolicyLaplace(alpha=2.0, passes=1)
    """

    name = "policy_laplace"
    guarantees = ("approx_dp",)
    sensitivity = "l1"
    weights = "noisy_weight"
    additive = False

    alpha: float = 5.0
    passes: int = 1
    release: ReleaseStep = "noise"

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        _check_policy(self)


@registered
@dataclass(frozen=True, slots=True, repr=False)
class PolicyGaussian(SelectionMechanism):
    """Let users, one after the other, move their items towards a cutoff; add Gaussian noise.

    Each user's step has length 1 at most and points to where all of its items are at the cutoff. This step
    uses one thread, because users come in a fixed order. Gopi, Gulhane, Kulkarni, Shen, Shokouhi and
    Yekhanin, "Differentially private set union" (ICML 2020), section "Policy Gaussian". Guarantees
    [`ApproxDP`][dpsel.ApproxDP] and [`ZCDP`][dpsel.ZCDP].

    Args:
        alpha: How far above the threshold the cutoff lies, in standard deviations of the noise; at least 0.
            With a curve: above the weight of even odds, in distances from there to odds of 27 : 5.
        passes: Passes over all users, each with an equal part of a user's budget; at least 1.
        release: ``"noise"``, or ``"curve"`` as in [`WeightedGaussian`][dpsel.WeightedGaussian].

    Raises:
        InvalidParameterError: If an argument is no number or outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.PolicyGaussian()
        PolicyGaussian(alpha=5.0, passes=1)
    """

    name = "policy_gaussian"
    guarantees = ("approx_dp", "zcdp")
    sensitivity = "l2_and_slack"
    weights = "noisy_weight"
    additive = False

    alpha: float = 5.0
    passes: int = 1
    release: ReleaseStep = "noise"

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        _check_policy(self)


def _check_policy(policy: PolicyLaplace | PolicyGaussian) -> None:
    object.__setattr__(policy, "passes", as_count("passes", policy.passes))
    check_release(policy.release)
    check_alpha(policy)
