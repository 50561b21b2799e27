"""What "auto" chooses where `Steered` has no calibration."""

from __future__ import annotations

import pytest

import dpsel
from weak import WEAK

pytestmark = WEAK


def chosen(epsilon: float, delta: float, limit: int, *, with_weights: bool = False) -> dpsel.Release:
    return dpsel.select_partitions(
        [(1, 2)],
        privacy=dpsel.ApproxDP(epsilon=epsilon, delta=delta),
        max_items_per_user=limit,
        with_weights=with_weights,
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "limit"), [(50.0, 1e-5, 20), (40.0, 1e-9, 300), (60.0, 0.1, 3000)]
)
def test_sips_is_taken_where_noise_is_too_coarse_for_scores(epsilon, delta, limit) -> None:
    with pytest.raises(dpsel.exceptions.CalibrationError, match="128 bits"):
        dpsel.plan(
            privacy=dpsel.ApproxDP(epsilon=epsilon, delta=delta),
            max_items_per_user=limit,
            mechanisms=dpsel.Steered(),
        )
    release = chosen(epsilon, delta, limit)
    assert "Sips(" in repr(release)
    assert "finer than 128 bits" in release.report.to_json()
    assert dpsel.check(release.report).ok


@pytest.mark.parametrize(
    ("epsilon", "delta", "limit"),
    [(25.0, 1e-9, 1000), (12.0, 1e-15, 300), (15.0, 1e-15, 300), (17.0, 1e-12, 300), (0.01, 1e-15, 3000)],
)
def test_steered_is_taken_where_a_larger_part_of_delta_pays_for_its_noise(epsilon, delta, limit) -> None:
    release = chosen(epsilon, delta, limit)
    assert "Steered" in repr(release)
    assert dpsel.check(release.report).ok
