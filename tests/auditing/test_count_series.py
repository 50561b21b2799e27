"""The audit of `dpsel.CountSeries`: what its numbers let anybody conclude, against what it claims."""

from __future__ import annotations

import math

import pytest

import dpsel
from dpsel.auditing import _series
from dpsel.auditing._series import AuditedSeries, audit_series
from dpsel.auditing._verdicts import claim_of
from dpsel.exceptions import WeakGuaranteeWarning

CLAIM = dpsel.ApproxDP(epsilon=2.0, delta=0.05)
FALSE_ALARM = 1e-6


def plan(**counts) -> AuditedSeries:
    usual = {"window": 1, "max_releases_per_item": 3, "unit": "user"} | counts
    return AuditedSeries("count-series", None, 3, 9, counts=tuple(usual.items()))


@pytest.mark.long("an audit of 20,000 users")
@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"window": 3},
        {"window": 3, "max_releases_per_item": 1},
        {"unit": "user-release", "max_releases_per_item": 1},
    ],
    ids=str,
)
def test_an_audit_comes_near_the_claim_and_does_not_pass_it(counts) -> None:
    finding = audit_series(plan(**counts), CLAIM, None, 150_000, FALSE_ALARM)
    assert 0.65 * CLAIM.epsilon < finding.epsilon <= CLAIM.epsilon
    assert not finding.refuted


def test_a_claim_that_is_too_small_is_refuted(monkeypatch) -> None:
    """The series keeps what it promises, but the audit is told of half of it."""
    half = dpsel.ApproxDP(epsilon=1.0, delta=CLAIM.delta)
    monkeypatch.setattr(_series, "claim_of", lambda _: claim_of(half))
    assert audit_series(plan(), CLAIM, None, 100_000, FALSE_ALARM).refuted


def test_the_statistic_undoes_the_decoding() -> None:
    stated = _series.plan_of(plan(window=3), CLAIM, 9)
    decode = [part / stated["decode"][0] for part in stated["decode"]]
    moved = _series._shift(stated, 3)
    factors = _series._decoded(stated, moved)
    noisy = [3.0, -1.0, 2.0]
    numbers = [sum(decode[at - k] * noisy[k] for k in range(at + 1)) for at in range(3)]
    told = math.fsum(factor * number for factor, number in zip(factors, numbers, strict=True))
    assert told == pytest.approx(math.fsum(a * b for a, b in zip(moved, noisy, strict=True)))


@pytest.mark.long("makes thousands of noisy numbers")
def test_a_series_of_numbers_is_audited_with_its_own_parameters(tmp_path) -> None:
    with pytest.warns(WeakGuaranteeWarning):
        series = dpsel.CountSeries.create(
            tmp_path / "numbers",
            key=tmp_path / "key",
            privacy=CLAIM,
            releases=52,
            max_items_per_user=4,
            unit="user-release",
            user="user",
            item="item",
        )
    report = dpsel.audit(series)
    (finding,) = report.findings
    assert report.ok
    assert finding.tables == "numbers of 4 items in 1 release"
    assert 0.25 * CLAIM.epsilon < finding.epsilon <= CLAIM.epsilon
    assert series.status().made == 0
