"""Law 4: the release probability of a novel item is exactly what the proof says, at the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import mpmath
import pytest

import dpsel
from mechanisms import Seen
from reference import calibration as formulas
from reference import curves, steered
from reference import mechanisms as reference
from reference.noise import TAILS, UNIT
from rounds import gives_one_unit, is_ranking, screening_of, shipped, usual_weight
from support import report_of, rounds_of, select, table, units_of

if TYPE_CHECKING:
    from collections.abc import Callable

BOUNDS = [1, 2, 3, 5, 8, 20]
DELTAS = [0.3, 1e-2, 1e-5, 1e-10]


def calibrated(case, privacy, bound: int) -> list[reference.Round]:
    """Scales and thresholds as shipped: those of a release of nothing."""
    return rounds_of(select(table([]), privacy=privacy, max_items_per_user=bound, mechanism=case.mechanism))


@dataclass(frozen=True)
class Publication:
    """One decision that an item of one user alone could pass."""

    #: The chance that an item of so much weight passes.
    chance: Callable[[int], mpmath.mpf]
    #: The most weight of each of so many items that nobody else holds.
    weight: Callable[[int], int]
    #: The part of delta that is meant for it.
    share: float

    def novel_release(self, bound: int):
        """Worst chance, over t <= D0, that a lone user with t items sees any of them released."""
        with mpmath.workprec(400):
            chances = [1 - (1 - mpmath.mpf(self.chance(self.weight(t)))) ** t for t in range(1, bound + 1)]
        return max(chances)


def by_threshold(kind: str, scale, threshold: int) -> Callable[[int], mpmath.mpf]:
    return lambda weight: TAILS[kind](threshold - weight, scale)


def by_interval(scale, threshold: int, rounds: int) -> Callable[[int], mpmath.mpf]:
    """That the noise lies within the weight below the threshold; each round rounds it down."""
    tail = TAILS["gaussian"]
    return lambda weight: tail(threshold - weight, scale) - tail(threshold + rounds, scale)


def publications(
    case, rounds: list, units_lower: Callable[[float, int], int] | None = None
) -> list[Publication]:
    """Every decision of a calibration, with thresholds by so many units lower."""

    def lowered(scale, threshold: int) -> int:
        return threshold - (units_lower(float(scale), threshold) if units_lower else 0)

    if case.seen is Seen.SCORE:
        # One for all rounds: the score, with the noise of all of them.
        scale, last = spread(rounds), rounds[-1]
        threshold = lowered(scale, last.threshold)
        chance = by_threshold("gaussian", scale, threshold)
        if last.is_checked:
            chance = by_interval(scale, threshold, len(rounds))
        return [Publication(chance, lambda t: steered.size_of(t, last.sizes).cap, 1.0)]
    definition = reference.DEFINITIONS[case.name]
    return [
        Publication(
            by_threshold(definition.noise, round_.scale, lowered(round_.scale, round_.threshold)),
            partial(reference.novel_weight, definition, round_),
            share,
        )
        for round_, share in zip(rounds, shares(case, rounds), strict=True)
    ]


def spread(rounds: list[steered.ScoredRound]):
    """The standard deviation of the noise in a score."""
    return mpmath.sqrt(sum(mpmath.mpf(r.scale) ** 2 for r in rounds))


def norm(case, round_, bound: int):
    """The norm that noise is scaled by: as declared, or what a policy's report says to cover its rounding.

    In a scored round it is the round's share of a unit.
    """
    if isinstance(round_, steered.ScoredRound):
        return mpmath.mpf(round_.share) / steered.SHARES
    policy = isinstance(round_, reference.Round) and isinstance(round_.weighting, dict)
    if policy and "policy_l2" in round_.weighting:
        return mpmath.mpf(round_.weighting["policy_l2"]["norm"]) / UNIT
    declared = case.norms(bound)
    if "l1" in declared:
        return mpmath.mpf(declared["l1"]) / UNIT
    return mpmath.sqrt(mpmath.mpf(declared["l2_squared"])) / UNIT


def shares(case, rounds: list) -> list[float]:
    """Each round's share of a budget; of Sips r^(I-1-j) (1-r) / (1-r^I)."""
    if case.seen is Seen.SCORE:
        # Shares of the score grow; the budget is divided equally.
        return [1 / len(rounds)] * len(rounds)
    if case.name != "sips":
        return [1.0]
    powers = [case.mechanism.ratio ** (case.mechanism.rounds - 1 - j) for j in range(case.mechanism.rounds)]
    return [p / sum(powers) for p in powers]


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("bound", BOUNDS)
def test_novel_items_within_delta_and_not_one_unit_lower(noisy_case, bound, delta) -> None:
    """T is the smallest integer: one unit lower breaks delta (zCDP, and Laplace under approximate DP)."""
    case = noisy_case
    privacy = dpsel.ZCDP(rho=0.3, delta=delta) if case.zcdp else dpsel.ApproxDP(epsilon=0.7, delta=delta)
    rounds = calibrated(case, privacy, bound)
    decisions = publications(case, rounds)
    assert sum(each.novel_release(case.kept(bound)) for each in decisions) <= mpmath.mpf(delta)
    for each, lower in zip(decisions, publications(case, rounds, lambda *at: 1 + _grid(*at)), strict=True):
        # The shares are products of doubles: compare up to their rounding, and T up to the grid step
        # that this moves it. The total above is compared exactly.
        share = each.share * delta
        assert each.novel_release(case.kept(bound)) <= share * (1 + 1e-12)
        assert lower.novel_release(case.kept(bound)) > share * (1 - kept_back(case))


def kept_back(case) -> float:
    """The part of delta for the precision of noise that is looked at: 2^-20 of it, and its rounding."""
    return 2**-20 * (1 + 1e-6) if case.seen is Seen.SCORE else 0.0


def _grid(scale: float, threshold: int) -> int:
    """Units by which a relative error of 1e-13 in scale or threshold may move an integer threshold."""
    return int(1e-13 * (abs(threshold) + 40 * scale * UNIT))


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("bound", BOUNDS)
def test_novel_items_within_delta_under_approximate_dp(noisy_case, bound, delta) -> None:
    for epsilon in (0.1, 1.0, 5.0):
        rounds = calibrated(noisy_case, dpsel.ApproxDP(epsilon=epsilon, delta=delta), bound)
        chances = [each.novel_release(noisy_case.kept(bound)) for each in publications(noisy_case, rounds)]
        assert sum(chances) <= mpmath.mpf(delta)


@pytest.mark.parametrize("delta", [0.3, 1e-5])
@pytest.mark.parametrize("bound", [1, 3, 20])
def test_novel_items_of_curves_within_delta(curve_case, bound, delta) -> None:
    """No user alone sees one of its items released with more than delta, in all rounds together."""
    bound = curve_case.bound(bound)
    rounds, tables = shipped(curve_case.mechanism, dpsel.ApproxDP(epsilon=1.0, delta=delta), bound)
    for t in range(1, bound + 1):
        missed = mpmath.mpf(1)
        for round_, words in zip(rounds, tables, strict=True):
            if screening_of(round_) is None and not is_ranking(round_):
                # Some users fill one item.
                items, weight = (1, UNIT) if gives_one_unit(round_) else (t, usual_weight(round_, t))
                missed *= (1 - mpmath.mpf(curves.words_at(round_, words, weight)) / 2**128) ** items
        assert 0 < 1 - missed <= mpmath.mpf(delta)


@pytest.mark.parametrize("bound", BOUNDS)
def test_scales_are_the_closed_forms_rounded_up(noisy_case, bound) -> None:
    """Laplace: sensitivity / epsilon. Gaussian under zCDP: sensitivity / sqrt(2 rho_j)."""
    case = noisy_case
    privacy = dpsel.ZCDP(rho=0.3, delta=1e-6) if case.zcdp else dpsel.ApproxDP(epsilon=0.7, delta=1e-6)
    rounds = calibrated(case, privacy, bound)
    with mpmath.workprec(200):
        used = mpmath.mpf(0)
        for round_, share in zip(rounds, shares(case, rounds), strict=True):
            sensitivity, scale = norm(case, round_, bound), mpmath.mpf(round_.scale)
            if case.zcdp:
                used += (sensitivity / scale) ** 2 / 2
                exact = sensitivity / mpmath.sqrt(2 * mpmath.mpf(0.3) * share)
            else:
                used += sensitivity / scale
                exact = sensitivity / (mpmath.mpf(0.7) * share)
            assert abs(scale / exact - 1) < 1e-12
        assert used <= mpmath.mpf(0.3 if case.zcdp else 0.7)


def test_released_iff_noisy_weight_is_at_least_the_threshold(noisy_case) -> None:
    """No released weight is below its round's threshold, and the rule holds with equality."""
    rows = [(u, i) for u in range(120) for i in range(12) if u >= 10 * i]
    release = select(
        table(rows),
        privacy=dpsel.ApproxDP(epsilon=2.0, delta=0.1),
        max_items_per_user=12,
        mechanism=noisy_case.mechanism,
        with_weights=True,
    )
    lowest = min(round_.threshold for round_ in rounds_of(release) if round_.threshold is not None)
    assert units_of(release)
    assert min(units_of(release).values()) >= lowest


def test_a_guarantee_that_there_is_not_is_refused_under_zcdp(case) -> None:
    """A mechanism is not run under a guarantee that it does not have."""
    if case.zcdp:
        calibrated(case, dpsel.ZCDP(rho=0.1, delta=1e-6), 2)
        return
    with pytest.raises(dpsel.DpselError, match=r"(?i)laplace|gaussian|curve"):
        calibrated(case, dpsel.ZCDP(rho=0.1, delta=1e-6), case.bound(2))


def test_pure_dp_is_refused(case) -> None:
    """Partition selection of an unknown domain is impossible under pure DP."""
    with pytest.raises(dpsel.DpselError, match=r"(?i)delta|approx"):
        calibrated(case, dpsel.PureDP(epsilon=1.0), case.bound(2))


def gaussian_shift(rounds: list, novel: mpmath.mpf, epsilon: float):
    """The delta of noise that is seen in several rounds, where decisions fail with so much in all."""
    mu = mpmath.sqrt(sum(1 / mpmath.mpf(round_.scale) ** 2 for round_ in rounds))
    # Lemmas 6 and 7 of the paper: failures combine as independent events do.
    return novel + (1 - novel) * formulas.hockey_stick(epsilon, mu)


def policy_delta(round_: reference.Round, bound: int, epsilon: float):
    """One Gaussian round of a policy: t novel items of any weight between 1/sqrt(D0) and 1/sqrt(t) each."""
    length, sigma = mpmath.mpf(round_.weighting["policy_l2"]["norm"]) / UNIT, mpmath.mpf(round_.scale)
    worst = mpmath.mpf(0)
    for t in range(bound + 1):
        least, most = 1 / mpmath.sqrt(bound), 1 / mpmath.sqrt(max(t, 1))
        for step in range(11):
            weight = least + (most - least) * step / 10
            tail = formulas.normal_tail((mpmath.mpf(round_.threshold) / UNIT - weight) / sigma)
            log_p, mu = t * mpmath.log1p(-tail), mpmath.sqrt(max(length**2 - t * weight**2, 0)) / sigma
            with_user = -mpmath.expm1(log_p) + mpmath.exp(log_p) * formulas.hockey_stick(epsilon - log_p, mu)
            worst = max(worst, with_user, formulas.hockey_stick(epsilon + log_p, mu))
    return worst


def scored_delta(rounds: list[steered.ScoredRound], epsilon: float):
    """The largest delta of users of every size: their norm in all rounds, and their interval of noise."""
    last, scale = rounds[-1], spread(rounds)
    unit_mu = mpmath.sqrt(
        sum((mpmath.mpf(r.share) / steered.SHARES / mpmath.mpf(r.scale)) ** 2 for r in rounds)
    )
    chance = by_interval(scale, last.threshold, len(rounds))
    deltas = [
        -mpmath.expm1(size.items * mpmath.log1p(-chance(size.cap)))
        + formulas.hockey_stick(epsilon, unit_mu * size.norm / UNIT)
        for size in last.sizes
    ]
    assert last.is_checked
    # Small users have a part of delta of their own, as close to it as the search gets.
    assert min(deltas) > 0.99 * max(deltas)
    return max(deltas)


def total_delta(case, rounds: list, bound: int, epsilon: float):
    """The exact delta of all rounds together, by the statement that the mechanism rests on."""
    novel = [each.novel_release(case.kept(bound)) for each in publications(case, rounds)]
    definition = reference.DEFINITIONS.get(case.name)
    if definition and definition.noise == "laplace":
        # The noise alone is epsilon-DP.
        return novel[0]
    if case.seen is Seen.SCORE:
        return scored_delta(rounds, epsilon)
    if len(rounds) > 1:
        return gaussian_shift(rounds, 1 - mpmath.fprod(1 - each for each in novel), epsilon)
    (round_,) = rounds
    if definition.policy:
        return policy_delta(round_, bound, epsilon)
    noise = {"kind": "gaussian", "sigma": round_.scale}
    return formulas.single_round_delta(noise, round_.weighting, bound, round_.threshold, epsilon)


def test_all_rounds_together_use_delta_and_no_more(noisy_case) -> None:
    epsilon, delta, bound = 1.0, 1e-5, 8
    rounds = calibrated(noisy_case, dpsel.ApproxDP(epsilon=epsilon, delta=delta), bound)
    with mpmath.workprec(300):
        total = total_delta(noisy_case, rounds, bound, epsilon)
        assert total <= mpmath.mpf(delta)
        assert total > 0.999 * mpmath.mpf(delta)


def test_the_report_repeats_the_request(case) -> None:
    privacy = dpsel.ApproxDP(epsilon=1.25, delta=1e-7)
    bound = case.bound(17)
    report = report_of(select(table([]), privacy=privacy, max_items_per_user=bound, mechanism=case.mechanism))
    assert report["request"]["privacy"] == {"kind": "approx_dp", "epsilon": 1.25, "delta": 1e-7}
    assert report["request"]["max_items_per_user"] == bound
    assert report["request"]["mechanism"]["name"] == case.name
