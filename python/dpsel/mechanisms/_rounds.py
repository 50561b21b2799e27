"""Several rounds, of which the weights depend on the results of earlier rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpsel import _core_calls
from dpsel._arguments import as_count, as_number
from dpsel.mechanisms._base import SelectionMechanism, registered
from dpsel.mechanisms._parameters import ReleaseStep, check_release

__all__ = ["Sips", "Steered"]


@registered
@dataclass(frozen=True, slots=True, repr=False)
class Sips(SelectionMechanism):
    """Repeat ``WeightedGaussian``; after each round released items leave the users' sets.

    So a user's weight goes to items that are not released yet. DP-SIPS: Swanberg, Desfontaines and Haney,
    "DP-SIPS: A simpler, more scalable mechanism for differentially private partition selection" (PoPETs
    2023), Algorithm 3. Guarantees [`ApproxDP`][dpsel.ApproxDP] and [`ZCDP`][dpsel.ZCDP].

    Args:
        rounds: Number of rounds, at least 1. Three are nearly always enough.
        ratio: Budget of a round as a fraction of the next round's, above 0 and at most 1; by default 1/3 as
            in the paper, and 1/5 with curves, which gain more from a large last round.
        release: ``"noise"``, or ``"curve"`` as in [`WeightedGaussian`][dpsel.WeightedGaussian].

    Raises:
        InvalidParameterError: If an argument is no number or outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.Sips(rounds=2, ratio=0.5)
        Sips(rounds=2, ratio=0.5)
    """

    name = "sips"
    guarantees = ("approx_dp", "zcdp")
    sensitivity = "l2"
    weights = "noisy_weight"
    additive = False

    rounds: int = 3
    ratio: float | None = None
    release: ReleaseStep = "noise"

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        object.__setattr__(self, "rounds", as_count("rounds", self.rounds))
        check_release(self.release)
        usual = 1 / 3 if self.release == "noise" else 1 / 5
        ratio = usual if self.ratio is None else as_number("ratio", self.ratio)
        object.__setattr__(self, "ratio", ratio)
        _core_calls.validate(mechanism=self.to_json())


@registered
@dataclass(frozen=True, slots=True, repr=False)
class Steered(SelectionMechanism):
    """Draw noisy weights of all items in many rounds, and reweight every user's items by them.

    Items that are unlikely to reach the threshold are abandoned, and frequent items get no more weight than
    they need. That weight goes to the items in between. Only the last round publishes. More rounds release
    more for the same budget and take longer. Users keep the same ``reach x max_items_per_user`` items in all
    rounds. Under [`ApproxDP`][dpsel.ApproxDP] every size of user has a norm and a cap of its own, so a large
    limit costs smaller users nothing. Ours; the proof is in
    <https://dpsel.github.io/dpsel/algorithms/steered/>. Guarantees [`ApproxDP`][dpsel.ApproxDP] and
    [`ZCDP`][dpsel.ZCDP].

    Args:
        rounds: Number of rounds, at least 1.
        reach: Users keep so many times ``max_items_per_user`` items, from 1 to 64. The guarantee is the same
            for any reach: the threshold is for users who keep that many. [`Sips`][dpsel.Sips] touches up to
            ``rounds x max_items_per_user`` items of a user, because released items make room for others.
            With a reach of 3 the limit means what it means for three rounds of it.

    Raises:
        InvalidParameterError: If an argument is no number or outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.Steered(rounds=20)
        Steered(rounds=20)
        >>> dpsel.Steered(reach=3)
        Steered(rounds=30, reach=3)
    """

    name = "steered"
    guarantees = ("approx_dp", "zcdp")
    sensitivity = "l2"
    weights = "cumulative_score"
    additive = False

    rounds: int = 30
    reach: int = 1

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        object.__setattr__(self, "rounds", as_count("rounds", self.rounds))
        object.__setattr__(self, "reach", as_count("reach", self.reach))
        _core_calls.validate(mechanism=self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism as it stands in requests and reports, where a reach of 1 is left out."""
        # `super()` does not work in a class with slots: it has been made again.
        return {
            key: value
            for key, value in SelectionMechanism.to_json(self).items()
            if (key, value) != ("reach", 1)
        }
