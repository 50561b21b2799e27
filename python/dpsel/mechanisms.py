"""The mechanisms as frozen values: which weights select the items, and by which rule.

All of them guarantee privacy for adding or removing one user with all of its rows. They release an item if
its noisy weight reaches a threshold, or with a probability that grows with its weight. Proofs are in
``docs/algorithms/``.

Examples:
    >>> from dpsel import Sips
    >>> Sips(rounds=3)
    Sips(rounds=3, ratio=0.3333333333333333)
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, fields
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from dpsel._arguments import as_int, as_number, type_name
from dpsel.exceptions import DpselWarning, InvalidParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpsel.accounting import Privacy

__all__ = [
    "CountGaussian",
    "CountLaplace",
    "GreedyFrequency",
    "Mad",
    "Mechanism",
    "OneItem",
    "PolicyGaussian",
    "PolicyLaplace",
    "Sips",
    "Steered",
    "UnitGreedy",
    "WeightedGaussian",
    "WeightedLaplace",
]

ReleaseStep: TypeAlias = Literal["noise", "curve"]
"""How items are decided: noise and a threshold, or a release curve."""


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
        _check_release(self.release)

    def __repr__(self) -> str:
        """As it would be written."""
        return _written(self)


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
        _check_release(self.release)

    def __repr__(self) -> str:
        """As it would be written."""
        return _written(self)


@dataclass(frozen=True, slots=True)
class PolicyLaplace:
    """Let users, one after the other, raise their items up to a cutoff at equal speed; add Laplace noise.

    An item at the cutoff gains no more, so the weight of later users goes to items that still need it. This
    step uses one thread: users have to come in order. Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin,
    "Differentially private set union" (ICML 2020), section "Policy Laplace". Guarantees
    :class:`~dpsel.ApproxDP`.

    Args:
        alpha: How far above the threshold the cutoff lies, in scales of the noise; at least 0.
            With a curve: above even odds, in distances from there to odds of 27 : 5.
        passes: How often each user comes, with an equal part of its budget each time; at least 1.
        release: ``"noise"``, or ``"curve"`` as in :class:`WeightedGaussian`.

    Raises:
        InvalidParameterError: If an argument is no number or outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.PolicyLaplace(alpha=2)
        PolicyLaplace(alpha=2.0, passes=1)
    """

    name: ClassVar[str] = "policy_laplace"
    alpha: float = 5.0
    passes: int = 1
    release: ReleaseStep = "noise"

    def __post_init__(self) -> None:
        """Check at once: a mechanism that exists is valid."""
        _check_policy(self)

    def __repr__(self) -> str:
        """As it would be written."""
        return _written(self)


@dataclass(frozen=True, slots=True)
class PolicyGaussian:
    """Let users, one after the other, move their items towards a cutoff; add Gaussian noise.

    Each user's step has length 1 at most and points to where all of its items are at the cutoff. This step
    uses one thread: users have to come in order. Gopi, Gulhane, Kulkarni, Shen, Shokouhi and Yekhanin,
    "Differentially private set union" (ICML 2020), section "Policy Gaussian". Guarantees
    :class:`~dpsel.ApproxDP` and :class:`~dpsel.ZCDP`.

    Args:
        alpha: How far above the threshold the cutoff lies, in standard deviations of the noise; at least 0.
            With a curve: above even odds, in distances from there to odds of 27 : 5.
        passes: How often each user comes, with an equal part of its budget each time; at least 1.
        release: ``"noise"``, or ``"curve"`` as in :class:`WeightedGaussian`.

    Raises:
        InvalidParameterError: If an argument is no number or outside its range.

    Examples:
        >>> import dpsel
        >>> dpsel.PolicyGaussian()
        PolicyGaussian(alpha=5.0, passes=1)
    """

    name: ClassVar[str] = "policy_gaussian"
    alpha: float = 5.0
    passes: int = 1
    release: ReleaseStep = "noise"

    def __post_init__(self) -> None:
        """Check at once: a mechanism that exists is valid."""
        _check_policy(self)

    def __repr__(self) -> str:
        """As it would be written."""
        return _written(self)


def _check_policy(policy: PolicyLaplace | PolicyGaussian) -> None:
    from dpsel import _core

    object.__setattr__(policy, "alpha", as_number("alpha", policy.alpha))
    object.__setattr__(policy, "passes", as_int("passes", policy.passes))
    _core.validate_policy(policy.alpha, policy.passes)
    _check_release(policy.release)


@dataclass(frozen=True, slots=True)
class GreedyFrequency:
    """Let users, one after the other, fill their items one by one up to a cutoff: those they have most first.

    Each user has one unit of weight. A user's first item is the one of which it has the most rows, so here
    repeated rows count; items with equally many come in an order that is the same for all users. With
    ``prior`` the order is that of a public table instead, and repeated rows do not count. An item is released
    with the largest probability for its weight (a release curve); there are no noisy weights.

    The filling is GW (with ``prior`` GW-KT) of Carvalho, Wang and Gondara, "Incorporating item frequency for
    differentially private set union" (AAAI 2022). Their calibration does not guarantee what they claim:
    ``docs/algorithms/greedy_frequency.md`` has the counterexample, and the proof of the one used here.
    Guarantees :class:`~dpsel.ApproxDP` for any number of items per user: where a user has more than
    ``max_items_per_user``, the first ones in its order count. This step uses one thread.

    Args:
        prior: Public frequencies: a mapping of items to numbers, or pairs (item, number). It must not come
            from the private data. With several item columns the items are tuples.
        calibration: ``"curve"``; ``"published"`` reproduces the paper with Laplace noise, guarantees
            **nothing** and warns.
        alpha: How far above the threshold the cutoff lies, in scales of the noise; for
            ``calibration="published"`` only, 3 if not given.

    Raises:
        InvalidParameterError: If an argument is no such thing or outside its range.

    Warns:
        DpselWarning: If the calibration is ``"published"``.

    Examples:
        >>> import dpsel
        >>> dpsel.GreedyFrequency()
        GreedyFrequency()
        >>> dpsel.GreedyFrequency(prior={"the": 60_000, "of": 33_000})
        GreedyFrequency(prior=...)
    """

    name: ClassVar[str] = "greedy_frequency"
    prior: Mapping[Any, float] | Iterable[tuple[Any, float]] | None = field(default=None, hash=False)
    calibration: Literal["curve", "published"] = "curve"
    alpha: float | None = None

    def __post_init__(self) -> None:
        """Check at once: a mechanism that exists is valid."""
        from dpsel import _core

        object.__setattr__(self, "prior", _frequencies(self.prior))
        if self.alpha is not None:
            object.__setattr__(self, "alpha", as_number("alpha", self.alpha))
        if not isinstance(self.calibration, str):
            raise InvalidParameterError(
                f'calibration must be "curve" or "published", got {type_name(self.calibration)}; leave it out'
            )
        _core.validate_greedy_frequency(self.calibration, self.alpha)
        if self.calibration == "published":
            warnings.warn(
                "no guarantee: the published calibration of GreedyFrequency is not differentially private; "
                "leave calibration= out for a private release",
                DpselWarning,
                stacklevel=3,
            )

    def __repr__(self) -> str:
        """As it would be written."""
        return _written(self)


@dataclass(frozen=True, slots=True)
class UnitGreedy:
    """Let users, one after the other, give one whole unit to their first item that is not yet full.

    As :class:`GreedyFrequency`, but only whole units move. So one user changes one item by one unit, and the
    optimal release probability of :class:`OneItem` applies to users of any number of items. Guarantees
    :class:`~dpsel.ApproxDP`. It has no noisy weights. This step uses one thread.

    Args:
        prior: As for :class:`GreedyFrequency`.

    Raises:
        InvalidParameterError: If the argument is no such thing.

    Examples:
        >>> import dpsel
        >>> dpsel.UnitGreedy()
        UnitGreedy()
    """

    name: ClassVar[str] = "unit_greedy"
    prior: Mapping[Any, float] | Iterable[tuple[Any, float]] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        """Check at once: a mechanism that exists is valid."""
        object.__setattr__(self, "prior", _frequencies(self.prior))

    def __repr__(self) -> str:
        """As it would be written."""
        return _written(self)


def _frequencies(prior: Any) -> dict[Any, float] | None:
    """Return public frequencies as a dict; messages never quote an item."""
    if prior is None:
        return None
    try:
        known = dict(prior)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"prior must map items to numbers, got {type_name(prior)}; give a dict, or pairs (item, number)"
        ) from None
    frequencies = {item: as_number("prior", number) for item, number in known.items()}
    if any(math.isnan(number) for number in frequencies.values()):
        raise InvalidParameterError("prior must map items to numbers, got NaN; leave such items out")
    return frequencies


def ranked_prior(mechanism: Mechanism) -> list[tuple[int, Any]] | None:
    """Return (rank, item) of a mechanism with public frequencies, the most frequent items first."""
    if not isinstance(mechanism, GreedyFrequency | UnitGreedy) or mechanism.prior is None:
        return None
    frequencies = dict(mechanism.prior)
    ordered = sorted(frequencies, key=frequencies.__getitem__, reverse=True)
    levels = enumerate(list(items) for _, items in groupby(ordered, key=frequencies.__getitem__))
    return [(rank, item) for rank, items in levels for item in items]


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
        _check_release(self.release)
        usual = 1 / 3 if self.release == "noise" else 1 / 5
        ratio = usual if self.ratio is None else as_number("ratio", self.ratio)
        object.__setattr__(self, "ratio", ratio)
        _core.validate_sips(self.rounds, ratio)

    def __repr__(self) -> str:
        """As it would be written."""
        return _written(self)


@dataclass(frozen=True, slots=True)
class Steered:
    """Look at noisy weights of all items in many rounds and steer every user's weight by them.

    Items without a chance are given up, frequent items get no more weight than they need, and what that
    frees goes to the items in between. Only the last round publishes. More rounds release more for the same
    budget and take longer. Users keep the same ``max_items_per_user`` items throughout, so that limit should
    be generous: a few hundred cost little. Ours; the proof is in ``docs/algorithms/steered.md``. Guarantees
    :class:`~dpsel.ApproxDP` and :class:`~dpsel.ZCDP`.

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
    """Give back to users what items have beyond a limit; each puts it on all of its items.

    Users of 4 to 50 items give 1/k to each first; what an item has of this beyond the limit returns to its
    users. All of them add what is missing to 1/sqrt(k). Items are released by a curve, as with
    ``WeightedGaussian(release="curve")``, and about as many of them: 1 % more or less. Users
    do not have to come in order. After the idea of Chen, Cohen-Addad, Epasto and Zadimoghaddam, "Scalable
    private partition selection via adaptive weighting" (ICML 2025); the construction and its proof are in
    ``docs/algorithms/mad.md``. Guarantees :class:`~dpsel.ApproxDP`. It has no noisy weights.

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
        from dpsel import _core

        object.__setattr__(self, "alpha", as_number("alpha", self.alpha))
        _core.validate_policy(self.alpha, 1)


def _check_release(release: object) -> None:
    if release not in {"noise", "curve"}:
        given = repr(release) if isinstance(release, str) else type_name(release)
        raise InvalidParameterError(
            f'release must be "noise" or "curve", got {given}; "curve" releases more items, '
            '"noise" can publish noisy weights'
        )


def _written(mechanism: Mechanism) -> str:
    """Return the mechanism as code; how it releases is left out where that is as usual."""
    parameters = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    shown = [f"{key}={_shown(key, value)}" for key, value in parameters.items() if not is_usual(key, value)]
    return f"{type(mechanism).__name__}({', '.join(shown)})"


def _shown(key: str, value: object) -> str:
    return "..." if key == "prior" else repr(value)


def is_usual(key: str, value: object) -> bool:
    """Whether a parameter need not be written down."""
    return value is None or (key, value) in [("release", "noise"), ("calibration", "curve")]


Mechanism: TypeAlias = (
    CountLaplace
    | CountGaussian
    | WeightedLaplace
    | WeightedGaussian
    | PolicyLaplace
    | PolicyGaussian
    | GreedyFrequency
    | UnitGreedy
    | Sips
    | Steered
    | OneItem
    | Mad
)
"""Every mechanism."""

_CLASSES: Final = (
    CountLaplace,
    CountGaussian,
    WeightedLaplace,
    WeightedGaussian,
    PolicyLaplace,
    PolicyGaussian,
    GreedyFrequency,
    UnitGreedy,
    Sips,
    Steered,
    OneItem,
    Mad,
)


def every() -> list[Mechanism]:
    """Return each mechanism with its default parameters."""
    return [cls() for cls in _CLASSES]


def resolve(
    mechanism: Mechanism | Literal["auto"],
    privacy: Privacy,
    max_items_per_user: int,
    *,
    with_weights: bool = False,
) -> tuple[Mechanism, str | None]:
    """Return the mechanism and, if it was chosen here, the reason as a sentence for the report.

    ``"auto"`` looks at public parameters only.
    """
    if isinstance(mechanism, _CLASSES):
        return mechanism, None
    if not _is_auto(mechanism):
        known = ", ".join(f"{cls.__name__}()" for cls in _CLASSES)
        raise InvalidParameterError(
            f"mechanism must be 'auto' or a mechanism, got {type_name(mechanism)}; use one of {known}"
        )
    return _choose(privacy, max_items_per_user, with_weights=with_weights)


def _is_auto(mechanism: object) -> bool:
    return isinstance(mechanism, str) and mechanism == "auto"


#: The limits from which on `Steered` goes before `Sips`, with release curves and with noise, and the least
#: epsilon for which curves are quickly made. Decision note 0008 has the comparison behind them.
_STEERED_BEFORE_CURVES: Final = 20
_STEERED_BEFORE_NOISE: Final = 10
_LEAST_CURVE_EPSILON: Final = 0.1


def _choose(privacy: Privacy, max_items_per_user: int, *, with_weights: bool) -> tuple[Mechanism, str]:
    from dpsel.accounting import ApproxDP

    plain = isinstance(privacy, ApproxDP) and not with_weights
    if max_items_per_user == 1:
        if plain:
            return OneItem(), "auto: with one item per user this is the best rule there is"
        return _best_for_one_item(privacy)
    curves = plain and isinstance(privacy, ApproxDP) and privacy.epsilon >= _LEAST_CURVE_EPSILON
    if max_items_per_user >= (_STEERED_BEFORE_CURVES if curves else _STEERED_BEFORE_NOISE):
        return (
            Steered(),
            "auto: with this limit, weights that are steered to where they are needed release most",
        )
    reason = "auto: with so low a limit, rounds in which a user's next items move up release most"
    return Sips(release="curve" if curves else "noise"), reason


def _best_for_one_item(privacy: Privacy) -> tuple[Mechanism, str]:
    """With one item per user all weights are 1, so the lowest threshold is best."""
    from dpsel._request import calibrate

    # Laplace noise has no zCDP guarantee here.
    both: tuple[Mechanism, ...] = (CountLaplace(), CountGaussian())
    candidates = both[1:] if privacy.kind == "zcdp" else both
    thresholds = [calibrate(privacy, 1, each)["rounds"][0]["threshold"] for each in candidates]
    best = candidates[thresholds.index(min(thresholds))]
    return best, "auto: with one item per user every weight is 1, and this noise has the lowest threshold"


def to_json(mechanism: Mechanism) -> dict[str, Any]:
    """Return the mechanism as it stands in requests and reports."""
    parameters = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    if "prior" in parameters:
        # The table is public and long; what is enforced does not depend on it.
        parameters["order"] = "counts" if parameters.pop("prior") is None else "prior"
    return {"name": mechanism.name} | parameters
