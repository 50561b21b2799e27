"""What was spent in the terms of Google's ``dp_accounting``: no more than the guarantees allow.

Theorems and proofs: <https://dpsel.github.io/dpsel/algorithms/accounting/>, section 10.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from dpsel import _core_calls
from dpsel._arguments import as_number
from dpsel._tables import Display, Displayed
from dpsel.accounting._amounts import exp_up
from dpsel.exceptions import InvalidParameterError
from dpsel.release import check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpsel.accounting import Privacy
    from dpsel.budget._payment import Payment

__all__ = ["Accounted", "accounted"]

#: What a release may differ from the mechanism of its proof, as a total variation (accounting.md, section 8).
_SLACK: Final = Fraction(1, 10**18)


@dataclass(frozen=True, slots=True, repr=False)
class Accounted(Displayed):
    """What a budget spent, for the accountants of ``dp_accounting``.

    If ``event`` is (epsilon, d)-DP, all releases together are (epsilon, ``delta`` + d)-DP. Nothing else is
    claimed of it: it is no part of a larger event, such as a sampled one. Both ``get_delta`` and
    ``get_epsilon`` include ``delta``, and use the better of several accountants, one of which composes the
    entries by their own parameters.

    Args:
        event: A ``dp_accounting.ComposedDpEvent`` of Gaussian and zCDP events, for adding or removing one
            user. An ``RdpAccountant`` takes all of them; a ``PLDAccountant`` takes Gaussian ones.
        delta: The probability of anything, on top.
        releases: How many entries rest on arithmetic of finite precision: each adds
            1e-18 (1 + e^epsilon) to delta.
    """

    event: Any
    delta: float
    releases: int
    _ways: tuple[tuple[Any, float], ...]

    def _display(self) -> Display:
        return Display([repr(self)])

    def __repr__(self) -> str:
        """One line: how many events, and the delta beside them."""
        return f"<dpsel.Accounted: {len(self.event.events):,} events, delta {self.delta:.6g} beside them>"

    def get_delta(self, epsilon: float) -> float:
        """Return the delta of all releases together at this epsilon, as the best accountant bounds it.

        Raises:
            InvalidParameterError: If epsilon is not a finite number of at least 0.
        """
        epsilon = as_number("epsilon", epsilon)
        if not 0.0 <= epsilon < math.inf:
            raise InvalidParameterError(
                f"epsilon must be a finite number of at least 0, got {epsilon:g}; give what is to be shown"
            )
        candidates = [min(1.0, self.delta + float(self._rdp().get_delta(epsilon)))]
        for losses, rest in self._ways:
            candidates.append(min(1.0, rest + float(losses.get_delta_for_epsilon(epsilon))))
        return min(1.0, math.nextafter(min(candidates) + self._slack(epsilon), math.inf))

    def get_epsilon(self, delta: float) -> float:
        """Return an epsilon of all releases together at this delta, as the best accountant bounds it.

        Raises:
            InvalidParameterError: If it is not between 0 and 1, or the deltas that were spent leave nothing
                of it.
        """
        delta, slack = as_number("delta", delta), 0.0
        if not 0.0 < delta < 1.0:
            raise InvalidParameterError(
                f"delta must be above 0 and below 1, got {delta:g}; choose it far below 1 / number of users"
            )
        for _ in range(20):
            epsilon = self._epsilon(delta - slack)
            if not math.isfinite(epsilon):
                break
            if self._slack(epsilon) <= slack:
                return epsilon
            slack = 2.0 * self._slack(epsilon)
        raise InvalidParameterError(
            f"delta must be above what the entries spent of it, {self.delta:g}, got {delta:g}; raise it"
        )

    def _epsilon(self, delta: float) -> float:
        candidates = [math.inf]
        if delta > self.delta:
            candidates.append(float(self._rdp().get_epsilon(delta - self.delta)))
        for losses, rest in self._ways:
            if delta > rest:
                candidates.append(float(losses.get_epsilon_for_delta(delta - rest)))
        return min(candidates)

    def _rdp(self) -> Any:
        import dp_accounting

        return dp_accounting.rdp.RdpAccountant().compose(self.event)

    def _slack(self, epsilon: float) -> float:
        slack = self.releases * _SLACK * (1 + exp_up(Fraction(max(0.0, epsilon))))
        return math.nextafter(float(min(slack, Fraction(1))), math.inf)


@dataclass(frozen=True, slots=True)
class _Part:
    """One guarantee: a Gaussian, zCDP or epsilon part, and a delta beside it."""

    delta: float
    mu: float | None = None
    rho: float | None = None
    epsilon: float | None = None


def accounted(payments: Sequence[Payment]) -> Accounted:
    """Return the events of the entries of a budget for adding or removing one user.

    Raises:
        ImportError: If ``dp_accounting`` is not installed.
    """
    try:
        import dp_accounting
    except ImportError as error:
        message = "to_dp_accounting needs the package 'dp-accounting'; install it with pip"
        raise ImportError(message) from error
    parts = [part for payment in payments for part in _parts(payment)]
    told = [_of_guarantee(each) for payment in payments for each in _guarantees(payment)]
    return Accounted(
        event=dp_accounting.ComposedDpEvent([_event(dp_accounting, part) for part in parts]),
        delta=_sum_up(parts),
        releases=sum(part.epsilon is None for part in parts),
        _ways=tuple(_losses(dp_accounting, each) for each in (parts, told) if _have_losses(each)),
    )


def _sum_up(parts: list[_Part]) -> float:
    return min(1.0, _round_up(sum((Fraction(part.delta) for part in parts), Fraction(0))))


def _parts(payment: Payment) -> list[_Part]:
    told = [_of_guarantee(each) for each in _guarantees(payment)]
    if (gaussian := _gaussian(payment)) is None:
        return told
    return [_Part(mu=gaussian[0], delta=gaussian[1]), *told[1:]]


def _guarantees(payment: Payment) -> list[Privacy]:
    counts = payment.cost.counts
    return [payment.cost.items] if counts is None else [payment.cost.items, counts]


def _gaussian(payment: Payment) -> tuple[float, float] | None:
    """Return mu and delta of a call with Gaussian rounds, if its report is the one that its request leads to.

    Reports of a ledger are lines of a file.
    """
    report, paid = payment.report, payment.cost.items.to_json()
    if report is None:
        return None
    asked = report["request"]["privacy"]
    # Numbers of a request are rounded down.
    is_paid = asked["kind"] == paid.pop("kind") and all(asked[name] <= paid[name] for name in paid)
    if not is_paid or not check(report).ok:
        return None
    return _core_calls.gaussian_part(report.to_json())


def _of_guarantee(privacy: Privacy) -> _Part:
    values = privacy.to_json()
    if privacy.kind == "zcdp":
        return _Part(rho=values["rho"], delta=values["delta"])
    return _Part(epsilon=values["epsilon"], delta=values.get("delta", 0.0))


def _event(library: Any, part: _Part) -> Any:
    if part.mu is not None:
        return library.GaussianDpEvent(_noise_multiplier(part.mu))
    if part.rho is not None:
        return library.ZCDpEvent(part.rho)
    # The package has no event of epsilon alone. An LaplaceDpEvent claims more than epsilon-DP, zCDP does not.
    return library.ZCDpEvent(_round_up(Fraction(part.epsilon or 0.0) ** 2 / 2))


def _noise_multiplier(mu: float) -> float:
    exact = 1 / Fraction(mu)
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)


def _have_losses(parts: list[_Part]) -> bool:
    """Return whether all parts have a privacy loss distribution: there is none of zCDP."""
    return all(part.rho is None for part in parts)


def _losses(library: Any, parts: list[_Part]) -> tuple[Any, float]:
    """Return a privacy loss distribution of all parts, and the delta beside it."""
    pld = library.pld.privacy_loss_distribution
    total = pld.identity()
    for part in parts:
        if part.mu is not None:
            each = pld.from_gaussian_mechanism(_noise_multiplier(part.mu))
        else:
            asked = library.pld.common.DifferentialPrivacyParameters(part.epsilon, part.delta)
            each = pld.from_privacy_parameters(asked)
        total = total.compose(each)
    return total, _sum_up([part for part in parts if part.mu is not None])


def _round_up(amount: Fraction) -> float:
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)
