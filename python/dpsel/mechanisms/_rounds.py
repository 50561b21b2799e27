"""Several rounds, in which weights follow what earlier rounds showed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpsel._arguments import as_int, as_number
from dpsel.mechanisms._shared import ReleaseStep, check_alpha, check_release, written


@dataclass(frozen=True, slots=True)
class Sips:
    """Repeat :class:`WeightedGaussian`; after each round released items leave the users' sets.

    So a user's weight moves on to items that still need it. DP-SIPS: Swanberg, Desfontaines and Haney,
    "DP-SIPS: A simpler, more scalable mechanism for differentially private partition selection" (PoPETs
    2023), Algorithm 3. Guarantees :class:`~dpsel.ApproxDP` and :class:`~dpsel.ZCDP`.

    Args:
        rounds: Number of rounds, at least 1. Three are enough nearly always.
        ratio: Budget of a round as a fraction of the next round's, above 0 and at most 1; by default 1/3 as
            in the paper, and 1/5 with curves, which gain more from a large last round.
        release: ``"noise"``, or ``"curve"`` as in :class:`WeightedGaussian`.

    Raises:
        InvalidParameterError: If an argument is no number or outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.Sips(rounds=2, ratio=0.5)
        Sips(rounds=2, ratio=0.5)
    """

    name: ClassVar[str] = "sips"
    rounds: int = 3
    ratio: float | None = None
    release: ReleaseStep = "noise"

    def __post_init__(self) -> None:
        """Check at once: a mechanism that exists is valid."""
        from dpsel import _core

        object.__setattr__(self, "rounds", as_int("rounds", self.rounds))
        check_release(self.release)
        usual = 1 / 3 if self.release == "noise" else 1 / 5
        ratio = usual if self.ratio is None else as_number("ratio", self.ratio)
        object.__setattr__(self, "ratio", ratio)
        _core.validate_sips(self.rounds, ratio)

    def __repr__(self) -> str:
        """As it would be written."""
        return written(self)


@dataclass(frozen=True, slots=True)
class Mad2R:
    """A screening round with noise on all weights, then :class:`Mad` on the items that pass it.

    The screening round takes a fifth of the budget and releases nothing. After it users leave out abandoned
    items and give less to items that have more weight than they need; the second round decides by a release
    curve. The cost does not grow with ``max_items_per_user``. After the two-round algorithm of Chen,
    Cohen-Addad, Epasto and Zadimoghaddam, "Scalable private partition selection via adaptive weighting"
    (ICML 2025); the construction and its proof are in ``docs/algorithms/mad2r.md``. Guarantees
    :class:`~dpsel.ApproxDP`. It has no noisy weights. :class:`Steered` has more rounds.

    Args:
        alpha: As for :class:`Mad`, in the second round.

    Raises:
        InvalidParameterError: If the argument is no number or outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.Mad2R()
        Mad2R(alpha=2.0)
    """

    name: ClassVar[str] = "mad2r"
    alpha: float = 2.0

    def __post_init__(self) -> None:
        """Check at once: a mechanism that exists is valid."""
        check_alpha(self)


@dataclass(frozen=True, slots=True)
class Steered:
    """Add up noisy weights of all items over many rounds and steer every user's weight by the scores.

    Items that hardly can reach the threshold are abandoned, and frequent items get no more weight than they
    need. The weight that this frees goes to the items in between. Only the last round releases. More rounds
    release more for the same budget and take longer. Users keep the same ``max_items_per_user`` items
    throughout, so that limit should be generous: a few hundred cost little. Ours; the proof is in
    ``docs/algorithms/steered.md``. Guarantees :class:`~dpsel.ApproxDP` and :class:`~dpsel.ZCDP`.

    Args:
        rounds: Number of rounds, at least 1.

    Raises:
        InvalidParameterError: If the argument is no number or outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.Steered(rounds=20)
        Steered(rounds=20)
    """

    name: ClassVar[str] = "steered"
    rounds: int = 30

    def __post_init__(self) -> None:
        """Check at once: a mechanism that exists is valid."""
        from dpsel import _core

        object.__setattr__(self, "rounds", as_int("rounds", self.rounds))
        _core.validate_steered(self.rounds)
