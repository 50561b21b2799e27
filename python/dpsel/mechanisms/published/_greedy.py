"""Greedy mechanisms: users, one after the other, fill the items that they prefer."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from dpsel import _core_calls
from dpsel._arguments import as_number, is_one_of, type_name, without_missing
from dpsel.exceptions import DpselWarning, InvalidParameterError
from dpsel.mechanisms._base import SelectionMechanism, parameters, registered
from dpsel.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["GreedyFrequency", "UnitGreedy"]


@registered
@dataclass(frozen=True, slots=True, repr=False)
class GreedyFrequency(SelectionMechanism):
    """Let users, one after the other, fill their items one by one up to a cutoff, most frequent ones first.

    Each user has one unit of weight. A user's first item is the one with the most rows of that user, so here
    repeated rows count. Ties are broken in the same order for all users. With ``prior`` the order comes from
    a public table instead, and repeated rows do not count. An item is released with the largest probability
    for its weight (a release curve); there are no noisy weights.

    The filling is GW (with ``prior`` GW-KT) of Carvalho, Wang and Gondara, "Incorporating item frequency for
    differentially private set union" (AAAI 2022). Their calibration does not guarantee what they claim:
    <https://dpsel.github.io/dpsel/algorithms/greedy_frequency/> has the counterexample, and the proof of
    the one used here. Guarantees [`ApproxDP`][dpsel.ApproxDP] for any number of items per user: where a user
    has more than ``max_items_per_user``, the first ones in its order count. This step uses one thread.

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

    name = "greedy_frequency"
    guarantees = ("approx_dp",)
    sensitivity = "l1"
    weights = "none"
    additive = False

    prior: Mapping[Any, float] | Iterable[tuple[Any, float]] | None = field(default=None, hash=False)
    calibration: Literal["curve", "published"] = "curve"
    alpha: float | None = None

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        object.__setattr__(self, "prior", _frequencies(self.prior))
        if self.alpha is not None:
            object.__setattr__(self, "alpha", as_number("alpha", self.alpha))
        _check_calibration(self.calibration)
        _core_calls.validate(mechanism=self.to_json())
        if self.calibration == "published":
            warnings.warn(
                "no guarantee: the published calibration of GreedyFrequency is not differentially private; "
                "leave calibration= out for a private release",
                DpselWarning,
                stacklevel=3,
            )

    @property
    def has_guarantee(self) -> bool:
        """Whether there is a proof; the published calibration has none."""
        return self.calibration == "curve"

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism as it stands in requests and reports, without the table of frequencies."""
        return _with_order(self)

    def public_table(self) -> list[tuple[int, Any]] | None:
        """Return the public preferences of users as (rank, item), if there are any."""
        return _ranked(self.prior)


@registered
@dataclass(frozen=True, slots=True, repr=False)
class UnitGreedy(SelectionMechanism):
    """Let users, one after the other, give one whole unit to their first item that is not yet full.

    As [`GreedyFrequency`][dpsel.GreedyFrequency], but only whole units move. So one user changes one item by
    one unit, and the optimal release probability of [`OneItem`][dpsel.OneItem] applies to users of any number
    of items. Guarantees [`ApproxDP`][dpsel.ApproxDP]. It has no noisy weights. This step uses one thread.

    Args:
        prior: As for [`GreedyFrequency`][dpsel.GreedyFrequency].

    Raises:
        InvalidParameterError: If the argument is no such thing.

    Examples:
        >>> import dpsel
        >>> dpsel.UnitGreedy()
        UnitGreedy()
    """

    name = "unit_greedy"
    guarantees = ("approx_dp",)
    sensitivity = "one_item"
    weights = "none"
    additive = False

    prior: Mapping[Any, float] | Iterable[tuple[Any, float]] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        """Check the parameters: a mechanism that exists is valid."""
        object.__setattr__(self, "prior", _frequencies(self.prior))

    def to_json(self) -> dict[str, Any]:
        """Return the mechanism as it stands in requests and reports, without the table of frequencies."""
        return _with_order(self)

    def public_table(self) -> list[tuple[int, Any]] | None:
        """Return the public preferences of users as (rank, item), if there are any."""
        return _ranked(self.prior)


def _check_calibration(calibration: object) -> None:
    if not is_one_of(calibration, "curve", "published"):
        given = quoted(calibration) if isinstance(calibration, str) else type_name(calibration)
        raise InvalidParameterError(
            f'calibration must be "curve" or "published", got {given}; "curve" is private, '
            '"published" is for reproducing the paper only'
        )


def _frequencies(prior: Any) -> dict[Any, float] | None:
    """Return public frequencies as a dict; messages never quote an item."""
    if prior is None:
        return None
    try:
        known = dict(prior)
    except Exception:  # noqa: BLE001 - whatever another library's type raises
        raise InvalidParameterError(
            f"prior must map items to numbers, got {type_name(prior)}; give a dict, or pairs (item, number)"
        ) from None
    frequencies = {item: as_number("prior", number) for item, number in known.items()}
    without_missing("prior", list(frequencies))
    if any(math.isnan(number) for number in frequencies.values()):
        raise InvalidParameterError("prior must map items to numbers, got NaN; leave such items out")
    return frequencies


def _ranked(prior: Any) -> list[tuple[int, Any]] | None:
    """Return (rank, item) of public frequencies, the most frequent items first; equal ones share a rank."""
    if prior is None:
        return None
    frequencies = dict(prior)
    ordered = sorted(frequencies, key=frequencies.__getitem__, reverse=True)
    levels = enumerate(list(items) for _, items in groupby(ordered, key=frequencies.__getitem__))
    return [(rank, item) for rank, items in levels for item in items]


def _with_order(mechanism: GreedyFrequency | UnitGreedy) -> dict[str, Any]:
    """Return the mechanism as JSON: the table of frequencies is long, so only its use is stated."""
    stated = parameters(mechanism)
    order = "counts" if stated.pop("prior") is None else "prior"
    return {"name": mechanism.name} | stated | {"order": order}
