"""The noise that is shipped has the law that is claimed: fresh system keys, many items."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import dpsel
from false_alarm import ALPHA
from reference import mechanisms as reference
from reference.noise import UNIT
from support import released, rounds_of, select
from weak import WEAK

pytestmark = [pytest.mark.statistical, WEAK]

#: So much budget that every item clears the threshold with certainty: all noise is seen, none is cut.
PRIVACY = dpsel.ApproxDP(epsilon=50.0, delta=0.01)
#: Policies would have to pay e^50 times the finite precision of all weights.
PRIVACY_OF_POLICIES = dpsel.ApproxDP(epsilon=25.0, delta=0.01)
USERS = 6

SIZES = [pytest.param(4_000, id="quick"), pytest.param(400_000, id="long", marks=pytest.mark.slow)]


def visible_noise(case, items: int) -> np.ndarray:
    """Noise of `items` items, each held by six users who hold nothing else, in its standard scale."""
    if case.name == "steered":
        pytest.skip("a score has noise of several rounds on weights that follow it; see test_steered.py")
    data = pa.table({"user": np.arange(items * USERS), "item": np.repeat(np.arange(items), USERS)})
    mechanism, privacy = case.mechanism, PRIVACY
    if hasattr(mechanism, "alpha"):
        # A cutoff above the six users' weight, so that every item has all of it.
        mechanism, privacy = dataclasses.replace(mechanism, alpha=400.0), PRIVACY_OF_POLICIES
    release = select(
        data, privacy=privacy, max_items_per_user=1, mechanism=mechanism, with_weights=True, key=None
    )
    first = rounds_of(release)[0]
    out = released(release)
    room = (USERS * UNIT - first.threshold) / UNIT / first.scale
    if room < 12:
        pytest.skip(f"{case}: the first round's budget shows only noise above {-room:.1f} scales")
    assert out.num_rows == items
    return (out["weight"].to_numpy() - USERS) / first.scale


def law(case):
    return {"gaussian": stats.norm, "laplace": stats.laplace}[reference.DEFINITIONS[case.name].noise]


@pytest.mark.parametrize("size", SIZES)
def test_goodness_of_fit(case, size) -> None:
    noise, distribution = visible_noise(case, size), law(case)
    assert stats.kstest(noise, distribution.cdf).pvalue > ALPHA
    # Equal cells: what a kink or a gap in the tables would show and the largest deviation might not.
    cells = np.histogram(distribution.cdf(noise), bins=64, range=(0, 1))[0]
    assert stats.chisquare(cells).pvalue > ALPHA


@pytest.mark.parametrize("size", SIZES)
def test_moments_and_tails(case, size) -> None:
    noise, distribution = visible_noise(case, size), law(case)
    deviation = distribution.std() / np.sqrt(size)
    assert 2 * stats.norm.sf(abs(noise.mean()) / deviation) > ALPHA
    for chance in (0.25, 0.1, 0.01, 0.002):
        for beyond in (noise > distribution.isf(chance), noise < distribution.ppf(chance)):
            assert stats.binomtest(int(beyond.sum()), size, chance).pvalue > ALPHA


def test_two_releases_are_uncorrelated(case) -> None:
    first, second = visible_noise(case, 4_000), visible_noise(case, 4_000)
    assert stats.spearmanr(first, second).pvalue > ALPHA
    assert stats.spearmanr(first[1:], first[:-1]).pvalue > ALPHA


def test_a_wrong_scale_would_be_noticed(case) -> None:
    """The quick test has the power to see noise that is 30 % too small."""
    noise = visible_noise(case, 4_000)
    assert stats.kstest(0.7 * noise, law(case).cdf).pvalue < ALPHA
